"""Facts of a repository, read once: files, definitions, imports, and which files change together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from lensbench.core.project_files import is_test
from lensbench_tasks.parsers.code import Definition, definitions
from lensbench_tasks.parsers.files import Source, list_sources, read_text
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.parsers.history import History, head_of, read_history
from lensbench_tasks.parsers.imports import MANIFESTS, resolve_imports
from lensbench_tasks.parsers.symbols import Facts, read_facts

_NOT_OWN = re.compile(
    r"(^|/)(examples?|docs?|benchmarks?|vendor|_?vendored|third_party|dist|node_modules|build)/"
    r"|(^|/)(setup\.py|[^/]*\.min\.\w+)$|\.d\.[cm]?ts$"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class Survey:
    """The facts of one tree. Paths are relative, with forward slashes."""

    root: Path
    listed: tuple[Source, ...]
    """All files; those that have no text are nowhere else."""
    texts: Mapping[str, str]
    """The text of every file."""
    facts: Mapping[str, Facts]
    languages: Mapping[str, str | None]
    imports: Mapping[str, list[str]]
    history: History

    @classmethod
    def read(cls, root: Path) -> Self:
        """Reads the tree below `root`, an absolute path."""
        listing, head = tuple(list_sources(root)), head_of(root)
        texts: dict[str, str] = {}
        facts: dict[str, Facts] = {}
        for source in listing:
            if (text := read_text(root, source)) is not None:
                texts[source.path], facts[source.path] = text, read_facts(text, source.language)
        languages = {source.path: source.language for source in listing if source.path in texts}
        manifests = {
            path: text for path, text in texts.items() if path.rsplit("/", 1)[-1] in MANIFESTS
        }
        imports = resolve_imports(facts, languages, manifests)
        return cls(
            root,
            listing,
            texts,
            facts,
            languages,
            imports,
            read_history(root, head, frozenset(texts)),
        )

    @property
    def is_current(self) -> bool:
        """True if neither files nor commits changed since it was read."""
        return (self.listed, self.history.head) == (
            tuple(list_sources(self.root)),
            head_of(self.root),
        )

    @cached_property
    def code(self) -> list[str]:
        """The project's own source files, without tests, documentation and vendored code."""
        return [
            path
            for path in self.texts
            if self.languages[path] in SOURCES and not is_test(path) and not _NOT_OWN.search(path)
        ]

    @cached_property
    def defined(self) -> Mapping[str, list[Definition]]:
        """The definitions in each file of `code`."""
        return {
            path: definitions(path, self.texts[path], self.languages[path]) for path in self.code
        }

    @cached_property
    def by_name(self) -> Mapping[str, list[Definition]]:
        """All definitions in `code` by name, including local ones."""
        index = defaultdict(list)
        for group in self.defined.values():
            for one in group:
                index[one.name].append(one)
        return index

    @cached_property
    def words(self) -> Counter[str]:
        """Name -> the number of files that contain it."""
        return Counter(word for text in self.texts.values() for word in set(_WORD.findall(text)))

    def only(self, name: str) -> Definition | None:
        """The definition of a name that is defined once, at the top level of a file; None for any other name."""
        matches = self.by_name.get(name, [])
        return (
            matches[0]
            if len(matches) == 1 and not matches[0].owner and not matches[0].local
            else None
        )

    def short(self, path: str) -> str:
        """The shortest end of a path that is unique to this file."""
        parts = path.split("/")
        for size in range(1, len(parts)):
            end = "/".join(parts[-size:])
            if sum(f"/{other}".endswith(f"/{end}") for other in self.texts) == 1:
                return end
        return path

    @cached_property
    def importers(self) -> Mapping[str, list[str]]:
        """The files that import each file, in order."""
        importers = defaultdict(list)
        for path, targets in self.imports.items():
            for target in targets:
                importers[target].append(path)
        return dict(importers)
