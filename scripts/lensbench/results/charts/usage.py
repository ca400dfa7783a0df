"""The charts of usage: calls of each tool, durations, tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lensbench.core.svg import SMALL, Scale, element, line, symbol, words, x_axis, y_axis
from lensbench.results.charts.parts import AXIS, COLOURS, DASHES, MUTED, Size, linked, shortened, sign
from lensbench.results.charts.svg import Chart

_LONGEST_TASK, _LONGEST_TOOL = 26, 24
"""The maximum number of letters of a name."""
_ROW = 21


class Cell(NamedTuple):
    """Calls of a tool in a task, and how many failed. `calls` is None if only the agent's report is known."""

    task: str
    tool: str
    calls: float | None
    failed: float
    used: bool | None
    address: str

    @property
    def idle(self) -> bool:
        """True if the tool was not called, by the transcript or, without one, by the report."""
        return self.used is False if self.calls is None else not self.calls

    @property
    def words(self) -> str:
        """Calls, with failed ones after a cross; if calls were not observed, the agent's report."""
        if self.calls is None:
            return {True: "\u2713", False: "\u2013", None: "?"}[self.used]
        return f"{self.calls:.3g}" + (f" \u00d7{self.failed:.2g}" if self.failed else "")


def heat(cells: Sequence[Cell]) -> Chart:
    """Calls by task and tool. Cells with failed calls are hatched; tasks without any call are marked."""
    tasks: dict[str, list[Cell]] = {}
    for cell in cells:
        tasks.setdefault(cell.task, []).append(cell)
    tools = {tool: column for column, tool in enumerate(dict.fromkeys(cell.tool for cell in cells))}
    most = max((cell.calls or 0 for cell in cells), default=0)
    column = max(44, 14 + 7 * max((len(cell.words) for cell in cells), default=0))
    width = column * len(tools)
    shapes = [_head(tool, column * (number + 0.5)) for tool, number in tools.items()]
    idle = 0
    for row, (task, called) in enumerate(tasks.items()):
        middle = _ROW * (row + 0.5)
        shapes.append(linked(called[0].address, words(-10, middle, shortened(task, _LONGEST_TASK), "end")))
        shapes += [_square(cell, column * tools[cell.tool], _ROW * row, column, most) for cell in called]
        if all(cell.idle for cell in called):
            shapes.append(words(width + 6, middle, "◀ none", fill=COLOURS["worse"], font_weight="bold"))
            idle += 1
    tool_letters = min(_LONGEST_TOOL, max(map(len, tools), default=0))
    task_letters = min(_LONGEST_TASK, max(map(len, tasks), default=0))
    return Chart(
        Size(24 + 7 * task_letters, width, max(60, 4 * tool_letters)), _ROW * len(tasks),
        22 + round(5.6 * tool_letters), 6, "".join(shapes), "Calls of each tool in each task",
        f"{len(tasks)} tasks by {len(tools)} tools; {idle} tasks in which none was called are marked.",
    )  # fmt: skip


def _head(tool: str, x: float) -> str:
    return words(x, -8, shortened(tool, _LONGEST_TOOL), fill=MUTED, transform=f"rotate(-55,{x:g},-8)")


def _square(cell: Cell, x: float, y: float, width: float, most: float) -> str:
    place = {"x": x + 1, "y": y + 1, "width": width - 2, "height": _ROW - 2}
    return linked(
        cell.address,
        element("rect", **place, fill="var(--heat)", fill_opacity=_heat(cell, most)),
        element("rect", **place, fill="url(#hatch)") if cell.failed else "",
        words(x + width / 2, y + _ROW / 2, cell.words, "middle", font_size=SMALL),
    )


def _heat(cell: Cell, most: float) -> float:
    """Opacity, on a logarithmic scale, limited so that the figure in the cell stays readable."""
    if cell.calls is None:
        return 0.3 if cell.used else 0.05
    return round(0.05 + (0.5 * math.log1p(cell.calls) / math.log1p(most) if most else 0), 3)


class Point(NamedTuple):
    """A quantity of a pair in the baseline and the treatment, and the difference in score."""

    baseline: float
    treatment: float
    delta: float | None
    address: str


_SHAPES = {"better": "up", "equal": "circle", "worse": "down"}


def against(points: Sequence[Point], quantity: str, names: tuple[str, str], unit: str) -> Chart:
    """With against without on logarithmic axes; both are equal on the diagonal. Values must be above 0."""
    both = [value for point in points for value in point[:2]]
    domain, side = (min(both) / 1.4, max(both) * 1.4), 270
    x, y = Scale(*domain, 0, side, is_logarithmic=True), Scale(*domain, side, 0, is_logarithmic=True)
    titles = [f"{shortened(name, 24)}, {unit}" for name in names]
    shapes = [
        x_axis(x, side, titles[0], x.ticks(6), AXIS),
        y_axis(y, side, titles[1], y.ticks(6), AXIS),
        line([(0, side), (side, 0)], MUTED, stroke_width=2, stroke_dasharray=DASHES),
    ]
    for point in points:
        way = sign(point.delta or 0)
        mark = symbol(_SHAPES[way], x.at(point.baseline), y.at(point.treatment), 4.2, COLOURS[way], opacity=0.75)
        shapes.append(linked(point.address, mark))
    above = sum(point.treatment > point.baseline for point in points)
    return Chart(
        Size(54, side, 12), side, 10, 44, "".join(shapes), f"{quantity} in {names[1]} against {names[0]}",
        f"{above} of {len(points)} pairs lie above the diagonal: {names[1]} needed more.",
    )  # fmt: skip
