"""The charts of scores and differences, in percent and percentage points, as Vega-Lite specifications."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from lensbench.results.charts.parts import (
    BOLD,
    INK,
    MUTED,
    SIGN_COLOURS,
    SIGNS,
    Size,
    around,
    axis,
    coloured,
    label,
    layer,
    measured,
    named,
    rows,
    shortened,
    sign,
    signed,
    specification,
)  # fmt: skip
from lensbench.results.charts.svg import Chart, Spec, link

WIDE, NARROW = Size(220, 640, 60, 30), Size(122, 164, 58, 16)
FOREST_WIDE, FOREST_NARROW = Size(270, 460, 180, 30), Size(132, 104, 108, 11)
RULER_WIDE, RULER_NARROW = Size(12, 500, 12), Size(8, 320, 8)
_DASHED: Spec = {"strokeDash": [4, 3]}


class Dumbbell(NamedTuple):
    """A task's two scores; `address` is where its answers are."""

    task: str
    baseline: float
    treatment: float
    delta: float
    address: str


def dumbbells(tasks: Sequence[Dumbbell], between: str, names: tuple[str, str], size: Size) -> Chart:
    """Every task as a line from its score without to its score with. `between`: what stands in the middle, if left out.

    `names` are those of the baseline and of the treatment.
    """
    size = size.fitted(task.task for task in tasks)
    lines = len(tasks) + bool(between)
    middle = len(tasks) // 2 if between else lines
    values = [
        {
            "row": index + (index >= middle), "task": shortened(task.task, size.letters), "from": task.baseline,
            "to": task.treatment, "sign": sign(task.delta), "delta": signed(task.delta, 0), "link": link(task.address),
        }
        for index, task in enumerate(tasks)
    ]  # fmt: skip
    row = {"y": rows(lines), "href": {"field": "link"}}
    score = axis("score, %", 5, orient="top")
    start, end = measured("from", (0, 100), score), measured("to", (0, 100), score)
    arrows = named("sign", SIGNS, ("triangle-right", "circle", "triangle-left"))
    hollow: Spec = {"fill": "var(--paper)", "stroke": MUTED, "strokeWidth": 1.5}
    figures = size.plot + size.right - 4
    layers = [
        label("task", -12, "right", row),
        layer("rule", {**row, "x": start, "x2": {"field": "to"}, "color": coloured()}, strokeWidth=2, opacity=0.55),
        layer("point", {**row, "x": start}, size=52, filled=True, opacity=1, **hollow),
        layer("point", {**row, "x": end, "color": coloured(), "shape": arrows}, size=80, filled=True, opacity=1),
        label("delta", figures, "right", {**row, "color": coloured()}, **BOLD),
    ]
    if between:
        gap = [{"row": middle, "text": between}]
        layers.append(label("text", 0, "left", {"y": rows(lines)}, gap, fontStyle="italic", color=MUTED))
    counts = Counter(sign(task.delta) for task in tasks)
    words = ", ".join(f"{counts[name]} {name}" for name in SIGNS)
    return Chart(
        specification(size, 18 * lines, 44, 6, layers, values),
        f"Score of each task in {names[0]} and in {names[1]}",
        f"One line per task, the greatest gain first: {words}. The table below has the same numbers.",
    )


def spread(deltas: Sequence[float], size: Size) -> Chart:
    """How many tasks have which difference, in steps of 5 points."""
    counts = Counter(round(delta / 5) * 5 for delta in deltas)
    values = [
        {"low": step - 2.2, "high": step + 2.2, "tasks": tasks, "sign": sign(step)}
        for step, tasks in sorted(counts.items())
    ]
    edge = max(20, *(abs(step) + 5 for step in counts))
    bars = layer("bar", {
        "x": measured("low", (-edge, edge), axis("difference, points", 8)), "x2": {"field": "high"},
        "y": measured("tasks", axis=axis("tasks", 4, tickMinStep=1)), "y2": {"datum": 0}, "color": coloured(),
    })  # fmt: skip
    margins = Size(44, size.left + size.plot + size.right - 56, 12)
    return Chart(
        specification(margins, 120, 8, 40, [bars], values),
        "Differences of all tasks",
        "Bars show how many tasks gained or lost how much, in steps of 5 points.",
    )


class Interval(NamedTuple):
    """A line of the forest plot; `low` and `high` are None where there is no interval."""

    label: str
    kind: str
    """A key of KINDS."""
    tasks: int
    delta: float
    low: float | None
    high: float | None

    @property
    def side(self) -> str:
        """On which side of zero the whole interval lies, as a word; equal when it does not."""
        if self.low is None or self.high is None:
            return "equal"
        return "better" if self.low > 0 else "worse" if self.high < 0 else "equal"

    def words(self, digits: int) -> str:
        """The difference and its interval."""
        ends = (
            ""
            if self.low is None or self.high is None
            else f" [{signed(self.low, digits)}, {signed(self.high, digits)}]"
        )
        return signed(self.delta, digits) + ends


KINDS = ("overall", "category", "repository")
"""The groups of the forest plot, in their order."""


def _label(text: str, letters: int) -> str:
    """A package loses its hash, then its version, where there is no room for them."""
    forms = (text, text.partition(" (")[0], text.partition("==")[0])
    return next((form for form in forms if len(form) <= letters), shortened(text, letters))


