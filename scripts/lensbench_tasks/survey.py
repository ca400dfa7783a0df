"""Facts of a repository, read once: files, definitions, imports, and which files change together."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lensbench_tasks.parsers.code import Definition, definitions
from lensbench_tasks.parsers.files import list_sources, read_text
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.parsers.history import History, head_of, read_history
from lensbench_tasks.parsers.imports import MANIFESTS, resolve_imports
from lensbench_tasks.parsers.symbols import Facts, read_facts

_TEST = re.compile(
    r"(^|/)(tests?|testing|__tests__|specs?|examples?|docs?|benchmarks?|fixtures?|vendor|_?vendored|third_party|dist"
    r"|node_modules|build)/|(^|/)(test_[^/]*|conftest\.py|setup\.py|[^/]*(_test|\.test|\.spec|\.min)\.\w+)$"
    r"|\.d\.[cm]?ts$"
)
_WORD = re.compile(r"[A-Za-z_$][\w$]*")


@dataclass(frozen=True)
class Survey:
    """The facts of one tree. Paths are relative, with forward slashes."""

    root: Path
    texts: Mapping[str, str]
    """The text of every file."""
    facts: Mapping[str, Facts]
    languages: Mapping[str, str | None]
    imports: Mapping[str, list[str]]
    history: History = field(default_factory=History)

    @cached_property
    def code(self) -> list[str]:
        """The project's own source files, without tests, documentation and vendored code."""
        return [path for path in self.texts if self.languages[path] in SOURCES and not _TEST.search(path)]

    @cached_property
    def defined(self) -> Mapping[str, list[Definition]]:
        """The definitions in each file of `code`."""
        return {path: definitions(path, self.texts[path], self.languages[path]) for path in self.code}

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
        return matches[0] if len(matches) == 1 and not matches[0].owner and not matches[0].local else None

    def short(self, path: str) -> str:
        """The shortest end of a path that is unique to this file."""
        parts = path.split("/")
        for size in range(1, len(parts)):
            end = "/".join(parts[-size:])
            if sum(f"/{other}".endswith(f"/{end}") for other in self.texts) == 1:
                return end
        return path

    def importers(self, path: str) -> list[str]:
        """The files of `code` that import a file."""
        return [other for other in self.code if path in self.imports.get(other, ())]


def survey(root: Path) -> Survey:
    """Reads the tree below `root`, an absolute path."""
    texts: dict[str, str] = {}
    facts: dict[str, Facts] = {}
    languages: dict[str, str | None] = {}
    for source in list_sources(root):
        text = read_text(root, source)
        if text is not None and source.name == source.path:
            texts[source.path], languages[source.path] = text, source.language
            facts[source.path] = read_facts(text, source.language)
    manifests = {path: text for path, text in texts.items() if path.rsplit("/", 1)[-1] in MANIFESTS}
    imports = resolve_imports(facts, languages, manifests)
    return Survey(root, texts, facts, languages, imports, read_history(root, head_of(root), frozenset(texts)))
