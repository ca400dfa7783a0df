"""How a file is imported, where a name is defined, and who uses it: read from lines, without running a compiler."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from lensbench_demo.offline.outline import CONSTANT, DEFINITION
from lensbench_demo.offline.workspace import Workspace

ENTRIES = ("__init__", "index")
"""Files that are imported by the name of their folder."""
PYTHON, SCRIPTS = (".py", ".pyi"), (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts")


@dataclass(frozen=True)
class ImportSearch:
    """What to search for to find the files that import one: what text shows, and no more.

    A file of the same name in another folder is found as well; an import on several lines may be missed.
    """

    name: str
    pattern: str
    """A regular expression, for single lines."""
    suffixes: tuple[str, ...]


def import_search(target: str) -> ImportSearch:
    """How to find the files that import `target`: by its folder and name, or by its name in a relative import."""
    path = PurePosixPath(target)
    package = path.stem in ENTRIES and path.parent.name != ""
    own = path.parent if package else path.with_suffix("")
    name, folder = re.escape(own.name), re.escape(own.parent.name)
    if path.suffix in PYTHON:
        alone = "|" if package or not folder else ""
        places = rf"([\w.]*\b{folder}\.|\.+{alone}){name}\b|([\w.]*\b{folder}|\.+)\s+import\s.*\b{name}\b"
        return ImportSearch(own.name, rf"^\s*(from|import)\s+({places})", PYTHON)
    if path.suffix in SCRIPTS:
        return ImportSearch(
            own.name,
            rf"\b(from|import|require)\b.*['\"]([^'\"]*\b{folder}/|[./]+){name}(\.\w+)?['\"]",
            SCRIPTS,
        )
    return ImportSearch(
        own.name, rf"\b(import|include|require|use|using|mod)\b.*\b{name}\b", (path.suffix,)
    )


def definitions(
    workspace: Workspace, name: str, places: Mapping[str, Sequence[int]]
) -> list[tuple[str, int]]:
    """(file, line) of definitions, constants and parameters with a default called `name` among `places`, the
    lines that have the word."""
    matches = []
    for path, lines in places.items():
        for line in dict.fromkeys(lines):
            text = workspace.line(path, line)
            definition, constant = DEFINITION.match(text), CONSTANT.match(text)
            is_constant = constant is not None and constant.group(1) == name
            passed_on = re.search(rf"=\s*{re.escape(name)}\b", text)
            parameter = (text.rstrip().endswith(",") and not passed_on) or not text[:1].isspace()
            if (definition and definition.group(3) == name) or (is_constant and parameter):
                matches.append((path, line))
    return matches
