"""What all charts are put together from: Vega-Lite layers, scales and axes in the page's own look.

Colours are names of the page's style sheet, so that one drawing fits light, dark and paper; every colour comes with a
shape. Paddings are given, not measured: the drawing does not depend on the fonts of the machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from lensbench.results.charts.svg import Spec

INK, MUTED, LINE = "var(--ink)", "var(--muted)", "var(--line)"
SIGNS = ("better", "equal", "worse")
SIGN_COLOURS = ("var(--better)", "var(--same)", "var(--worse)")
BOLD: Spec = {"fontWeight": "bold"}

Values = Iterable[Mapping[str, Any]]


class Size(NamedTuple):
    """The widths of a chart's parts in pixels: labels, drawing, figures; and how long a label may be."""

    left: int
    plot: int
    right: int
    letters: int = 0

    def fitted(self, labels: Iterable[str], beside: int = 20) -> Size:
        """Short labels leave their room to the drawing; `beside` pixels are not theirs."""
        longest = max((min(len(label), self.letters) for label in labels), default=0)
        left = min(self.left, beside + 7 * longest)
        return self._replace(left=left, plot=self.plot + self.left - left)


def sign(delta: float) -> str:
    """In which direction a difference goes, as a word."""
    return "better" if delta > 0 else "worse" if delta < 0 else "equal"


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign, a real minus, and no negative zero."""
    text = f"{abs(value):.{digits}f}"
    mark = "" if float(text) == 0 else "+" if value > 0 else "\u2212"
    return mark + text


def shortened(text: str, letters: int) -> str:
    """The text with its middle left out when it is longer; names often differ at their ends."""
    half = (letters - 1) // 2
    return text if len(text) <= letters else f"{text[: letters - 1 - half]}…{text[-half:]}"


def specification(size: Size, height: int, top: int, bottom: int, layers: Iterable[Spec], values: Values) -> Spec:
    """A whole chart; `values` are the data of the layers that have none of their own."""
    axis = {
        "labelColor": MUTED, "titleColor": MUTED, "titleFontWeight": "normal", "labelFontSize": 11,
        "titleFontSize": 11, "gridColor": LINE, "domainColor": LINE, "tickColor": LINE,
    }  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "autosize": {"type": "none"},
        "background": None,
        "width": size.plot,
        "height": height,
        "padding": {"left": size.left, "right": size.right, "top": top, "bottom": bottom},
        "data": {"values": list(values)},
        "layer": list(layers),
        "config": {"view": {"stroke": None}, "text": {"color": INK, "fontSize": 12}, "axis": axis},
    }


def layer(mark: str, encoding: Spec, values: Values | None = None, **look: Any) -> Spec:
    """Marks of one kind."""
    own: Spec = {} if values is None else {"data": {"values": list(values)}}
    return {**own, "mark": {"type": mark, **look}, "encoding": encoding}


def label(field: str, x: float, align: str, encoding: Spec, values: Values | None = None, **look: Any) -> Spec:
    """A text per row, at a fixed place."""
    placed = {**encoding, "x": {"value": x}, "text": {"field": field}}
    return layer("text", placed, values, align=align, baseline="middle", **look)


def measured(field: str, domain: Sequence[float] | None = None, axis: Spec | None = None) -> Spec:
    """A place on an axis of numbers."""
    scale = {} if domain is None else {"scale": {"domain": list(domain), "nice": False}}
    return {"field": field, "type": "quantitative", "axis": axis, **scale}


def named(field: str, names: Sequence[str], values: Sequence[Any]) -> Spec:
    """One colour, shape or size per name."""
    return {"field": field, "type": "nominal", "scale": {"domain": list(names), "range": list(values)}, "legend": None}


def coloured(colours: Sequence[str] = SIGN_COLOURS) -> Spec:
    """The colour of a difference's direction."""
    return named("sign", SIGNS, colours)


def rows(count: float) -> Spec:
    """Rows from the top down, half a row of air at both ends."""
    return {
        **measured("row"),
        "scale": {"domain": [-0.5, max(count, 1) - 0.5], "reverse": True, "nice": False, "zero": False},
    }


def axis(title: str, ticks: int, **more: Any) -> Spec:
    """An axis with a light grid and nothing else."""
    return {"title": title or None, "tickCount": ticks, "domain": False, "ticks": False, "labelFlush": False, **more}


def around(values: Iterable[float | None], effect: float | None) -> tuple[float, float]:
    """A range of points with all values, zero and the effect in it, and some air."""
    there = [0.0, effect or 0.0, *(value for value in values if value is not None)]
    air = max(2.0, 0.06 * (max(there) - min(there)))
    return round(min(there) - air, 1), round(max(there) + air, 1)
