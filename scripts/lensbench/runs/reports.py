"""Reading what an agent says about its own run: the `## Report` that the prompt asks for (protocol, section 3).

People's agents write it in many forms. What cannot be read for certain is missing (None), never 0 and never a guess.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from lensbench.core.records import RunId, run_files
from lensbench.core.rows import ReportRow, ValidityRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.run_status import RunStatus
from lensbench.core.system.program import run_stage
from lensbench.core.tables import read_table, write_table

MAX_COUNT = 1_000_000
_LONGEST_PATH = 4096
_HEAD = 160
"""A heading or a field's name stands in the first characters of its line; no more of it is looked at."""


@dataclass(frozen=True)
class Report:
    """The self-report of one answer. None is missing; an empty tuple is the agent's own "none"."""

    present: bool = False
    tool_calls: int | None = None
    tools_used: tuple[str, ...] | None = None
    files_read: int | None = None
    files_used: tuple[str, ...] | None = None
    findings: tuple[str, ...] = ()
    server_calls: int | None = None
    """`LENS calls` or `MCP calls`, which people's prompts ask for beside the protocol's fields."""


class _Line(NamedTuple):
    """A line of a section, or what several lines of a table say; `first` and `last` number the answer's lines."""

    first: int
    last: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip())


@dataclass
class _Field:
    """What stands after a field's name, and the lines below it."""

    line: _Line
    inline: str
    begins: int
    """The character of the line after the field's name."""
    below: list[_Line] = field(default_factory=list)


_Fields = dict[str, _Field]

_FENCE = re.compile(r"(?:```+|~~~+)")
_QUOTED = re.compile(r"^(?: {0,3}>)+ ?")
_HEADING = re.compile(r"(#{1,6})\s+(.*)")
_RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})")
_TITLE = re.compile(r"[\W\d_]*report[\W_]*", re.IGNORECASE)
_REPORT_WORD = re.compile(r"\breport\b", re.IGNORECASE)
_BULLET = re.compile(r"(?:[-*+•‣◦\u2013]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")
_OTHER_FIELD = re.compile(r"\*\*[^*`]{1,60}(?::\*\*|\*\*\s?:)")
_FIELD = re.compile(
    r"(?:#{1,6}\s+)?(?:(?:[-*+•\u2013]|\d{1,2}[.)])\s+)?(?:\[[ xX]\]\s+)?[*_`|\s]{0,9}"
    r"(?:(?:total|number|count|list)\s(?:of\s)?|#\s(?:of\s)?)?"
    r"(?:(?P<tool_calls>tools?[\s_-]calls?(?:\s(?:made|count|total))?)|(?P<tools_used>tools(?:[\s_-]used)?)"
    r"|(?P<server_calls>(?:lens|mcp)(?:[\s_-](?:mcp|server|tools?)){0,2}[\s_-]calls?(?:\s(?:made|count|total))?)"
    r"|(?P<files_read>files[\s_-]read(?:\scount)?)|(?P<files_used>files[\s_-]used)|(?P<findings>(?:key[\s_-])?findings))"
    r"[*_`\s]{0,9}(?:\([^()]{0,60}\))?[*_`\s]{0,9}(?:[:\uff1a=|]|[-\u2013—](?=\s|$)|(?<=[*_`\s])(?=\d)|$)[*_`]{0,3}",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"[\s*_`~≈(\[\"']*+(?:(?:about|approximately|approx\.?|around|roughly|total(?:\sof)?:?|ca\.)\s+)?[*_`~]*+"
    r"([0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+)(?![\w%]|[.,:/_][0-9]|\s?[-\u2013—]\s?[0-9]|\s(?:to|or)\s[0-9])",
    re.IGNORECASE,
)
_MISSING = {"", "n/a", "na", "-", "\u2013", "—", "--", "?", "unknown", "tbd", "not applicable", "null", "..."}
_BREAK = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)
_REMARK = re.compile(r"\([^()]*\)")
_SPACED_REMARK = re.compile(r"(?<=[\s`*\"'])\([^()]*\)")
_LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]*)\)")
_DESCRIPTION = re.compile(r"\s[-\u2013—]\s|:\s")
_TIMES = re.compile(
    r"(?:\s[x*]\s?[0-9]+|\s?[\u00d7✕]\s?[0-9]+|\s[0-9]+\s?[x\u00d7]?|:[0-9]+)(?:\s(?:times|calls?))?$", re.IGNORECASE
)
_TIMES_BEFORE = re.compile(r"[0-9]+\s?[x\u00d7]?\s")
_QUOTES = "`*\"'“”\u2018\u2019"
_LINE_NUMBERS = re.compile(
    r"(?::L?[0-9]+(?:[-:,\u2013]L?[0-9]+)*|#L?[0-9]+(?:-L?[0-9]+)?|\([0-9]+(?:[-,:]\s?[0-9]+)?\))$"
)


