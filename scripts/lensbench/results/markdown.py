"""Renders results as Markdown. Texts of people and agents can neither end a table cell nor become Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from markdown_it import MarkdownIt
from markupsafe import Markup

from lensbench.core import numbers
from lensbench.core.errors import printable
from lensbench.core.system.places import template_environment
from lensbench.core.tables import items
from lensbench.results.lost_pairs import kinds_in_words
from lensbench.results.page.judges import coefficient, coefficient_interval
from lensbench.results.presented import FEWEST_TASKS_OF_GROUP, shown_difference
from lensbench.runs.reasons import REASONS
from lensbench.scores.gate_words import level_text, with_noun
from lensbench.scores.intervals import LARGEST, Estimate
from lensbench.scores.quantities import QUANTITIES

MANY_DISCARDS = 4
"""Above this many discarded rounds the cause has to be looked for (protocol, section 6)."""
LONGEST_CELL = 300
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
    text = printable("" if value is None else str(value))
    text = " ".join(text.split())
    if not text:
        return numbers.MISSING
    if len(text) > LONGEST_CELL:
        text = f"{text[:LONGEST_CELL]}…"
    text = text.translate(_ESCAPED)
    text = _EMPHASIS.sub(lambda match: match[0].replace("_", "\\_"), text)
    return _BLOCK.sub(_unblocked, text)


def _unblocked(match: re.Match[str]) -> str:
    """The start of a list or a heading as text."""
    if match[0].isdigit():
        return f"{match[0]}\\"
    return f"\\{match[0]}"


def p_value(p: float | None) -> str:
    """A p value; never 0."""
    if p is None:
        return numbers.MISSING
    return "< 0.001" if p < 0.0005 else f"{p:.3f}"


def sentence(text: str) -> str:
    """A sentence of our own, in which names that others chose may stand; never cut. `Commands` are code."""
    pieces = re.split(f"({_COMMAND})", text)
    pieces[::2] = map(_escaped, pieces[::2])
    return "".join(pieces).strip()


def _escaped(text: str) -> str:
    """Words with the blanks around them, if any."""
    words = " ".join(map(cell, re.findall(r"(?:\S+\s*){1,20}", text)))
    if text[:1].isspace():
        words = f" {words}"
    if words.strip() and text[-1:].isspace():
        words += " "
    return words


PAGE_FILTERS: Mapping[str, Callable[..., object]] = {
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
        "percent": exactly(numbers.percent),
        "points": numbers.points,
        "seconds": exactly(numbers.seconds),
        "number": exactly(numbers.number),
        "delta": exactly(numbers.signed_number),
        "yes_no": lambda value: {"yes": "Yes", "no": "No"}.get(value, numbers.MISSING),
        "precise": lambda value: numbers.rounded(Fraction(str(value)), 2),
        "names": lambda text: items(text) or [],
        "exact": lambda text: numbers.exact(text or ""),
        "interval_of_group": interval_of_group,
        "p_value": p_value,
        "size": lambda share: numbers.points(share).removeprefix("+"),
        "findable": _findable,
        **PAGE_FILTERS,
        **more,
    }
    environment.globals |= {
        "interval": numbers.interval,
        "quantities": tuple(QUANTITIES),  # JSON has lost the order
        "reasons": REASONS,
        "unknown_reason": {
            "meaning": "a reason from another version",
            "look_at": "its discard.json",
        },
        "many_discards": MANY_DISCARDS,
    }
    return environment.get_template(template).render(data)


def exactly(show: Callable[[Fraction | None], str]) -> Callable[[Any], str]:
    """A filter that formats numbers from JSON and tables as exact numbers."""
    return lambda value: show(None if value in (None, "") else Fraction(str(value)))


def as_html(text: str) -> Markup:
    """Our Markdown, in which foreign texts are escaped, as HTML; columns of numbers are of class n."""
    html = MarkdownIt("commonmark", {"html": False}).enable("table").render(text)
    html = html.replace('style="text-align:right"', 'class="n"')
    html = html.replace("<table>", '<div class="scroll" tabindex="0"><table>')
    return Markup(html.replace("</table>", "</table></div>"))


def _findable(share: float | None) -> str:
    """A difference that would be found; with few tasks there may be none."""
    if share and share > LARGEST:
        return "none that is possible"
    return numbers.points(share).removeprefix("+")


def interval_of_group(estimate: Estimate) -> str:
    """The interval of a category or a repository, where it has the tasks for one."""
    if estimate.n < FEWEST_TASKS_OF_GROUP:
        return "too few tasks"
    return numbers.interval(estimate.low, estimate.high)
