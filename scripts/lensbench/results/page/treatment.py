"""A treatment as the page shows it: numbers, rows of tables, and charts as SVG."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from markupsafe import Markup

from lensbench.results.charts import scores, usage
from lensbench.results.charts.parts import Size
from lensbench.results.charts.scores import Interval
from lensbench.results.charts.svg import Chart, draw, draw_both
from lensbench.results.page import data
from lensbench.results.page.data import Address, Bottom, Inputs, TaskRow
from lensbench.scores.run_tables import Value

ENDS = 40
"""Of more tasks than twice this, the chart shows the first and the last; the table has all."""
MOST_ROWS = 50
"""Lines of the forest plot and of the heat map; again, the tables have all."""


def treatment_view(inputs: Inputs, treatment: str, address: Address) -> dict[str, object]:
    """What the template reads. `address` says where the answers of a task are."""
    number = inputs.results["treatments"].index(treatment)
    found = data.comparison_of(inputs, treatment)
    cells, rows = data.cells(inputs, treatment, address), data.task_rows(inputs, treatment, address)
    tools = list(dict.fromkeys(cell.tool for cell in cells))
    bottom, intervals, looks = data.bottom_line(inputs, treatment), data.interval_rows(found), data.looks(found)
    shown, between = data.dumbbell_rows(rows, ENDS)
    names = (inputs.results["baseline"], treatment)
    return {
        "name": treatment,
        "anchor": f"treatment-{number}",
        "address": address,
        "comparison": inputs.results["comparisons"][treatment],
        "estimates": found or {},
        "bottom": bottom,
        "rows": rows,
        "unpaired": data.unpaired_tasks(inputs, treatment),
        "bounds": data.worst_and_best(inputs, treatment),
        "pairs": [pair for pair in inputs.tables.pairs if pair["treatment"] == treatment],
        "intervals": intervals,
        "cells": cells,
        "tools": tools,
        "most_rows": MOST_ROWS,
        "regressions": data.regressions(inputs, treatment, address),
        "looks": looks,
        "between": between,
        **_score_drawings(bottom, intervals, number),
        "draw_heat": draw(usage.heat(cells[: MOST_ROWS * len(tools)]), f"heat-{number}", "own") if cells else "",
        "draw_track": draw(scores.track(looks), f"track-{number}") if looks else "",
        **_task_drawings(rows, number, lambda size: scores.dumbbells(shown, between, names, size), bool(between)),
        "draw_efforts": _effort_drawings(inputs, names, number, address),
    }


def _score_drawings(bottom: Bottom, intervals: Sequence[Interval], number: int) -> dict[str, Markup | str]:
    drawn: dict[str, Markup | str] = {"draw_ruler": "", "draw_forest": ""}
    if bottom.delta is not None:
        ruler = partial(scores.ruler, bottom.delta, bottom.low, bottom.high, bottom.effect, bottom.verdict)
        drawn["draw_ruler"] = draw_both(f"ruler-{number}", ruler, scores.RULER_WIDE, scores.RULER_NARROW)
    if intervals:
        forest = partial(scores.forest, intervals[:MOST_ROWS], bottom.effect)
        drawn["draw_forest"] = draw_both(f"forest-{number}", forest, scores.FOREST_WIDE, scores.FOREST_NARROW)
    return drawn


def _task_drawings(
    rows: Sequence[TaskRow], number: int, dumbbells: Callable[[Size], Chart], many: bool
) -> dict[str, Markup | str]:
    deltas = [row.delta for row in rows]

    def spread(size: Size) -> Chart:
        return scores.spread(deltas, size)

    return {
        "draw_tasks": draw_both(f"tasks-{number}", dumbbells, scores.WIDE, scores.NARROW) if deltas else "",
        "draw_spread": draw_both(f"spread-{number}", spread, scores.WIDE, scores.NARROW) if many else "",
    }


def _effort_drawings(inputs: Inputs, names: tuple[str, str], number: int, address: Address) -> list[Markup]:
    tables = inputs.tables
    quantities: dict[tuple[str, str], Value] = {
        ("Duration", "seconds"): tables.duration,
        ("Tokens", "tokens"): lambda run: tables.tokens(run, "input", "cache_read", "cache_write", "output"),
    }
    drawn = []
    for (quantity, unit), value in quantities.items():
        points = data.points_of(inputs, names[1], value, address)
        if points:
            drawn.append(draw(usage.against(points, quantity, names, unit), f"{unit}-{number}"))
    return drawn
