"""Charts as inline SVG in the colours of the page."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from markupsafe import Markup

from lensbench.results.charts.drawing import element, named
from lensbench.results.charts.parts import INK, Size


class Chart(NamedTuple):
    """A chart, with a title and a description for people who cannot see it."""

    size: Size
    height: float
    top: float
    """The space above the drawing."""
    bottom: float
    shapes: str
    """SVG; 0, 0 is the upper left corner of the drawing."""
    title: str
    description: str


def draw(chart: Chart, name: str, kind: str = "") -> Markup:
    """The chart as an SVG element. `name` must be unique on the page; `kind` is a CSS class."""
    size = chart.size
    width, height = size.left + size.plot + size.right, chart.top + chart.height + chart.bottom
    return Markup(element(
        "svg",
        named("title", chart.title, id=f"{name}-title"),
        named("desc", chart.description, id=f"{name}-desc"),
        element("g", chart.shapes, transform=f"translate({size.left},{chart.top})", fill=INK, font_size=12),
        **{"class": kind}, width=width, height=height, viewBox=f"0 0 {width:g} {height:g}",
        role="group" if "<a " in chart.shapes else "img",  # what is in an image, nobody is told of
        aria_labelledby=f"{name}-title {name}-desc",
    ))  # fmt: skip


def draw_both(name: str, chart: Callable[[Size], Chart], wide: Size, narrow: Size) -> Markup:
    """A drawing for wide screens and paper, and one for narrow screens; the style sheet shows one of them."""
    return draw(chart(wide), f"{name}-wide", "wide") + draw(chart(narrow), f"{name}-narrow", "narrow")
