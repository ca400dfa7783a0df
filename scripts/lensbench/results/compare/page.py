"""comparison.html: a comparison of runs as one file without scripts and without requests."""

from __future__ import annotations

from typing import TypedDict

from markupsafe import Markup

from lensbench.results.charts import scores as charts
from lensbench.results.charts.parts import Size
from lensbench.results.charts.svg import Chart, draw_both
from lensbench.results.compare.comparison_file import ComparisonFile
from lensbench.results.compare.differences import SCORE
from lensbench.results.compare.view import TreatmentView, amount, points, treatment_views
from lensbench.results.page.data import TaskRow, dumbbell_rows
from lensbench.results.page.page import style_of_the_page
from lensbench.results.page.treatment import ENDS
from lensbench.results.page.words import page_environment


class Drawings(TypedDict):
    """The charts of a treatment."""

    forest: Markup
    tasks: dict[str, Markup | None]
    """By run: the scores of all tasks."""


def render_page(data: ComparisonFile) -> str:
    """The page, from the data of comparison.json."""
    environment = page_environment()
    environment.filters |= {"in_points": points, "in_percent": lambda value: amount(SCORE, value)}
    views = treatment_views(data)
    drawings = [_drawings(data, view, number) for number, view in enumerate(views)]
    page = environment.get_template("comparison.html.j2")
    return page.render(data=data, treatments=list(zip(views, drawings, strict=True)), **style_of_the_page())


def _drawings(data: ComparisonFile, view: TreatmentView, number: int) -> Drawings:
    return {
        "forest": draw_both(f"forest-{number}", lambda size: _forest(data, view, size), charts.FOREST_WIDE,
                        charts.FOREST_NARROW),
        "tasks": {
            against.run: _tasks(data["reference"], view, against.run, number, place)
            for place, against in enumerate(view.against)
        },
    }  # fmt: skip


def _forest(data: ComparisonFile, view: TreatmentView, size: Size) -> Chart:
    """The delta in each run, and below them the differences between the runs."""
    treatment = next(each for each in data["treatments"] if each["name"] == view.name)
    found = [(run, "overall", estimate) for run, estimate in treatment["deltas"].items()]
    found += [(f"{each.run} less {data['reference']}", "category", each.found) for each in view.against]
    rows = [
        charts.Interval(label, kind, each["n"], each["delta"] * 100, _points(each["low"]), _points(each["high"]))
        for label, kind, each in found
        if each["delta"] is not None
    ]
    words = "; ".join(f"{row.label}: {row.words(1)}" for row in rows)
    chart = charts.forest(rows, data["effect"], size)
    return chart._replace(title=f"The delta of {view.name} in each run, and the differences", description=words)


def _points(share: float | None) -> float | None:
    return None if share is None else share * 100


def _tasks(reference: str, view: TreatmentView, run: str, number: int, place: int) -> Markup | None:
    """The treatment's scores task by task, from the reference to another run; a point leads to the table's row."""
    rows = []
    for index, row in enumerate(view.tasks):
        before, after = (row["runs"][name]["treatment"] for name in (reference, run))
        if before is not None and after is not None:
            scores = before * 100, after * 100, (after - before) * 100
            rows.append(TaskRow(row["task"], row["category"], *scores, f"#task-{number}-{index}"))
    shown, between = dumbbell_rows(sorted(rows, key=lambda row: (-row.delta, row.task)), ENDS)
    names = f"{view.name} in {reference}", f"{view.name} in {run}"

    def chart(size: Size) -> Chart:
        return charts.dumbbells(shown, between, names, size)

    return draw_both(f"tasks-{number}-{place}", chart, charts.WIDE, charts.NARROW) if rows else None
