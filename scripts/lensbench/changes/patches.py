"""Makes a patch of what an agent changed, and applies patches to new copies.

git does both, with a separate repository beside the trees, so that settings, hooks and filters of the workspace have
no effect and the bytes of files are unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

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
"""New files that tools create as a side effect; those in the repository's .gitignore are excluded as well."""
_AS_THEY_ARE = "* -text -ident !eol !filter !working-tree-encoding !diff !merge\n"
_OWN = "git"


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
    before = _snapshot(own, tree.absolute(), "--force")
    after = _snapshot(own, workspace.absolute(), "--ignore-errors")
    return git(
        scratch, f"--git-dir={own}", "diff-tree", "-r", "-p", "--binary", "--full-index", "--no-renames",
        "--no-ext-diff", "--no-textconv", before, after,
    )  # fmt: skip


def _repository(scratch: Path) -> Path:
    own = scratch.absolute() / _OWN
    git(scratch, "init", "--quiet", "--bare", "--template=", str(own))
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "attributes").write_text(_AS_THEY_ARE, encoding="utf-8")
    (own / "info" / "exclude").write_text(_EXCLUDED, encoding="utf-8")
    return own


def _snapshot(own: Path, tree: Path, *options: str) -> str:
    """The tree object for the files below `tree`; files in the index stay tracked, even ignored ones."""
    at = (f"--git-dir={own}", f"--work-tree={tree}")
    try:
        git(tree, *at, "add", "--all", *options, ".")
    except GitError:
        if "--ignore-errors" not in options:
            raise
    return git(tree, *at, "write-tree").decode().strip()


def patch_size(patch: bytes, scratch: Path) -> PatchSize:
    """The changed files of a patch, and the number of lines. Raises PatchError for an invalid patch."""
    if not patch.strip():
        return NOTHING
    try:
        said = git(scratch, "apply", "--numstat", "-z", "-", given=patch, variables=_nowhere(scratch))
    except GitError as error:
        raise PatchError(str(error)) from None
    rows = [row.split("\t", 2) for row in said.decode(errors="surrogateescape").split("\0") if row]
    counted = [(int(more), int(less)) for more, less, _ in rows if more != "-"]
    return PatchSize(tuple(sorted({row[2] for row in rows})), sum(a for a, _ in counted), sum(b for _, b in counted))


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
    own = scratch.absolute() / _OWN
    if not own.exists():
        _repository(scratch)
    left_out = [f"--exclude={_literally(path)}" for path in but]
    try:
        git(
            copy, f"--git-dir={own}", f"--work-tree={copy}", "apply", "--whitespace=nowarn", *left_out, "-",
            given=patch,
        )  # fmt: skip
    except GitError as error:
        raise PatchError(str(error)) from None


def _nowhere(scratch: Path) -> dict[str, str]:
    return {"GIT_CEILING_DIRECTORIES": os.fspath(scratch.parent)}


def _literally(path: str) -> str:
    """A pattern that matches only this path."""
    return "".join(f"\\{char}" if char in "\\*?[]" else char for char in path)
