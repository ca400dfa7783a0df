"""Types of comparison.json, which comparison.md is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypedDict

from lensbench.results.compare.differences import Change, ComparedTask
from lensbench.results.compare.runs import LeftOut
from lensbench.results.compare.settings import Notice, Setting
from lensbench.scores.intervals import Estimate


class ComparedRun(NamedTuple):
    """A compared run."""

    name: str
    run_id: str
    agent: str
    models: str
    judges: Sequence[str]
    first_start: str | None
    tasks: int
    trials: int
    scored: int
    planned: int


class ComparedTreatment(NamedTuple):
    """A treatment of the reference."""

    name: str
    conditions: Mapping[str, str]
    """Run -> what the treatment is called there."""
    deltas: Mapping[str, Estimate]
    """By run."""
    tasks: Sequence[ComparedTask]


class ComparisonFile(TypedDict):
    """comparison.json."""

    lensbench: str
    reference: str
    alpha: float
    power: float
    runs: Sequence[ComparedRun]
    tasks: Sequence[str]
    left_out: Sequence[LeftOut]
    unmatched: Sequence[str]
    notices: Sequence[Notice]
    changed: Sequence[Setting]
    same: Sequence[str]
    treatments: Sequence[ComparedTreatment]
    changes: Sequence[Change]
