"""The state of the served folder at one time: files, import graph, history. Built by `scan`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from lensbench_demo.lens.texts import Texts
from lensbench_demo.lens.words import squeeze
from lensbench_tasks.parsers.files import Source, list_sources, read_text
from lensbench_tasks.parsers.history import History, head_of, read_history
from lensbench_tasks.parsers.imports import MANIFESTS, resolve_imports
from lensbench_tasks.parsers.symbols import Facts, read_facts

HUB_IMPORTERS = 5


@dataclass(frozen=True)
class Tree:
    """The index. All paths are relative to the root, with forward slashes.

    `listed` are the files found on disk, `sources` the text files among them, which are indexed.
    """

    listed: tuple[Source, ...] = ()
    sources: Mapping[str, Source] = field(default_factory=dict)
    facts: Mapping[str, Facts] = field(default_factory=dict)
    imports: Mapping[str, list[str]] = field(default_factory=dict)
    importers: Mapping[str, list[str]] = field(default_factory=dict)
    history: History = field(default_factory=History)
    most_importers: int = 0

    @cached_property
    def spellings(self) -> Mapping[str, str]:
        """Path -> all its symbol names, in lower case and squeezed, to skip files without a match: symbols are only
        searched one by one for a term that is part of this text."""
        spellings = {}
        for path, facts in self.facts.items():
            names = "\n".join([symbol.name for symbol in facts.symbols])
            spellings[path] = f"{names.lower()}\n{squeeze(names)}"
        return spellings

    def is_hub(self, path: str) -> bool:
        """True if at least five files import this one."""
        return len(self.importers.get(path, ())) >= HUB_IMPORTERS

    def hub_score(self, path: str) -> float:
        """The number of importers, divided by that of the most imported file; 0 to 1."""
        return round(len(self.importers.get(path, ())) / self.most_importers, 4) if self.most_importers else 0.0

    def partners(self, path: str) -> list[tuple[str, int]]:
        """The files that changed in the same commits, with the number of these commits, most first."""
        return sorted(self.history.partners.get(path, Counter()).items(), key=lambda item: (-item[1], item[0]))


def scan(root: Path, texts: Texts, previous: Tree, must_stop: Callable[[], bool]) -> Tree:
    """Updates `texts` and the tree: reads files that are new or changed since `previous`, and removes deleted ones.

    Returns `previous` if nothing changed. Raises InterruptedError once `must_stop()`.
    """
    listing, head = tuple(list_sources(root)), head_of(root)
    if listing == previous.listed and head == previous.history.head:
        return previous
    sources, facts = dict[str, Source](), dict[str, Facts]()
    manifests: dict[str, str] = {}
    with texts.transaction():
        for path in previous.sources.keys() - {source.path for source in listing}:
            texts.remove(path)
        for source in listing:
            if must_stop():
                raise InterruptedError
            path = source.path
            if previous.sources.get(path) == source:
                sources[path], facts[path] = source, previous.facts[path]
            elif (text := read_text(root, source)) is None:
                texts.remove(path)
            else:
                sources[path], facts[path] = source, read_facts(text, source.language)
                texts.put(path, text, source.language, facts[path])
            if path in sources and path.rsplit("/", 1)[-1] in MANIFESTS:
                manifests[path] = texts.body(path)
    imports = resolve_imports(facts, {path: source.language for path, source in sources.items()}, manifests)
    importers: dict[str, list[str]] = defaultdict(list)
    for path, targets in imports.items():
        for target in targets:
            importers[target].append(path)
    most = max(map(len, importers.values()), default=0)
    return Tree(listing, sources, facts, imports, dict(importers), read_history(root, head, frozenset(sources)), most)
