"""The charts of scores and differences, in percent and percentage points."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from lensbench.results.charts.drawing import (
    COLOURS,
    DASHES,
    INK,
    MUTED,
    PAPER,
    SMALL,
    Chart,
    Scale,
    Size,
    around,
    element,
    line,
    linked,
    shortened,
    sign,
    signed,
    symbol,
    words,
    x_axis,
)  # fmt: skip

WIDE, NARROW = Size(220, 640, 60, 30), Size(130, 164, 58, 16)
FOREST_WIDE, FOREST_NARROW = Size(270, 460, 180, 30), Size(132, 104, 108, 11)
RULER_WIDE, RULER_NARROW = Size(12, 500, 12), Size(8, 320, 8)


class Dumbbell(NamedTuple):
    """A task's two scores; `address` is the link to its answers."""

    task: str
    baseline: float
    treatment: float
    delta: float
    address: str


_TASK_ROW = 18
_ARROWS = {"better": "right", "equal": "circle", "worse": "left"}


def dumbbells(tasks: Sequence[Dumbbell], between: str, names: tuple[str, str], size: Size) -> Chart:
    """Each task as a line from its score without to its score with. `between` is the text for omitted tasks.

    `names` are those of the baseline and of the treatment.
    """
    size = size.fitted(task.task for task in tasks)
    lines = len(tasks) + bool(between)
    middle = len(tasks) // 2 if between else lines
    height = _TASK_ROW * lines
    x = Scale(0, 100, 0, size.plot)
    shapes = [x_axis(x, height, "score, %", x.ticks(5), above=True)]
    if between:
        shapes.append(
            words(-size.left, _TASK_ROW * (middle + 0.5), between, fill=MUTED, font_style="italic", font_size=SMALL)
        )
    for index, task in enumerate(tasks):
        top = _TASK_ROW * (index + (index >= middle))
        shapes.append(linked(task.address, *_dumbbell(task, x, top, size)))
    counts = Counter(sign(task.delta) for task in tasks)
    summary = ", ".join(f"{counts[name]} {name}" for name in COLOURS)
    return Chart(
        size, height, 44, 6, "".join(shapes),
        f"Score of each task in {names[0]} and in {names[1]}",
        f"One line per task, the greatest gain first (tasks: {summary}). The table below has the same numbers.",
    )  # fmt: skip


def _dumbbell(task: Dumbbell, x: Scale, top: float, size: Size) -> list[str]:
    y, way = top + _TASK_ROW / 2, sign(task.delta)
    start, end, colour = x.at(task.baseline), x.at(task.treatment), COLOURS[way]
    return [
        element("rect", x=-size.left, y=top, width=size.left + size.plot + size.right, height=_TASK_ROW,
                fill="transparent"),  # the whole row is a link to the answers
        words(-12, y, shortened(task.task, size.letters), "end"),
        line([(start, y), (end, y)], colour, stroke_width=2, opacity=0.55),
        symbol("circle", start, y, 4, PAPER, stroke=MUTED, stroke_width=1.5),
        symbol(_ARROWS[way], end, y, 5, colour),
        words(size.plot + size.right - 4, y, signed(task.delta, 0), "end", fill=colour, font_weight="bold"),
    ]  # fmt: skip


class ForestLine(NamedTuple):
    """A line of the forest plot; `low` and `high` are None without an interval."""

    label: str
    kind: str
    """A key of KINDS."""
    tasks: int
    delta: float
    low: float | None
    high: float | None

    @property
    def colour(self) -> str:
        """The colour of a direction, if the whole interval is on one side of zero."""
        sure = self.low is not None and self.high is not None and not self.low <= 0 <= self.high
        return COLOURS[sign(self.delta)] if sure else INK

    def words(self, digits: int) -> str:
        """The difference and its interval."""
        ends = (
            ""
            if self.low is None or self.high is None
            else f" [{signed(self.low, digits)}, {signed(self.high, digits)}]"
        )
        return signed(self.delta, digits) + ends


KINDS = {"overall": ("diamond", 7), "category": ("square", 6), "repository": ("circle", 4.5)}
"""The groups of the forest plot in order, with the shape and size of their marks."""
_ROW, _GAP = 22, 13


def _label(text: str, letters: int) -> str:
    """The label of a package without its hash, and without its version, if it is too long."""
    forms = (text, text.partition(" (")[0], text.partition("==")[0])
    return next((form for form in forms if len(form) <= letters), shortened(forms[-1], letters))


def forest(intervals: Sequence[ForestLine], effect: float | None, size: Size) -> Chart:
    """Differences with their intervals, by group; a dashed line at the smallest worthwhile effect."""
    compact = size.plot < 200
    size = size.fitted((row.label for row in intervals), 66)
    kinds, height = list(KINDS), _ROW * len(intervals) + 2 * _GAP
    x = Scale(*around((end for row in intervals for end in (row.delta, row.low, row.high)), effect), 0, size.plot)
    shapes = [x_axis(x, height, "points", x.ticks(3 if compact else 6)), *_limits(effect, x, height)]
    for index, row in enumerate(intervals):
        y = _ROW * (index + 0.5) + _GAP * kinds.index(row.kind)
        if row.low is not None and row.high is not None:
            shapes.append(line([(x.at(row.low), y), (x.at(row.high), y)], row.colour, stroke_width=2.5))
        shapes += [
            symbol(KINDS[row.kind][0], x.at(row.delta), y, KINDS[row.kind][1], row.colour),
            words(-size.left, y, _label(row.label, size.letters)),
            words(-10, y, f"n {row.tasks}", "end", fill=MUTED),
            words(size.plot + size.right, y, row.words(0 if compact else 1), "end"),
        ]
    return Chart(
        size, height, 8, 40, "".join(shapes), "Difference in score, overall, by category and by repository",
        "Points with their intervals; the table below has the same numbers.",
    )  # fmt: skip


def ruler(delta: float, low: float | None, high: float | None, effect: float | None, verdict: str, size: Size) -> Chart:
    """The difference behind the verdict on one line: its interval, zero and the smallest worthwhile effect."""
    start, end = around([delta, low, high], effect)
    worth, height, y = effect or 0, 46, 26
    # room for the words
    x = Scale(min(start, -0.45 * end), max(end, worth + 0.3 * (worth - start)), 0, size.plot)
    shapes = [x_axis(x, height, "", x.ticks(5)), *_limits(effect, x, height)]
    colour, ends = f"var(--{verdict.lower()})", ""
    if low is not None and high is not None:
        ends = f", from {signed(low)} to {signed(high)}"
        shapes.append(line([(x.at(low), y), (x.at(high), y)], colour, stroke_width=10, opacity=0.45))
    shapes.append(symbol("diamond", x.at(delta), y, 7.5, colour))
    shapes.append(words(x.at(0) - 3, -6, "no difference", "end", fill=MUTED, font_size=SMALL))
    if effect is not None:
        shapes.append(words(x.at(effect) + 3, -6, "worthwhile", fill=MUTED, font_size=SMALL))
    return Chart(
        size, height, 20, 22, "".join(shapes), "The difference and its interval", f"{signed(delta)} points{ends}"
    )


def _limits(effect: float | None, x: Scale, height: float) -> list[str]:
    """Lines at zero and at the smallest worthwhile effect."""
    limits = [(0.0, None)] if effect is None else [(0.0, None), (effect, DASHES)]
    return [line([(x.at(at), 0), (x.at(at), height)], MUTED, stroke_dasharray=dashes) for at, dashes in limits]
