"""The part of the served folder that a call is about, never outside the folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from lensbench.core.errors import UserError


@dataclass(frozen=True)
class Scope:
    """A folder below the root, "" for the root itself."""

    folder: str = ""

    def holds(self, path: str) -> bool:
        """True if the path is in this folder."""
        return not self.folder or path.startswith(self.folder + "/")


def relative(root: Path, name: str) -> str:
    """An agent's path (absolute, relative to the root, with `./`) made relative to the root; "" is the root.

    Raises UserError if it is outside the root, also through a symlink.
    """
    try:
        real = (root / name).resolve()
    except (OSError, ValueError, RuntimeError) as error:
        raise UserError(f"{name[:200]!r} is not a valid path: {error}.") from None
    if not real.is_relative_to(root):
        raise UserError(
            f"{name[:200]!r} is outside the folder that this server serves, {root}. Give a path inside it."
        )
    below = real.relative_to(root).as_posix()
    return "" if below == "." else below


def scope_of(root: Path, repo_path: str | None) -> Scope:
    """The scope of `repoPath`: the whole root if it is omitted or empty.

    Raises UserError if it is outside the root or not a folder.
    """
    below = relative(root, repo_path or "")
    if not (root / below).is_dir():
        raise UserError(
            f"repoPath {(repo_path or '')[:200]!r} is not a folder. Omit it to search all of {root}."
        )
    return Scope(below)
