"""Hides parts of an answer that assert nothing from the patterns (protocol, section 4: stated, not named): copies of
the criterion's text, and dumps of names. Both become filler of the same length, so that positions are kept."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from lensbench.judging.judges import Span
from lensbench.judging.judges.denying import is_unstated
from lensbench.judging.judges.normalising import normalise

_FILLER = "\ufffd"


def filled(text: str, spans: Iterable[Span]) -> str:
    """`text` with filler in `spans`, in order and apart, including line ends so that no pattern matches across."""
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        pieces += (text[at:start], "\n", _FILLER * (end - start - 2), "\n")
        at = end
    return "".join([*pieces, text[at:]])


_HEAD = re.compile(
    r"(?i:describes|explains|gives|identifies|lists|mentions|names|notes|points out|says|shows|states|tells)"
    r"(?:[\s>|]+that\b)?(?=\s)"
)
_SUBJECT = re.compile(r"\w[ \t]+$")
_FEWEST_WORDS = 6
"""Ordinary answers contain shorter wordings by chance."""
_FEWEST_OF_A_CLAUSE = 3
"""A clause (`States that ...`) is less often one by chance."""


class _Wording(NamedTuple):
    """A criterion's text: the fact, and whether it starts with an instruction to the judge (`States that`)."""

    fact: re.Pattern[str]
    ordered: bool
    short: bool
    """True when it is so short that an ordinary answer may contain it by chance."""


def without_copies(text: str, criterion: str) -> str:
    """The normalised `text` without copies of the criterion's text that assert nothing: the whole text with its
    instruction to the judge (`States that ...`), and its fact inside a question or a denial. The bare fact is an
    assertion, and is kept."""
    wording = _wording(criterion)
    copies = (_copy(text, match.span(), wording) for match in wording.fact.finditer(text))
    return filled(text, filter(None, copies))


@cache
def _wording(criterion: str) -> _Wording:
    text = normalise(criterion).text.strip().rstrip(".")
    fewest = _FEWEST_WORDS
    head = _HEAD.match(text)
    if head:
        text = text[head.end() :]
        if head[0].endswith("that"):
            fewest = _FEWEST_OF_A_CLAUSE
    first, *others = text.split() or [_FILLER]
    # it may start a sentence or not
    spelling = f"(?i:{re.escape(first[0])}){re.escape(first[1:])}"
    fact = re.compile(r"[\s>|]+".join([spelling, *map(re.escape, others)]))
    return _Wording(fact, bool(head), 1 + len(others) < fewest)


def _copy(text: str, span: Span, wording: _Wording) -> Span | None:
    """The copy around the fact at `span`; None when the fact is asserted there."""
    start, end = span
    head = _head_before(text, start) if wording.ordered else None
    if head is not None:
        has_subject = _SUBJECT.search(text[max(0, head - 40) : head])
        if not wording.short or not has_subject:
            return head, end
    return span if not wording.short and is_unstated(text, span) else None


def _head_before(text: str, end: int) -> int | None:
    """The start of the instruction that ends at `end`."""
    start = None
    for match in _HEAD.finditer(text, max(0, end - 40), end):
        if not text[match.end() : end].strip(" \n>|"):
            start = match.start()
    return start


_SEPARATORS = r"[\s,;|*\u2022\"'\[\]{}<>\u2500-\u257f-]"
_WORD = r"\w++(?:[$@~/.:-]++\w++)*+"
_MARK = r"(?=[=+!?#%&\\(]|[.:]\s)"
# possessive quantifiers and distinct first characters keep the time linear in the length of the text
_NAMES = re.compile(
    rf"(?<![\w$@~/.:-])(?:(?:\d++[.)]\s)?[$@~/.-]{{0,3}}+{_WORD}(?:\(\))?(?:{_SEPARATORS}++|{_MARK}|[.:]?$))++"
)
_NAME = re.compile(_WORD)
_OF_CODE = re.compile(r"[a-z][A-Z]|\w[_/.:]\w|_|\d")
_FEWEST_NAMES = 100
_SHARE_OF_CODE = 0.25
_SHARE_OF_DIFFERENT = 0.9


@lru_cache(maxsize=2)
def without_dumps(text: str) -> str:
    """The normalised `text` without dumps: at least 100 names with no text between them. Prose repeats words and has
    few code names, so in a dump at least 90% of the names differ, and a quarter look like code."""
    return filled(text, [run.span() for run in _NAMES.finditer(text) if _is_dump(run[0])])


def _is_dump(run: str) -> bool:
    if len(run) < 2 * _FEWEST_NAMES:
        return False
    names = [name for name in _NAME.findall(run) if not name.isdecimal()]
    of_code = [name for name in names if _OF_CODE.search(name)]
    return (
        len(names) >= _FEWEST_NAMES
        and len(set(names)) >= _SHARE_OF_DIFFERENT * len(names)
        and len(of_code) >= _SHARE_OF_CODE * len(names)
    )
