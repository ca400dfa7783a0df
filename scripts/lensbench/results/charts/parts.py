"""Shared parts of the charts on a page: colours, widths, labels and numbers.

Colours are names from the page's style sheet, so that a drawing works in light and dark mode and in print; each colour
is combined with a shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple

from lensbench.core.numbers import rounded
from lensbench.results.charts.drawing import element

INK, PAPER = "var(--ink)", "var(--paper)"
COLOURS = {"better": "var(--better)", "equal": "var(--same)", "worse": "var(--worse)"}
"""By the direction of a difference."""
DASHES = "4,3"


class Size(NamedTuple):
    """The widths of a chart's parts in pixels: labels, drawing, figures; and how long a label may be."""

    left: int
    plot: int
    right: int
    letters: int = 0

    def fitted(self, labels: Iterable[str], beside: int = 20) -> Size:
        """The size with the label column reduced to the longest label plus `beside` pixels in favour of the drawing."""
        longest = max((min(len(label), self.letters) for label in labels), default=0)
        left = min(self.left, beside + 7 * longest)
        return self._replace(left=left, plot=self.plot + self.left - left)


def sign(delta: float) -> str:
    """The direction of a difference, as a word."""
    return "better" if delta > 0 else "worse" if delta < 0 else "equal"


def signed(value: float, digits: int = 1) -> str:
    """A difference with its sign, with U+2212 as the minus, rounded as in the other outputs (`numbers.points`)."""
    text = rounded(Fraction(rounded(Fraction(value), 4)), digits)
    return f"{'+' if value > 0 and float(text) else ''}{text}".replace("-", "\u2212")


def shortened(text: str, letters: int) -> str:
    """The text, with its middle omitted if it is longer; names often differ at their ends."""
    half = (letters - 1) // 2
    return text if len(text) <= letters else f"{text[: letters - 1 - half]}…{text[-half:]}"


def around(values: Iterable[float | None], effect: float | None) -> tuple[float, float]:
    """A range of points that includes all values, zero and the effect, with a margin."""
    there = [0.0, effect or 0.0, *(value for value in values if value is not None)]
    air = max(2.0, 0.06 * (max(there) - min(there)))
    return round(min(there) - air, 1), round(max(there) + air, 1)


def linked(address: str, *shapes: str) -> str:
    """Shapes that link to an address. They are skipped by the Tab key: the table below a chart has the same links."""
    return element("a", *shapes, href=address, tabindex="-1")
