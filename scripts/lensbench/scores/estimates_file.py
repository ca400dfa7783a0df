"""Types of estimates.json, and of the files of looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from typing_extensions import TypedDict

from lensbench.core.conditions import Contrast
from lensbench.core.proof import SelftestStatus
from lensbench.scores.complete_tasks import CompleteShare, McNemar, Reliability
from lensbench.scores.differences import Effort, Scores
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import Estimate
from lensbench.scores.sequential import LookResult
from lensbench.scores.variance import Components


class Complete(TypedDict):
    """The difference in complete tasks."""

    overall: Estimate
    mcnemar: McNemar


class Estimated(TypedDict):
    """All that is estimated of a comparison."""

    score: Scores
    complete: Complete
    measures: Mapping[str, Effort]
    reliability: Sequence[Reliability]
    variance: Mapping[str, Components]
    missing: Mapping[str, Mapping[str, int]]
    by_criteria: Mapping[str, CompleteShare]


class Decided(Estimated):
    """The same with what this look allows, and the verdict."""

    corrected: Estimate | None
    looks: Sequence[LookResult]
    look_number: int
    level: float
    gate: GateVerdict
    too_few_calls: str
    """Why nothing is known about the treatment's tools; "" where enough runs called them."""


class DecidedContrast(Decided):
    """Two treatments that the gate compares, too."""

    treatment: str
    baseline: str
    overall: Estimate


class UndecidedContrast(TypedDict):
    """Two treatments that only the estimate compares."""

    treatment: str
    baseline: str
    overall: Estimate
    gate: None


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
    selftest: SelftestStatus
    comparisons: Mapping[str, Decided]
    contrasts: Sequence[DecidedContrast | UndecidedContrast]


def decided_by_gate(
    comparisons: Mapping[str, Decided], contrasts: Sequence[DecidedContrast | UndecidedContrast]
) -> dict[str, Decided]:
    """The comparisons with a verdict, by name: the treatments, then the contrasts that the gate decides."""
    decided = {
        str(Contrast(each["treatment"], each["baseline"])): each for each in contrasts if each["gate"] is not None
    }
    return {**comparisons, **decided}