def parse_report(answer: str) -> Report:
    """The report in `answer`: the last section called Report that gives a value, wherever it stands.

    A field's first mention counts. The section ends at the next `#` or `##` heading, at a rule (`---`) after the
    first field, or with the code fence that it stands in.
    """
    present = False
    report = Report()
    for section in _sections(answer.splitlines()):
        present = present or section.certain
        fields = _fields(section.lines)
        read = Report(
            True,
            _count(fields.get("tool_calls")),
            _tools(fields.get("tools_used")),
            _count(fields.get("files_read")),
            _files(fields.get("files_used")),
            _findings(fields.get("findings")),
            _count(fields.get("server_calls")),
        )
        if read != Report(True) and (section.certain or len(fields) > 1):
            report = read
    return report if report.present else Report(present)


def process_spans(answer: str, mark: str) -> list[tuple[int, int]]:
    """Where reports tell how the agent worked: pieces (start, end) of `answer`, ascending, apart by more than blanks.

    These are the title, the fields but for the findings with their values, and the name of the findings; in all
    sections that give such a field. A line that holds `mark` ends a section and begins none, so that an answer from
    which these pieces were cut has no further ones.
    """
    lines = answer.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    spans: list[tuple[int, int]] = []
    for number, length in _process_lines(answer.splitlines(), mark):
        start, end = starts[number], starts[number] + length
        if spans and not answer[spans[-1][1] : start].strip():
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _process_lines(lines: list[str], mark: str) -> Iterator[tuple[int, int]]:
    """The number of each line that tells of the work, and how many of its characters do."""
    for section in _sections(lines, mark):
        fields = _fields(section.lines)
        findings = fields.pop("findings", None)
        if not fields or not (section.certain or findings or len(fields) > 1):
            continue
        spoken = [line for found in fields.values() for line in _lines_of(found)]
        told = {number: len(lines[number]) for line in spoken for number in range(line.first, line.last + 1)}
        if findings and findings.line.first == findings.line.last:
            number, text = findings.line.last, findings.line.text
            told.setdefault(number, len(lines[number]) - len(text) + findings.begins)
        yield from sorted({section.number: len(lines[section.number]), **told}.items())


def _lines_of(found: _Field) -> Iterator[_Line]:
    """The field's own line and those of its value: a list, or a number below the name."""
    yield found.line
    yield from (line for line, _ in _items(found))
    following = next((line for line in found.below if line.text.strip()), None)
    if following and not found.inline and _COUNT.match(following.text.strip()[:_HEAD]):
        yield following


@dataclass
class _Section:
    number: int
    """Of its title's line."""
    certain: bool
    """The title is Report and nothing else."""
    level: int
    fenced: bool
    has_field: bool = False
    lines: list[_Line] = field(default_factory=list)


def _sections(lines: list[str], mark: str = "") -> Iterator[_Section]:
    section: _Section | None = None
    fenced = False
    for number, raw in enumerate(lines):
        line = _QUOTED.sub("", raw)
        text = line.strip()[:_HEAD]
        if _FENCE.match(text):
            fenced = not fenced
            if section and section.fenced:
                yield section
                section = None
            continue
        cut = bool(mark) and mark in raw
        opened = None if cut else _opened(number, line.strip(), text, fenced)
        if section and (opened or cut or (fenced == section.fenced and _ends(section, text))):
            yield section
            section = None
        if opened:
            section = opened
        elif section:
            section.lines.append(_Line(number, number, line))
            section.has_field = section.has_field or bool(_FIELD.match(text.lstrip("|")))
    if section:
        yield section


