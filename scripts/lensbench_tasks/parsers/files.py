"""The files to index: the text files of one folder, and nothing outside it.

In a git work tree these are the tracked files and the untracked ones that are not ignored; elsewhere, all files.
Symlinks are not followed; .git, binary files and files above 2 MB are skipped.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from lensbench.core.errors import UserError
from lensbench.repositories.sources.git_program import GitError, git

MAX_BYTES = 2_000_000
BINARY_PROBE = 8192
TIME_LIMIT_S = 30
_NO_FILES = ("-c", "core.attributesFile=/dev/null", "-c", "core.excludesFile=/dev/null")
"""Git reads no files outside of the work tree that its settings name."""

_ROWS = map(
    str.split,
    Path(__file__).with_name("languages.txt").read_text(encoding="utf-8").split("\n")[:-1],
)
LANGUAGES = {suffix: language for language, *suffixes in _ROWS for suffix in suffixes}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that may be indexed. `path` is shown to agents; `name` is its name in the file system."""

    path: str
    name: str
    size: int
    changed_ns: int

    @property
    def language(self) -> str | None:
        """The language by the file's extension, or None."""
        return LANGUAGES.get(PurePosixPath(self.path).suffix.lower())


def readable(name: str) -> str:
    """A file name as valid Unicode: bytes that are not UTF-8 become U+FFFD."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def list_sources(root: Path) -> list[SourceFile]:
    """The files to index below `root` (an absolute, resolved path), sorted by path; each readable path once."""
    listing = git_output(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    names = (
        _walk(root)
        if listing is None
        else _inside(root, map(os.fsdecode, filter(None, listing.split(b"\0"))))
    )
    sources: dict[str, SourceFile] = {}
    for name in names:
        try:
            status = os.lstat(f"{root}/{name}")
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size <= MAX_BYTES:
            path = readable(name)
            source = SourceFile(path, name, status.st_size, status.st_mtime_ns)
            sources.setdefault(path, source)
    return [sources[path] for path in sorted(sources)]


def read_text(root: Path, source: SourceFile) -> str | None:
    """The text, undecodable bytes replaced; None if the file is missing, binary, not a regular file or too big."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(os.path.join(root, source.name), flags)
        with open(descriptor, "rb", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            content = file.read(MAX_BYTES + 1)
    except OSError:
        return None
    if len(content) > MAX_BYTES or b"\0" in content[:BINARY_PROBE]:
        return None
    return content.decode("utf-8", "replace")


def git_output(root: Path, *arguments: str) -> bytes | None:
    """What git prints about the work tree `root`, without running anything that it contains.

    None without git, and when git fails or takes too long; also for a folder inside of another work tree, because the
    history is that of its parent folder.
    """
    if not (root / ".git").exists():
        return None
    own = (f"--git-dir={root / '.git'}", f"--work-tree={root}", *_NO_FILES)
    try:
        return git(root, *own, *arguments, timeout_s=TIME_LIMIT_S)
    except (GitError, UserError, OSError):
        return None


def _inside(root: Path, names: Iterable[str]) -> Iterator[str]:
    """The names whose folder is really below `root`: git also lists files behind a folder replaced by a symlink."""
    real = {"": True}

    def is_real(folder: str) -> bool:
        if folder not in real:
            real[folder] = is_real(os.path.dirname(folder)) and not os.path.islink(
                f"{root}/{folder}"
            )
        return real[folder]

    for name in dict.fromkeys(names):
        parts = name.split("/")
        if ".git" not in parts and ".." not in parts and is_real(os.path.dirname(name)):
            yield name


def _walk(root: Path) -> Iterator[str]:
    """All file names below `root`, relative, without .git and without following symlinks."""
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        below = os.path.relpath(folder, root)
        for name in files:
            yield name if below == "." else f"{below}/{name}"
