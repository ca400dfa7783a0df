"""The text of the answer: the passages with their lines, who imports what, and the report about the work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lensbench.core.errors import printable, some_of
from lensbench_demo.offline.toolbox import Toolbox
from lensbench_tasks.question import Term

LINE_WIDTH = 170
LONGEST = 4_500
"""Characters; the best comes first, so what is cut is the weakest."""
BEST_LINES = 3
"""Lines to quote of a passage."""
BEFORE = 2
AFTER = 1
"""Lines to quote around each."""
IMPORTERS_SHOWN = 20


@dataclass(frozen=True)
class Passage:
    """The hits inside one definition of a file, or outside of all."""

    path: str
    name: str
    """Of the definition, such as `Parser.parse`; empty outside of all."""
    lines: tuple[int, ...]
    """The best first."""
    terms: frozenset[Term]


def write_answer(
    passages: Sequence[Passage], importers: Mapping[str, Sequence[str]], toolbox: Toolbox
) -> str:
    """The answer as Markdown, with the report of the protocol at its end."""
    lines = [_imported(target, paths) for target, paths in importers.items() if paths]
    size = 0
    for passage in passages:
        quoted = list(_quoted(passage, toolbox))
        size += sum(map(len, quoted))
        if size <= LONGEST:
            lines += quoted
    found = "quotes the lines that fit the question best.\n"
    if not lines:
        found = "found nothing that fits the question."
    head = f"No language model answered: a text search of the workspace {found}"
    return "\n".join([head, *lines, "", *_report(passages, importers, toolbox)]) + "\n"


def _imported(target: str, paths: Sequence[str]) -> str:
    count = f"{len(paths)} file{'s' if len(paths) > 1 else ''}"
    shown = some_of([f"`{path}`" for path in paths], IMPORTERS_SHOWN)
    return f"- `{target}` is imported by {count}: {shown}."


def _quoted(passage: Passage, toolbox: Toolbox) -> Iterator[str]:
    """The place, and its best lines with those around them."""
    place = f"`{passage.path}:{min(passage.lines)}`"
    yield f"- {place}, in `{passage.name}`:" if passage.name else f"- {place}:"
    texts = toolbox.workspace.lines(passage.path)
    numbers: set[int] = set()
    for line in passage.lines[:BEST_LINES]:
        first = max(1, line - BEFORE)
        last = min(len(texts), line + AFTER)
        numbers.update(range(first, last + 1))
    for number in sorted(numbers):
        text = printable(texts[number - 1].strip())
        if text:
            yield f"  - {number}: {_code(text)}"


def _code(text: str) -> str:
    """`text` as Markdown code, whatever it holds."""
    if len(text) > LINE_WIDTH:
        text = f"{text[:LINE_WIDTH]}..."
    if "`" not in text:
        return f"`{text}`"
    ticks = "``"
    while ticks in text:
        ticks += "`"
    return f"{ticks} {text} {ticks}"


def _report(
    passages: Sequence[Passage], importers: Mapping[str, Sequence[str]], toolbox: Toolbox
) -> Iterator[str]:
    used = dict.fromkeys([*importers, *(passage.path for passage in passages)])
    yield "## Report"
    yield f"- **Tool calls**: {toolbox.calls.total()}"
    yield f"- **Tools used**: {', '.join(toolbox.calls)}"
    yield f"- **Files read**: {len(toolbox.files_read)}"
    yield f"- **Files used**: {', '.join(used) or 'none'}"
    yield "- **Key findings**:"
    named = [passage for passage in passages if passage.name][:4]
    for passage in named:
        yield f"  - `{passage.name}` is in `{passage.path}`"
    if not named:
        yield "  - none"
