"""Who imports a file, where a name is defined, and who uses it: read from lines, without running a compiler."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from posixpath import splitext

from lensbench.agents.offline.outline import CONSTANT, DEFINITION
from lensbench.agents.offline.workspace import Workspace

PYTHON_IMPORT = re.compile(
    rb"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+import[ \t]+(\([^)]*\)|[^\n]+)|import[ \t]+([\w., \t]+))", re.MULTILINE
)
QUOTED_IMPORT = re.compile(rb"(?:from|import|require\()[ \t(]*[\"']([^\"'\n]+)[\"']")
SOURCE_ROOTS = ("src", "lib", "python")
NAME = re.compile(rb"[A-Za-z_]\w*")


def import_lines(workspace: Workspace, target: str, files: Sequence[str]) -> dict[str, int]:
    """file -> line of its first import of `target`, for the `files` that import it."""
    if target.endswith((".py", ".pyi")):
        module = _module(target)
        found = {path: _python_import(workspace, path, module) for path in files if path.endswith((".py", ".pyi"))}
    else:
        found = {path: _quoted_import(workspace, path, target) for path in files if not path.endswith(".py")}
    return {path: line for path, line in found.items() if line and path != target}


def definitions(workspace: Workspace, name: str, places: Mapping[str, Sequence[int]]) -> list[tuple[str, int]]:
    """(file, line) of definitions, constants and parameters with a default called `name` among `places`, the
    lines that have the word."""
    found = []
    for path, lines in places.items():
        for line in dict.fromkeys(lines):
            text = workspace.line(path, line)
            definition, constant = DEFINITION.match(text), CONSTANT.match(text)
            named = constant is not None and constant.group(1) == name
            passed_on = re.search(rf"=\s*{re.escape(name)}\b", text)
            parameter = (text.rstrip().endswith(",") and not passed_on) or not text[:1].isspace()
            if (definition and definition.group(3) == name) or (named and parameter):
                found.append((path, line))
    return found


def _module(path: str) -> tuple[str, ...]:
    """The dotted name of a Python file, as parts, without a source folder in front."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if len(parts) > 1 and parts[0] in SOURCE_ROOTS:
        parts = parts[1:]
    return tuple(parts[:-1] if parts[-1] == "__init__" else parts)


def _python_import(workspace: Workspace, path: str, target: tuple[str, ...]) -> int:
    data = workspace.data(path)
    if not target or target[-1].encode() not in data:
        return 0
    own = _module(path)
    package = own if path.endswith("__init__.py") else own[:-1]
    for match in PYTHON_IMPORT.finditer(data):
        base, names, plain = (group.decode("utf-8", "replace") if group else "" for group in match.groups())
        if plain:
            modules = [tuple(part.split()[0].split(".")) for part in plain.split(",") if part.strip()]
        else:
            level = len(base) - len(base.lstrip("."))
            root = package[: len(package) - level + 1] if level else ()
            origin = (*root, *(part for part in base[level:].split(".") if part))
            members = [word.decode() for word in NAME.findall(names.encode())]
            modules = [origin, *((*origin, member) for member in members)]
        if target in modules:
            return data.count(b"\n", 0, match.start()) + 1
    return 0


def _quoted_import(workspace: Workspace, path: str, target: str) -> int:
    """For languages whose imports are quoted paths."""
    data = workspace.data(path)
    wanted = str(PurePosixPath(target).with_suffix(""))
    for match in QUOTED_IMPORT.finditer(data):
        spelled = match.group(1).decode("utf-8", "replace")
        parts = list(PurePosixPath(path).parent.parts) if spelled.startswith(".") else []
        for part in PurePosixPath(spelled).parts:
            parts = parts[:-1] if part == ".." else [*parts, part]
        joined = "/".join(parts)
        if wanted in (joined, splitext(joined)[0], f"{joined}/index"):
            return data.count(b"\n", 0, match.start()) + 1
    return 0
