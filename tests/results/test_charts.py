"""The charts of the page: their scales, their rows, and what is drawn of them."""

import itertools
import math
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.results import charts
from lensbench.results.charts import Chart, ChartRow, Dumbbell, ForestLine, Scale
from lensbench.results.page.page import page_environment
from lensbench.results.presented import ShownDifference

HOSTILE = "</text></svg></script><script>alert(1)</script>\"'&"
NUMBERS = st.floats(-1e4, 1e4)


def dumbbell(task: str, baseline: float, treatment: float) -> Dumbbell:
    return Dumbbell(task, baseline, treatment, treatment - baseline, f"answers/{len(task)}.html")


def tasks(*rows: Dumbbell, between: str = "") -> Chart:
    return charts.dumbbells(rows, between, ("without", "with"))


def interval(low: float | None, high: float | None, label: str = "all") -> ForestLine:
    return ForestLine(label, "overall", 3, 4, low, high)


ALL = {
    "dumbbells": tasks(dumbbell("a", 20, 80), dumbbell("b", 50, 50), dumbbell("c", 90, 10)),
    "dumbbells with a gap": tasks(
        dumbbell("a", 20, 80), dumbbell("c", 90, 10), between="3 between"
    ),
    "one dumbbell": tasks(dumbbell("a", 0, 0)),
    "forest": charts.forest(
        [interval(-2, 10), ForestLine("Debug", "category", 1, 9, None, None)], 5
    ),
    "forest without an effect": charts.forest([ForestLine("r", "repository", 3, 0, 0, 0)], None),
    "ruler": charts.ruler(ShownDifference(0.04, -0.02, 0.1, False), 5),
    "ruler without an interval": charts.ruler(ShownDifference(-0.04, None, None, False), None),
}


def drawn(chart: Chart) -> str:
    parts = page_environment().get_template("page_parts.html.j2").make_module()
    return str(parts.rows(chart)) + str(parts.marks())  # type: ignore[attr-defined]


def row_of(chart: Chart, label: str) -> ChartRow:
    return next(row for row in chart.rows if row.label == label)


def place(text: str) -> float:
    return float(text.removesuffix("%"))


@given(NUMBERS, st.floats(1e-3, 1e9), st.integers(2, 12))
def test_ticks_are_about_as_many_as_wanted_and_lie_on_the_scale(
    low: float, width: float, about: int
) -> None:
    scale = Scale(low, low + width)
    ticks = scale.ticks(about)
    most = math.sqrt(2.5)  # by which the nearest of 1, 2 and 5 differs from a step
    assert about / most - 1 <= len(ticks) <= most * about + 1
    assert all(-0.2 <= place(scale.at(tick)) <= 100.2 for tick in ticks)
    gaps = [after - before for before, after in itertools.pairwise(ticks)]
    assert all(math.isclose(gap, gaps[0], rel_tol=1e-3) for gap in gaps)


@pytest.mark.parametrize("name", ALL)
def test_every_chart_says_in_words_what_it_shows_and_draws_only_marks_and_classes_that_exist(
    name: str,
) -> None:
    chart = ALL[name]
    root = ElementTree.fromstring(f"<body>{drawn(chart)}</body>")
    assert root[0].get("aria-label") == f"{chart.title}. {chart.description}"
    shapes = {shape.get("id") for shape in root.iter() if shape.get("id")}
    used = {(mark.get("href") or "").removeprefix("#") for mark in root.iter("use")}
    assert used <= shapes
    classes = {mark.get("class") for mark in [*root.iter("use"), *root.iter("line")]}
    words = set(re.findall(r"\.([\w-]+)", style()))
    assert {word for name in classes for word in (name or "").split()} <= words | {"ink"}
    assert " style=" not in drawn(chart), "the page's policy would forbid it"


def style() -> str:
    environment = page_environment()
    assert environment.loader
    return environment.loader.get_source(environment, "report.css")[0]


