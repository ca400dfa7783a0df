"""Sources of the kind `git`: a repository by URL or path, at one revision."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.system.trees import remove_tree
from lensbench.repositories.sources.git_program import GitError, git
from lensbench.repositories.sources.snapshots import BRANCH, start_repository, submodules

COMMIT_ID = re.compile(r"[0-9a-f]{4,64}")
PASSWORD = re.compile(r"^[a-z+]+://[^/@]*:[^/@]*@")
_HOST = re.compile(r"^(?:[a-z+]+://[^/]*|[^/:]+:)")
REMOTE = re.compile(r"(?:git|https?|ssh)://[^-]|[^-/:][^/:]*:(?!//|:)")
# A local repository is served by another git process, which ignores our settings and refuses other owners.
_UPLOAD_PACK = "git -c safe.directory='*' upload-pack"


def location(address: str) -> str:
    """`address` for git: paths become absolute, relative to the current folder; URLs are unchanged."""
    if "://" in address or ":" in address.partition("/")[0]:
        return address
    return os.path.abspath(os.path.expanduser(address))


def fetch(address: str, revision: str, tree: Path) -> tuple[str, tuple[str, ...]]:
    """Checks out `revision` of the repository at `address` into the empty folder `tree`.

    `tree` becomes a repository on the branch `main` with only the history of that commit. Submodules are checked out
    without their history, and LFS files are pointers. `revision` is a branch, a tag, HEAD or a commit id, which may be
    abbreviated. Returns the commit's id, and the submodules that are empty since they cannot be fetched. Raises
    UserError.
    """
    if PASSWORD.match(address):
        raise UserError(
            "the git URL contains a password; use ssh or ~/.netrc, so that it is not written to files"
        )
    place = location(address)
    if place.startswith("/") and not Path(place).exists():
        raise UserError(
            f"there is no git repository at {place}; correct the path, which starts in {Path.cwd()}"
        )
    try:
        commit = _check_out(place, revision, tree)
    except GitError as error:
        raise UserError(
            f"git cannot get revision {revision!r} of {address}: {error}; check both"
        ) from None
    return commit, tuple(_fill_submodules(place, tree))


def _check_out(place: str, revision: str, tree: Path) -> str:
    commit = fetch_history(place, revision, tree)
    git(tree, "reset", "--hard", "--quiet")
    return commit


def _fill_submodules(place: str, tree: Path) -> Iterator[str]:
    """Checks out the submodules of `tree`, which is from `place`; returns those that stay empty."""
    for path, commit in submodules(tree).items():
        inner = tree / path
        for source in _submodule_places(place, path, tree):
            try:
                _check_out(source, commit, inner)
            except GitError:
                remove_tree(str(inner))
                inner.mkdir()
                continue
            for empty in _fill_submodules(source, inner):
                yield os.path.join(path, empty)
            remove_tree(str(inner / ".git"))
            break
        else:
            yield path


def _submodule_places(place: str, path: str, tree: Path) -> Iterator[str]:
    """Where a submodule may be had: a local repository's own checkout, and its URL in `.gitmodules`.

    The file is untrusted: a URL without a host is only used when it is relative to `place`.
    """
    place = place.removesuffix("/.git")
    if (Path(place) / path / ".git").exists() and place.startswith("/"):
        yield os.path.join(place, path)
    try:
        rows = git(tree, "config", "--blob", "HEAD:.gitmodules", "--null", "--list").split(b"\0")
    except GitError:
        return
    facts = dict(os.fsdecode(row).partition("\n")[::2] for row in rows)
    for key, value in facts.items():
        if not key.endswith(".path") or value != path:
            continue
        url = facts.get(f"{key.removesuffix('.path')}.url", "")
        if url.startswith(("./", "../")):
            host = "".join(_HOST.findall(place))
            yield host + os.path.normpath(os.path.join(place.removeprefix(host), url))
        elif REMOTE.match(url):
            yield url


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
        download += ["--upload-pack", _UPLOAD_PACK]
    # a clone may lack files of earlier commits, such as large ones
    for depth in ([], ["--depth=1"]):
        try:
            git(tree, *download, *depth, place, revision)
            return git(tree, "rev-parse", "--verify", "FETCH_HEAD^{commit}").decode().strip()
        except GitError:
            if not COMMIT_ID.fullmatch(revision):
                raise
    # Servers never resolve an abbreviated id, and not always a full one: search it in their branches and tags.
    git(tree, *download, place, "+refs/heads/*:refs/seek/heads/*", "+refs/tags/*:refs/seek/tags/*")
    commit = git(tree, "rev-parse", "--verify", f"{revision}^{{commit}}").decode().strip()
    references = git(tree, "for-each-ref", "--format=delete %(refname)", "refs/seek")
    git(tree, "update-ref", "--stdin", stdin=references)
    return commit
