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