def _opened(number: int, line: str, text: str, fenced: bool) -> _Section | None:
    """The section that a line begins: `## Report`, `## Final report`, `**Report**` or `Report:`."""
    if len(line) >= _HEAD or not _REPORT_WORD.search(text):
        return None
    heading = _HEADING.fullmatch(text)
    certain = bool(_TITLE.fullmatch(heading[2] if heading else text))
    if not heading and (not certain or _BULLET.match(text) or text[0] in "|`"):
        return None
    return _Section(number, certain, len(heading[1]) if heading else 2, fenced)


def _ends(section: _Section, text: str) -> bool:
    if heading := _HEADING.match(text):
        return len(heading[1]) <= max(2, section.level) and not _FIELD.match(text)
    return section.has_field and bool(_RULE.fullmatch(text))


def _fields(lines: list[_Line]) -> _Fields:
    fields: _Fields = {}
    current: _Field | None = None
    for line in _upright(lines):
        text = line.text.strip()
        match = _FIELD.match(text[:_HEAD])
        if match and match.lastgroup and match.lastgroup not in fields:
            inline = text[match.end() :].strip()
            inline = inline.strip("|").strip() if text[0] == "|" else inline
            current = fields[match.lastgroup] = _Field(line, inline, line.indent + match.end())
        elif current:
            current.below.append(line)
    return fields


def _upright(lines: list[_Line]) -> Iterator[_Line]:
    """The lines, with tables whose columns are fields turned into one line per field."""
    names: list[str] = []
    first = 0
    for line in lines:
        text = line.text.strip()
        cells = [cell.strip() for cell in text.strip("|").split("|")] if text.startswith("|") else []
        if len(cells) > 1 and all(_FIELD.fullmatch(cell[:_HEAD]) for cell in cells):
            names, first = cells, line.first
        elif names and cells and set(text) <= set("|-: "):
            continue
        elif names and len(cells) == len(names):
            told = zip(names, cells, strict=True)
            yield from (_Line(first, line.last, f"{name}: {cell}") for name, cell in told)
            names = []
        else:
            yield line


def _count(found: _Field | None) -> int | None:
    """A whole number at the beginning; ranges, fractions, signs, words and more than MAX_COUNT are missing."""
    if found is None:
        return None
    value = found.inline or next((text for line in found.below if (text := line.text.strip())), "")
    number = _COUNT.match(value[:_HEAD])
    if not number:
        return None
    digits = number[1].replace(",", "").replace("_", "").lstrip("0") or "0"
    return int(digits) if len(digits) <= 7 and int(digits) <= MAX_COUNT else None


def _items(found: _Field) -> Iterator[tuple[_Line, str]]:
    """The field's own line, and the list below it, bullet by bullet."""
    if found.inline:
        yield found.line, found.inline
    last, blank, begun = found.inline, False, bool(found.inline)
    for line in found.below:
        text = line.text.strip()
        if not text:
            blank = True
            continue
        bullet = _BULLET.match(text)
        item = text[bullet.end() :] if bullet else text.strip("|").strip()
        deeper = line.indent > found.line.indent
        if bullet and (_OTHER_FIELD.match(item[:_HEAD]) or (found.inline and not deeper)):
            return
        if text[0] in "#|" or (not bullet and (blank or (begun and not last.endswith(",") and not deeper))):
            return
        yield line, item
        last, blank, begun = text, False, begun or bool(bullet)


def _values(found: _Field) -> Iterator[str]:
    return (item for _, item in _items(found))


def _split(items: Iterator[str], remark: re.Pattern[str]) -> tuple[str, ...] | None:
    """The parts between commas, without remarks in brackets; None when the field says nothing, () when it says none."""
    pieces = [piece for item in items for piece in _BREAK.split(item)]
    plain = [remark.sub("", piece).strip(" .,;") or piece.strip("( .,;)") for piece in pieces]
    whole = " ".join(plain).strip().strip(_QUOTES).lower()
    if whole in _MISSING:
        return None
    if re.match(r"none(?![\w./-])", whole):
        return ()
    return tuple(part for piece in plain for part in re.split("[,;]", piece) if part.strip(" " + _QUOTES))


