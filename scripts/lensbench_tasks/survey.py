"""Facts of a repository, read once: its files, what they define, call and import."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from lensbench.core.project_files import is_test
from lensbench_tasks.parsers.code import Code, Definition, read_code
from lensbench_tasks.parsers.files import SourceFile, list_sources, read_text
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.parsers.imports import ResolvedImport, resolve_imports

_NOT_OWN = re.compile(
    r"(^|/)(examples?|docs?|benchmarks?|vendor|_?vendored|third_party|dist|node_modules|build)/"
    r"|(^|/)(setup\.py|[^/]*\.min\.\w+)$|\.d\.[cm]?ts$"
)


@dataclass(frozen=True)
class Survey:
    """The facts of one tree. Paths are relative, with forward slashes."""

    root: Path
    listed: tuple[SourceFile, ...]
    """All files; those that have no text are nowhere else."""
    texts: Mapping[str, str]
    """The text of every file."""
    codes: Mapping[str, Code]
    languages: Mapping[str, str | None]
    found: Mapping[str, Sequence[ResolvedImport]]
    """The imports of each file."""

    @classmethod
    def read(
        cls,
        root: Path,
        progress: Callable[[int, int], None] = lambda done, of: None,
        *,
        with_names: bool = True,
    ) -> Self:
        """Reads the tree below `root`, an absolute path; `progress` is told the number of files read, and of all.
        Without names, which take a quarter of the time, `loose` is empty and `only` cannot be asked."""
        listing = tuple(list_sources(root))
        texts: dict[str, str] = {}
        codes: dict[str, Code] = {}
        languages: dict[str, str | None] = {}
        for number, source in enumerate(listing):
            progress(number, len(listing))
            text = read_text(root, source)
            if text is not None:
                texts[source.path] = text
                names = with_names and _is_own(source.path)
                codes[source.path] = read_code(source.path, text, source.language, with_names=names)
                languages[source.path] = source.language
        go_modules = {path: text for path, text in texts.items() if path.endswith("go.mod")}
        found = resolve_imports(codes, languages, go_modules)
        return cls(root, listing, texts, codes, languages, found)

    @property
    def is_current(self) -> bool:
        """True if no file changed since it was read."""
        return self.listed == tuple(list_sources(self.root))

    @cached_property
    def code(self) -> list[str]:
        """The project's own source files, without tests, documentation, vendored and broken code."""
        return [
            path
            for path, language in self.languages.items()
            if language in SOURCES and _is_own(path) and not self.codes[path].is_broken
        ]

    @cached_property
    def by_name(self) -> Mapping[str, list[Definition]]:
        """All definitions in `code` by name, including local ones."""
        index = defaultdict(list)
        for path in self.code:
            for one in self.codes[path].definitions:
                index[one.name].append(one)
        return index

    @cached_property
    def loose(self) -> frozenset[str]:
        """Names that `code` has as a key, a parameter, a variable or a value somewhere."""
        return frozenset().union(*(self.codes[path].loose for path in self.code))

    def only(self, name: str) -> Definition | None:
        """The definition of a name that stands for nothing else anywhere in `code`; None for any other name."""
        matches = self.by_name.get(name, [])
        if len(matches) != 1 or matches[0].local or name in self.loose:
            return None
        return matches[0]

    @cached_property
    def _ends(self) -> Counter[str]:
        """How many files have a path with this end."""
        ends: Counter[str] = Counter()
        for path in self.texts:
            parts = path.split("/")
            ends.update("/".join(parts[first:]) for first in range(len(parts)))
        return ends

    def short(self, path: str) -> str:
        """The shortest end of a path that is unique to this file."""
        parts = path.split("/")
        for size in range(1, len(parts)):
            end = "/".join(parts[-size:])
            if self._ends[end] == 1:
                return end
        return path

    @cached_property
    def imports(self) -> Mapping[str, list[str]]:
        """The files that each file imports, sorted, without itself."""
        imports = {}
        for path, found in self.found.items():
            targets = {target for one in found for target in one.files}
            imports[path] = sorted(targets - {path})
        return imports

    @cached_property
    def importers(self) -> Mapping[str, list[str]]:
        """The files that import each file, in order."""
        importers = defaultdict(list)
        for path, targets in self.imports.items():
            for target in targets:
                importers[target].append(path)
        return dict(importers)


def _is_own(path: str) -> bool:
    """True for a file that is neither a test, an example, documentation nor somebody else's code."""
    return not is_test(path) and not _NOT_OWN.search(path)
