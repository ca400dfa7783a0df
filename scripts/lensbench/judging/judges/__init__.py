"""Common types of all judges: verdicts and their points (protocol, section 4), judgements with evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class Verdict(StrEnum):
    """How far an answer states a criterion; Unjudged when this judge cannot tell."""

    MET = "Met"
    PARTIAL = "Partial"
    MISSED = "Missed"
    UNJUDGED = "Unjudged"


POINTS: Mapping[Verdict, Fraction] = {
    Verdict.MET: Fraction(1),
    Verdict.PARTIAL: Fraction(1, 2),
    Verdict.MISSED: Fraction(0),
}
"""The points of each verdict; Unjudged has no points, which differs from 0."""


MAX_EVIDENCE = 200

Span = tuple[int, int]
"""From the first character of a text to the one after the last."""


def union(spans: Iterable[Span]) -> list[Span]:
    """The spans in order, those that touch as one."""
    apart: list[Span] = []
    for start, end in sorted(spans):
        if apart and start <= apart[-1][1]:
            first, last = apart.pop()
            apart.append((first, max(end, last)))
        else:
            apart.append((start, end))
    return apart


@dataclass(frozen=True)
class Judgement:
    """One judge's verdict on one criterion in one answer.

    `evidence` is a verbatim piece of the answer at character `position`, at most `MAX_EVIDENCE` characters; "" and None
    without evidence. `reason` briefly states what was found, is missing or is forbidden.
    """

    verdict: Verdict
    evidence: str = ""
    position: int | None = None
    reason: str = ""
    share: Fraction | None = None
    """The points between 0 and 1, where a judge measures them; None for those of the verdict."""
    failure: str = ""
    """Why there is no verdict, a key of `FAILURES`; empty when there is one."""
    version: str = ""
    """Of the judge: its program, prompt or sheet."""
    models: str = ""
    cost_usd: float | None = None
    cost_is_guess: bool = False
    replies: tuple[str, ...] = ()
    """The beginning of a model's reply to each request."""

    @property
    def points(self) -> Fraction | None:
        """The points; None for no verdict."""
        return POINTS.get(self.verdict) if self.share is None else self.share


def unjudged(failure: str, reason: str) -> Judgement:
    """A judgement without a verdict, which differs from Missed."""
    return Judgement(Verdict.UNJUDGED, reason=reason, failure=failure)


FAILURES: Mapping[str, str] = {
    "no_patterns": "the criterion has no patterns, so this judge was not asked",
    "not_sampled": "the pair is not on the judge sheet, or was left open there",
    "pair_incomplete": "the other run of the pair does not count yet, so this judge was not asked",
    "refused": "the model declined to judge",
    "unparsable": "the reply is not the JSON object that was asked for",
    "outside_menu": "the verdict is none of Met, Partial and Missed",
    "evidence_not_found": "the evidence is too short, or not in the answer (for Missed: or in the criterion)",
    "canary": "the judge was wrong about a criterion whose verdict is known, so all it said of this answer is void",
    "used_tools": "the judge called tools, although it had none to use",
    "timeout": "the judge did not answer in time",
    "crashed": "the judge's agent failed",
    "api_error": "the model's service failed",
    "no_test_run": "the tests could not be started",
    "not_reached": "the budget, or this start, ended before the judge was asked",
}

NOT_ASKED = frozenset({"no_patterns", "not_sampled", "pair_incomplete"})
"""Not failures: these judges were not asked, so no vote is missing."""

DRAFTED = "-draft"
"""The suffix of the version for verdicts by draft patterns that nobody has accepted yet, after their kind."""
