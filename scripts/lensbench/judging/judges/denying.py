"""What an answer says of a fact without stating it: it denies it, takes it back, asks it, or only supposes it. Each is
decided by a sentence with most parts of the fact, a denial by a negation in the clause of one of them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from lensbench.judging.judges import Span, union
from lensbench.judging.judges.normalising import Normalised

MOST = 0.8
"""The share of a fact's parts that a sentence about it has."""

_END = re.compile(
    r"[.!?](?=[\"')\]*_]{0,9}(?:\s|$))|;(?=\s)|\n[ >]{0,20}(?=\n|[-*+\u2022|] |#{1,6} |\d{1,3}[.)] )"
)
_CLAUSE = re.compile(
    r",(?!\s{0,9}(?:is|are|was|were|do|does|did|can|cannot|will|would|should|has|have|had|never)(?:n't)?\b)"
    r"|\n {4}|\b(?:but|rather than|instead of|and not|or not|whereas)\b"
)
_NEGATION = re.compile(
    r"(?i)(?:\b(?:(?<![=(\[{:\s] )(?<![(\[{\n])(?<!if )(?<!while )(?<!return )(?<!assert )"
    r"not(?! only| just| forget| None| in\b)"
    r"|(?:is|are|was|were|be) not in|never|cannot|no longer|fails? to|nothing to do with|(?:un|ir)related to|nowhere"
    r"|hardly|avoids?|lacks?|denie[sd])|n't(?! forget))\b"
)
"""Negations of what their clause has before or after them; the operators of code are none."""
_AHEAD = re.compile(
    r"(?i)\b(?:(?<!if )(?<!when )no|nor|neither|without|rather than|instead of|nothing|nobody|none of|far from)\b"
)
_NEAR = 15
"""Negations of what follows them in their clause, within so many characters."""
_WHOLE = re.compile(
    r"(?i)\b(?:(?:untrue|false|wrong|incorrect|a lie|a myth|a misconception) that|not (?:true|the case|correct)"
    r"|contrary to|which is (?:false|wrong|untrue|incorrect)|the opposite)\b"
)
"""Negations of their whole sentence."""
_SUPPOSED = re.compile(
    r"(?i)\b(?:might|perhaps|maybe|possibly|supposedly|allegedly|(?:may|could|would) (?:have )?be(?:en)?|assuming that"
    r"|suppose|(?:if(?![^,;]{1,99},(?![^;]{0,99}\bwould))|would)\b[^,.;]{1,80}\b(?:were|would|had)"
    r"|either|one of (?:these|the following)|not sure|unclear)\b"
)
_ASKED = re.compile(r"\?\W{0,9}$")
_OTHER = r"([\w./-]{0,80}[./_]\w[\w./-]{0,80})"
_OR_AFTER, _OR_BEFORE = (
    re.compile(rf"\W{{0,4}}or (?:in )?{_OTHER}"),
    re.compile(rf"{_OTHER}\W{{0,4}} or (?:in )?$"),
)
_RETRACTION = re.compile(
    r"(?i)[\W\d]{0,9}(?:(?:no|wait|sorry|edit|update|correction|actually|on second thought|but|and|however)\b\W{1,3})*"
    r"(?:(?:it|this|that|these|(?P<all>(?:all of |everything )?(?:this|that|the )?above|what i (?:said|wrote)"
    r"|my (?:answer|claim)|i))\b[^,.:;!?]{0,30}?\b(?:(?:is|are|was|were|am) (?:\w{1,12} )?(?:false|wrong|incorrect"
    r"|untrue|mistaken|not (?:true|correct|right|the case))|(?:is|are|was)n't (?:true|correct|right|the case))"
    r"|(?:scratch|ignore|forget|disregard) (?:that|this|it|(?P<rest>[^,.;!?]{0,30}above)))\b\W{0,3}(?:$|[,.:;!?-])"
)
"""The start of a sentence that takes back the one before it, or all before it."""


class FactReading(NamedTuple):
    """What an answer does with a fact, in spans of the normalised text."""

    denied: Span | None
    """The first sentence that denies it."""
    unstated: list[Span]
    """Sentences that state nothing, in order: retracted ones, and those that ask or suppose the fact."""


