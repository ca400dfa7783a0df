"""The mechanical judge: a criterion is stated when its author's patterns match (protocol, section 4).

It infers nothing, neither other spellings nor negation; authors must write these down (`any_of`, `must_not`, ...).
Copies of the criterion's text and dumps of names are not searched, because they state nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from itertools import islice

import re2

from lensbench.core.listing import some_of
from lensbench.core.tasks import AtLeast, Criterion, Pattern, Regex
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.judges.asserting import without_copies, without_dumps
from lensbench.judging.judges.literals import literal
from lensbench.judging.judges.normalising import Normalised

NAME = "mechanical"
VERSION = "2"

MAX_EVIDENCE = 200
_CONTEXT = 80
_SHOWN = 60

Span = tuple[int, int]


def judge(criterion: Criterion, answer: Normalised) -> Judgement:
    """The verdict of `criterion`'s patterns on `answer`; Unjudged when the author wrote none.

    A match of `must_not` anywhere in the answer is Missed. For Met and Partial, which search only what the answer
    asserts (`asserting`), see `Criterion`. The evidence is the place of the first deciding pattern.
    """
    if not criterion.mechanical:
        return unjudged("no_patterns", "the criterion has no patterns")
    for pattern in criterion.must_not:
        if span := find(pattern, answer):
            return _shown(Verdict.MISSED, answer, span, f"states {_name(pattern)}, which it must not")
    if (limit := criterion.at_most) and len(wrong := _stated(limit.of, answer)) > limit.n:
        reason = f"states {_names(pattern for pattern, _ in wrong)}: more than {limit.n} of what it must not"
        return _shown(Verdict.MISSED, answer, wrong[limit.n][1], reason)
    answer = replace(answer, text=without_copies(without_dumps(answer.text), criterion.text))
    stated = _stated(criterion.all_of, answer)
    absent = [pattern for pattern in criterion.all_of if pattern not in dict(stated)]
    choice = _stated(criterion.any_of, answer, 1)
    least = criterion.at_least
    counted = _stated(least.of, answer, least.n) if least else []
    too_few = least is not None and len(counted) < least.n
    if not absent and not too_few and (choice or not criterion.any_of):
        found = [*stated, *choice, *counted]
        return _shown(Verdict.MET, answer, found[0][1], f"states {_names(pattern for pattern, _ in found)}")
    reason = "; ".join(
        [*(f"{_name(pattern)} is missing" for pattern in absent[:5])]
        + ([f"{len(absent) - 5} more are missing"] if len(absent) > 5 else [])
        + ([f"none of {_names(criterion.any_of)}"] if criterion.any_of and not choice else [])
        + ([f"{len(counted)} of {least.n} of {_names(least.of)}"] if least and too_few else [])
    )
    for name, part in criterion.partial.items():
        patterns, needed = (part.of, part.n) if isinstance(part, AtLeast) else (part, len(part))
        if len(stated := _stated(patterns, answer, needed)) == needed:
            return _shown(Verdict.PARTIAL, answer, stated[0][1], f"states {name!r}; {reason}")
    return Judgement(Verdict.MISSED, "", None, reason)


def find(pattern: Pattern, answer: Normalised) -> Span | None:
    """Where the normalised text of `answer` first states `pattern`, as (start, end); None when it does not."""
    if not isinstance(pattern, Regex):
        return literal(pattern).find(answer.text)
    spans = (found.span() for found in _regex(pattern.regex).finditer(answer.text))
    # an empty match, of \b for example, states nothing
    return next(((start, end) for start, end in spans if end > start), None)


@cache
def _regex(pattern: str) -> re2._Regexp:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _stated(patterns: Iterable[Pattern], answer: Normalised, most: int | None = None) -> list[tuple[Pattern, Span]]:
    """The patterns that the answer states, with the first place of each; at most `most`."""
    found = ((pattern, span) for pattern in patterns if (span := find(pattern, answer)))
    return list(islice(found, most))


def _shown(verdict: Verdict, answer: Normalised, span: Span, reason: str) -> Judgement:
    """The judgement with the line around `span` as evidence, shortened if necessary."""
    text = answer.original
    start, end = answer.span(*span)
    line_start = text.rfind("\n", 0, start) + 1
    first = max(line_start, start - _CONTEXT)
    line_end = text.find("\n", end)
    last = min(len(text) if line_end < 0 else line_end, first + MAX_EVIDENCE)
    evidence = text[first:last].rstrip()
    lead = len(evidence) - len(evidence.lstrip())
    return Judgement(verdict, evidence[lead:], first + lead, reason)


def _name(pattern: Pattern) -> str:
    shown = f"/{pattern.regex}/" if isinstance(pattern, Regex) else repr(pattern)
    return shown if len(shown) <= _SHOWN else shown[: _SHOWN - 3] + "..."


def _names(patterns: Iterable[Pattern]) -> str:
    return some_of([_name(pattern) for pattern in patterns], 5)
