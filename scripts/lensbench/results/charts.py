"""Drawings as SVG: the elements, marks, scales and axes that the charts need.

Texts are placed by their anchor and never measured, so that drawings do not depend on the fonts of the machine.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from html import escape
from typing import NamedTuple

from markupsafe import Markup

from lensbench.core.numbers import rounded

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
    return named(
        "text",
        text,
        x=x,
        y=y,
        dy="0.35em",
        text_anchor=None if anchor == "start" else anchor,
        **look,
    )


def line(points: Iterable[tuple[float, float]], stroke: str, **look: str | float | None) -> str:
    path = "L".join(f"{_number(x)},{_number(y)}" for x, y in points)
    return element("path", d=f"M{path}", fill="none", stroke=stroke, **look)


def symbol(
    shape: str, x: float, y: float, radius: float, fill: str, **look: str | float | None
) -> str:
    """A mark around a point: circle, square, diamond, or a triangle that points right or left."""
    r = _number(radius)
    outline = "L".join(
        f"{_number(radius * dx)},{_number(radius * dy)}" for dx, dy in _OUTLINES.get(shape, ())
    )
    path = f"M{outline}Z" if outline else f"M-{r},0A{r},{r},0,1,1,{r},0A{r},{r},0,1,1,-{r},0"
    return element(
        "path", transform=f"translate({_number(x)},{_number(y)})", d=path, fill=fill, **look
    )


def tick_label(value: float) -> str:
    """The number with a minus sign (U+2212); 20,000 is `20k`."""
    size, prefix = next(
        ((size, prefix) for size, prefix in _PREFIXES if abs(value) >= size), (1, "")
    )
    return f"{value / size:g}{prefix}".replace("-", "\u2212")


def x_axis(
    scale: Scale, height: float, title: str, ticks: Sequence[float], *, above: bool = False
) -> str:
    """Vertical grid lines, with their numbers and the title below the drawing, or `above`."""
    first, second = (-12, -28) if above else (height + 12, height + 28)
    numbers = [words(scale.at(tick), first, tick_label(tick), "middle") for tick in ticks]
    if title:
        numbers.append(words((scale.start + scale.end) / 2, second, title, "middle"))
    lines = (f"M{_number(round(scale.at(tick)) + 0.5)},0V{_number(height)}" for tick in ticks)
    grid = element("path", d="".join(lines), fill="none", stroke="var(--line)")
    return grid + element("g", *numbers, fill=MUTED, font_size=SMALL)


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


class Chart(NamedTuple):
    """A chart, with a title and a description for people who cannot see it."""

    size: Size
    height: float
    top: float
    bottom: float
    shapes: str
    """SVG; 0, 0 is the upper left corner of the drawing."""
    title: str
    description: str


def draw(chart: Chart, name: str, kind: str = "") -> Markup:
    """The chart as an SVG element. `name` must be unique on the page; `kind` is a CSS class."""
    size = chart.size
    width, height = size.left + size.plot + size.right, chart.top + chart.height + chart.bottom
    return Markup(
        element(
            "svg",
            named("title", chart.title, id=f"{name}-title"),
            named("desc", chart.description, id=f"{name}-desc"),
            element(
                "g",
                chart.shapes,
                transform=f"translate({size.left},{chart.top})",
                fill=INK,
                font_size=12,
            ),
            **{"class": kind},
            width=width,
            height=height,
            viewBox=f"0 0 {width:g} {height:g}",
            role="group"
            if "<a " in chart.shapes
            else "img",  # what is in an image, nobody is told of
            aria_labelledby=f"{name}-title {name}-desc",
        )
    )


def draw_both(name: str, chart: Callable[[Size], Chart], wide: Size, narrow: Size) -> Markup:
    """A drawing for wide screens and paper, and one for narrow screens; the style sheet shows one of them."""
    return draw(chart(wide), f"{name}-wide", "wide") + draw(
        chart(narrow), f"{name}-narrow", "narrow"
    )


WIDE, NARROW = Size(220, 640, 60, 30), Size(130, 164, 58, 16)
FOREST_WIDE, FOREST_NARROW = Size(270, 460, 180, 30), Size(132, 104, 108, 11)
RULER_WIDE, RULER_NARROW = Size(12, 500, 12), Size(8, 320, 8)


class Dumbbell(NamedTuple):
    """A task's two scores; `address` is the link to its answers."""

    task: str
    baseline: float
    treatment: float
    delta: float
    address: str


_TASK_ROW = 18
_ARROWS = {"better": "right", "equal": "circle", "worse": "left"}


def dumbbells(tasks: Sequence[Dumbbell], between: str, names: tuple[str, str], size: Size) -> Chart:
    """Each task as a line from its score without to its score with; `between` says which are omitted."""
    size = size.fitted(task.task for task in tasks)
    lines = len(tasks) + bool(between)
    middle = len(tasks) // 2 if between else lines
    height = _TASK_ROW * lines
    x = Scale(0, 100, 0, size.plot)
    shapes = [x_axis(x, height, "score, %", x.ticks(5), above=True)]
    if between:
        shapes.append(
            words(
                -size.left,
                _TASK_ROW * (middle + 0.5),
                between,
                fill=MUTED,
                font_style="italic",
                font_size=SMALL,
            )
        )
    for index, task in enumerate(tasks):
        top = _TASK_ROW * (index + (index >= middle))
        shapes.append(linked(task.address, *_dumbbell(task, x, top, size)))
    counts = Counter(sign(task.delta) for task in tasks)
    summary = ", ".join(f"{counts[name]} {name}" for name in COLOURS)
    return Chart(
        size,
        height,
        44,
        6,
        "".join(shapes),
        f"Score of each task in {names[0]} and in {names[1]}",
        f"One line per task, the greatest gain first (tasks: {summary}). The table below has the same numbers.",
    )


