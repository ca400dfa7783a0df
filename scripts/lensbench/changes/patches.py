"""Makes a patch of what an agent changed, and applies patches to new copies.

git does both, with a separate repository beside the trees, so that settings, hooks and filters of the workspace have
no effect and the bytes of files are unchanged.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from lensbench.core.system.trees import walk
from lensbench.repositories.sources.git_program import GitError, git

_EXCLUDED = """\
__pycache__/
*.pyc
.pytest_cache/
.mypy_cache/
.ruff_cache/
.tox/
.nox/
.venv/
node_modules/
*.egg-info/
.coverage
.DS_Store
"""
"""New files that tools create as a side effect; those that the pinned tree's .gitignore names are excluded as well."""
_AS_THEY_ARE = "* -text -ident !eol !filter !working-tree-encoding !diff !merge\n"


class PatchError(Exception):
    """A patch does not apply; the text says why."""


@dataclass(frozen=True)
class PatchSize:
    """The size of a patch: files changed, lines added and removed (of text files)."""

    files: tuple[str, ...]
    added: int
    removed: int


NOTHING = PatchSize((), 0, 0)


def make_patch(tree: Path, workspace: Path, scratch: Path) -> bytes:
    """The patch from `tree` to `workspace`, with new, deleted and binary files, modes and links, without caches.

    `scratch` is an empty private folder. Raises GitError and OSError.
    """
    own = _repository(scratch)
    before = _snapshot(own, tree.absolute(), _files(tree))
    after = _snapshot(
        own, workspace.absolute(), _without_ignored(own, tree.absolute(), _files(workspace))
    )
    return git(
        scratch,
        f"--git-dir={own}",
        "diff-tree",
        "-r",
        "-p",
        "--binary",
        "--full-index",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        before,
        after,
    )


def _repository(scratch: Path) -> Path:
    own = scratch.absolute() / "git"
    git(scratch, "init", "--quiet", "--bare", "--template=", str(own))
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "attributes").write_text(_AS_THEY_ARE, encoding="utf-8")
    (own / "info" / "exclude").write_text(_EXCLUDED, encoding="utf-8")
    return own


def _files(tree: Path) -> list[bytes]:
    """The files and links below `tree` that can be read, also in repositories inside it, without those of `.git`."""
    top = os.fsencode(tree)
    paths = []
    for folder, folders, names in walk(top):
        folders[:] = [name for name in folders if name != b".git"]
        paths += [os.path.join(folder, name) for name in names if name != b".git"]
    return [
        os.path.relpath(path, top)
        for path in paths
        if os.path.islink(path) or (os.path.isfile(path) and os.access(path, os.R_OK))
    ]


def _without_ignored(own: Path, tree: Path, files: list[bytes]) -> list[bytes]:
    """`files` without those that the pinned tree lacks and its rules ignore; the agent's own rules do not count."""
    at = (f"--git-dir={own}", f"--work-tree={tree}")
    listing = b"".join(
        b"./%s\0" % file for file in files
    )  # no name is taken for a pattern with a meaning of its own
    try:
        matches = set(git(tree, *at, "check-ignore", "-z", "--stdin", stdin=listing).split(b"\0"))
    except GitError:  # exit code 1: none is ignored
        return files
    return [file for file in files if b"./" + file not in matches]


def _snapshot(own: Path, tree: Path, files: list[bytes]) -> str:
    """The tree object for these files below `tree`. A file that is there and cannot be read stays as it was."""
    at = (f"--git-dir={own}", f"--work-tree={tree}")
    index = [path for path in git(tree, *at, "ls-files", "-z").split(b"\0") if path]
    deletions = [
        path
        for path in index
        if not os.path.lexists(place := os.path.join(os.fsencode(tree), path))
        or (os.path.isdir(place) and not os.path.islink(place))
    ]
    for option, paths in (("--force-remove", deletions), ("--add", files)):
        git(
            tree, *at, "update-index", option, "--replace", "-z", "--stdin", stdin=b"\0".join(paths)
        )
    return git(tree, *at, "write-tree").decode().strip()


def patch_size(patch: bytes, scratch: Path) -> PatchSize:
    """The changed files of a patch, and the number of lines. Raises PatchError for an invalid patch."""
    if not patch.strip():
        return NOTHING
    try:
        output = git(
            scratch,
            "apply",
            "--numstat",
            "-z",
            "-",
            stdin=patch,
            variables={"GIT_CEILING_DIRECTORIES": str(scratch.parent)},
        )
    except GitError as error:
        raise PatchError(str(error)) from None
    rows = [
        row.split("\t", 2) for row in output.decode(errors="surrogateescape").split("\0") if row
    ]
    counts = [(int(more), int(less)) for more, less, _ in rows if more != "-"]
    return PatchSize(
        tuple(sorted({row[2] for row in rows})),
        sum(a for a, _ in counts),
        sum(b for _, b in counts),
    )


def size_of(patch: bytes) -> PatchSize:
    """The size of a patch; empty for an invalid patch."""
    with TemporaryDirectory(prefix="lb-") as scratch:
        try:
            return patch_size(patch, Path(scratch))
        except PatchError:
            return NOTHING


def apply_patch(patch: bytes, copy: Path, scratch: Path, but: Iterable[str] = ()) -> None:
    """Applies a patch to `copy`, without the files in `but`. Raises PatchError when it does not apply."""
    if not patch.strip():
        return
    own = _repository(scratch)
    left_out = [f"--exclude={_literally(path)}" for path in but]
    try:
        git(
            copy,
            f"--git-dir={own}",
            f"--work-tree={copy}",
            "apply",
            "--whitespace=nowarn",
            *left_out,
            "-",
            stdin=patch,
        )
    except GitError as error:
        raise PatchError(str(error)) from None


def _literally(path: str) -> str:
    """A pattern that matches only this path."""
    return re.sub(r"[\\*?\[\]]", r"\\\g<0>", path)
