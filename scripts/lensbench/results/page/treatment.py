"""A treatment as the page shows it: numbers, rows of tables, and charts as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from markupsafe import Markup

from lensbench.results.charts import scores
from lensbench.results.charts.scores import ForestLine
from lensbench.results.charts.svg import draw_both
from lensbench.results.page import data
from lensbench.results.page.data import Bottom, Inputs
from lensbench.results.page.places import pair_address
from lensbench.scores.gate import DEFAULTS
from lensbench.scores.saving import quantities_of

ENDS = 40
"""Of more tasks than twice this, the chart shows the first and the last; the table has all."""
MOST_ROWS = 50
"""Lines of the forest plot; again, the table has all."""


def treatment_view(inputs: Inputs, treatment: str) -> dict[str, object]:
    """What the template reads."""
    number, figures = inputs.results["treatments"].index(treatment), inputs.results["figures"][treatment]
    found = inputs.results["estimates"][treatment]
    rows = data.task_rows(inputs, treatment)
    bottom, intervals = data.bottom_line(inputs, treatment), data.interval_rows(found)
    shown, between = data.dumbbell_rows(rows, ENDS)
    dumbbells = partial(scores.dumbbells, shown, between, (inputs.results["baseline"], treatment))
    return {
        "name": treatment,
        "anchor": f"treatment-{number}",
        "address": pair_address,
        "comparison": inputs.results["comparisons"][treatment],
        "estimates": found,
        "needs": next(
            (figures[name] for name in quantities_of({**DEFAULTS, **inputs.tables.plan["gate"]}) if name in figures),
            None,
        ),
        "bottom": bottom,
        "rows": rows,
        "unpaired": data.unpaired_tasks(inputs, treatment),
        "pairs": [pair for pair in inputs.tables.pairs if pair["treatment"] == treatment],
        "intervals": intervals,
        "regressions": data.regressions(inputs, treatment),
        "between": between,
        **_score_drawings(bottom, intervals, number),
        "draw_tasks": draw_both(f"tasks-{number}", dumbbells, scores.WIDE, scores.NARROW) if rows else "",
    }


def _score_drawings(bottom: Bottom, intervals: Sequence[ForestLine], number: int) -> dict[str, Markup | str]:
    drawn: dict[str, Markup | str] = {"draw_ruler": "", "draw_forest": ""}
    if bottom.delta is not None:
        ruler = partial(scores.ruler, bottom.delta, bottom.low, bottom.high, bottom.effect, bottom.verdict)
        drawn["draw_ruler"] = draw_both(f"ruler-{number}", ruler, scores.RULER_WIDE, scores.RULER_NARROW)
    if intervals:
        forest = partial(scores.forest, intervals[:MOST_ROWS], bottom.effect)
        drawn["draw_forest"] = draw_both(f"forest-{number}", forest, scores.FOREST_WIDE, scores.FOREST_NARROW)
    return drawn
