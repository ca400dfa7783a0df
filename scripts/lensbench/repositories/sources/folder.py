"""Sources of the kind `path`: the current content of a folder on this machine, with the history of its commit."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.system.trees import CACHE_FOLDERS, walk
from lensbench.repositories.sources.git import fetch_history
from lensbench.repositories.sources.git_program import GitError, git

SKIPPED_FOLDERS = frozenset(name.decode() for name in CACHE_FOLDERS) | {".git"}


def location(path: str) -> str:
    """`path` made absolute, relative to the current folder."""
    return os.path.abspath(os.path.expanduser(path))


def take(path: str, tree: Path, exclusion: Path) -> tuple[str, ...]:
    """Copies the files of the folder `path` to the empty folder `tree`, except those in the folder `exclusion`.

    Of a git work tree, and of submodules and repositories inside it, these are the files that are tracked, or new and
    not ignored; otherwise all. Sockets and devices are skipped, and so are new files in `bench/` of the current folder,
    which grows while agents work. Returns the submodules that are empty. Raises UserError.
    """
    folder = Path(location(path))
    if not folder.is_dir():
        raise UserError(
            f"there is no folder {folder}; correct the path, which starts in {Path.cwd()}"
        )
    index = _listed_by_git(folder, "--cached")
    new = _listed_by_git(folder, "--others", "--exclude-standard")
    return tuple(_take(folder, tree, Path(os.path.realpath(exclusion)), index, new))


def _take(
    folder: Path, tree: Path, exclusion: Path, index: set[str], new: set[str]
) -> Iterator[str]:
    root = os.path.realpath(folder)
    grows = os.path.realpath("bench")
    for name in sorted(index | new) or _listed(folder):
        place = Path(root, os.path.dirname(name))
        # git still lists files of a folder that was replaced by a link, but the link's target is not in the repository.
        is_linked = os.path.realpath(place) != os.path.normpath(place)
        is_growing = name not in index and place.is_relative_to(grows)
        if is_linked or is_growing or place.is_relative_to(exclusion):
            continue
        inner = folder / name
        if inner.is_symlink() or not inner.is_dir():
            _copy(inner, tree / name)
            continue
        if any(inner.iterdir()):
            top = {"GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(inner))}
            which = ("--cached", "--others", "--exclude-standard")
            files = _listed_by_git(inner, *which, variables=top)
            for empty in _take(inner, tree / name, exclusion, files, set()):
                yield os.path.join(name, empty)
        if not (tree / name).exists():
            yield name.rstrip("/")


def take_history(path: str, tree: Path) -> str:
    """Gives `tree` the history of the current commit of the folder `path`, if that is the root of a git repository.

    Returns "kept", "none" without such a commit, or "dropped: <why>".
    """
    folder = Path(location(path))
    try:
        top = os.fsdecode(git(folder, "rev-parse", "--show-toplevel").rstrip(b"\n"))
        git(folder, "rev-parse", "--verify", "HEAD^{commit}")
    except GitError:
        return "none"
    if os.path.realpath(top) != os.path.realpath(folder):
        return "dropped: the folder is part of a git repository; use its root to keep the history"
    try:
        fetch_history(str(folder), "HEAD", tree)
    except GitError as error:
        return f"dropped: git cannot read it: {error}"
    return "kept"


def _listed_by_git(
    folder: Path, *which: str, variables: Mapping[str, str] | None = None
) -> set[str]:
    """Empty when `folder` is not in a work tree, or is ignored there."""
    try:
        listing = git(folder, "ls-files", "-z", *which, variables=variables)
    except GitError:
        return set()
    return {os.fsdecode(name) for name in listing.split(b"\0") if name}


def _listed(folder: Path) -> Iterator[str]:
    for current, folders, files in walk(str(folder)):
        folders[:] = [name for name in folders if name not in SKIPPED_FOLDERS]
        for name in files:
            if name != ".git":
                yield os.path.relpath(os.path.join(current, name), folder)


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink() or source.is_file():
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