def test_a_gain_points_right_a_loss_left_and_ties_are_grey_circles_and_rows_are_links() -> None:
    chart = tasks(dumbbell("gain", 0, 100), dumbbell("loss", 100, 0), dumbbell("tie", 50, 50))
    found = {row.label: row.marks[1] for row in chart.rows}
    assert found == {
        "gain": ("right", "100.00%", "better"),
        "loss": ("left", "0.00%", "worse"),
        "tie": ("circle", "50.00%", "equal"),
    }
    assert [row.figure for row in chart.rows] == ["+100", "\u2212100", "0"]
    assert "1 better, 1 equal, 1 worse" in chart.description
    svg = drawn(tasks(dumbbell("a", 0, 10), dumbbell("bb", 20, 10)))
    assert set(re.findall(r' href="([^#"]*)"', svg)) == {"answers/1.html", "answers/2.html"}
    assert svg.count("<a ") == svg.count('tabindex="-1"')


def test_what_is_omitted_stands_in_the_middle() -> None:
    labels = [row.label for row in ALL["dumbbells with a gap"].rows]
    assert labels == ["a", "3 between", "c"]


@pytest.mark.parametrize("label", [HOSTILE, "a-name-that-is-far-too-long-01" * 3])
def test_names_of_others_are_text_and_are_never_cut(label: str) -> None:
    rows = [Dumbbell(label, 0, 10, 10, "x")]
    for chart in (
        charts.dumbbells(rows, label, (label, label)),
        charts.forest([interval(0, 2, label)], 5),
    ):
        page = drawn(chart)
        assert "<script" not in page
        root = ElementTree.fromstring(f"<body>{page}</body>")
        assert label in [text.strip() for span in root.iter("span") for text in span.itertext()]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (-0.04, "0.0"), (0.05, "+0.1"), (-7.25, "\u22127.3"), (12, "+12.0")],
)
def test_a_difference_has_its_sign_and_no_negative_zero(value: float, text: str) -> None:
    assert charts.signed(value) == text


def test_an_interval_is_written_beside_its_line_and_without_one_there_is_a_point() -> None:
    row = row_of(ALL["forest"], "all")
    assert row.figure.replace("\u00a0", " ") == "+4.0 [\u22122.0, +10.0]"
    scale = ALL["forest"].scale
    assert row.line == (scale.at(-2), scale.at(10))
    row = row_of(ALL["forest"], "Debug")
    assert (row.figure, row.line) == ("+9.0", None)


@pytest.mark.parametrize(
    ("low", "high", "colour"), [(1, 9, "better"), (-9, -1, "worse"), (-1, 9, "ink")]
)
def test_an_interval_beside_zero_alone_is_coloured(low: float, high: float, colour: str) -> None:
    line = ForestLine("all", "overall", 3, (low + high) / 2, low, high)
    row = row_of(charts.forest([line], None), "all")
    assert [mark.colour for mark in row.marks] == [row.colour] == [colour]


@pytest.mark.parametrize("name", ["forest", "ruler", "dumbbells"])
def test_every_axis_is_labelled_with_a_real_minus(name: str) -> None:
    numbers = list(ALL[name].ticks.values())
    assert len(numbers) >= 3
    assert all(number.replace("\u2212", "").isdecimal() for number in numbers)
    assert all(f">{number}</text>" in drawn(ALL[name]) for number in numbers)


def test_the_ruler_has_room_for_its_words() -> None:
    """At its narrowest, 350 pixels, "no difference" takes a quarter and "worthwhile" a fifth of it."""
    for low, high in ((5, 60), (-60, -5), (-1, 1)):
        difference = ShownDifference((low + high) / 200, low / 100, high / 100, False)
        chart = charts.ruler(difference, 5)
        zero, worth = (place(at) for at in chart.limits)
        assert zero > 25
        assert worth < 80
        assert list(chart.limits.values()) == ["no difference", "worthwhile"]
