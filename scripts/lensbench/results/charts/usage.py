"""The charts of what the runs did and needed: calls of each tool, durations, tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lensbench.results.charts.parts import (
    BOLD,
    MUTED,
    SIGNS,
    Size,
    coloured,
    label,
    layer,
    named,
    shortened,
    sign,
    specification,
)  # fmt: skip
from lensbench.results.charts.svg import Chart, Spec, link

_LONGEST_TASK, _LONGEST_TOOL = 26, 24
"""Letters of a name."""
_ROW = 21


class Cell(NamedTuple):
    """Calls of a tool in a task, and how many failed. `calls` is None where only the agent's report is known."""

    task: str
    tool: str
    calls: float | None
    failed: float
    used: bool | None
    address: str

    @property
    def idle(self) -> bool:
        """Nobody called the tool: by the transcript, or by the report where there is no transcript."""
        return self.used is False if self.calls is None else not self.calls

    @property
    def words(self) -> str:
        """Calls, and those that failed after a cross; where nobody saw calls, what the agent reports."""
        if self.calls is None:
            return {True: "\u2713", False: "\u2013", None: "?"}[self.used]
        return f"{self.calls:.3g}" + (f" \u00d7{self.failed:.2g}" if self.failed else "")


def heat(cells: Sequence[Cell]) -> Chart:
    """Task x tool: how often it was called. Hatched where calls failed; tasks without any call are marked."""
    tasks = {task: row for row, task in enumerate(dict.fromkeys(cell.task for cell in cells))}
    tools = {tool: column for column, tool in enumerate(dict.fromkeys(cell.tool for cell in cells))}
    most = max((cell.calls or 0 for cell in cells), default=0)
    values = [
        {
            "row": tasks[cell.task], "column": tools[cell.tool], "link": link(cell.address), "words": cell.words,
            "heat": _heat(cell, most), "failed": cell.failed > 0,
        }
        for cell in cells
    ]  # fmt: skip
    addresses = {cell.task: cell.address for cell in cells}
    sides = [
        {"row": row, "task": shortened(task, _LONGEST_TASK), "link": link(addresses[task])}
        for task, row in tasks.items()
    ]
    idle = tasks.keys() - {cell.task for cell in cells if not cell.idle}
    flags = [{"row": row, "flag": "◀ none"} for task, row in tasks.items() if task in idle]
    heads = [{"column": column, "tool": shortened(tool, _LONGEST_TOOL)} for tool, column in tools.items()]
    width = max(44, 14 + 7 * max((len(cell.words) for cell in cells), default=0)) * len(tools)
    tool_letters = min(_LONGEST_TOOL, max(map(len, tools), default=0))
    task_letters = min(_LONGEST_TASK, max(map(len, tasks), default=0))
    return Chart(
        specification(
            Size(24 + 7 * task_letters, width, max(60, 4 * tool_letters)), _ROW * len(tasks),
            22 + round(5.6 * tool_letters), 6, [*_grid(), *_borders(sides, flags, heads, width)], values,
        ),
        "Calls of each tool in each task",
        f"{len(tasks)} tasks by {len(tools)} tools; {len(idle)} tasks in which none was called are marked.",
    )  # fmt: skip


def _heat(cell: Cell, most: float) -> float:
    """Opacity, on a logarithmic scale, never so dark that the figure in the cell cannot be read."""
    if cell.calls is None:
        return 0.3 if cell.used else 0.05
    return round(0.05 + (0.5 * math.log1p(cell.calls) / math.log1p(most) if most else 0), 3)


_ROWS = {"field": "row", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.08}}
_COLUMNS = {"field": "column", "type": "ordinal", "axis": None, "scale": {"paddingInner": 0.05}}


def _grid() -> list[Spec]:
    place = {"x": _COLUMNS, "y": _ROWS}
    opacity = {"field": "heat", "type": "quantitative", "scale": None, "legend": None}
    hatched = layer("rect", place, fill="url(#hatch)")
    return [
        layer("rect", {**place, "fillOpacity": opacity, "href": {"field": "link"}}, fill="var(--heat)"),
        {"transform": [{"filter": "datum.failed"}], **hatched},
        layer("text", {**place, "text": {"field": "words"}}, fontSize=11),
    ]


def _borders(sides: list[Spec], flags: list[Spec], heads: list[Spec], width: int) -> list[Spec]:
    slanted = {"angle": -55, "align": "left", "baseline": "middle", "color": MUTED, "y": -8}
    return [
        label("task", -10, "right", {"y": _ROWS, "href": {"field": "link"}}, sides),
        label("flag", width + 6, "left", {"y": _ROWS}, flags, color="var(--worse)", **BOLD),
        layer("text", {"x": _COLUMNS, "text": {"field": "tool"}}, heads, **slanted),
    ]


class Point(NamedTuple):
    """A pair's quantity in the baseline and in the treatment, and its difference in score."""

    baseline: float
    treatment: float
    delta: float | None
    address: str


def against(points: Sequence[Point], quantity: str, names: tuple[str, str], unit: str) -> Chart:
    """With against without on logarithmic axes; on the diagonal both are the same. Values must be above 0."""
    values = [
        {"x": point.baseline, "y": point.treatment, "sign": sign(point.delta or 0), "link": link(point.address)}
        for point in points
    ]
    both = [value for point in points for value in point[:2]]
    domain = (min(both) / 1.4, max(both) * 1.4)
    place = {
        axis: _logarithmic(axis, domain, f"{shortened(name, 24)}, {unit}")
        for axis, name in zip("xy", names, strict=True)
    }
    shapes = named("sign", SIGNS, ("triangle-up", "circle", "triangle-down"))
    marks = {**place, "href": {"field": "link"}, "color": coloured(), "shape": shapes}
    layers = [
        layer("line", place, [{"x": edge, "y": edge} for edge in domain], strokeDash=[4, 3], stroke=MUTED),
        layer("point", marks, filled=True, size=60, opacity=0.75),
    ]
    above = sum(point.treatment > point.baseline for point in points)
    return Chart(
        specification(Size(54, 270, 12), 270, 10, 44, layers, values),
        f"{quantity} in {names[1]} against {names[0]}",
        f"{above} of {len(points)} pairs lie above the diagonal: {names[1]} needed more.",
    )


def _logarithmic(field: str, domain: tuple[float, float], title: str) -> Spec:
    ticks = _ticks(*domain)
    # Vega writes 0.5 as 500m in its short form
    form = "~s" if domain[0] >= 1 else "~g"
    axis = {"values": ticks, "format": form, "domain": False, "ticks": False, "title": title}
    scale = {"type": "log", "domain": list(domain), "nice": False}
    return {"field": field, "type": "quantitative", "scale": scale, "axis": axis}


def _ticks(low: float, high: float) -> list[float]:
    """At most six round values between two positive numbers."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    inside: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{step}e{exponent}") for exponent in exponents for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= 6:
            break
    return inside[:: math.ceil(len(inside) / 6) or 1]