def forest(intervals: Sequence[Interval], effect: float | None, size: Size) -> Chart:
    """Differences with their intervals, group by group; a dashed line at the smallest worthwhile effect."""
    compact = size.plot < 200
    size = size.fitted((each.label for each in intervals), 66)
    values = [
        {
            "row": index + 0.6 * KINDS.index(each.kind), "label": _label(each.label, size.letters),
            "kind": each.kind, "tasks": f"n {each.tasks}", "delta": each.delta, "low": each.low, "high": each.high,
            "words": each.words(0 if compact else 1), "sign": each.side,
        }
        for index, each in enumerate(intervals)
    ]  # fmt: skip
    domain = around((end for each in intervals for end in (each.delta, each.low, each.high)), effect)
    row = {"y": rows(len(intervals) + 1.2)}
    points = axis("points", 3 if compact else 6)
    colour = coloured((SIGN_COLOURS[0], INK, SIGN_COLOURS[2]))
    line = {**row, "x": measured("low", domain, points), "x2": {"field": "high"}, "color": colour}
    marks = {
        **row, "x": measured("delta", domain, points), "color": colour,
        "shape": named("kind", KINDS, ("diamond", "square", "circle")), "size": named("kind", KINDS, (190, 80, 60)),
    }  # fmt: skip
    layers = [
        *_limits(effect, measured("at", domain, points)),
        layer("rule", line, [value for value in values if value["low"] is not None], strokeWidth=2.5),
        layer("point", marks, filled=True, opacity=1),
        label("label", -size.left, "left", row),
        label("tasks", -10, "right", row, color=MUTED),
        label("words", size.plot + size.right, "right", row),
    ]
    return Chart(
        specification(size, round(22 * (len(intervals) + 1.2)), 8, 40, layers, values),
        "Difference in score, overall, by category and by repository",
        "Points with their intervals; the table below has the same numbers.",
    )


def ruler(delta: float, low: float | None, high: float | None, effect: float | None, verdict: str, size: Size) -> Chart:
    """The difference that decides, on one line: its interval, zero and the smallest worthwhile effect."""
    start, end = around([delta, low, high], effect)
    worth = effect or 0
    domain = (min(start, -0.45 * end), max(end, worth + 0.3 * (worth - start)))  # room for the words
    scale = axis("", 5)
    place = measured("at", domain, scale)
    look = {"color": f"var(--{verdict.lower()})", "y": 26}
    layers = _limits(effect, place)
    ends = "" if low is None or high is None else f", from {signed(low)} to {signed(high)}"
    if ends:
        bar = {"x": measured("low", domain, scale), "x2": {"field": "high"}}
        layers.append(layer("rule", bar, [{"low": low, "high": high}], strokeWidth=10, opacity=0.45, **look))
    layers.append(
        layer("point", {"x": place}, [{"at": delta}], shape="diamond", size=240, filled=True, opacity=1, **look)
    )
    quiet = {"y": -6, "fontSize": 11, "color": MUTED}
    layers.append(layer("text", {"x": place}, [{"at": 0}], text="no difference", align="right", dx=-3, **quiet))
    if effect is not None:
        layers.append(layer("text", {"x": place}, [{"at": effect}], text="worthwhile", align="left", dx=3, **quiet))
    return Chart(
        specification(size, 46, 20, 22, layers, [{}]),
        "The difference and its interval",
        f"{signed(delta)} points{ends}",
    )


def _limits(effect: float | None, place: Spec) -> list[Spec]:
    """Zero, and the smallest worthwhile effect."""
    zero = layer("rule", {"x": place}, [{"at": 0}], color=MUTED)
    return [zero] if effect is None else [zero, layer("rule", {"x": place}, [{"at": effect}], color=MUTED, **_DASHED)]


class Look(NamedTuple):
    """One look of a sequential run; `z` is None when nothing could be estimated yet."""

    number: int
    z: float | None
    boundary: float


def track(looks: Sequence[Look]) -> Chart:
    """The test statistic against the boundary, look by look."""
    bounds = [{"look": look.number, "upper": look.boundary, "lower": -look.boundary} for look in looks]
    values = [{"look": look.number, "z": look.z} for look in looks if look.z is not None]
    edge = 1.1 * max(abs(value) for look in looks for value in (look.boundary, look.z or 0))
    x = {"field": "look", "type": "ordinal", "axis": axis("look", 0, labelAngle=0)}
    z = axis("z", 6)

    def line(field: str, **look: Any) -> Spec:
        return layer("line", {"x": x, "y": measured(field, (-edge, edge), z)}, **look)

    layers = [
        layer("rule", {"y": measured("z", (-edge, edge), z)}, [{"z": 0}], color=MUTED),
        {"data": {"values": bounds}, **line("upper", color="var(--better)", **_DASHED)},
        {"data": {"values": bounds}, **line("lower", color="var(--worse)", **_DASHED)},
        line("z", color=INK, point={"color": INK, "size": 70}),
    ]
    words = (
        f"look {look.number}: z {'not known' if look.z is None else f'{look.z:.2f}'}, boundary {look.boundary:.2f}"
        for look in looks
    )
    return Chart(
        specification(Size(46, 280, 14), 220, 10, 40, layers, values),
        "Test statistic against its boundary per look",
        "; ".join(words),
    )
