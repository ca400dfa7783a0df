"""Splits the difference of two trees into independently applicable pieces, and makes patches from them."""

from __future__ import annotations

import difflib
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from lensbench.core.system.trees import CACHE_FOLDERS
from lensbench.repositories.sources.git_program import git

_NEAR = 3
"""Edits with fewer unchanged lines between them are one piece, as in a unified diff."""

_NAME = re.compile(rb"(?=\w*(?:[a-z][A-Z]|[_.]\w))[A-Za-z_$][\w$]*(?:\.[\w$]+)*")
"""A name of several words or parts; a single word may as well be a comment's."""


class EditPiece(NamedTuple):
    """Replaces lines `start` to `stop` of a file with `lines`; or the whole file if it is new, deleted or binary."""

    path: str
    start: int
    stop: int
    lines: tuple[bytes, ...]
    whole: bool = False

    @property
    def size(self) -> int:
        """The number of changed lines, old and new."""
        return self.stop - self.start + len(self.lines)


def piece_text(piece: EditPiece, before: Path) -> str:
    """The changed lines of a piece, old and new."""
    content = _read(before, piece.path) or b""
    old = content.splitlines(keepends=True)[piece.start : piece.stop]
    return b"".join((*old, *piece.lines)).decode(errors="replace")


def differences(before: Path, after: Path, rule: Callable[[str], bool]) -> list[EditPiece]:
    """The pieces that change tree `before` to `after`, in the files of the `rule`, sorted by path and line."""
    pieces: list[EditPiece] = []
    for path in sorted({*_files(before), *_files(after)}):
        if rule(path):
            pieces += _pieces(path, _read(before, path), _read(after, path))
    return pieces


def _files(tree: Path) -> Iterator[str]:
    exclusions = {".git", *map(os.fsdecode, CACHE_FOLDERS)}
    for folder, folders, files in os.walk(tree):
        folders[:] = [name for name in folders if name not in exclusions]
        for name in files:
            path = Path(folder, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(tree).as_posix()


def _read(tree: Path, path: str) -> bytes | None:
    file = tree / path
    if not file.is_file() or file.is_symlink():
        return None
    return file.read_bytes()


def _pieces(path: str, before: bytes | None, after: bytes | None) -> Iterator[EditPiece]:
    if before == after:
        return
    old = (before or b"").splitlines(keepends=True)
    new = (after or b"").splitlines(keepends=True)
    if before is None or after is None or b"\0" in before + after:
        yield EditPiece(path, 0, len(old), tuple(new), whole=True)
        return
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for group in matcher.get_grouped_opcodes(_NEAR // 2):
        edits = [opcode for opcode in group if opcode[0] != "equal"]
        _, start, _, first, _ = edits[0]
        _, _, stop, _, last = edits[-1]
        yield EditPiece(path, start, stop, tuple(new[first:last]))


def own_names(pieces: Sequence[EditPiece], before: Path) -> list[frozenset[bytes]]:
    """The names on the changed lines of each piece, old and new, that no unchanged line of the changed files has."""
    unchanged: dict[str, list[bytes]] = {}
    changed: list[frozenset[bytes]] = []
    for path in {piece.path for piece in pieces}:
        unchanged[path] = (_read(before, path) or b"").splitlines()
    for piece in pieces:
        old = unchanged[piece.path][piece.start : piece.stop]
        text = b"\n".join((*old, *piece.lines))
        changed.append(frozenset(_NAME.findall(text)))
    for piece in pieces:
        blank = [b""] * (piece.stop - piece.start)
        unchanged[piece.path][piece.start : piece.stop] = blank
    common: set[bytes] = set()
    for lines in unchanged.values():
        for line in lines:
            common.update(_NAME.findall(line))
    return [names - common for names in changed]


def apply(pieces: Iterable[EditPiece], tree: Path) -> None:
    """Applies pieces to `tree`, which must be unchanged since they were computed."""
    for path, of_file in groupby(sorted(pieces), key=lambda piece: piece.path):
        file = tree / path
        edits = list(of_file)
        if edits[0].whole and not edits[0].lines and file.exists():
            file.unlink()
            continue
        lines: list[bytes] = []
        if file.exists():
            lines = file.read_bytes().splitlines(keepends=True)
        for edit in reversed(edits):  # from the end, so that earlier line numbers stay valid
            lines[edit.start : edit.stop] = edit.lines
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"".join(lines))


def patch(pieces: Iterable[EditPiece], before: Path) -> str:
    """The pieces as a unified diff to the tree `before`, in git's format."""
    edits = list(pieces)
    with tempfile.TemporaryDirectory(prefix="lb-") as folder:
        tree = Path(folder)
        git(tree, "init", "--quiet", "--template=")
        for path in {piece.path for piece in edits}:
            old = _read(before, path)
            if old is not None:
                file = tree / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(old)
        git(tree, "add", "--all", "--force", ".")
        former = git(tree, "write-tree").decode().strip()
        apply(edits, tree)
        git(tree, "add", "--all", "--force", ".")
        later = git(tree, "write-tree").decode().strip()
        difference = git(tree, "diff", "--binary", "--no-renames", former, later)
        return difference.decode(errors="surrogateescape")
