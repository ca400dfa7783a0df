"""Types of estimates.json, and of the files of looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired

from typing_extensions import TypedDict

from lensbench.scores.adoption import Adoption, AdoptionDifference
from lensbench.scores.complete_tasks import McNemar, Reliability
from lensbench.scores.differences import Effort, Scores
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import Estimate
from lensbench.scores.sequential import LookResult
from lensbench.scores.variance import Components


class Complete(TypedDict):
    """The difference in complete tasks."""

    overall: Estimate
    mcnemar: McNemar


class ComparedAdoption(TypedDict):
    """In how many runs the tools of both conditions were called; None for a condition without tools of its own."""

    treatment: Adoption | None
    baseline: Adoption | None
    difference: AdoptionDifference | None
    """Of two conditions with tools."""
    sentence: str
    """What results say of it; "" for a treatment without tools."""


class Compared(TypedDict):
    """All that is estimated of a comparison, and the gate's decision if it decides this one."""

    treatment: str
    baseline: str
    overall: Estimate
    """The delta of the score with the interval of a single question; its p value holds for all treatments against the
    baseline, or for all treatments against each other (Holm)."""
    score: Scores
    """With the interval of the gate, if it decides."""
    complete: Complete
    measures: Mapping[str, Effort]
    reliability: Sequence[Reliability]
    variance: Mapping[str, Components]
    missing: Mapping[str, Mapping[str, int]]
    adoption: ComparedAdoption
    too_few_calls: str
    """Why nothing is known about the treatment's tools; "" where enough runs called them."""
    corrected: NotRequired[Estimate | None]
    looks: NotRequired[Sequence[LookResult]]
    look_number: NotRequired[int]
    level: NotRequired[float]
    gate: NotRequired[GateVerdict]


class LookFile(TypedDict):
    """looks/<number>.json: the result of a look, which opens the next wave or does not."""

    look: int
    of: int
    open: bool
    treatments: Mapping[str, LookResult]
    """By the names of the comparisons."""


class EstimatesFile(TypedDict):
    """estimates.json."""

    alpha: float
    comparisons: Mapping[str, Compared]
    """Of every two conditions, by name."""


def decided_by_gate(comparisons: Mapping[str, Compared]) -> dict[str, Compared]:
    return {name: comparison for name, comparison in comparisons.items() if "gate" in comparison}
