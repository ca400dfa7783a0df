"""Resolves a repository argument to a pinned source."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.tasks import Folder, Git, Source
from lensbench.repositories.sources.git import PASSWORD, location
from lensbench.repositories.sources.git_program import GitError, git


class Pinned(NamedTuple):
    """A repository at a revision; `warning` says why others cannot obtain it."""

    source: Source
    warning: str = ""


def pin(repo: str) -> Pinned:
    """The source for `repo`: a git URL at its newest commit, a work tree at its current commit, or a plain folder.

    Raises UserError when there is no such repository.
    """
    if not os.path.isdir(repo) and (not repo or any(map(str.isspace, repo))):
        raise UserError(f"repo is {repo!r}; write a git URL or the path of a folder")
    if PASSWORD.match(repo):
        raise UserError(
            "the git URL contains a password; use ssh or ~/.netrc, so that it is not written to files"
        )
    place = location(repo)
    if not place.startswith("/"):
        return Pinned(Git(git=repo, revision=_remote_head(repo)))
    folder = Path(place)
    if not folder.is_dir():
        raise UserError(
            f"repo: there is no folder {place}; write a git URL or the path of a folder"
        )
    try:
        if (
            Path(git(folder, "rev-parse", "--show-toplevel").decode().strip()).resolve()
            != folder.resolve()
        ):
            return Pinned(
                Folder(path=repo), "it is a subfolder of a git repository, and was used as it is"
            )
        commit = git(folder, "rev-parse", "--verify", "HEAD").decode().strip()
        changes = git(folder, "status", "--porcelain", "--untracked-files=normal")
    except GitError:
        return Pinned(
            Folder(path=repo), "it is not a git repository with a commit, and was used as it is"
        )
    if changes or any(map(str.isspace, repo)):
        why = (
            "it has uncommitted changes"
            if changes
            else "its path has spaces, which git sources cannot have"
        )
        return Pinned(Folder(path=repo), f"{why}, and was used as it is")
    return Pinned(Git(git=repo, revision=commit))


def _remote_head(url: str) -> str:
    try:
        listing = git(Path.cwd(), "ls-remote", "--exit-code", "--", url, "HEAD").decode()
    except GitError as error:
        raise UserError(f"git cannot reach {url}: {error}; check the address") from None
    return listing.split()[0]
