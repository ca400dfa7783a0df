"""Working copies: a private copy of a prepared tree for each run, its hash before and after, and its removal. Paths are
bytes internally, because an agent may create file names that are not valid text."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from typing import AnyStr

CACHE_FOLDERS = frozenset((b"__pycache__", b".pytest_cache", b".mypy_cache", b".ruff_cache"))
CACHE_SUFFIX = b".pyc"
BLOCK = 1 << 20

MOST_WORKSPACE_BYTES = 16_000_000_000
"""Limit of the bytes of all files in a workspace, including holes, that are read after a run."""
LONG_PATH = 2000
"""Length of a path, in bytes, above which a folder is moved up before its content is removed; Linux allows 4,096."""

# Does not follow symlinks, and does not wait for the writer of a FIFO.
READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def copy_tree(tree: str, destination: str, *, with_git: bool = True) -> None:
    """Copies `tree`, also its `.git` unless `with_git` is false, to the new folder `destination`, without FIFOs,
    sockets and devices. File times are kept: agents list files by time, and must see the same order in all conditions.
    Nothing is shared by hard links."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        modes = {name: os.lstat(os.path.join(folder, name)).st_mode for name in names}
        kinds = (stat.S_ISREG, stat.S_ISDIR, stat.S_ISLNK)
        special = [
            name for name, mode in modes.items() if not any(is_kind(mode) for is_kind in kinds)
        ]
        return special if with_git or folder != tree else [*special, ".git"]

    shutil.copytree(tree, destination, symlinks=True, ignore=left_out)


def hash_tree(folder: str) -> str:
    """The sha256, in hex, of all names, types, executable bits, contents and link targets below `folder`, without
    `.git` at the top and the caches that tools create as a side effect. Unreadable files count as unreadable."""
    root = os.fsencode(folder)
    os.scandir(root).close()
    total = hashlib.sha256()
    for path, kind, content in sorted(_facts(root)):
        total.update(b"%d %s %d " % (len(path), kind, len(content)))
        total.update(path)
        total.update(content)
    return total.hexdigest()


def changed_paths(before: str, after: str) -> list[str]:
    """The paths below two folders that differ, as `hash_tree` sees them."""
    facts = (set(_facts(os.fsencode(folder))) for folder in (before, after))
    return sorted({os.fsdecode(name) for name, _, _ in set.symmetric_difference(*facts)})


def walk(top: AnyStr) -> Iterator[tuple[AnyStr, list[AnyStr], list[AnyStr]]]:
    """As `os.walk`, which before Python 3.12 calls itself for each level, and fails in deep ones. All
    links are among the files."""
    folders = [top]
    while folders:
        try:
            with os.scandir(folder := folders.pop()) as scan:
                entries = list(scan)
        except OSError:
            continue
        inner = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
        yield (
            folder,
            inner,
            [entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)],
        )
        folders += [os.path.join(folder, name) for name in inner]  # as the caller left them


def exceeds(folder: str, most_bytes: int = MOST_WORKSPACE_BYTES) -> bool:
    """Whether the files below `folder` exceed `most_bytes` in total, including holes. Does not read them."""
    total = 0
    for place, _, names in walk(os.fsencode(folder)):
        for name in names:
            try:
                entry = os.lstat(os.path.join(place, name))
            except OSError:
                continue
            total += entry.st_size if stat.S_ISREG(entry.st_mode) else 0
            if total > most_bytes:
                return True
    return False


def _facts(root: bytes) -> Iterator[tuple[bytes, bytes, bytes]]:
    """(relative path, type, content) of every entry that counts."""
    folders = [root]
    for folder in folders:  # grows while it is walked
        try:
            entries = os.scandir(folder)
        except OSError:
            yield folder[len(root) + 1 :], b"unlisted", b""
            continue
        for entry in entries:
            name = entry.path[len(root) + 1 :]
            fact = fact_of(entry.path, name)
            if fact:
                yield name, *fact
                if fact[0] == b"folder":
                    folders.append(entry.path)


def fact_of(path: bytes, name: bytes) -> tuple[bytes, bytes] | None:
    """(type, content) of the entry at `path`, `name` in its tree; the content of a file is its hash. None for an entry
    that does not count (`hash_tree`) or does not exist."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        return None
    base = name[name.rfind(b"/") + 1 :]
    if stat.S_ISLNK(mode):
        return b"link", _link_target(path)
    if stat.S_ISDIR(mode):
        return None if name == b".git" or base in CACHE_FOLDERS else (b"folder", b"")
    if not stat.S_ISREG(mode):
        return b"special", b""
    return None if name == b".git" or base.endswith(CACHE_SUFFIX) else _file_facts(path)


def _link_target(path: bytes) -> bytes:
    try:
        return os.readlink(path)
    except OSError:
        return b""


def _file_facts(path: bytes) -> tuple[bytes, bytes]:
    digest = hashlib.sha256()
    try:
        file = os.open(path, READ_FLAGS)
        try:
            executable = os.fstat(file).st_mode & stat.S_IXUSR
            while block := os.read(file, BLOCK):
                digest.update(block)
        finally:
            os.close(file)
    except OSError:
        return b"unreadable", b""
    return b"program" if executable else b"file", digest.digest()


def remove_tree(folder: str) -> None:
    """Removes `folder`, if it exists, with all below it, read-only or not; symlinks are not followed."""
    root = os.fsencode(folder)
    if not os.path.lexists(root):
        return
    if os.path.islink(root) or not os.path.isdir(root):
        os.unlink(root)
        return
    folders = [root]
    for current in folders:  # grows while it is walked
        os.chmod(current, 0o700)
        with os.scandir(current) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    folders.append(_within_reach(entry.path, root, len(folders)))
                else:
                    os.unlink(entry.path)
    for current in reversed(folders):
        os.rmdir(current)


def _within_reach(path: bytes, root: bytes, number: int) -> bytes:
    """`path`, or its new short path below `root` when folders inside it could exceed the maximum length of a path."""
    if len(path) < LONG_PATH:
        return path
    os.chmod(path, 0o700)
    short = b"%s/.removing-%d" % (root, number)
    os.rename(path, short)
    return short
