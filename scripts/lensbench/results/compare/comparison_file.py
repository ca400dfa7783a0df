"""Types of comparison.json, whose data all pages of a comparison are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, TypedDict, TypeVar

from lensbench.scores.estimates_file import EstimateData

N = TypeVar("N")
"""A number: exact in memory, a float in the file."""


class RunData(TypedDict):
    """A compared run."""

    name: str
    run_id: str
    agent: str
    models: str
    judges: list[str]
    first_start: str | None
    tasks: int
    trials: int
    scored: int
    planned: int


class TaskScores(TypedDict, Generic[N]):
    """A task in one run: means over its trials."""

    baseline: N | None
    treatment: N | None
    delta: N | None


class TaskData(TypedDict, Generic[N]):
    """A task in all runs."""

    task: str
    category: str
    runs: dict[str, TaskScores[N]]
    changes: dict[str, N]
    """Run -> its delta less the reference's, where both are known."""


class TreatmentData(TypedDict):
    """A treatment of the reference."""

    name: str
    conditions: Mapping[str, str]
    """Run -> what the treatment is called there."""
    deltas: Mapping[str, EstimateData]
    """By run."""
    tasks: Sequence[TaskData[float]]


class ChangeData(TypedDict):
    """A Change (differences.py)."""

    run: str
    treatment: str | None
    quantity: str
    before: float | None
    after: float | None
    found: EstimateData


class LeftOutData(TypedDict):
    """A LeftOut (runs.py)."""

    task: str
    reason: str


class NoticeData(TypedDict):
    """A Notice (settings.py)."""

    lead: str
    text: str


class SettingData(TypedDict):
    """A Setting (settings.py)."""

    name: str
    values: Mapping[str, str]


class ComparisonFile(TypedDict):
    """comparison.json."""

    lensbench: str
    reference: str
    alpha: float
    power: float
    effect: float
    runs: Sequence[RunData]
    tasks: Sequence[str]
    left_out: Sequence[LeftOutData]
    unmatched: Sequence[str]
    notices: Sequence[NoticeData]
    changed: Sequence[SettingData]
    same: Sequence[str]
    treatments: Sequence[TreatmentData]
    changes: Sequence[ChangeData]
