"""The charts of the pages as data: rows with a label, a drawing and a figure; `rows` of page_parts.html.j2 draws them.

Places in a drawing are shares of its width, and labels are wrapped by the browser: one chart fits screens and paper.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from lensbench.core.numbers import rounded
from lensbench.results.presented import ShownDifference

DIRECTIONS = ("better", "equal", "worse")
ARROWS = {"better": "right", "equal": "circle", "worse": "left"}
MARK_SHAPES = {"overall": "diamond", "category": "square", "repository": "circle"}
"""The groups of the forest plot in order, with the shape of their marks."""
_FACTORS = ((1, math.sqrt(2)), (2, math.sqrt(10)), (5, math.sqrt(50)), (10, math.inf))
"""Steps as multiples of a power of ten, each with the largest rough step that it is used for."""
_TICKS = 5
"""About as many numbers stand on an axis."""


class Scale(NamedTuple):
    """Numbers from `low` to `high`, from the left end of a drawing to its right end."""

    low: float
    high: float

    def at(self, value: float) -> str:
        """The place of a number, in percent of the width."""
        return f"{100 * (value - self.low) / (self.high - self.low):.2f}%"

    def ticks(self, about: int = _TICKS) -> list[float]:
        """The round numbers of the axis."""
        step = _step((self.high - self.low) / about)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [step * number for number in range(first, last + 1)]


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor, most in _FACTORS if rough < most * power)


def around(values: Iterable[float | None], effect: float | None) -> Scale:
    """A scale of points that includes all values, zero and the effect, with a margin."""
    there = [0.0, effect or 0.0, *(value for value in values if value is not None)]
    air = max(2.0, 0.06 * (max(there) - min(there)))
    return Scale(round(min(there) - air, 1), round(max(there) + air, 1))


def sign(delta: float | Fraction) -> str:
    """The direction of a difference, as a word."""
    if delta > 0:
        return "better"
    return "worse" if delta < 0 else "equal"


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign, with U+2212 as the minus, rounded as in the other outputs (`numbers.points`)."""
    text = rounded(Fraction(rounded(Fraction(value), 4)), digits)
    plus = "+" if value > 0 and float(text) else ""
    return _minus(f"{plus}{text}")


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


class Mark(NamedTuple):
    """A mark of a row: its shape, a name in page_parts.html.j2; its place; its colour, a class of the style sheet."""

    shape: str
    at: str
    colour: str


class ChartRow(NamedTuple):
    """A row of a chart."""

    label: str = ""
    note: str = ""
    """What stands behind the label."""
    figure: str = ""
    colour: str = "ink"
    """Of the figure and the line."""
    line: tuple[str, str] | None = None
    """The ends of the line."""
    marks: Sequence[Mark] = ()
    address: str = ""
    """The link of the whole row. The Tab key skips it: the table below a chart has the same links."""


class Chart(NamedTuple):
    """A chart, with a title and a description for people who cannot see it."""

    kind: str
    """`ruler`, `forest` or `tasks`, for the style sheet."""
    title: str
    description: str
    unit: str
    scale: Scale
    effect: float | None
    """The smallest worthwhile effect."""
    rows: Sequence[ChartRow]

    @property
    def ticks(self) -> dict[str, str]:
        """Place -> the number of the axis there."""
        return {self.scale.at(tick): _minus(f"{tick:g}") for tick in self.scale.ticks()}

    @property
    def limits(self) -> dict[str, str]:
        """Place -> what a line there means."""
        limits = {self.scale.at(0): "no difference"}
        if self.effect is not None:
            limits[self.scale.at(self.effect)] = "worthwhile"
        return limits


class Dumbbell(NamedTuple):
    """A task's two scores; `address` is the link to its answers."""

    task: str
    baseline: float
    treatment: float
    delta: float
    address: str


def dumbbells(tasks: Sequence[Dumbbell], between: str, names: tuple[str, str]) -> Chart:
    """Each task as a line from its score without to its score with; `between` says which are omitted in the middle."""
    scale = Scale(0, 100)
    rows = [_dumbbell(task, scale) for task in tasks]
    if between:
        rows.insert(len(rows) // 2, ChartRow(between))
    counts = Counter(sign(task.delta) for task in tasks)
    summary = ", ".join(f"{counts[name]} {name}" for name in DIRECTIONS)
    return Chart(
        "tasks",
        f"Score of each task in {names[0]} and in {names[1]}",
        f"One line per task, the greatest gain first (tasks: {summary}). The table below has the same numbers.",
        "score, %",
        scale,
        None,
        rows,
    )


def _dumbbell(task: Dumbbell, scale: Scale) -> ChartRow:
    way = sign(task.delta)
    start = scale.at(task.baseline)
    end = scale.at(task.treatment)
    marks = (Mark("circle", start, "from"), Mark(ARROWS[way], end, way))
    return ChartRow(task.task, "", signed(task.delta, 0), way, (start, end), marks, task.address)


class ForestLine(NamedTuple):
    """A line of the forest plot; `low` and `high` are None without an interval."""

    label: str
    kind: str
    """A key of MARK_SHAPES."""
    tasks: int
    delta: float
    low: float | None
    high: float | None


def forest(
    intervals: Sequence[ForestLine],
    effect: float | None,
    title: str = "Difference in score, overall, by category and by repository",
) -> Chart:
    """Differences with their intervals, by group; a dashed line at the smallest worthwhile effect."""
    ends = [end for each in intervals for end in (each.delta, each.low, each.high)]
    scale = around(ends, effect)
    rows = []
    last = intervals[0].kind
    for each in intervals:
        if each.kind != last:
            rows.append(ChartRow())
        last = each.kind
        rows.append(_interval(each, scale))
    description = "Points with their intervals; the table below has the same numbers."
    return Chart("forest", title, description, "points", scale, effect, rows)


def _interval(each: ForestLine, scale: Scale) -> ChartRow:
    """The line of a group, in the colour of its direction if the whole interval is on one side of zero."""
    figure = signed(each.delta)
    colour = "ink"
    line = None
    if each.low is not None and each.high is not None:
        figure += f" [{signed(each.low)},\u00a0{signed(each.high)}]"
        line = (scale.at(each.low), scale.at(each.high))
        if not each.low <= 0 <= each.high:
            colour = sign(each.delta)
    marks = [Mark(MARK_SHAPES[each.kind], scale.at(each.delta), colour)]
    return ChartRow(each.label, f"n {each.tasks}", figure, colour, line, marks)


def ruler(difference: ShownDifference, effect: float | None) -> Chart:
    """The difference behind the verdict on one line: its interval, zero and the smallest worthwhile effect."""
    delta = 100 * (difference.delta or 0)
    ends = [100 * end for end in (difference.low, difference.high) if end is not None]
    start, end = around([delta, *ends], effect)
    worth = effect or 0
    # room for the words
    scale = Scale(min(start, -0.45 * end), max(end, worth + 0.3 * (worth - start)))
    description = f"{signed(delta)} points"
    line = None
    if len(ends) == 2:
        low, high = ends
        description += f", from {signed(low)} to {signed(high)}"
        line = (scale.at(low), scale.at(high))
    mark = Mark("diamond", scale.at(delta), "of-verdict")
    row = ChartRow(colour="of-verdict", line=line, marks=[mark])
    title = "The difference and its interval"
    return Chart("ruler", title, description, "", scale, effect, [row])
