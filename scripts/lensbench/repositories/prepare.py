"""The stage `repositories`: fetches each repository of the tasks once, and cleans it for copies in runs.

    python -P -m lensbench.repositories.prepare --plan plan.json --cache cache --output repositories.json

A prepared repository is `<cache>/<key>/tree`, with `repository.json` beside it. It is always a git repository, and
contains neither instructions for agents nor answers (`sources.cleaning`).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from lensbench.core.conditions import treatment_words
from lensbench.core.errors import UserError, printable_lines
from lensbench.core.frozen_plan import RepositoryFacts
from lensbench.core.system.files import write_json
from lensbench.core.system.locks import locked
from lensbench.core.system.program import Parser
from lensbench.core.system.trees import hash_tree, remove_tree
from lensbench.core.tasks import Folder, Git, Npm, Pypi, Source
from lensbench.repositories.sources import cleaning, folder, git, npm, pypi, snapshots
from lensbench.repositories.sources.archives import unpack
from lensbench.repositories.sources.downloads import Digest
from lensbench.repositories.sources.git_program import GitError

_RECIPE = 3
"""Increased when the same source must give a new tree, so that older caches are prepared again."""

_PARALLEL = 4
ARCHIVE = "archive"
NOTE = "repository.json"
_KEPT = "kept"
NO_HISTORY = "none"


@dataclass(frozen=True)
class Prepared:
    """A repository in the cache, as in its `repository.json`."""

    tree: Path
    tree_sha256: str
    revision: str
    """The commit of a git source, the version of a package, or the tree's hash of a folder."""
    removed: Sequence[str]
    """The paths that no agent may see."""
    history: str
    """`kept`, `kept, without <what>`, `none` (only one commit), or `dropped: <why>`."""
    has_history: bool
    empty: Sequence[str]
    """The submodules whose files cannot be had."""
    source: Mapping[str, Any]


def source_key(source: Source, servers: Sequence[str] | None = None) -> str:
    """The name of the source's folder in the cache: readable, and unique for each source, and for `servers` (`clean`).

    Paths are used as written, so that a project can be moved as a whole. The content of a folder is not part of the
    key: it is read at each preparation.
    """
    match source:
        case Pypi():
            label = source.pypi.replace("==", "-")
            identity = [source.pypi, source.sha256]
        case Npm():
            label = source.npm
            identity = [source.npm, source.integrity]
        case Git():
            place = git.location(source.git).rstrip("/").removesuffix("/.git")
            name = re.split(r"[/:]", place)[-1].removesuffix(".git")
            label = f"{name}-{source.revision[:12]}"
            identity = [source.git, source.revision]
        case Folder():
            label = os.path.basename(folder.location(source.path))
            identity = [source.path]
    if servers is not None:
        identity += ["with its instructions", *servers]
    digest = hashlib.sha256(json.dumps([type(source).__name__, *identity]).encode()).hexdigest()
    readable = re.sub(r"[^a-z0-9._+]+", "-", label.lower()).strip("-.")[:60] or "root"
    return f"{readable}-{digest[:8]}"


def prepare(source: Source, cache: Path, servers: Sequence[str] | None = None) -> Prepared:
    """The repository of `source` in `cache`; an intact one is used without a fetch. `servers`: as in `clean`.

    A folder is read each time. Safe for concurrent processes and threads; an incomplete repository is never visible
    under the key. Delete `<cache>/<key>` to fetch a branch again. Raises UserError.
    """
    key = source_key(source, servers)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with locked(cache / f".{key}.lock"):
            ready = _read(cache / key)
            if ready and not isinstance(source, Folder):
                return ready
            return _replace(cache, key, source, ready, servers)
    except GitError as error:
        raise UserError(
            f"git cannot store the repository: {error}; check the disk and the source"
        ) from None
    except OSError as error:
        raise UserError(
            f"the repository cannot be stored in {cache}: {error}; check space and permissions"
        ) from None


