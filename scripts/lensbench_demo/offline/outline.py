"""A file as a list of units: functions, classes and paragraphs, found by indentation and keywords in any language."""

from __future__ import annotations

import re
from dataclasses import dataclass

MODIFIERS = (
    r"(?:(?:export|default|public|private|protected|internal|static|abstract|final|async|pub(?:\([^)]*\))?|unsafe"
    r"|override|sealed|partial|const)\s+)*"
)
DEFINITION = re.compile(
    rf"^(\s*){MODIFIERS}(def|class|function|func|fn|interface|struct|enum|trait|impl|namespace|record|type)\b\s*\*?\s*"
    r"(?:\([^)]*\)\s*)?([A-Za-z_$][\w$]*)(?=\s*[(\[:{<=]|\s+(?:extends|implements|for|where|struct|interface)\b|\s*$)"
)
CONSTANT = re.compile(
    r"^\s*(?:(?:export|public|private|static|final|readonly|pub)\s+)*(?:(?:const|let|var)\s+)?"
    r"([A-Za-z_$][\w$]*)\s*(?::[^=]+)?=(?!=)\s*\S"
)
CLOSING = (")", "]", "}", "#", "//", "*")
PROSE_SUFFIXES = (
    ".md",
    ".rst",
    ".txt",
    ".toml",
    ".cfg",
    ".ini",
    ".json",
    ".yaml",
    ".yml",
    ".lock",
    ".html",
    "PKG-INFO",
)
MAX_PARAGRAPH = 40


@dataclass(frozen=True)
class Unit:
    """Lines of one file that belong together."""

    path: str
    name: str
    """Qualified, such as `Parser.parse`; empty for a paragraph."""
    kind: str
    """The keyword that defines it (`class`, `def` ...), `constant` or `text`."""
    lines: tuple[int, ...]
    """Its own, without those of units inside it."""


@dataclass
class _Open:
    name: str
    kind: str
    indent: int
    lines: list[int]


def is_prose(path: str) -> bool:
    """Whether `path` is documentation or configuration, which has paragraphs and no definitions."""
    return path.endswith(PROSE_SUFFIXES)


def outline(path: str, lines: list[str], first: int = 1) -> list[Unit]:
    """The units of `lines`, the first of which is line `first` of `path`; every line that is not blank is in one."""
    units: list[Unit] = []
    stack: list[_Open] = []
    loose: list[int] = []

    def close(indent: int) -> None:
        while stack and stack[-1].indent >= indent:
            name = ".".join(entry.name for entry in stack)
            closing = stack.pop()
            units.append(Unit(path, name, closing.kind, tuple(closing.lines)))

    def end_paragraph() -> None:
        if loose:
            constant = None if is_prose(path) else CONSTANT.match(lines[loose[0] - first])
            name, kind = (constant.group(1), "constant") if constant else ("", "text")
            units.append(Unit(path, name, kind, tuple(loose)))
            loose.clear()

    for number, line in enumerate(lines, first):
        content = line.strip()
        if not content:
            end_paragraph()
            continue
        indent = len(line) - len(line.lstrip())
        definition = None if is_prose(path) else DEFINITION.match(line)
        if definition or not content.startswith(CLOSING):
            close(indent)
        if definition:
            end_paragraph()
            stack.append(_Open(definition.group(3), definition.group(2), indent, [number]))
        elif stack:
            stack[-1].lines.append(number)
        else:
            if len(loose) >= MAX_PARAGRAPH or (
                not is_prose(path) and indent == 0 and CONSTANT.match(line)
            ):
                end_paragraph()
            loose.append(number)
    close(0)
    end_paragraph()
    return sorted(units, key=lambda unit: unit.lines[0])
