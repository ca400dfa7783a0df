"""Finds reports in an answer, and the fields in a report."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

HEAD = 160
"""How many characters of a line are searched for a heading or a field's name."""
HEADING = re.compile(r"(#{1,6})\s+(.*)")
BULLET = re.compile(r"(?:[-*+•‣◦\u2013]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")


class SectionLine(NamedTuple):
    """A line of a section, or several lines of a table combined; `first` and `last` are line numbers of the answer."""

    first: int
    last: int
    text: str

    @property
    def indent(self) -> int:
        """The number of leading spaces."""
        return len(self.text) - len(self.text.lstrip())


@dataclass
class Field:
    """The text after a field's name, and the lines below it."""

    line: SectionLine
    inline: str
    begins: int
    """The index in the line after the field's name."""
    below: list[SectionLine] = field(default_factory=list)


Fields = dict[str, Field]

_FENCE = re.compile(r"(?:```+|~~~+)")
_QUOTED = re.compile(r"^(?: {0,3}>)+ ?")
_RULE = re.compile(r"(?:-{3,}|\*{3,}|_{3,})")
_TITLE = re.compile(r"[\W\d_]*report[\W_]*", re.IGNORECASE)
_REPORT_WORD = re.compile(r"\breport\b", re.IGNORECASE)
_FIELD = re.compile(
    r"(?:#{1,6}\s+)?(?:(?:[-*+•\u2013]|\d{1,2}[.)])\s+)?(?:\[[ xX]\]\s+)?[*_`|\"\s]{0,9}"
    r"(?:(?:total|number|count|list)\s(?:of\s)?|#\s(?:of\s)?)?"
    r"(?:(?P<tool_calls>tools?[\s_-]calls?(?:\s(?:made|count|total))?)|(?P<tools_used>tools(?:[\s_-]used)?)"
    r"|(?P<server_calls>(?:lens|mcp)(?:[\s_-](?:mcp|server|tools?)){0,2}[\s_-]calls?(?:\s(?:made|count|total))?)"
    r"|(?P<files_read>files[\s_-]read(?:\scount)?)|(?P<files_used>files[\s_-]used)|(?P<findings>(?:key[\s_-])?findings))"
    r"[*_`\"\s]{0,9}(?:\([^()]{0,60}\))?[*_`\s]{0,9}(?:[:\uff1a=|]|[-\u2013—](?=\s|$)|(?<=[*_`\s])(?=\d)|$)[*_`]{0,3}",
    re.IGNORECASE,
)


@dataclass
class Section:
    """A part of an answer that may be its report."""

    number: int
    """Taken from the title's line."""
    certain: bool
    """True when the title is exactly Report."""
    level: int
    fenced: bool
    has_field: bool = False
    lines: list[SectionLine] = field(default_factory=list)


def sections(lines: list[str], mark: str = "") -> Iterator[Section]:
    """The sections of an answer that are titled Report; a line with `mark` ends a section and starts none."""
    section: Section | None = None
    is_fenced = False
    for number, raw in enumerate(lines):
        line = _QUOTED.sub("", raw)
        text = line.strip()[:HEAD]
        if _FENCE.match(text):
            is_fenced = not is_fenced
            if section and section.fenced:
                yield section
                section = None
            continue
        cut = bool(mark) and mark in raw
        start = None if cut else _opened(number, line.strip(), text, is_fenced)
        if section and (start or cut or (is_fenced == section.fenced and _ends(section, text))):
            yield section
            section = None
        if start:
            section = start
        elif section:
            section.lines.append(SectionLine(number, number, line))
            section.has_field = section.has_field or bool(_FIELD.match(text.lstrip("|")))
    if section:
        yield section


def _opened(number: int, line: str, text: str, is_fenced: bool) -> Section | None:
    """The section that a line starts: `## Report`, `## Final report`, `**Report**` or `Report:`."""
    if len(line) >= HEAD or not _REPORT_WORD.search(text):
        return None
    heading = HEADING.fullmatch(text)
    certain = bool(_TITLE.fullmatch(heading[2] if heading else text))
    if not heading and (not certain or BULLET.match(text) or text[0] in "|`"):
        return None
    return Section(number, certain, len(heading[1]) if heading else 2, is_fenced)


def _ends(section: Section, text: str) -> bool:
    if heading := HEADING.match(text):
        return len(heading[1]) <= max(2, section.level) and not _FIELD.match(text)
    return section.has_field and bool(_RULE.fullmatch(text))


def fields_of(lines: list[SectionLine]) -> Fields:
    """The fields in a section, by the names of `Report`; the first mention of each."""
    fields: Fields = {}
    current: Field | None = None
    for line in _upright(lines):
        text = line.text.strip()
        match = _FIELD.match(text[:HEAD])
        if match and match.lastgroup and match.lastgroup not in fields:
            inline = text[match.end() :].strip()
            inline = inline.strip("|").strip() if text[0] == "|" else inline
            current = fields[match.lastgroup] = Field(line, inline, line.indent + match.end())
        elif current:
            current.below.append(line)
    return fields


def _upright(lines: list[SectionLine]) -> Iterator[SectionLine]:
    """The lines, with tables whose columns are fields transposed to one line per field."""
    names: list[str] = []
    first = 0
    for line in lines:
        text = line.text.strip()
        cells = [cell.strip() for cell in text.strip("|").split("|")] if text.startswith("|") else []
        if len(cells) > 1 and all(_FIELD.fullmatch(cell[:HEAD]) for cell in cells):
            names, first = cells, line.first
        elif names and cells and set(text) <= set("|-: "):
            continue
        elif names and len(cells) == len(names):
            pairs = zip(names, cells, strict=True)
            yield from (SectionLine(first, line.last, f"{name}: {cell}") for name, cell in pairs)
            names = []
        else:
            yield line
