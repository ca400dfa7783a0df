"""What every judge shares: verdicts and their points (protocol, section 4), a judgement and its evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType


class Verdict(StrEnum):
    """How far an answer states a criterion; Unjudged when this judge cannot tell."""

    MET = "Met"
    PARTIAL = "Partial"
    MISSED = "Missed"
    UNJUDGED = "Unjudged"


POINTS: Mapping[Verdict, Fraction] = MappingProxyType(
    {Verdict.MET: Fraction(1), Verdict.PARTIAL: Fraction(1, 2), Verdict.MISSED: Fraction(0)}
)
"""The points of each verdict; Unjudged has none, which is not the same as 0."""


@dataclass(frozen=True)
class Judgement:
    """One judge's verdict on one criterion in one answer.

    `evidence` is a verbatim piece of the answer that begins at character `position`: at most 200 characters, and
    "" with None when there is nothing to show. `reason` says in short what was found, is missing or is forbidden.
    """

    verdict: Verdict
    evidence: str
    position: int | None
    reason: str
    failure: str = ""
    """Why there is no verdict, a key of `FAILURES`; empty when there is one."""


def unjudged(failure: str, reason: str) -> Judgement:
    """No verdict, which is not Missed."""
    return Judgement(Verdict.UNJUDGED, "", None, reason, failure)


FAILURES: Mapping[str, str] = MappingProxyType({
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
    "api_error": "the model's service failed",
    "no_test_run": "the tests could not be started",
    "not_reached": "the budget, or this start, ended before the judge was asked",
})  # fmt: skip
"""Why a judge gave no verdict."""

NOT_ASKED = frozenset({"no_patterns", "not_sampled", "pair_incomplete"})
"""Not failures: these judges were not asked, so no vote is missing."""

DRAFTED = "+draft"
"""Ends the version of a verdict that rests on patterns which nobody has accepted yet."""
