"""Renders results as Markdown. Texts of people and agents can neither end a table cell nor become Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from lensbench.core import numbers
from lensbench.core.errors import printable
from lensbench.core.system.places import template_environment
from lensbench.core.tables import items
from lensbench.results.lost_pairs import kinds_in_words
from lensbench.results.page.judges import coefficient, coefficient_interval
from lensbench.results.presented import FEWEST_TASKS, shown_difference
from lensbench.runs.reasons import REASONS
from lensbench.scores.gate_words import level_text, with_noun
from lensbench.scores.intervals import LARGEST, Estimate

MANY_DISCARDS = 4
"""Above this many discards the cause has to be looked for (protocol, section 6)."""
MAX_CELL = 300
"""Longer texts are cut: the whole one stands in the csv tables."""
_ESCAPED = str.maketrans(
    {mark: f"\\{mark}" for mark in "\\`*[]|~$"} | {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
)
_EMPHASIS = re.compile(r"(?<!\w)_+|(?<!_)_++(?!\w)")
_COMMAND = r"`(?! )[\w ./:=-]+(?<! )`"
"""Nothing in it means anything to Markdown or HTML."""
_BLOCK = re.compile(r"^([#+=-]+|\d+(?=[.)](?:\s|$)))")


def cell(value: Any) -> str:
    """Any text on one line: nothing in it can end a table cell, begin Markdown or become HTML."""
    text = printable(str("" if value is None else value))
    text = " ".join(text.split())
    if not text:
        return numbers.MISSING
    line = text if len(text) <= MAX_CELL else f"{text[:MAX_CELL]}…"
    line = _EMPHASIS.sub(lambda match: "\\_" * len(match[0]), line.translate(_ESCAPED))
    return _BLOCK.sub(
        lambda match: f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}", line
    )


def p_value(p: float | None) -> str:
    """A p value; never 0."""
    return numbers.MISSING if p is None else "< 0.001" if p < 0.0005 else f"{p:.3f}"


def sentence(text: str) -> str:
    """A sentence of our own, in which names that others chose may stand; never cut. `Commands` are code."""
    pieces = re.split(f"({_COMMAND})", text)
    return "".join(
        piece if number % 2 else _escaped(piece) for number, piece in enumerate(pieces)
    ).strip()


def _escaped(text: str) -> str:
    """Words with the blanks around them, if any."""
    words = " ".join(cell(part) for part in re.findall(r"(?:\S+\s*){1,20}", text))
    return f"{' ' * text[:1].isspace()}{words}{' ' * (bool(words) and text[-1:].isspace())}"


FILTERS: Mapping[str, Callable[..., object]] = {
    "share": lambda counts: f"{counts['runs']}/{counts['of']}" if counts["of"] else numbers.MISSING,
    "sum_values": lambda counts: sum(counts.values()),
    "noun": with_noun,
    "level": level_text,
    "minute": lambda moment: moment[:16].replace("T", " "),
    "coefficient": coefficient,
    "shown": shown_difference,
    "coefficient_interval": coefficient_interval,
    "kinds": kinds_in_words,
}
"""Those of every page, Markdown and HTML."""


def render(
    data: Mapping[str, object],
    template: str = "results.md.j2",
    more: Mapping[str, Callable[..., object]] = {},
) -> str:
    """results.md, or another page; `more` are filters of its own."""
    environment = template_environment()
    environment.filters |= {
        "cell": cell,
        "sentence": sentence,
        "percent": numbers.percent,
        "points": numbers.points,
        "seconds": numbers.seconds,
        "number": numbers.number,
        "delta": numbers.signed_number,
        "yes_no": lambda value: {"yes": "Yes", "no": "No"}.get(value, numbers.MISSING),
        "precise": lambda value: numbers.rounded(value, 2),
        "names": lambda text: items(text) or [],
        "exact": lambda text: numbers.exact(text or ""),
        "interval_of_group": interval_of_group,
        "p_value": p_value,
        "size": lambda share: numbers.points(share).removeprefix("+"),
        "findable": _findable,
        **FILTERS,
        **more,
    }
    environment.globals |= {
        "interval": numbers.interval,
        "reasons": REASONS,
        "unknown_reason": {
            "meaning": "a reason from another version",
            "look_at": "its discard.json",
        },
        "many_discards": MANY_DISCARDS,
    }
    return environment.get_template(template).render(data)


def _findable(share: float | None) -> str:
    """A difference that would be found; with few tasks there may be none."""
    return (
        "none that is possible"
        if share and share > LARGEST
        else numbers.points(share).removeprefix("+")
    )


def interval_of_group(estimate: Estimate) -> str:
    """The interval of a category or a repository, where it has the tasks for one."""
    return (
        "too few tasks"
        if estimate.n < FEWEST_TASKS
        else numbers.interval(estimate.low, estimate.high)
    )
