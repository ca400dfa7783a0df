"""Shows answers side by side on a terminal, or below each other if it is narrow."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from lensbench.core.system.terminal import printable_lines
from lensbench.results.side_by_side import Side

NARROWEST = 48
"""The minimum width of an answer, in columns; on narrower terminals answers are shown below each other."""


def show(console: Console, question: str, sides: Sequence[Side]) -> None:
    """Prints the question, the answers and, last so that it stays in view, the facts about the runs."""
    console.print(Text(printable_lines(question), style="bold"), "", sep="\n")
    if console.width >= NARROWEST * len(sides):
        console.print(_columns(sides))
    else:
        console.print(
            Group(*(part for side in sides for part in (Text(f"── {side.condition} ──", "bold"), _body(side))))
        )
    console.print(_facts(sides), end="")
    for side in sides:
        if side.problem:
            text = f"{side.condition}: a benchmark would not count this run. {side.problem}"
            console.print(Text(printable_lines(text), style="yellow"))


def _facts(sides: Sequence[Side]) -> Table:
    table = Table("", *(side.condition for side in sides), box=box.SIMPLE_HEAD, pad_edge=False)
    for name in sides[0].facts:
        table.add_row(name, *(Text(printable_lines(side.facts[name])) for side in sides))
    return table


def _columns(sides: Sequence[Side]) -> Table:
    table = Table(box=box.MINIMAL, pad_edge=False, expand=True)
    for side in sides:
        table.add_column(side.condition, ratio=1)
    table.add_row(*(_body(side) for side in sides))
    return table


def _body(side: Side) -> RenderableType:
    """Findings, files and the answer, with a blank line after each."""
    parts = [*_listed("Findings", side.findings), *_listed("Files", side.files)]
    return Group(*parts, Text("Answer", "dim"), Text(printable_lines(side.answer.strip()) or "(empty)"), Text(""))


def _listed(title: str, items: Sequence[str]) -> list[Text]:
    return [Text(title, "dim"), *(Text(f"- {printable_lines(item)}") for item in items), Text("")] if items else []
