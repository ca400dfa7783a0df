"""What all charts of a page are put together from: its colours, the widths of their parts, names and numbers.

Colours are names of the page's style sheet, so that one drawing fits light, dark and paper; every colour comes with a
shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lensbench.core.svg import Ink, element

INK, MUTED, PAPER = "var(--ink)", "var(--muted)", "var(--paper)"
AXIS = Ink(MUTED, "var(--line)")
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


def around(values: Iterable[float | None], effect: float | None) -> tuple[float, float]:
    """A range of points with all values, zero and the effect in it, and some air."""
    there = [0.0, effect or 0.0, *(value for value in values if value is not None)]
    air = max(2.0, 0.06 * (max(there) - min(there)))
    return round(min(there) - air, 1), round(max(there) + air, 1)


def linked(address: str, *shapes: str) -> str:
    """Shapes that lead to an address. Tabs pass over them: the table below a chart has the same links, one per row."""
    return element("a", *shapes, href=address, tabindex="-1")