def _read(home: Path) -> Prepared | None:
    """The repository in `home`, or None when it is missing, of an older recipe, or modified."""
    try:
        facts = json.loads((home / NOTE).read_bytes())
        repository = _prepared(home / "tree", facts)
        tree = repository.tree
        state = (_RECIPE, snapshots.head_commit(tree), hash_tree(str(tree)))
        if state == (facts["recipe"], facts["commit"], repository.tree_sha256):
            return repository
    except (OSError, ValueError, KeyError, TypeError, GitError):
        pass
    return None


def _replace(
    cache: Path, key: str, source: Source, ready: Prepared | None, servers: Sequence[str] | None
) -> Prepared:
    """Builds the repository under a temporary name and renames it; keeps `ready` when the result is the same."""
    # of killed processes, since this one holds the lock
    for leftover in cache.glob(f".{key}.*.tmp"):
        remove_tree(str(leftover))
    stage = Path(tempfile.mkdtemp(prefix=f".{key}.", suffix=".tmp", dir=cache))
    try:
        home = cache / key
        new = stage / "new"
        repository = _build(source, home, new, cache, servers)
        if ready and (home / NOTE).read_bytes() == (new / NOTE).read_bytes():
            return ready
        if home.exists():
            home.rename(stage / "former")
        new.rename(home)
        return repository
    finally:
        remove_tree(str(stage))


def _build(
    source: Source, home: Path, new: Path, cache: Path, servers: Sequence[str] | None
) -> Prepared:
    """The repository, made in `new`, by the path that it will have in `home`."""
    new.mkdir()
    # A random name: a symlink that goes up and comes back in by the final name would otherwise look harmless.
    tree = Path(tempfile.mkdtemp(dir=new))
    revision, history, empty = _fill(source, tree, new / ARCHIVE, home / ARCHIVE, cache)
    has_history = history == _KEPT
    answers = cleaning.answers_in_history(tree) if has_history else set()
    if (tree / ".git" / "shallow").is_file():
        history = f"{history}, without the commits that its clone lacks"
    removals = cleaning.clean(tree, servers)
    if answers:
        has_history, history = _rewrite(tree, answers, removals)
    if not has_history:
        remove_tree(str(tree / ".git"))
        snapshots.commit_everything(tree)
    elif isinstance(source, Folder):
        snapshots.commit_changes(tree)
    else:
        snapshots.commit_checkout(tree, removals)
    snapshots.shrink(tree)
    tree.chmod(0o755)
    tree_sha256 = hash_tree(str(tree))
    facts = {
        "tree_sha256": tree_sha256,
        "revision": revision or tree_sha256,
        "removed": [*map(_shown, removals)],
        "history": history,
        "has_history": has_history,
        "empty": [*map(_shown, empty)],
        "source": source.model_dump(),
        "recipe": _RECIPE,
        "commit": snapshots.head_commit(tree),
    }
    write_json(new / NOTE, facts)
    tree.rename(new / "tree")
    return _prepared(home / "tree", facts)


def _prepared(tree: Path, facts: Mapping[str, Any]) -> Prepared:
    return Prepared(
        tree,
        facts["tree_sha256"],
        facts["revision"],
        tuple(facts["removed"]),
        facts["history"],
        facts["has_history"],
        tuple(facts["empty"]),
        facts["source"],
    )


def _rewrite(tree: Path, answers: set[str], removals: tuple[str, ...]) -> tuple[bool, str]:
    """Rewrites the history without `answers` and the `removals`; returns whether it is kept, in a word, too."""
    try:
        without = cleaning.unwanted_in_history(tree, answers)
        without.update(path.rstrip("/") for path in removals)
        rewritten = snapshots.rewrite_history(tree, without)
    except (GitError, OSError) as error:  # thousands of paths do not fit into a command
        why = f"it contains answers of a benchmark, and git cannot rewrite it: {error}"
        return False, f"dropped: {why}"
    if b"\ncommit refs/" not in rewritten:
        return False, "dropped: its commits contain only answers or criteria of a benchmark"
    if cleaning.CRITERIA_MARK.encode() in rewritten:
        return False, "dropped: a message contains criteria of a benchmark"
    return True, f"{_KEPT}, without answers and criteria of a benchmark (paths: {len(without)})"