def _tools(found: _Field | None) -> tuple[str, ...] | None:
    parts = _split(_values(found), _REMARK) if found else None
    return (
        None if parts is None else _known(_tool(tool) for part in parts for tool in re.split(r"\s(?:and|&|\+)\s", part))
    )


def _tool(text: str) -> str:
    """The bare name: `Read` from "**Read** x4", "4x Read" or "and Read - to look"."""
    name = text.strip().removeprefix("and ").strip(_QUOTES + " ")
    name = _DESCRIPTION.split(name, maxsplit=1)[0].strip(_QUOTES + " :")
    return _TIMES.sub("", _TIMES_BEFORE.sub("", name[:_HEAD], count=1)).strip(_QUOTES + " :")


def _files(found: _Field | None) -> tuple[str, ...] | None:
    parts = _split((_path_first(item) for item in _values(found)), _SPACED_REMARK) if found else None
    return None if parts is None else _known(_bare_path(part) for part in parts)


def _path_first(item: str) -> str:
    """A list item without the sentence after its path, which may hold commas."""
    item = _LINK.sub(r"\1", item)
    before = _DESCRIPTION.split(item, maxsplit=1)[0]
    return item if "," in before or ("," in item and before.count("`") % 2) else before


def _known(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in names if name.lower() not in {*_MISSING, "etc", "none"}))


def _bare_path(text: str) -> str:
    path = _SPACED_REMARK.sub("", text.strip()).strip().removeprefix("and ")
    if path.startswith("`") and "`" in path[1:]:
        path = path.strip("`").split("`", 1)[0]
    else:
        path = _DESCRIPTION.split(path, maxsplit=1)[0]
    return path.strip(_QUOTES + " ,;").strip()


def _findings(found: _Field | None) -> tuple[str, ...]:
    """One text per bullet, however deep; lines that go on are joined, headings left out."""
    if found is None:
        return ()
    items: list[list[str]] = [[found.inline]] if found.inline else []
    fresh = False
    for line in found.below:
        text = line.text.strip()
        bullet = _BULLET.match(text)
        if not text or (text[0] == "#" and _HEADING.match(text[:_HEAD])):
            fresh = True
        elif bullet or fresh or not items or line.indent <= found.line.indent:
            items.append([text[bullet.end() :] if bullet else text])
            fresh = False
        else:
            items[-1].append(text)
    texts = tuple(" ".join(item).strip() for item in items)
    return () if len(texts) == 1 and texts[0].lower().strip(" .") in {*_MISSING, "none"} else tuple(filter(None, texts))


def normalise_path(path: str, workspace: str = "") -> str:
    """`path` relative to `workspace`, in the one form in which cited files are compared; "" for nothing.

    Quotes, backticks, bold, a remark in brackets, commas, line numbers, a leading `./` or `/` and a drive go,
    backslashes become `/`, and `..` is resolved as far as the path goes. Applying it twice changes nothing.
    """
    root = _slashes(workspace).strip("/")
    path, before = path[:_LONGEST_PATH], ""
    while path != before:
        before = path
        path = _slashes(_LINE_NUMBERS.sub("", _bare_path(path))).lstrip("/")
        if root and (path == root or path.startswith(root + "/")):
            path = path[len(root) :].lstrip("/")
    return path


def _slashes(path: str) -> str:
    plain = re.sub(r"^(?:file://|[A-Za-z]:(?=[\\/]))", "", path).replace("\\", "/")
    resolved = posixpath.normpath(plain) if plain else ""
    return "" if resolved == "." else resolved


def read_reports(folder: Path) -> None:
    """Reads the answers of all runs that count, and writes reports.csv."""
    rows = []
    for row in read_table(RunFolder(folder).validity, ValidityRow):
        if row["status"] == RunStatus.VALID:
            run = RunId(row["task"], row["condition"], int(row["trial"]))
            report = parse_report(run_files(folder, run).answer.read_text(errors="replace"))
            fields = {name: getattr(report, name) for name in columns(ReportRow)[4:]}
            rows.append({**run._asdict(), "report_present": report.present, **fields})
    write_table(RunFolder(folder).reports, columns(ReportRow), rows)


if __name__ == "__main__":
    run_stage(read_reports)
