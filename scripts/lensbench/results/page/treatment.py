"""A treatment as the page shows it: numbers, rows of tables, and charts as SVG."""

from __future__ import annotations

from functools import partial

from lensbench.core.frozen_plan import GateSettings
from lensbench.results.charts import scores
from lensbench.results.charts.svg import draw_both
from lensbench.results.page import data
from lensbench.results.page.data import Inputs
from lensbench.results.page.places import pair_address
from lensbench.results.presented import shown_difference
from lensbench.scores.gate import DEFAULTS
from lensbench.scores.saving import quantities_of

ENDS = 40
"""Of more tasks than twice this, the chart shows the first and the last; the table has all."""
MOST_ROWS = 50
"""Lines of the forest plot; again, the table has all."""


def treatment_view(inputs: Inputs, treatment: str) -> dict[str, object]:
    """What the template reads."""
    number, figures = inputs.results["treatments"].index(treatment), inputs.results["figures"][treatment]
    estimates, gate = inputs.results["estimates"][treatment], inputs.results["estimates"][treatment]["gate"]
    settings: GateSettings = {**DEFAULTS, **inputs.tables.plan["gate"]}
    rows, others = data.task_rows(inputs, treatment)
    difference, intervals = shown_difference(estimates), data.interval_rows(estimates)
    ends, between = data.ends_of(rows, ENDS)
    charts = {"draw_ruler": "", "draw_forest": "", "draw_tasks": ""}
    if difference.delta is not None:
        low, high = (None if end is None else 100 * end for end in (difference.low, difference.high))
        ruler = partial(scores.ruler, 100 * difference.delta, low, high, settings["effect"], gate.verdict)
        charts["draw_ruler"] = draw_both(f"ruler-{number}", ruler, scores.RULER_WIDE, scores.RULER_NARROW)
    if intervals:
        forest = partial(scores.forest, [line for line, _ in intervals[:MOST_ROWS]], settings["effect"])
        charts["draw_forest"] = draw_both(f"forest-{number}", forest, scores.FOREST_WIDE, scores.FOREST_NARROW)
    if rows:
        dumbbells = partial(scores.dumbbells, ends, between, (inputs.results["baseline"], treatment))
        charts["draw_tasks"] = draw_both(f"tasks-{number}", dumbbells, scores.WIDE, scores.NARROW)
    sentence = gate.sentence.removeprefix(f"{gate.verdict}: ")
    return {
        "name": treatment,
        "anchor": f"treatment-{number}",
        "address": pair_address,
        "comparison": inputs.results["comparisons"][treatment],
        "needs": next((figures[name] for name in quantities_of(settings) if name in figures), None),
        "gate": gate,
        "sentence": sentence[:1].upper() + sentence[1:],
        "level": f"{100 * estimates['level']:.4g}%",
        "difference": difference,
        "overall": estimates["corrected"] or estimates["score"]["overall"],
        "rows": rows,
        "unpaired": others,
        "pairs": [pair for pair in inputs.tables.pairs if pair["treatment"] == treatment],
        "intervals": intervals,
        "losses": data.losses(inputs, treatment),
        "between": between,
        **charts,
    }
