"""The text of the answer: passages with their lines, what they point to, and the report about the work."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from lensbench.core.errors import printable, some_of
from lensbench_demo.offline.outline import outline
from lensbench_demo.offline.passages import Passage
from lensbench_demo.offline.toolbox import Toolbox

LINE_WIDTH = 170
BUDGET = 3_600
"""Characters of evidence; the best comes first, so what is cut is the weakest."""
USES_SHOWN, LINES_SHOWN, IMPORTERS_SHOWN = 10, 4, 16


@dataclass(frozen=True)
class DefinitionPlace:
    """A definition that a passage points to."""

    path: str
    line: int
    name: str
    text: str


@dataclass(frozen=True)
class Uses:
    """Where a name is used: (file, lines), the most telling files first."""

    name: str
    places: tuple[tuple[str, tuple[int, ...]], ...]
    all: bool
    """Worth more than a few: the question asks who is concerned."""


@dataclass(frozen=True)
class Importers:
    """The files that import one: as a tool says, or those with lines that import something of its name."""

    target: str
    name: str
    """What was searched for; empty when a tool named the files."""
    paths: tuple[str, ...]


@dataclass(frozen=True)
class AnswerParts:
    """Everything that the answer says."""

    passages: tuple[Passage, ...]
    followed: tuple[DefinitionPlace, ...]
    uses: tuple[Uses, ...]
    importers: tuple[Importers, ...]


def write_answer(findings: AnswerParts, toolbox: Toolbox) -> str:
    """The answer as Markdown, with the report of the protocol at its end."""
    blocks = list(_evidence(findings, toolbox))
    if not blocks:
        body = [
            "No language model answered: a text search of the workspace found nothing that fits the question."
        ]
    else:
        body = [
            "No language model answered: a text search quotes the passages that fit the question best."
        ]
        body += ["", *_within_budget(blocks)]
    return "\n".join([*body, "", *_report(findings, toolbox)]) + "\n"


def _evidence(findings: AnswerParts, toolbox: Toolbox) -> Iterator[list[str]]:
    """Blocks of lines, the most important first."""
    first = findings.passages[:3]
    yield from (_passage(passage, toolbox) for passage in first)
    yield from ([_imported(importers)] for importers in findings.importers)
    yield from (_used(uses, toolbox) for uses in findings.uses)
    for place in findings.followed:
        yield [f"- `{place.path}:{place.line}` defines `{place.name}`: {_code(place.text)}"]
    yield from (_passage(passage, toolbox) for passage in findings.passages[3:])


def _passage(passage: Passage, toolbox: Toolbox) -> list[str]:
    unit = passage.unit
    head = f"- `{unit.path}:{unit.lines[0]}`"
    lines = [f"{head}, in `{unit.name}`:" if unit.name else f"{head}:"]
    for number in passage.quoted:
        lines.append(f"  - {number}: {_code(toolbox.workspace.line(unit.path, number))}")
    return lines


def _imported(importers: Importers) -> str:
    count = f"{len(importers.paths)} file{'s' if len(importers.paths) > 1 else ''}"
    paths = some_of([f"`{path}`" for path in importers.paths], IMPORTERS_SHOWN)
    other = f", or another `{importers.name}`," if importers.name else ""
    return f"- `{importers.target}`{other} is imported by {count}: {paths}."


def _used(uses: Uses, toolbox: Toolbox) -> list[str]:
    count = USES_SHOWN if uses.all else 4
    lines = [f"- `{uses.name}` is used in:"]
    for path, numbers in uses.places[:count]:
        lines.append(f"  - `{path}`: {_where(path, numbers, toolbox)}")
    if len(uses.places) > count:
        lines.append(f"  - and {len(uses.places) - count} more files")
    return lines


def _where(path: str, numbers: tuple[int, ...], toolbox: Toolbox) -> str:
    """The uses in one file: their lines, the definitions around them, and the text of the first that is no import."""
    texts = {number: toolbox.workspace.line(path, number).strip() for number in numbers}
    telling = [
        number
        for number, text in texts.items()
        if not text.startswith(("from ", "import ", "#", ":"))
    ]
    units = outline(path, toolbox.workspace.lines(path))
    around = {
        line: unit.name
        for unit in units
        for line in unit.lines
        if unit.kind not in ("text", "constant")
    }
    order = [*telling, *(number for number in numbers if number not in telling)]
    places = [
        f"{number} in `{around[number]}`" if around.get(number) else str(number) for number in order
    ]
    return f"line {some_of(places, LINES_SHOWN)}: {_code(texts[order[0]])}"


def _within_budget(blocks: list[list[str]]) -> list[str]:
    lines: list[str] = []
    size = 0
    for block in blocks:
        size += sum(len(line) + 1 for line in block)
        if lines and size > BUDGET:
            break
        lines += block
    return lines


def _code(text: str) -> str:
    """`text` as Markdown code on one line, whatever it holds."""
    text = printable(text.strip())
    text = text if len(text) <= LINE_WIDTH else text[: LINE_WIDTH - 3] + "..."
    ticks = "`"
    while ticks in text:
        ticks += "`"
    return f"{ticks}{text}{ticks}" if len(ticks) == 1 else f"{ticks} {text} {ticks}"


def _report(findings: AnswerParts, toolbox: Toolbox) -> Iterator[str]:
    files = dict.fromkeys(passage.unit.path for passage in findings.passages)
    files |= dict.fromkeys(place.path for place in findings.followed)
    files |= dict.fromkeys(importers.target for importers in findings.importers)
    yield "## Report"
    yield f"- **Tool calls**: {toolbox.calls.total()}"
    yield f"- **Tools used**: {', '.join(toolbox.calls)}"
    yield f"- **Files read**: {len(toolbox.files_read)}"
    yield f"- **Files used**: {', '.join(files) or 'none'}"
    yield "- **Key findings**:"
    units = [passage.unit for passage in findings.passages if passage.unit.name][:4]
    for unit in units:
        yield f"  - `{unit.name}` ({unit.kind}) is in `{unit.path}`, line {unit.lines[0]}"
    if not units:
        yield "  - none"
