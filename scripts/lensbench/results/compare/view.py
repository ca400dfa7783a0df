"""A comparison of runs in words: what its tables and sentences say, from the data of comparison.json."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lensbench.core import numbers
from lensbench.results.charts.parts import signed
from lensbench.results.compare.comparison_file import ComparedTreatment, ComparisonFile
from lensbench.results.compare.differences import DELTA, NEEDS, SCORE, Change, ComparedTask
from lensbench.scores.intervals import Estimate
from lensbench.scores.quantities import QUANTITIES

Show = Callable[[float | None], str]


class Line(NamedTuple):
    """A row of a table; all but the label is written as it is shown."""

    label: str
    before: str
    after: str
    change: str
    interval: str
    p: str
    p_holm: str
    mde: str
    tasks: str
    counts: str


class Against(NamedTuple):
    """The delta of a treatment in a run against that in the reference."""

    run: str
    found: Estimate
    sentence: str


class TreatmentView(NamedTuple):
    """Everything about a treatment."""

    name: str
    conditions: Mapping[str, str]
    """What it is called in each run, where that is not its name."""
    against: Sequence[Against]
    deltas: Sequence[Line]
    """The delta in each run, then the differences between them."""
    levels: Mapping[str, Sequence[Line]]
    """By run: what moved in the treatment and in the baseline."""
    tasks: Sequence[ComparedTask]
    """The tasks with a delta in any run, the greatest gain first; those without follow."""


def treatment_views(data: ComparisonFile) -> list[TreatmentView]:
    """All treatments of the reference that another run has too."""
    views = []
    for treatment in data["treatments"]:
        rows = [row for row in data["changes"] if row.treatment == treatment.name]
        compared = [row for row in rows if row.quantity == DELTA]
        if compared:
            views.append(_view(data, treatment, rows, compared))
    return views


def _view(
    data: ComparisonFile, treatment: ComparedTreatment, rows: Sequence[Change], compared: Sequence[Change]
) -> TreatmentView:
    name, reference = treatment.name, data["reference"]
    own = [estimate_line(f"delta in {run}", found, "pairs") for run, found in treatment.deltas.items()]
    between = [estimate_line(f"{row.run} less {reference}", row.found) for row in compared]
    baseline = [row for row in data["changes"] if row.treatment is None]
    levels = {
        row.run: [
            *_level_lines(name, (each for each in rows if each.run == row.run)),
            *_level_lines("baseline", (each for each in baseline if each.run == row.run)),
        ]
        for row in compared
    }
    return TreatmentView(
        name,
        {run: condition for run, condition in treatment.conditions.items() if condition != name},
        [Against(row.run, row.found, sentence(data, name, row)) for row in compared],
        own + between,
        levels,
        sorted(treatment.tasks, key=_greatest_gain_first),
    )


def _greatest_gain_first(row: ComparedTask) -> tuple[bool, float]:
    """By the mean over the runs that are compared with the reference."""
    changes = list(row.changes.values())
    return not changes, -sum(changes) / len(changes) if changes else 0.0


def _level_lines(condition: str, rows: Iterable[Change]) -> list[Line]:
    """Quantities that no task has in both runs are left out."""
    return [level_line(condition, row) for row in rows if row.quantity != DELTA and row.found.delta is not None]


def estimate_line(label: str, found: Estimate, unit: str = "tasks") -> Line:
    """A difference of scores in points; `unit` is what was planned, and may be missing."""
    return Line(label, "", "", points(found.delta), interval(found), *_trust(found, points, unit))


def level_line(condition: str, row: Change) -> Line:
    """A quantity of a condition in the reference and in another run."""
    found, quantity = row.found, row.quantity
    show = percent if quantity in NEEDS else points
    before, after = amount(quantity, row.before), amount(quantity, row.after)
    label = f"{condition}: {QUANTITIES[quantity].label}"
    return Line(label, before, after, show(found.delta), interval(found, show), *_trust(found, show, "tasks"))


def _trust(found: Estimate, show: Show, unit: str) -> tuple[str, str, str, str, str]:
    missing = found.planned - found.pairs
    tasks = f"{found.n}" + (f", {missing} {unit} missing" if missing else "")
    counts = f"{found.wins} / {found.ties} / {found.losses}"
    return _p(found.p), _p(found.p_holm), show(found.mde).removeprefix("+"), tasks, counts


def _p(value: float | None) -> str:
    return numbers.MISSING if value is None else f"{value:.3f}"


def points(share: float | None) -> str:
    """A difference of scores, in points and with its sign."""
    return numbers.MISSING if share is None else signed(share * 100)


def percent(share: float | None) -> str:
    """A relative change."""
    return numbers.MISSING if share is None else f"{signed(share * 100)}%"


def interval(found: Estimate, show: Show = points) -> str:
    """Both ends of an interval."""
    return numbers.MISSING if found.low is None else f"{show(found.low)} to {show(found.high)}"


def amount(quantity: str, value: float | None) -> str:
    """A quantity in its own unit."""
    if value is None:
        return numbers.MISSING
    if quantity == SCORE:
        return f"{value * 100:.1f}%"
    return numbers.seconds(Fraction(str(value))) if quantity == "duration_s" else f"{value:,.0f}"


def sentence(data: ComparisonFile, treatment: str, row: Change) -> str:
    """What the difference between two deltas says, and what it does not."""
    found, run, reference = row.found, row.run, data["reference"]
    if found.delta is None:
        return f"No task has a complete pair of {treatment} in both {reference} and {run}."
    if found.delta == 0:
        start = f"The delta of {treatment} is the same in {run} as in {reference}"
    else:
        direction = "higher" if found.delta > 0 else "lower"
        start = f"The delta of {treatment} is {_size(found.delta)} points {direction} in {run} than in {reference}"
    if found.low is None or found.high is None:
        return f"{start}; {found.method}."
    level = f"{round((1 - data['alpha']) * 100, 4):g}% interval {interval(found)}"
    decided = found.low > 0 or found.high < 0
    chance = "more than chance explains" if decided else "chance alone can explain this"
    power = ""
    if found.mde is not None:
        power = f" If tasks spread as these do, {data['power'] * 100:g}% of such comparisons find a true difference"
        power += f" of {_size(found.mde)} points."
    scope = f" This holds for {found.scope}." if found.scope else ""
    return f"{start} ({level}, over {found.n} tasks): {chance}.{power}{scope}"


def _size(share: float) -> str:
    return points(abs(share)).removeprefix("+")
