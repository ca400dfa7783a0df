"""The files that the agent may see: regular text files inside the workspace, and where terms occur in them."""

from __future__ import annotations

import os
import re
import stat
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from pathlib import PurePosixPath

from lensbench_tasks.question import Term

MAX_FILES = 20_000
MAX_FILE_BYTES = 1_000_000
MAX_HITS = 200
SKIPPED_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox"}
)
_BINARY = (
    ".png .jpg .jpeg .gif .ico .pdf .zip .gz .xz .bz2 .whl .so .pyc .woff .woff2 .ttf .mo .db .svg"
)
BINARY_SUFFIXES = frozenset(_BINARY.split())


class Workspace:
    """A folder, read once. Paths outside of it cannot be named, and links out of it are not followed."""

    def __init__(self, root: str) -> None:
        self.root = os.path.realpath(root)
        self._data: dict[str, bytes] = {}
        self._lower: dict[str, bytes] = {}
        self._starts: dict[str, list[int]] = {}
        self._hits: dict[tuple[str, Term], tuple[int, ...]] = {}

    @cached_property
    def files(self) -> tuple[str, ...]:
        """Paths relative to the workspace, sorted; at most MAX_FILES."""
        return tuple(sorted(self._walk()))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.files)

    def locate(self, text: str) -> str | None:
        """The file of the workspace that `text` names (relative, or absolute inside the workspace), or None."""
        path = text.strip().replace("\\", "/")
        if path.startswith(self.root + "/"):
            path = path[len(self.root) + 1 :]
        path = str(PurePosixPath(path)) if path else ""
        return path if path in self._known else None

    def data(self, path: str) -> bytes:
        """The bytes of a file of the workspace; empty when it is binary or too large."""
        if path not in self._data:
            self._data[path] = self._load(path) if path in self._known else b""
        return self._data[path]

    def text(self, path: str) -> str:
        """The text of a file; bytes that are not UTF-8 are replaced."""
        return self.data(path).decode("utf-8", "replace").replace("\r\n", "\n")

    def lines(self, path: str) -> list[str]:
        """The lines of a file, with the numbers of `hits`; `splitlines` also splits at form feeds and U+2028."""
        return self.text(path).removesuffix("\n").split("\n")

    def hits(self, path: str, term: Term) -> tuple[int, ...]:
        """Lines (1-based, with repeats, at most MAX_HITS) of `path` on which `term` occurs."""
        key = (path, term)
        if key not in self._hits:
            offsets = sorted(set(self._offsets(path, term)))[:MAX_HITS]
            starts = self._line_starts(path) if offsets else []
            self._hits[key] = tuple(bisect_right(starts, offset) for offset in offsets)
        return self._hits[key]

    def line(self, path: str, number: int) -> str:
        """Line `number` (1-based) of `path`, without its end."""
        starts, data = self._line_starts(path), self.data(path)
        end = starts[number] if number < len(starts) else len(data)
        return data[starts[number - 1] : end].decode("utf-8", "replace").rstrip("\r\n")

    def _walk(self) -> Iterator[str]:
        folders, count = [""], 0
        while folders:
            folder = folders.pop()
            try:
                entries = sorted(
                    os.scandir(os.path.join(self.root, folder)), key=lambda entry: entry.name
                )
            except OSError:
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if not path.isprintable():  # the name cannot be quoted on one line, or is not UTF-8
                    continue
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED_FOLDERS:
                        folders.append(path)
                elif self._readable(entry):
                    count += 1
                    if count > MAX_FILES:
                        return
                    yield path

    def _readable(self, entry: os.DirEntry[str]) -> bool:
        try:
            regular = stat.S_ISREG(entry.stat().st_mode)
        except OSError:
            return False
        inside = not entry.is_symlink() or os.path.realpath(entry.path).startswith(
            self.root + os.sep
        )
        return (
            regular and inside and PurePosixPath(entry.name).suffix.lower() not in BINARY_SUFFIXES
        )

    def _load(self, path: str) -> bytes:
        try:
            with open(os.path.join(self.root, path), "rb") as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except OSError:
            return b""
        return b"" if len(data) > MAX_FILE_BYTES or b"\0" in data[:8192] else data

    def _line_starts(self, path: str) -> list[int]:
        if path not in self._starts:
            self._starts[path] = [
                0,
                *(match.end() for match in re.finditer(rb"\n", self.data(path))),
            ]
        return self._starts[path]

    def _offsets(self, path: str, term: Term) -> Iterator[int]:
        data = self.data(path)
        if path not in self._lower:
            self._lower[path] = data.lower()
        content = data if term.whole else self._lower[path]
        for variant in term.variants:
            needle, count = variant.encode("utf-8", "replace"), 0
            offset = content.find(needle)
            while offset >= 0 and count < MAX_HITS:
                if _bounded(data, offset, needle, term.whole):
                    count += 1
                    yield offset
                offset = content.find(needle, offset + len(needle))


def _bounded(data: bytes, offset: int, needle: bytes, whole: bool) -> bool:
    """Whether the hit is a whole word, or else starts a word or a part of an identifier (`_x`, `aX`)."""
    before = data[offset - 1 : offset] if offset else b""
    if not whole:
        return not before.isalpha() or (data[offset : offset + 1].isupper() and before.islower())
    after = data[offset + len(needle) : offset + len(needle) + 1]
    return not (_wordy(before) and _wordy(needle[:1])) and not (
        _wordy(after) and _wordy(needle[-1:])
    )


def _wordy(byte: bytes) -> bool:
    return byte.isalnum() or byte == b"_"
