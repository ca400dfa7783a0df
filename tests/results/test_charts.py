"""The charts of the page."""

import re
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from functools import cache

import pytest
from markupsafe import Markup

from lensbench.results import charts
from lensbench.results.charts import Chart, Dumbbell, ForestLine, Size, draw

HOSTILE = "</text></svg></script><script>alert(1)</script>\"'&\x00\x1b"


def dumbbell(task: str, baseline: float, treatment: float) -> Dumbbell:
    return Dumbbell(task, baseline, treatment, treatment - baseline, f"answers/{len(task)}.html")


def tasks(*rows: Dumbbell, between: str = "", size: Size = charts.WIDE) -> Chart:
    return charts.dumbbells(rows, between, ("without", "with"), size)


ALL = {
    "dumbbells": tasks(dumbbell("a", 20, 80), dumbbell("b", 50, 50), dumbbell("c", 90, 10)),
    "dumbbells with a gap": tasks(
        dumbbell("a", 20, 80), dumbbell("c", 90, 10), between="3 between", size=charts.NARROW
    ),
    "one dumbbell": tasks(dumbbell("a", 0, 0)),
    "forest": charts.forest(
        [
            ForestLine("all", "overall", 3, 4, -2, 10),
            ForestLine("Debug", "category", 1, 9, None, None),
        ],
        5,
        charts.FOREST_WIDE,
    ),
    "forest without an effect": charts.forest(
        [ForestLine("r", "repository", 3, 0, 0, 0)], None, charts.FOREST_NARROW
    ),
    "ruler": charts.ruler(4, -2, 10, 5, "INCONCLUSIVE", charts.RULER_WIDE),
    "ruler without an interval": charts.ruler(
        -4, None, None, None, "UNDECIDED", charts.RULER_NARROW
    ),
}


@cache
def drawn(name: str) -> Markup:
    return draw(ALL[name], "n")


@pytest.mark.parametrize("name", ALL)
def test_every_chart_says_in_words_what_it_shows_in_the_colours_of_the_page(name: str) -> None:
    chart, root = ALL[name], ElementTree.fromstring(drawn(name))
    assert root.get("role") == ("group" if "<a " in drawn(name) else "img")
    assert root.get("aria-labelledby") == "n-title n-desc"
    assert [(one.get("id"), one.text) for one in root[:2]] == [
        ("n-title", chart.title),
        ("n-desc", chart.description),
    ]
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', drawn(name)))
    assert all(
        colour in ("none", "transparent") or colour.startswith("var(--") for colour in colours
    )
    assert " style=" not in drawn(name)


@dataclass(frozen=True)
class Symbol:
    """A mark of a drawing, by its middle."""

    x: float
    y: float
    fill: str | None


def symbols(svg: Markup) -> list[Symbol]:
    found = re.findall(
        r'<path transform="translate\(([-\d.]+),([-\d.]+)\)"[^>]*?fill="([^"]*)"', svg
    )
    return [Symbol(float(x), float(y), fill) for x, y, fill in found]


def texts(svg: Markup) -> list[str]:
    return [
        "".join(each.itertext())
        for each in ElementTree.fromstring(svg).iter()
        if each.tag.endswith("text")
    ]


def test_a_gain_points_right_a_loss_left_and_ties_are_grey_circles_and_rows_are_links() -> None:
    chart = tasks(dumbbell("gain", 0, 100), dumbbell("loss", 100, 0))
    svg = draw(chart, "n")
    gain, loss = (
        next(mark for mark in symbols(svg) if mark.fill == f"var(--{name})")
        for name in ("better", "worse")
    )
    assert gain.x - loss.x == pytest.approx(chart.size.plot)
    assert loss.y - gain.y > 10, "marks of neighbours do not touch"
    assert {"+100", "\u2212100"} <= set(texts(svg))
    chart = tasks(dumbbell("a", 50, 50), dumbbell("b", 0, 10))
    assert "1 better, 1 equal, 0 worse" in chart.description
    assert [mark.fill for mark in symbols(draw(chart, "n"))].count("var(--same)") == 1
    svg = draw(tasks(dumbbell("a", 0, 10), dumbbell("bb", 20, 10)), "n")
    assert set(re.findall(r'href="([^"]*)"', svg)) == {"answers/1.html", "answers/2.html"}
    assert svg.count("<a ") == svg.count('tabindex="-1"')
    row = Dumbbell("a", 0, 10, 10, "#answers-a")
    assert set(re.findall(r'href="([^"]*)"', draw(tasks(row), "n"))) == {"#answers-a"}


def test_hostile_names_are_text() -> None:
    rows = [Dumbbell(HOSTILE, 0, 10, 10, "x")]
    drawings = [
        draw(charts.dumbbells(rows, HOSTILE, (HOSTILE, HOSTILE), charts.WIDE), "n"),
        draw(
            charts.forest([ForestLine(HOSTILE, "overall", 1, 1, 0, 2)], 5, charts.FOREST_WIDE), "n"
        ),
    ]
    for chart in drawings:
        assert "<script" not in chart
        assert chart.count("</svg>") == 1


@pytest.mark.parametrize(
    ("letters", "label"),
    [(28, "click==8.3.1 (12ff4785d337)"), (12, "click==8.3.1"), (11, "click"), (4, "cl…k")],
)
def test_a_package_keeps_its_name_where_there_is_room_for_no_more(letters: int, label: str) -> None:
    interval = ForestLine("click==8.3.1 (12ff4785d337)", "repository", 3, 0, 0, 0)
    drawn = str(
        draw(charts.forest([interval], None, charts.FOREST_NARROW._replace(letters=letters)), "n")
    )
    assert f">{label}</text>" in drawn


def test_long_names_lose_their_middle() -> None:
    assert charts.shortened("a-name-that-is-far-too-long-01", 12) == "a-name…ng-01"
    assert charts.shortened("short", 12) == "short"
    assert all(len(charts.shortened("x" * 50, letters)) == letters for letters in range(3, 30))


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0.0"), (-0.04, "0.0"), (0.05, "+0.1"), (-7.25, "\u22127.3"), (12, "+12.0")],
)
def test_a_difference_has_its_sign_and_no_negative_zero(value: float, text: str) -> None:
    assert charts.signed(value) == text


def test_an_interval_is_written_beside_its_line_and_without_one_there_is_a_point() -> None:
    assert "+4.0 [\u22122.0, +10.0]" in texts(drawn("forest"))
    line = ForestLine("all", "overall", 1, 4, None, None)
    svg = draw(charts.forest([line], None, charts.FOREST_WIDE), "n")
    assert "+4.0" in texts(svg)
    assert 'stroke-width="2.5"' not in svg


@pytest.mark.parametrize(
    ("low", "high", "colour"), [(1, 9, "better"), (-9, -1, "worse"), (-1, 9, "ink")]
)
def test_an_interval_beside_zero_alone_is_coloured(low: float, high: float, colour: str) -> None:
    line = ForestLine("all", "overall", 3, (low + high) / 2, low, high)
    svg = draw(charts.forest([line], None, charts.FOREST_WIDE), "n")
    assert [mark.fill for mark in symbols(svg)] == [f"var(--{colour})"]


@pytest.mark.parametrize("name", ["forest", "ruler", "dumbbells"])
def test_every_axis_is_labelled(name: str) -> None:
    numbers = [text for text in texts(drawn(name)) if text.replace("\u2212", "").isdecimal()]
    assert len(numbers) >= 3
    assert all(int(size) >= 10 for size in re.findall(r'font-size="(\d+)"', drawn(name)))
