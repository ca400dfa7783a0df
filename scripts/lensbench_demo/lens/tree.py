"""The state of the served folder at one time: files, their texts, import graph, history. Built by `scan`."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
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

    listed: tuple[Source, ...]
    sources: Mapping[str, Source]
    texts: Texts
    facts: Mapping[str, Facts]
    imports: Mapping[str, list[str]]
    importers: Mapping[str, list[str]]
    history: History
    most_importers: int

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


def is_current(tree: Tree, root: Path) -> bool:
    """True if neither files nor commits changed since the scan."""
    return (tree.listed, tree.history.head) == (tuple(list_sources(root)), head_of(root))


def scan(root: Path) -> Tree:
    """Reads all files of a folder, an absolute path."""
    listing, head = tuple(list_sources(root)), head_of(root)
    sources, facts, texts = dict[str, Source](), dict[str, Facts](), Texts()
    manifests: dict[str, str] = {}
    with texts.transaction():
        for source in listing:
            if (text := read_text(root, source)) is not None:
                path = source.path
                sources[path], facts[path] = source, read_facts(text, source.language)
                texts.put(path, text, source.language, facts[path])
                if path.rsplit("/", 1)[-1] in MANIFESTS:
                    manifests[path] = text
    imports = resolve_imports(facts, {path: source.language for path, source in sources.items()}, manifests)
    importers: dict[str, list[str]] = defaultdict(list)
    for path, targets in imports.items():
        for target in targets:
            importers[target].append(path)
    most = max(map(len, importers.values()), default=0)
    history = read_history(root, head, frozenset(sources))
    return Tree(listing, sources, texts, facts, imports, dict(importers), history, most)
