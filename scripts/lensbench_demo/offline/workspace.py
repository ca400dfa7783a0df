"""The text files that the agent may see, where terms occur in them, and what they define there."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from lensbench.core.project_files import is_test
from lensbench_tasks.parsers.code import definitions
from lensbench_tasks.parsers.files import list_sources, read_text
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.question import Term

MAX_HITS = 200
"""Hits of a term in one file."""


class Workspace:
    """A folder, read once. Nothing outside of it is read: links are not followed."""

    def __init__(self, root: str) -> None:
        self.root = str(Path(root).resolve())
        sources = list_sources(Path(self.root))
        self._sources = {source.path: source for source in sources if source.path.isprintable()}
        self._texts: dict[str, str] = {}

    @property
    def files(self) -> tuple[str, ...]:
        """The paths of all files, relative to the workspace, sorted."""
        return tuple(self._sources)

    def is_code(self, path: str) -> bool:
        """Whether `path` is source code in a language that is read."""
        return self._sources[path].language in SOURCES

    def is_own_code(self, path: str) -> bool:
        """Whether `path` is source code that is no test."""
        return self.is_code(path) and not is_test(path)

    def text(self, path: str) -> str:
        """The text of a file; empty when it is binary or too large."""
        if path not in self._texts:
            self._texts[path] = read_text(Path(self.root), self._sources[path]) or ""
        return self._texts[path]

    def lines(self, path: str) -> list[str]:
        """The lines of a file, as git counts them."""
        return self.text(path).split("\n")

    def named_in(self, text: str) -> list[str]:
        """The files that `text` names, each once: relative to the workspace, or absolute inside it."""
        words = re.findall(r"[\w.+@/-]{3,300}", text)
        paths = (word.removeprefix(f"{self.root}/").rstrip(".") for word in words)
        return list(dict.fromkeys(path for path in paths if path in self._sources))

    def hits(self, pattern: re.Pattern[str], words: Sequence[str]) -> dict[str, list[int]]:
        """File -> the lines, from 1, on which `pattern` begins. Only files with one of `words` are searched."""
        hits = {}
        for path in self._sources:
            text = self.text(path)
            lower = text.lower()
            if any(word.lower() in lower for word in words):
                lines = list(islice(_lines_with(pattern, text), MAX_HITS))
                if lines:
                    hits[path] = lines
        return hits

    def names_around(self, path: str) -> dict[int, str]:
        """Line -> the innermost function or class around it that other files can reach, such as `Parser.parse`."""
        names: dict[int, str] = {}
        for found in definitions(path, self.text(path), self._sources[path].language):
            if not found.local and found.line < found.last_line:
                names.update(dict.fromkeys(range(found.line, found.last_line + 1), found.shown))
        return names


def pattern_of(term: Term) -> re.Pattern[str]:
    """A whole word as it is written, or the start of a word, or of a part of an identifier, in any case."""
    texts = "|".join(map(re.escape, term.variants))
    if term.whole:
        return re.compile(rf"(?<!\w)(?:{texts})(?!\w)")
    capitals = "|".join(re.escape(variant.capitalize()) for variant in term.variants)
    return re.compile(rf"(?<![^\W\d_])(?i:{texts})|(?<=[a-z])(?:{capitals})")


def _lines_with(pattern: re.Pattern[str], text: str) -> Iterator[int]:
    line = 1
    counted = 0
    for match in pattern.finditer(text):
        line += text.count("\n", counted, match.start())
        counted = match.start()
        yield line
