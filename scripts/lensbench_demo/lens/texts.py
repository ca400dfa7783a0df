"""The full-text index: SQLite FTS5 in a temporary file, which SQLite removes as soon as it is open."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from lensbench_demo.lens.words import camel_case, words
from lensbench_tasks.parsers.grammars import SOURCES
from lensbench_tasks.parsers.symbols import Facts

CACHE_KIB = 16_000
WEIGHTS = {
    "name": 0.0,
    "path": 6.0,
    "symbols": 8.0,
    "docstring": 4.0,
    "sections": 3.0,
    "identifiers": 0.5,
    "body": 1.0,
}
RANK = f"-bm25(files, {', '.join(map(str, WEIGHTS.values()))})"


class Texts:
    """The texts of all files, ranked by bm25 with weights per column."""

    def __init__(self, files: Iterable[tuple[str, str, str | None, Facts]]) -> None:
        """`files`: path, text, language and facts of each."""
        # "" is a private database: what does not fit into the cache goes to disk, and no other process can open it.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        columns = ", ".join(["name UNINDEXED", *[column for column in WEIGHTS if column != "name"]])
        self._database.execute(
            f"CREATE VIRTUAL TABLE files USING fts5({columns}, tokenize = 'porter unicode61')"
        )
        marks = ", ".join("?" * len(WEIGHTS))
        with self._database:
            self._database.execute("BEGIN")
            self._database.executemany(
                f"INSERT INTO files VALUES ({marks})", (_row(*file) for file in files)
            )

    def search(
        self, terms: Sequence[str], phrase: Sequence[str], *, every: bool
    ) -> dict[str, float]:
        """The files that contain all of the words (or any of them), or the phrase, and their relevance (bm25, higher is
        better). There is no query syntax."""
        if not terms:
            return {}
        query = (" AND " if every else " OR ").join(f'"{term}"' for term in dict.fromkeys(terms))
        query = f'({query}) OR "{" ".join(phrase)}"'
        return dict(
            self._database.execute(f"SELECT name, {RANK} FROM files WHERE files MATCH ?", (query,))
        )

    def containing(self, needle: str, terms: Sequence[str]) -> list[str]:
        """The files whose text contains `needle`, whatever the case of its ASCII letters.

        Only files that contain all `terms` are read; without terms, all files.
        """
        where, values = "instr(lower(body), lower(?))", [needle]
        if terms:
            where, values = (
                f"files MATCH ? AND {where}",
                [" AND ".join(f'"{term}"' for term in terms), needle],
            )
        return [
            path
            for (path,) in self._database.execute(f"SELECT name FROM files WHERE {where}", values)
        ]


def _row(path: str, text: str, language: str | None, facts: Facts) -> tuple[str, ...]:
    """The columns of a file."""
    names = sorted({*facts.exports, *(symbol.name for symbol in facts.symbols)})
    return (
        path,
        " ".join([path, *words(path)]),
        " ".join([*names, *words(" ".join(names))]),
        facts.docstring,
        "\n".join(title for title, _ in facts.sections),
        camel_case(text) if language in SOURCES else "",
        text,
    )
