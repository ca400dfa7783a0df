"""Finds an answer's self-report, and reads its fields. An uncertain value is missing (None)."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

HEAD = 160
"""Characters of a line that may have a heading or a field's name."""
HEADING = re.compile(r"(#{1,6})\s+(.*)")
BULLET = re.compile(r"(?:[-*+•‣◦\u2013]|\d{1,3}[.)])\s+(?:\[[ xX]\]\s+)?")


class SectionLine(NamedTuple):
    """A line of a section, or several of a table; `first` and `last` are line numbers of the answer."""

    first: int
    last: int
    text: str

    @property
    def indent(self) -> int:
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
    """The section that a line starts, such as `## Final report` or `**Report**`."""
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
    """The lines; a table whose columns are fields has a line per field."""
    names: list[str] = []
    first = 0
    for line in lines:
        text = line.text.strip()
        cells = (
            [cell.strip() for cell in text.strip("|").split("|")] if text.startswith("|") else []
        )
        if len(cells) > 1 and all(_FIELD.fullmatch(cell[:HEAD]) for cell in cells):
            names = cells
            first = line.first
        elif names and cells and set(text) <= set("|-: "):
            continue
        elif names and len(cells) == len(names):
            pairs = zip(names, cells, strict=True)
            yield from (SectionLine(first, line.last, f"{name}: {cell}") for name, cell in pairs)
            names = []
        else:
            yield line


SPACED_REMARK = re.compile(r"(?<=[\s`*\"'])\([^()]*\)")
DESCRIPTION = re.compile(r"\s[-\u2013—]\s|:\s")
QUOTES = "`*\"'“”\u2018\u2019"

_LONGEST_PATH = 4096
_LINE_NUMBERS = re.compile(
    r"(?::L?[0-9]+(?:[-:,\u2013]L?[0-9]+){0,20}|#L?[0-9]+(?:-L?[0-9]+)?|\([0-9]+(?:[-,:]\s?[0-9]+)?\))$"
)


def normalise_path(path: str, workspace: str = "") -> str:
    """`path` relative to `workspace`, in the normal form for comparing cited files; "" when nothing is left. Again
    normalised it is the same."""
    root = _slashes(workspace).strip("/")
    path = path[:_LONGEST_PATH]
    before = ""
    while path != before:
        before = path
        path = _slashes(_LINE_NUMBERS.sub("", bare_path(path))).lstrip("/")
        if root and (path == root or path.startswith(root + "/")):
            path = path[len(root) :].lstrip("/")
    return path


def _slashes(path: str) -> str:
    plain = re.sub(r"^(?:file://|[A-Za-z]:(?=[\\/]))", "", path).replace("\\", "/")
    result = posixpath.normpath(plain) if plain else ""
    return "" if result == "." else result


def bare_path(text: str) -> str:
    """The path alone, without quotes, remarks and text after it."""
    path = SPACED_REMARK.sub("", text.strip()).strip().removeprefix("and ")
    if path.startswith("`") and "`" in path[1:]:
        path = path.strip("`").split("`", 1)[0]
    else:
        path = DESCRIPTION.split(path, maxsplit=1)[0]
    return path.strip(QUOTES + " ,;").strip()


MAX_COUNT = 1_000_000

