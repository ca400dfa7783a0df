"""Finds the files that import statements name. An import that could mean several files means none.

An import spells a path: from its own folder (`./x`, `..x`, `super::x`), or the end of a path (`shop.pricing`,
`crate::store::item`). Go names a folder below its module, and Java a class below its package.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from posixpath import dirname, join, normpath, splitext
from typing import NamedTuple

from lensbench_tasks.parsers.code import Code, Import

ENTRIES = frozenset({"__init__", "index", "mod", "lib"})
"""Files that are imported by the name of their folder."""
_HERE = frozenset({"crate", "self", "super", ""})
_FAMILY = {"typescript": "javascript", "tsx": "javascript"}


class ResolvedImport(NamedTuple):
    """An import, and the files of the tree that it names; none for the standard library and installed packages."""

    statement: Import
    files: tuple[str, ...]


def resolve_imports(
    codes: Mapping[str, Code], languages: Mapping[str, str | None], go_modules: Mapping[str, str]
) -> dict[str, list[ResolvedImport]]:
    """The imports of each file. All mappings are by path; `go_modules`: the texts of the go.mod files."""
    resolver = _Resolver(codes, languages, go_modules)
    return {
        path: [ResolvedImport(one, tuple(resolver.files(path, one))) for one in code.imports]
        for path, code in codes.items()
    }


class _Resolver:
    def __init__(
        self,
        codes: Mapping[str, Code],
        languages: Mapping[str, str | None],
        go_modules: Mapping[str, str],
    ) -> None:
        self._languages = languages
        self._whole: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._ends: dict[tuple[str, str], list[str]] = defaultdict(list)
        self._folders: dict[str, list[str]] = defaultdict(list)
        for path in codes:
            family = self._family(path)
            for spelling in _spellings(path):
                self._whole[family, spelling].append(path)
                parts = spelling.split("/")
                for first in range(len(parts)):
                    self._ends[family, "/".join(parts[first:])].append(path)
            if family == "go" and not path.endswith("_test.go"):
                self._folders[dirname(path)].append(path)
        self._modules = dict(_go_modules(go_modules))
        self._classes = _java_classes(codes)

    def files(self, path: str, one: Import) -> list[str]:
        """The files that an import in the file `path` names."""
        family = self._family(path)
        if family == "go":
            return self._go_files(one)
        if family == "java":
            return self._java_files(one)
        for spelled in _paths(one):
            found = self._near(path, family, spelled) or self._anywhere(family, spelled)
            if found:
                return found
        return []

    def _family(self, path: str) -> str:
        language = self._languages[path] or ""
        return _FAMILY.get(language, language)

    def _near(self, path: str, family: str, spelled: str) -> list[str]:
        """A file by its path from the importing file, or from the root of the tree."""
        folder = dirname(path)
        is_standard = family == "python" and _is_standard(spelled)
        if spelled.startswith("."):
            starts = [folder]
        elif family == "javascript" or is_standard:
            starts = []
        else:
            source_root = "src"
            if "src/" in path:
                source_root = path[: path.rfind("src/") + 3]
            starts = [folder, splitext(path)[0], source_root, ""]
        for start in starts:
            found = self._whole.get((family, normpath(join(start, spelled))), [])
            if found:
                return _only(found)
        return []

    def _anywhere(self, family: str, spelled: str) -> list[str]:
        """The only file whose path ends like this; a single word is the end of too many."""
        if spelled.startswith(".") or "/" not in spelled:
            return []
        if family == "python" and _is_standard(spelled):
            return []
        return _only(self._ends.get((family, spelled), []))

    def _go_files(self, one: Import) -> list[str]:
        for module, folder in self._modules.items():
            if one.module == module or one.module.startswith(f"{module}/"):
                inside = one.module[len(module) :].strip("/")
                return self._folders.get(normpath(join(folder, inside)).strip("."), [])
        return []

    def _java_files(self, one: Import) -> list[str]:
        """A class by its full name, also for static imports and inner classes."""
        parts = one.module.split(".")
        for size in range(len(parts), 1, -1):
            name = ".".join(parts[:size])
            if name in self._classes:
                return [self._classes[name]]
        return []


def _spellings(path: str) -> Iterator[str]:
    """The paths by which a file is imported."""
    stem = splitext(path)[0].removesuffix(".d")
    yield stem
    if stem.rpartition("/")[2] in ENTRIES:
        yield dirname(path)


def _only(found: list[str]) -> list[str]:
    """A single file; a source and the declaration of its types are the source."""
    sources = [path for path in found if not path.endswith((".d.ts", ".pyi"))]
    if not sources:
        sources = found
    return sources if len(sources) == 1 else []


def _paths(one: Import) -> Iterator[str]:
    """The paths that an import may mean, the most exact first."""
    if one.module.startswith(("./", "../")):
        yield re.sub(r"\.[cm]?[jt]sx?$", "", one.module)
        return
    start = []
    if re.match(r"\.+\w|\.+$", one.module):
        # Python: a dot is this folder, and each further one the folder above it
        dots = len(one.module) - len(one.module.lstrip("."))
        start = [".", *[".."] * (dots - 1)]
    parts = [part for part in re.split(r"::|[./]", one.module) if part not in _HERE]
    inside = [part for part in re.split(r"::|\.", one.part) if part]
    for size in range(len(inside), -1, -1):
        spelled = [*start, *parts, *inside[:size]]
        if spelled:
            yield "/".join(spelled)
    if "::" in one.module:
        for size in range(len(parts), 0, -1):
            yield "/".join(parts[:size])
            if size > 1:
                yield "/".join(parts[1:size])  # without the name of its crate


def _is_standard(spelled: str) -> bool:
    return spelled.split("/")[0] in sys.stdlib_module_names


def _go_modules(texts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Name and folder of each module, the longest name first."""
    found = []
    for path, text in texts.items():
        match = re.search(r"^module\s+\"?([^\s\"]+)", text, re.MULTILINE)
        if match:
            found.append((match[1], dirname(path)))
    yield from sorted(found, key=lambda item: (-len(item[0]), item))


def _java_classes(codes: Mapping[str, Code]) -> dict[str, str]:
    """Full name -> file, of the class that a file is named for."""
    classes = {}
    for path, code in sorted(codes.items()):
        if path.endswith(".java") and code.package:
            name = splitext(path)[0].rpartition("/")[2]
            classes[f"{code.package}.{name}"] = path
    return classes