def _dumbbell(task: Dumbbell, x: Scale, top: float, size: Size) -> list[str]:
    y, way = top + _TASK_ROW / 2, sign(task.delta)
    start, end, colour = x.at(task.baseline), x.at(task.treatment), COLOURS[way]
    return [
        element(
            "rect",
            x=-size.left,
            y=top,
            width=size.left + size.plot + size.right,
            height=_TASK_ROW,
            fill="transparent",
        ),  # the whole row is a link to the answers
        words(-12, y, shortened(task.task, size.letters), "end"),
        line([(start, y), (end, y)], colour, stroke_width=2, opacity=0.55),
        symbol("circle", start, y, 4, PAPER, stroke=MUTED, stroke_width=1.5),
        symbol(_ARROWS[way], end, y, 5, colour),
        words(
            size.plot + size.right - 4,
            y,
            signed(task.delta, 0),
            "end",
            fill=colour,
            font_weight="bold",
        ),
    ]


class ForestLine(NamedTuple):
    """A line of the forest plot; `low` and `high` are None without an interval."""

    label: str
    kind: str
    """A key of KINDS."""
    tasks: int
    delta: float
    low: float | None
    high: float | None

    @property
    def colour(self) -> str:
        """The colour of a direction, if the whole interval is on one side of zero."""
        sure = self.low is not None and self.high is not None and not self.low <= 0 <= self.high
        return COLOURS[sign(self.delta)] if sure else INK

    def words(self, digits: int) -> str:
        ends = (
            ""
            if self.low is None or self.high is None
            else f" [{signed(self.low, digits)}, {signed(self.high, digits)}]"
        )
        return signed(self.delta, digits) + ends


KINDS = {"overall": ("diamond", 7), "category": ("square", 6), "repository": ("circle", 4.5)}
"""The groups of the forest plot in order, with the shape and size of their marks."""
_ROW, _GAP = 22, 13


def _label(text: str, letters: int) -> str:
    """The label of a package without its hash, and without its version, if it is too long."""
    forms = (text, text.partition(" (")[0], text.partition("==")[0])
    return next((form for form in forms if len(form) <= letters), shortened(forms[-1], letters))


def forest(
    intervals: Sequence[ForestLine],
    effect: float | None,
    size: Size,
    title: str = "Difference in score, overall, by category and by repository",
) -> Chart:
    """Differences with their intervals, by group; a dashed line at the smallest worthwhile effect."""
    compact = size.plot < 200
    size = size.fitted((row.label for row in intervals), 66)
    kinds, height = list(KINDS), _ROW * len(intervals) + 2 * _GAP
    x = Scale(
        *around((end for row in intervals for end in (row.delta, row.low, row.high)), effect),
        0,
        size.plot,
    )
    shapes = [
        x_axis(x, height, "points", x.ticks(3 if compact else 6)),
        *_limits(effect, x, height),
    ]
    for index, row in enumerate(intervals):
        y = _ROW * (index + 0.5) + _GAP * kinds.index(row.kind)
        if row.low is not None and row.high is not None:
            shapes.append(
                line([(x.at(row.low), y), (x.at(row.high), y)], row.colour, stroke_width=2.5)
            )
        shapes += [
            symbol(KINDS[row.kind][0], x.at(row.delta), y, KINDS[row.kind][1], row.colour),
            words(-size.left, y, _label(row.label, size.letters)),
            words(-10, y, f"n {row.tasks}", "end", fill=MUTED),
            words(size.plot + size.right, y, row.words(0 if compact else 1), "end"),
        ]
    return Chart(
        size,
        height,
        8,
        40,
        "".join(shapes),
        title,
        "Points with their intervals; the table below has the same numbers.",
    )


def ruler(
    delta: float,
    low: float | None,
    high: float | None,
    effect: float | None,
    verdict: str,
    size: Size,
) -> Chart:
    """The difference behind the verdict on one line: its interval, zero and the smallest worthwhile effect."""
    start, end = around([delta, low, high], effect)
    worth, height, y = effect or 0, 46, 26
    # room for the words
    x = Scale(min(start, -0.45 * end), max(end, worth + 0.3 * (worth - start)), 0, size.plot)
    shapes = [x_axis(x, height, "", x.ticks(5)), *_limits(effect, x, height)]
    colour, ends = f"var(--{verdict.lower()})", ""
    if low is not None and high is not None:
        ends = f", from {signed(low)} to {signed(high)}"
        shapes.append(
            line([(x.at(low), y), (x.at(high), y)], colour, stroke_width=10, opacity=0.45)
        )
    shapes.append(symbol("diamond", x.at(delta), y, 7.5, colour))
    shapes.append(words(x.at(0) - 3, -6, "no difference", "end", fill=MUTED, font_size=SMALL))
    if effect is not None:
        shapes.append(words(x.at(effect) + 3, -6, "worthwhile", fill=MUTED, font_size=SMALL))
    return Chart(
        size,
        height,
        20,
        22,
        "".join(shapes),
        "The difference and its interval",
        f"{signed(delta)} points{ends}",
    )


def _limits(effect: float | None, x: Scale, height: float) -> list[str]:
    """Lines at zero and at the smallest worthwhile effect."""
    limits = [(0.0, None)] if effect is None else [(0.0, None), (effect, DASHES)]
    return [
        line([(x.at(at), 0), (x.at(at), height)], MUTED, stroke_dasharray=dashes)
        for at, dashes in limits
    ]