class _Sentences(NamedTuple):
    starts: list[int]
    """Where each sentence starts, from 0; the last entry is the end of the text."""
    retracted: list[Span]


@lru_cache(maxsize=2)
def _sentences(answer: Normalised) -> _Sentences:
    text = answer.text
    starts = [0, *(match.end() for match in _END.finditer(text)), len(text)]
    retractions: list[Span] = []
    for number, start in enumerate(starts[1:-1], 1):
        if match := _RETRACTION.match(text, start, starts[number + 1]):
            first = 0 if match["all"] or match["rest"] else starts[number - 1]
            retractions = [span for span in retractions if span[1] <= first]
            retractions.append((first, start))
    return _Sentences(starts, retractions)


def is_negation(fact: str) -> bool:
    return bool(_NEGATION.search(fact) or _AHEAD.search(fact))


def about(
    answer: Normalised, places: Sequence[Sequence[Span]], share: float
) -> dict[Span, list[Span]]:
    """The sentences with a share of the fact whose parts are stated at `places`, a list for each part; and where."""
    starts = _sentences(answer).starts
    by_number: dict[int, list[Span]] = defaultdict(list)
    parts = Counter[int]()
    for spans in places:
        for span in spans:
            by_number[_number(starts, span[0])].append(span)
        parts.update({_number(starts, start) for start, _ in spans})
    numbers = sorted(number for number, count in parts.items() if count >= share * len(places))
    return {(starts[number], starts[number + 1]): by_number[number] for number in numbers}


def read(answer: Normalised, places: Sequence[Sequence[Span]]) -> FactReading:
    """What the answer does with the fact whose parts are stated at `places`, a list for each part."""
    facts = about(answer, places, MOST)
    denial = next(
        (sentence for sentence, spans in facts.items() if _denies(answer.text, sentence, spans)),
        None,
    )
    suppositions = (
        sentence for sentence, spans in facts.items() if _supposes(answer.text, sentence, spans)
    )
    return FactReading(denial, union([*_sentences(answer).retracted, *suppositions]))


def is_denied(answer: Normalised, span: Span) -> bool:
    """True when the sentence of `span` denies what is stated there."""
    starts = _sentences(answer).starts
    sentence = starts[_number(starts, span[0])], starts[_number(starts, span[1] - 1) + 1]
    return _denies(answer.text, sentence, [span])


def _number(starts: Sequence[int], position: int) -> int:
    return bisect_right(starts, position, hi=len(starts) - 1) - 1


def _denies(text: str, sentence: Span, places: Sequence[Span]) -> bool:
    """True when a negation negates one of the `places` in a sentence, or all of it."""
    start, end = sentence

    def negations(pattern: re.Pattern[str]) -> Iterator[int]:
        for match in pattern.finditer(text, start, end):
            if not any(first <= match.start() < last for first, last in places):
                yield match.start()

    if next(negations(_WHOLE), None) is not None:
        return True
    edges = [start, *(match.start() for match in _CLAUSE.finditer(text, start, end)), end]

    def clause(position: int) -> int:
        return bisect_right(edges, position)

    firsts = sorted(first for first, _ in places)
    clauses = set(map(clause, firsts))

    def is_next(at: int) -> bool:
        number = bisect_right(firsts, at)
        return (
            number < len(firsts)
            and firsts[number] < at + _NEAR
            and clause(firsts[number]) == clause(at)
        )

    return any(clause(at) in clauses for at in negations(_NEGATION)) or any(
        map(is_next, negations(_AHEAD))
    )


def _supposes(text: str, sentence: Span, places: Sequence[Span]) -> bool:
    """True when a sentence asks, supposes, or offers an alternative to one of the `places` in it."""
    last, end = max(end for _, end in places), sentence[1]
    question = _ASKED.search(text, max(last, end - 10), end) and not _CLAUSE.search(text, last, end)
    if question or _SUPPOSED.search(text, *sentence):
        return True

    def other(match: re.Match[str] | None) -> bool:
        return match is not None and not any(
            start < match.end(1) and match.start(1) < end for start, end in places
        )

    return any(
        other(_OR_AFTER.match(text, end, sentence[1]))
        or other(_OR_BEFORE.search(text, max(0, start - 120), start))
        for start, end in places
    )
