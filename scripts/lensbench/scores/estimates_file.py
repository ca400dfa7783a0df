"""Types of estimates.json as readers find it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from lensbench.plan.names import Verdict
from lensbench.scores.complete_tasks import McNemar


class EstimateData(TypedDict):
    """An Estimate (scores/intervals.py): the fields that are read again."""

    delta: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    n: int
    pairs: int
    planned: int
    clusters: int
    method: str
    se: float | None
    df: float | None
    wins: int
    ties: int
    losses: int
    mde: float | None
    scope: str
    people: NotRequired[int]


class ScoresData(TypedDict):
    """The delta of the score over all tasks, and over those of each category and repository."""

    overall: EstimateData
    categories: Mapping[str, EstimateData]
    repositories: Mapping[str, EstimateData]


class CompleteData(TypedDict):
    """The difference in complete tasks."""

    overall: EstimateData
    mcnemar: McNemar


class EffortData(TypedDict):
    """The difference of a quantity other than the score."""

    kind: str
    overall: EstimateData
    zero: NotRequired[int]


class ComponentsData(TypedDict):
    """A Components (scores/variance.py): the standard deviations between tasks and between trials of a task."""

    tau: float | None
    sigma: float | None


class LookData(TypedDict):
    """A LookResult (scores/sequential.py)."""

    look: int
    looks: int
    z: float | None
    boundary: float
    low: float | None
    high: float | None
    conditional_power: float | None
    open: bool
    why: str


class LookFile(TypedDict):
    """looks/<number>.json: the result of a look, which opens the next wave or does not."""

    look: int
    of: int
    open: bool
    treatments: Mapping[str, LookData]
    """By the names of the comparisons."""


class GateData(TypedDict):
    """A GateVerdict (scores/gate.py)."""

    verdict: Verdict
    sentence: str
    needs: str
    low: float | None
    high: float | None


class BoundsData(TypedDict):
    """The delta with every missing score at its worst and at its best."""

    low: float | None
    high: float | None


class ComparisonData(TypedDict):
    """A comparison that the gate decides."""

    score: ScoresData
    complete: CompleteData
    measures: Mapping[str, EffortData]
    variance: Mapping[str, ComponentsData]
    gate: GateData
    bounds: BoundsData
    corrected: EstimateData | None
    looks: Sequence[LookData]
    level: float
    too_few_calls: str


class DecidedContrast(ComparisonData):
    """Two treatments that the gate compares, too."""

    treatment: str
    baseline: str
    overall: EstimateData


class UndecidedContrast(TypedDict):
    """Two treatments that only the estimate compares."""

    treatment: str
    baseline: str
    overall: EstimateData
    gate: None


ContrastData = DecidedContrast | UndecidedContrast


class SelftestData(TypedDict):
    """The outcome of the self-test for the code that estimated."""

    state: str
    failed: Sequence[str]
    sentence: str


class EstimatesData(TypedDict):
    """estimates.json."""

    alpha: float
    selftest: SelftestData
    comparisons: Mapping[str, ComparisonData]
    contrasts: Sequence[ContrastData]
