"""comparison.html: a comparison of runs as one file without scripts and without requests."""

from __future__ import annotations

from markupsafe import Markup

from lensbench.results.charts import scores as charts
from lensbench.results.charts.parts import Size
from lensbench.results.charts.svg import Chart, draw_both
from lensbench.results.compare.comparison_file import ComparisonFile
from lensbench.results.compare.differences import SCORE
from lensbench.results.compare.view import TreatmentView, amount, points, treatment_views
from lensbench.results.page.page import style_of_the_page
from lensbench.results.page.words import page_environment


def render_page(data: ComparisonFile) -> str:
    """The page, from the data of comparison.json."""
    environment = page_environment()
    environment.filters |= {"in_points": points, "in_percent": lambda value: amount(SCORE, value)}
    views = [(view, _forest(data, view, number)) for number, view in enumerate(treatment_views(data))]
    page = environment.get_template("comparison.html.j2")
    return page.render(data=data, treatments=views, **style_of_the_page())


def _forest(data: ComparisonFile, view: TreatmentView, number: int) -> Markup:
    """The delta in each run, and below them the differences between the runs."""
    treatment = next(each for each in data["treatments"] if each.name == view.name)
    found = [(run, "overall", estimate) for run, estimate in treatment.deltas.items()]
    found += [(f"{each.run} less {data['reference']}", "category", each.found) for each in view.against]
    rows = [
        charts.Interval(label, kind, each.n, each.delta * 100, _points(each.low), _points(each.high))
        for label, kind, each in found
        if each.delta is not None
    ]
    title = f"The delta of {view.name} in each run, and the differences"

    def chart(size: Size) -> Chart:
        words = "; ".join(f"{row.label}: {row.words(1)}" for row in rows)
        return charts.forest(rows, data["effect"], size)._replace(title=title, description=words)

    return draw_both(f"forest-{number}", chart, charts.FOREST_WIDE, charts.FOREST_NARROW)


def _points(share: float | None) -> float | None:
    return None if share is None else share * 100
