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
from lensbench.scores.wording import WordsChoice


class Complete(TypedDict):
    """The difference in complete tasks."""

    overall: Estimate
    """Shares of 1."""
    mcnemar: McNemar
    """The exact test of single trials."""


class ComparedAdoption(TypedDict):
    """In how many runs the tools of both conditions were called; None for a condition without tools of its own."""

    treatment: Adoption | None
    """Runs of the treatment."""
    baseline: Adoption | None
    """Runs of the other condition."""
    difference: AdoptionDifference | None
    """Of two conditions with tools."""
    sentence: str
    """What results say of it; "" for a treatment without tools."""


class Compared(TypedDict):
    """All that is estimated of a comparison, and the gate's decision if it decides this one."""

    treatment: str
    """The condition that is compared."""
    baseline: str
    """The one that it is compared with."""
    overall: Estimate
    """The delta of the score with the interval of a single question; its p value holds for all treatments against the
    baseline, or for all treatments against each other (Holm)."""
    score: Scores
    """With the interval of the gate, if it decides."""
    complete: Complete
    """The difference in complete tasks."""
    measures: Mapping[str, Effort]
    """Quantity -> its difference."""
    reliability: Sequence[Reliability]
    """For each number of trials."""
    variance: Mapping[str, Components]
    """`differences`, `treatment` and `baseline` -> the components of their variance."""
    missing: Mapping[str, Mapping[str, int]]
    """Condition -> status -> runs without a score."""
    adoption: ComparedAdoption
    """In how many runs the tools were called."""
    too_few_calls: str
    """Why nothing is known about the treatment's tools; "" where enough runs called them."""
    corrected: NotRequired[Estimate | None]
    """The difference corrected by people, with the gate's interval; None without enough labels."""
    looks: NotRequired[Sequence[LookResult]]
    """All looks so far; empty without waves."""
    look_number: NotRequired[int]
    """Of this look at the benchmark, from 1."""
    level: NotRequired[float]
    """Of the gate's interval, a share of 1."""
    gate: NotRequired[GateVerdict]
    """The verdict."""


class LookFile(TypedDict):
    """looks/<number>.json: the result of a look, which opens the next wave or does not."""

    look: int
    """Number of the look, from 1."""
    of: int
    """How many looks are planned."""
    open: bool
    """Whether the next wave is to be made."""
    treatments: Mapping[str, LookResult]
    """By the names of the comparisons."""


class EstimatesFile(TypedDict):
    """estimates.json."""

    alpha: float
    """The error of the first interval, two-sided, a share of 1."""
    comparisons: Mapping[str, Compared]
    """Of every two conditions, by name."""
    words: NotRequired[WordsChoice]
    """Which words to take; only with `gate.holdout`."""


def decided_by_gate(comparisons: Mapping[str, Compared]) -> dict[str, Compared]:
    return {name: comparison for name, comparison in comparisons.items() if "gate" in comparison}