def _fill(
    source: Source, tree: Path, archive: Path, former: Path, cache: Path
) -> tuple[str, str, tuple[str, ...]]:
    """Writes the files of `source` to `tree`.

    Returns their revision ("" for a folder), the kind of history, and the submodules that are empty.
    """
    match source:
        case Pypi():
            name, _, version = source.pypi.partition("==")
            if not _take_former(former, Digest("sha256", source.sha256), archive):
                pypi.fetch(name, version, source.sha256, archive)
            unpack(archive, tree)
            return version, NO_HISTORY, ()
        case Npm():
            name, _, version = source.npm.rpartition("@")
            if not _take_former(former, npm.digest(source.integrity), archive):
                npm.fetch(name, version, source.integrity, archive)
            unpack(archive, tree)
            return version, NO_HISTORY, ()
        case Git():
            revision, empty = git.fetch(source.git, source.revision, tree)
            return revision, _KEPT, empty
        case Folder():
            empty = folder.take(source.path, tree, cache)
            return "", folder.take_history(source.path, tree), empty


def _take_former(former: Path, digest: Digest, archive: Path) -> bool:
    """Copies the archive of an earlier preparation; False unless it exists and is intact."""
    if not former.is_file() or Digest.of(former, digest.algorithm) != digest:
        return False
    shutil.copyfile(former, archive)
    return True


def _shown(path: str) -> str:
    """`path` as text; its bytes may be invalid."""
    return os.fsencode(path).decode(errors="backslashreplace")


def servers_of_stock(plan: Mapping[str, Any]) -> list[str] | None:
    """The servers that the instructions of the repositories must not name; None when no instructions are kept."""
    if plan.get("agent", {}).get("profile") != "stock":
        return None
    return treatment_words(plan["conditions"].values())


def _prepare_named(
    key: str, source: Source, cache: Path, plan: Mapping[str, Any]
) -> RepositoryFacts | UserError:
    """The entry of a repository, or why there is none."""
    try:
        repository = prepare(source, cache, servers_of_stock(plan))
    except UserError as error:
        return UserError(f"repository {key!r}: {error}")
    facts = f"{repository.revision}, history {repository.history}, {len(repository.removed)} paths removed"
    index = cleaning.indexes(repository.tree, treatment_words(plan.get("conditions", {}).values()))
    lists = {"empty submodules": repository.empty, "named like a server": index}
    remarks = [f"; {what}: {', '.join(paths)}" for what, paths in lists.items() if paths]
    print(printable_lines(f"{key}: {facts}{''.join(remarks)}"), flush=True)
    return facts_of(repository)


def facts_of(repository: Prepared) -> RepositoryFacts:
    """The entry of repositories.json; the path of its tree is relative where that is shorter."""
    here = Path.cwd()
    tree = Path(os.path.abspath(repository.tree))
    if tree.is_relative_to(here):
        tree = tree.relative_to(here)
    return {**vars(repository), "tree": str(tree)}  # type: ignore[typeddict-item]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prepares all repositories of a plan; the exit code is 1 when one of them fails."""
    parser = Parser(prog="lensbench.repositories.prepare", description=main.__doc__)
    parser.add_argument(
        "--plan", type=Path, required=True, help="JSON file with the key 'repositories'"
    )
    parser.add_argument(
        "--cache", type=Path, required=True, help="folder for the fetched repositories"
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON file to write")
    options = parser.parse_args(arguments)
    try:
        plan = json.loads(options.plan.read_bytes())
        sources = TypeAdapter(dict[str, Source]).validate_python(plan["repositories"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        print(
            printable_lines(f"error: {options.plan} cannot be read: {error!r}; rebuild the plan"),
            file=sys.stderr,
        )
        return 1
    with ThreadPoolExecutor(_PARALLEL) as pool:
        prepare_one = partial(_prepare_named, cache=options.cache, plan=plan)
        entries = dict(zip(sources, pool.map(prepare_one, sources, sources.values()), strict=True))
    errors = [f"error: {entry}" for entry in entries.values() if isinstance(entry, UserError)]
    if errors:
        print(printable_lines("\n".join(errors)), file=sys.stderr)
        return 1
    write_json(options.output, entries)
    return 0


if __name__ == "__main__":
    sys.exit(main())
