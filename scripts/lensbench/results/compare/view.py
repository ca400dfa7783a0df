"""A comparison of runs in words and formatted numbers, for the template of comparison.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import inf
from statistics import fmean
from typing import NamedTuple, TypedDict

from lensbench.core import numbers
from lensbench.results.compare.differences import DELTA, SCORE, Change, ComparedTask
from lensbench.results.compare.runs import LeftOut
from lensbench.results.compare.settings import Notice, Setting
from lensbench.scores.intervals import Estimate
from lensbench.scores.quantities import QUANTITIES


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


class TreatmentView(NamedTuple):
    """A treatment of the reference that another run has, too."""

    name: str
    conditions: Mapping[str, str]
    """What it is called in each run, where that is not its name."""
    own: Mapping[str, Estimate]
    """The delta in each run."""
    against: Sequence[Change]
    """The delta in the other runs, against the reference."""
    moved: Mapping[str, Sequence[Change]]
    """By run: what moved in the treatment and in the baseline; without what no task has in both runs."""
    tasks: Sequence[ComparedTask]
    """The greatest gain first; those without a gain follow."""


def treatment_views(data: ComparisonFile) -> list[TreatmentView]:
    views = [_view(data, treatment) for treatment in data["treatments"]]
    return [view for view in views if view.against]


def _view(data: ComparisonFile, treatment: ComparedTreatment) -> TreatmentView:
    rows = [row for row in data["changes"] if row.treatment in (treatment.name, None)]
    against = [row for row in rows if row.quantity == DELTA]
    others = [row for row in rows if row.quantity != DELTA and row.found.delta is not None]
    return TreatmentView(
        treatment.name,
        {run: condition for run, condition in treatment.conditions.items() if condition != treatment.name},
        treatment.deltas,
        against,
        {change.run: [row for row in others if row.run == change.run] for change in against},
        sorted(treatment.tasks, key=lambda row: -fmean(row.changes.values()) if row.changes else inf),
    )


def points(share: float | None) -> str:
    """A difference of scores in points, with its sign."""
    return numbers.points(share, "")


def cells(row: Change) -> tuple[str, ...]:
    """The quantity in the reference and in the run, its change, and the interval."""
    quantity = QUANTITIES[row.quantity]
    show = points if row.quantity == SCORE else numbers.change
    sides = (None if mean is None else Fraction(str(mean)) for mean in (row.before, row.after))
    low, high = row.found.low, row.found.high
    ends = numbers.MISSING if low is None or high is None else f"{show(low)} to {show(high)}"
    return (*map(quantity.amount, sides), show(row.found.delta), ends)


def label(row: Change) -> str:
    return f"{row.treatment or 'baseline'}: {QUANTITIES[row.quantity].label}"


def sentence(data: ComparisonFile, row: Change) -> str:
    """What the difference between two deltas says, and what it does not."""
    estimate, run, reference, treatment = row.found, row.run, data["reference"], row.treatment
    if estimate.delta is None:
        return f"No task has a complete pair of {treatment} in both {reference} and {run}."
    if estimate.delta == 0:
        start = f"The delta of {treatment} is the same in {run} as in {reference}"
    else:
        direction = "higher" if estimate.delta > 0 else "lower"
        start = f"The delta of {treatment} is {_size(estimate.delta)} points {direction} in {run} than in {reference}"
    if estimate.low is None or estimate.high is None:
        return f"{start}; {estimate.method}."
    level = f"{round((1 - data['alpha']) * 100, 4):g}% interval {numbers.interval(estimate.low, estimate.high, '')}"
    is_clear = estimate.low > 0 or estimate.high < 0
    chance = "more than chance explains" if is_clear else "chance alone can explain this"
    power = ""
    if estimate.mde is not None:
        power = f" If tasks spread as these do, {data['power'] * 100:g}% of such comparisons find a true difference"
        power += f" of {_size(estimate.mde)} points."
    scope = f" This holds for {estimate.scope}." if estimate.scope else ""
    return f"{start} ({level}, over {estimate.n} tasks): {chance}.{power}{scope}"


def _size(share: float) -> str:
    return points(abs(share)).removeprefix("+")