_COUNT = re.compile(
    r"[\s*_`~≈(\[\"']*+(?:(?:about|approximately|approx\.?|around|roughly|total(?:\sof)?:?|ca\.)\s+)?[*_`~]*+"
    r"([0-9]{1,3}(?:[,_][0-9]{3})+|[0-9]+)(?![\w%]|[.,:/_][0-9]|\s?[-\u2013—]\s?[0-9]|\s(?:to|or)\s[0-9])",
    re.IGNORECASE,
)
_OTHER_FIELD = re.compile(r"\*\*[^*`]{1,60}(?::\*\*|\*\*\s?:)")
_MISSING = {
    "",
    "n/a",
    "na",
    "-",
    "\u2013",
    "—",
    "--",
    "?",
    "unknown",
    "tbd",
    "not applicable",
    "null",
    "~",
    "...",
}
_BREAK = re.compile(r"<br\s{0,3}/?>", re.IGNORECASE)
_REMARK = re.compile(r"\([^()]*\)(?!\w)")
_LIST = re.compile(
    r"[\s,`]*+(?:\[((?:[^\[\]]|\[[^\[\]]*\])*+)\]?|\(((?:[^()]|\([^()]*\))*+)\)|\{([^{}]*+)\})[\s,`]*+"
)
_OF_YAML = re.compile(
    r"\s#\s.*|^[|>][-+]?$|^(?:name|tool|path|file):\s|^(?:count|calls):\s?[0-9]+$"
)
_NONE = re.compile(r"(?:none|nothing|nil|no\s(?:files?|tools?))(?![\w./-])")
_AND = re.compile(
    r"\s(?:and|&|\+|/)\s|\s?(?:\u548c|\u53ca|\u4ee5\u53ca|\u4e0e|\u3068|\u304a\u3088\u3073|\ubc0f)\s?"
)
_LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]*)\)")
_TIMES = re.compile(
    r"(?:\s[x*]\s?[0-9]+|\s?[\u00d7✕]\s?[0-9]+|\s[0-9]+\s?[x\u00d7]?|:[0-9]+)(?:\s(?:times|calls?))?$",
    re.IGNORECASE,
)
_TIMES_BEFORE = re.compile(r"(?<![0-9])[0-9]+\s?[x\u00d7]?\s")


def count(field: Field | None) -> int | None:
    """The integer at the start; None for anything else, and above MAX_COUNT."""
    if field is None:
        return None
    value = field.inline or next((text for line in field.below if (text := line.text.strip())), "")
    number = _COUNT.match(value[:HEAD])
    if not number:
        return None
    digits = number[1].replace(",", "_")
    return int(digits) if len(digits) < 10 and int(digits) <= MAX_COUNT else None


def _items(field: Field) -> Iterator[tuple[SectionLine, str]]:
    """Its own line, and the list below it, bullet by bullet."""
    if field.inline:
        yield field.line, field.inline
    last = field.inline
    blank = False
    has_begun = bool(field.inline)
    for line in field.below:
        text = line.text.strip()
        if not text:
            blank = True
            continue
        bullet = BULLET.match(text)
        item = text[bullet.end() :] if bullet else text.strip("|").strip()
        deeper = line.indent > field.line.indent
        if bullet and (_OTHER_FIELD.match(item[:HEAD]) or (field.inline and not deeper)):
            return
        if text[0] in "#|" or (
            not bullet and (blank or (has_begun and not last.endswith(",") and not deeper))
        ):
            return
        yield line, item
        last = text
        blank = False
        has_begun = has_begun or bool(bullet)


def lines_of(field: Field) -> Iterator[SectionLine]:
    """The field's own line and those of its value."""
    yield field.line
    yield from (line for line, _ in _items(field))
    following = next((line for line in field.below if line.text.strip()), None)
    if following and not field.inline and _COUNT.match(following.text.strip()[:HEAD]):
        yield following


def _split(
    field: Field, remark: re.Pattern[str], short: Callable[[str], str] = str
) -> tuple[str, ...] | None:
    """The parts between commas, without remarks; () for "none", None for empty and open ones."""
    pieces = [
        part for _, item in _items(field) for part in _BREAK.split(short(_OF_YAML.sub("", item)))
    ]
    if match := _LIST.fullmatch(SPACED_REMARK.sub("", ",".join(pieces))):
        pieces = [(match[1] or match[2] or match[3] or "").strip(" ,") or "none"]
    plain = [remark.sub("", piece).strip(" .,;\u3002") or piece.strip("( .,;)") for piece in pieces]
    whole = " ".join(plain).strip().strip(QUOTES + "()").lower()
    if whole in _MISSING or whole.isdigit():
        return None
    if _NONE.match(whole):
        return ()
    parts = tuple(
        part for piece in plain for part in _SEPARATOR.split(piece) if part.strip(" " + QUOTES)
    )
    is_cut = any(
        part.count(pair[0]) != part.count(pair[1]) for part in parts for pair in ("()", "[]", "{}")
    )
    return None if is_cut else parts


