"""Sources of the kind `git`: a repository by URL or path, at one revision."""

from __future__ import annotations

import os
import re
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.repositories.sources.git_program import GitError, git
from lensbench.repositories.sources.snapshots import BRANCH, start_repository

COMMIT_ID = re.compile(r"[0-9a-f]{4,64}")
PASSWORD = re.compile(r"^[a-z+]+://[^/@]*:[^/@]*@")
# A local repository is served by another git process, which ignores our settings and refuses other owners.
SERVER = "git -c safe.directory='*' upload-pack"


def location(address: str) -> str:
    """`address` for git: paths become absolute, relative to the current folder; URLs are unchanged."""
    if "://" in address or ":" in address.partition("/")[0]:
        return address
    return os.path.abspath(os.path.expanduser(address))


def fetch(address: str, revision: str, tree: Path) -> str:
    """Checks out `revision` of the repository at `address` into the empty folder `tree`; returns the commit's id.

    `tree` becomes a repository on the branch `main` with only the history of that commit. Submodules are empty folders
    and LFS files are pointers. `revision` is a branch, a tag, HEAD or a commit id, which may be abbreviated. Raises
    UserError.
    """
    if PASSWORD.match(address):
        raise UserError("the git URL contains a password; use ssh or ~/.netrc, so that it is not written to files")
    place = location(address)
    if place.startswith("/") and not Path(place).exists():
        raise UserError(f"there is no git repository at {place}; correct the path, which starts in {Path.cwd()}")
    try:
        commit = fetch_history(place, revision, tree)
        git(tree, "reset", "--hard", "--quiet")
    except GitError as error:
        raise UserError(f"git cannot get revision {revision!r} of {address}: {error}; check both") from None
    return commit


def fetch_history(place: str, revision: str, tree: Path) -> str:
    """Makes `tree` a repository whose branch `main` is `revision` of the one at `place`, without a checkout.

    Returns the commit's id. Raises GitError.
    """
    start_repository(tree)
    commit = _fetch_commit(place, revision, tree)
    git(tree, "update-ref", f"refs/heads/{BRANCH}", commit)
    return commit


def _fetch_commit(place: str, revision: str, tree: Path) -> str:
    download = ["fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--update-shallow"]
    if place.startswith(("/", "file:")):
        download += ["--upload-pack", SERVER]
    try:
        git(tree, *download, place, revision)
        return git(tree, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
    except GitError:
        if not COMMIT_ID.fullmatch(revision):
            raise
    # Servers never resolve an abbreviated id, and not always a full one: search it in their branches and tags.
    git(tree, *download, place, "+refs/heads/*:refs/seek/heads/*", "+refs/tags/*:refs/seek/tags/*")
    commit = git(tree, "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    found = git(tree, "for-each-ref", "--format=delete %(refname)", "refs/seek")
    git(tree, "update-ref", "--stdin", given=found)
    return commit
