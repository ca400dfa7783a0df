"""Canaries: criteria with a known verdict, asked about each answer before its own, to test a judge.

- planted: an invented fact, stated in a sentence added before the answer. Met, with evidence from that sentence.
- near miss: a criterion of the task that the answer seems to state, with one name or number replaced by one that the
  answer lacks. Not Met; a judge that checks only the subject says Met.
- foreign: a criterion of another task whose names are not in the answer. Missed.

When no criterion fits, an invented fact is used. A canary's text contains nothing of the answer that is not also in the
criteria.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lensbench.core.names import after, before
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.fact_pieces import Piece, cut
from lensbench.judging.judges.normalising import normalise

COUNT = 3
"""The number of canaries for each answer."""

_INVENTED = (
    ("Gives 512 as the default of `{}`.", "The default of `{}` is 512."),
    (
        "Names `{}` as the function that is called first.",
        "The function that is called first is `{}`.",
    ),
    ("Says that the class `{}` is never copied.", "The class `{}` is never copied."),
    (
        "Names the option `{}` as the one that turns the check off.",
        "The option that turns the check off is `{}`.",
    ),
)
"""Criteria, each with a sentence that states it."""
_SYLLABLES = "quavexzorlimtrenobfyngaxhuljepkivmuroxipelruzsyg"
_NAMES = frozenset({"name", "file", "folder", "code"})
_CHOICE = re.compile(r"(?i)\b(?:or|either|any|one of|some|at least|alternatively)\b")
"""For such a criterion, the remaining part may suffice."""
_LETTERS = re.compile(r"[A-Z]?[a-z]{2,}|[A-Z]{3,}")
_ENDING = re.compile(r"\.\w{1,10}$")


class Canary(NamedTuple):
    """A criterion with a known verdict."""

    fact: str
    allowed: tuple[Verdict, ...]
    """The acceptable verdicts; the expected one first."""
    planted: str = ""
    """A sentence to add before the answer; evidence must come from it."""

    def shown(self, answer: str) -> str:
        return f"{self.planted}\n\n{answer}" if self.planted else answer


def canaries(
    answer: str, nonce: str, question: str, facts: Sequence[str], others: Sequence[str]
) -> Iterator[Canary]:
    """The `COUNT` canaries for an answer, with wording from the nonce; `others` are facts of other tasks."""
    digits = [int(digit, 16) for digit in nonce]
    start = _word(digits[2:4])
    name = f"{start}_{_word(digits[4:6])}"
    fact, sentence = _INVENTED[digits[0] % 4]
    planted = sentence.format(name)
    yield Canary(fact.format(name), (Verdict.MET,), planted)

    # if the criterion has more than the replaced part, an answer with the rest is Partial
    wrong = (Verdict.MISSED, Verdict.PARTIAL)
    text = normalise(answer).text
    near_miss = _near_miss(text, digits, question, facts, others)
    if near_miss:
        yield Canary(near_miss, wrong)
    else:
        other_name = f"{start}_{_word([digits[4], digits[5] ^ 1])}"
        yield Canary(fact.format(other_name), wrong, planted)

    invented, _ = _INVENTED[digits[1] % 4]
    foreign = _foreign(text, digits, facts, others) or invented.format(_word(digits[6:10]))
    yield Canary(foreign, (Verdict.MISSED,))


def _word(digits: Sequence[int]) -> str:
    return "".join(_SYLLABLES[3 * digit : 3 * digit + 3] for digit in digits)


def _near_miss(
    text: str, digits: Sequence[int], question: str, facts: Sequence[str], others: Sequence[str]
) -> str | None:
    """The first suitable criterion with a replaced part; the first, so that added criteria do not change the canary."""
    prompt = normalise(question).text
    known = "\0".join((text, prompt, *facts)).casefold()
    for fact in facts:
        if _CHOICE.search(fact):
            continue
        for piece in cut(fact):
            if not _stands(piece.text, text) or _stands(piece.text, prompt):
                continue
            for instead in _instead(piece, digits, others):
                if instead.casefold() not in known:
                    return instead.join(re.split(_whole(piece.text), fact))
    return None


def _instead(piece: Piece, digits: Sequence[int], others: Sequence[str]) -> Iterator[str]:
    """Replacements for a name or number: names of the same kind from other tasks, then invented ones."""
    if piece.kind == "number":
        number = re.match(r"\d+(?![\dx])", piece.text)
        if number:
            first = int(number[0]) + digits[10] + 1
            for other in range(first, first + 49):
                yield f"{other}{piece.text[number.end() :]}"
    elif piece.kind in _NAMES and not re.search(r"\s", piece.text):
        if piece.kind != "code":
            pieces = {peer for other in others for peer in cut(other)}
            yield from _turned(
                sorted(peer.text for peer in pieces if peer.kind == piece.kind), digits
            )
        yield from _renamed(piece, _word(digits[10:12]))


def _renamed(piece: Piece, word: str) -> Iterator[str]:
    """The name with an invented word in place of its longest one, if it has words."""
    ending = _ENDING.search(piece.text) if piece.kind == "file" else None
    end = ending.start() if ending else len(piece.text)
    words = _LETTERS.finditer(piece.text, 0, end)
    longest = max(words, key=lambda part: len(part[0]), default=None)
    if longest is None:
        return
    if longest[0].isupper():
        word = word.upper()
    elif longest[0][0].isupper():
        word = word.capitalize()
    yield f"{piece.text[: longest.start()]}{word}{piece.text[longest.end() :]}"


def _foreign(
    text: str, digits: Sequence[int], facts: Sequence[str], others: Sequence[str]
) -> str | None:
    context = " ".join((text, *facts))
    for fact in _turned(others, digits):
        parts = [part for piece in cut(fact) for part in piece.parts]
        if parts and not any(_stands(part, context) for part in parts):
            return fact
    return None


def _turned(items: Sequence[str], digits: Sequence[int]) -> list[str]:
    """All items, rotated by the nonce."""
    start = sum(digit << 4 * place for place, digit in enumerate(digits[12:])) % max(len(items), 1)
    return [*items[start:], *items[:start]]


def _whole(piece: str) -> str:
    return f"{before(piece[0])}{re.escape(piece)}{after(piece[-1])}"


def _stands(piece: str, text: str) -> bool:
    return bool(re.search(_whole(piece), text, re.IGNORECASE))
