"""A treatment as the page shows it: numbers, rows of tables, and charts as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup

from lensbench.results.charts import scores, usage
from lensbench.results.charts.parts import Size
from lensbench.results.charts.svg import Chart, draw, draw_both
from lensbench.results.page import data
from lensbench.results.page.data import Address, Inputs
from lensbench.scores.measures import Value

ENDS = 40
"""Of more tasks than twice this, the chart shows the first and the last; the table has all."""
MOST_ROWS = 50
"""Lines of the forest plot and of the heat map; again, the tables have all."""


def treatment_view(inputs: Inputs, treatment: str, address: Address) -> dict[str, Any]:
    """What the template reads. `address` says where the answers of a task are."""
    number = inputs.results["treatments"].index(treatment)
    found = data.comparison_of(inputs, treatment)
    cells = data.cells(inputs, treatment, address)
    view: dict[str, Any] = {
        "name": treatment,
        "anchor": f"treatment-{number}",
        "address": address,
        "comparison": inputs.results["comparisons"][treatment],
        "estimates": found or {},
        "bottom": data.bottom_line(inputs, treatment),
        "rows": data.task_rows(inputs, treatment, address),
        "unpaired": data.unpaired_tasks(inputs, treatment),
        "bounds": data.worst_and_best(inputs, treatment),
        "pairs": [pair for pair in inputs.tables.pairs if pair["treatment"] == treatment],
        "intervals": data.interval_rows(found),
        "cells": cells,
        "tools": list(dict.fromkeys(cell.tool for cell in cells)),
        "most_rows": MOST_ROWS,
        "regressions": data.regressions(inputs, treatment, address),
        "looks": data.looks(found),
    }
    shown, between = data.dumbbell_rows(view["rows"], ENDS)
    names = (inputs.results["baseline"], treatment)
    drawings = {
        **_score_drawings(view, number),
        **_task_drawings(view, number, lambda size: scores.dumbbells(shown, between, names, size), bool(between)),
        "draw_efforts": _effort_drawings(inputs, names, number, address),
    }
    return {**view, "between": between, **drawings}


def _score_drawings(view: Mapping[str, Any], number: int) -> dict[str, Markup | str]:
    bottom, intervals, cells, looks = view["bottom"], view["intervals"], view["cells"], view["looks"]

    def ruler(size: Size) -> Chart:
        return scores.ruler(bottom.delta, bottom.low, bottom.high, bottom.effect, bottom.verdict, size)

    def forest(size: Size) -> Chart:
        return scores.forest(intervals[:MOST_ROWS], bottom.effect, size)

    no_difference = bottom.delta is None
    most_cells = MOST_ROWS * len(view["tools"])
    return {
        "draw_ruler": ""
        if no_difference
        else draw_both(f"ruler-{number}", ruler, scores.RULER_WIDE, scores.RULER_NARROW),
        "draw_forest": draw_both(f"forest-{number}", forest, scores.FOREST_WIDE, scores.FOREST_NARROW)
        if intervals
        else "",
        "draw_heat": draw(usage.heat(cells[:most_cells]), f"heat-{number}", "own") if cells else "",
        "draw_track": draw(scores.track(looks), f"track-{number}") if looks else "",
    }


def _task_drawings(
    view: Mapping[str, Any], number: int, dumbbells: Callable[[Size], Chart], many: bool
) -> dict[str, Markup | str]:
    deltas = [row.delta for row in view["rows"]]

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
