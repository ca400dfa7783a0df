"""Drawings as SVG: the elements, marks, scales and axes that the charts need.

Texts are placed by their anchor and never measured, so that drawings do not depend on the fonts of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

MUTED = "var(--muted)"
SMALL = 11
"""The font size of axes, in pixels."""
_FACTORS = ((1, math.sqrt(2)), (2, math.sqrt(10)), (5, math.sqrt(50)), (10, math.inf))
"""Steps as multiples of a power of ten, each with the largest rough step that it is used for."""
_PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_OUTLINES: dict[str, Sequence[tuple[float, float]]] = {
    "square": ((-0.87, -0.87), (0.87, -0.87), (0.87, 0.87), (-0.87, 0.87)),
    "diamond": ((-1, 0), (0, -1), (1, 0), (0, 1)),
    "right": ((-0.9, -1), (0.9, 0), (-0.9, 1)),
    "left": ((0.9, -1), (-0.9, 0), (0.9, 1)),
}
"""Outlines around the centre, with a radius of 1; any other symbol is a circle."""


class Scale(NamedTuple):
    """Numbers from `low` to `high`, between two places in pixels."""

    low: float
    high: float
    start: float
    end: float

    def at(self, value: float) -> float:
        """The position of a number in pixels."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self, about: int) -> list[float]:
        """About `about` round numbers."""
        step = _step((self.high - self.low) / about)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        return [step * number for number in range(first, last + 1)]


def _step(rough: float) -> float:
    power = 10.0 ** math.floor(math.log10(rough))
    return power * next(factor for factor, most in _FACTORS if rough < most * power)


def element(name: str, *content: str, **attributes: str | float | None) -> str:
    """An element: `content` is SVG, attributes are strings, or numbers in pixels. None values are omitted."""
    text = "".join(
        f' {key.replace("_", "-")}="{_escaped(value) if isinstance(value, str) else _number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{text}>{''.join(content)}</{name}>" if content else f"<{name}{text}/>"


def _number(value: float) -> str:
    return f"{round(value, 2) + 0.0:g}"  # + 0.0: no negative zero


def _escaped(text: str) -> str:
    """The escaped text, without characters that are invalid in XML."""
    return escape("".join(character if character.isprintable() else "\ufffd" for character in text))


def named(name: str, text: str, **attributes: str | float | None) -> str:
    """An element with a text, such as a title or a description."""
    return element(name, _escaped(text), **attributes)


def words(x: float, y: float, text: str, anchor: str = "start", **look: str | float | None) -> str:
    """A text with its `start`, `middle` or `end` at x, vertically centred at y."""
    return named("text", text, x=x, y=y, dy="0.35em", text_anchor=None if anchor == "start" else anchor, **look)


def line(points: Iterable[tuple[float, float]], stroke: str, **look: str | float | None) -> str:
    """A line through all points."""
    path = "L".join(f"{_number(x)},{_number(y)}" for x, y in points)
    return element("path", d=f"M{path}", fill="none", stroke=stroke, **look)


def symbol(shape: str, x: float, y: float, radius: float, fill: str, **look: str | float | None) -> str:
    """A mark around a point: circle, square, diamond, or a triangle that points right or left."""
    r = _number(radius)
    outline = "L".join(f"{_number(radius * dx)},{_number(radius * dy)}" for dx, dy in _OUTLINES.get(shape, ()))
    path = f"M{outline}Z" if outline else f"M-{r},0A{r},{r},0,1,1,{r},0A{r},{r},0,1,1,-{r},0"
    return element("path", transform=f"translate({_number(x)},{_number(y)})", d=path, fill=fill, **look)


def tick_label(value: float) -> str:
    """The number with a minus sign (U+2212); 20,000 is `20k`."""
    size, prefix = next(((size, prefix) for size, prefix in _PREFIXES if abs(value) >= size), (1, ""))
    return f"{value / size:g}{prefix}".replace("-", "\u2212")


def x_axis(scale: Scale, height: float, title: str, ticks: Sequence[float], *, above: bool = False) -> str:
    """Vertical grid lines, with their numbers and the title below the drawing, or `above`."""
    first, second = (-12, -28) if above else (height + 12, height + 28)
    numbers = [words(scale.at(tick), first, tick_label(tick), "middle") for tick in ticks]
    if title:
        numbers.append(words((scale.start + scale.end) / 2, second, title, "middle"))
    lines = (f"M{_crisp(scale.at(tick))},0V{_number(height)}" for tick in ticks)
    grid = element("path", d="".join(lines), fill="none", stroke="var(--line)")
    return grid + element("g", *numbers, fill=MUTED, font_size=SMALL)


def _crisp(place: float) -> str:
    """The position moved to the middle of a pixel, so that a thin line does not cover two."""
    return _number(round(place) + 0.5)