_SEPARATOR = re.compile("[,;\t\u3001\uff0c\uff1b\uff64\u060c\u061b\u00b7\u30fb\u2022|]")
_TOOL_NAME = re.compile(r"[A-Za-z_][\w.:-]*", re.ASCII)
_PATH_NAME = re.compile(r"[\w./\\~@$(\[+-][\w./\\~@$()\[\]+ :#=%!&-]*")
_PATH_END = re.compile(r"\.[A-Za-z]\w{0,9}(?=$|[^\w])", re.ASCII)


def _all(names: tuple[str, ...], looks_right: Callable[[str], bool]) -> tuple[str, ...] | None:
    """The names; None if one is no name, since the list was then not split where its author did."""
    return names if all(looks_right(name) for name in names) else None


def _is_tool(name: str) -> bool:
    return bool(_TOOL_NAME.fullmatch(name))


def _is_path(name: str) -> bool:
    """True for one path; one with blanks has a folder or an ending, and no ending of a file is inside it."""
    if not _PATH_NAME.fullmatch(name):
        return False
    endings = list(_PATH_END.finditer(name))
    if " " in name and "/" not in name and not endings:
        return False
    return not any(_ends_inside(name, ending, endings[-1]) for ending in endings)


def _ends_inside(name: str, ending: re.Match[str], last: re.Match[str]) -> bool:
    """True when another path follows, as in `a.py b.py`; a folder may have an ending (`Core.Api/a.cs`)."""
    following = name[ending.end() : ending.end() + 1]
    if ending.start() == last.start():
        return bool(following) and following not in ":#("
    if following == "/":
        return ending[0] == last[0]
    return following not in ".-_@+"


def tools(field: Field | None) -> tuple[str, ...] | None:
    """The bare names; None if one of them is no name of a tool."""
    parts = _split(field, _REMARK) if field else None
    if parts is None:
        return None
    names = _known(_tool(name) for part in parts for name in _AND.split(part))
    return _all(names, _is_tool)


def _tool(text: str) -> str:
    """The bare name: `Read` from "**Read** x4", "4x Read" or "and Read - to look"."""
    name = text.strip().removeprefix("and ").strip(QUOTES + " ")
    name = DESCRIPTION.split(name, maxsplit=1)[0].strip(QUOTES + " :")
    return _TIMES.sub("", _TIMES_BEFORE.sub("", name[:HEAD], count=1)).strip(QUOTES + " :")


def files(field: Field | None) -> tuple[str, ...] | None:
    """The paths without remarks, each once, not yet normalised (`normalise_path`); None if one of them is no path."""
    parts = _split(field, SPACED_REMARK, _path_first) if field else None
    if parts is None:
        return None
    if any(part.count("`") > 2 for part in parts):
        return None
    paths = _known(bare_path(path) for part in parts for path in _paths(part))
    return _all(paths, _is_path)


def _paths(part: str) -> list[str]:
    """The paths that "and" joins; it may also be a word of one path."""
    sides = _AND.split(part)
    return sides if all("." in side for side in sides) else [part]


def _path_first(item: str) -> str:
    """A list item without the text after its path."""
    item = _LINK.sub(r"\1", item)
    before = DESCRIPTION.split(item, maxsplit=1)[0]
    return item if "," in before or ("," in item and before.count("`") % 2) else before


def _known(names: Iterator[str]) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(name for name in names if name.lower() not in {*_MISSING, "etc", "none"})
    )
