"""The git repository of every working copy: reproducible, small, and with only its history."""

from __future__ import annotations

import os
from pathlib import Path

from lensbench.core.system.trees import remove_tree
from lensbench.repositories.sources.git_program import git

BRANCH = "main"
AUTHOR = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (
        ("NAME", "Import"),
        ("EMAIL", "import@example.invalid"),
        ("DATE", "2000-01-01T00:00:00+0000"),
    )
}
PATHS = ("--pathspec-from-file=-", "--pathspec-file-nul")
LEFTOVERS = ("FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "description")
LEFTOVER_FOLDERS = ("hooks", "info", "logs", "branches", "objects/info")


def start_repository(tree: Path) -> None:
    """Makes `tree` an empty repository on the branch `main`, without sample hooks."""
    git(tree, "init", "--quiet", "--template=", f"--initial-branch={BRANCH}")


def commit_everything(tree: Path) -> None:
    """Makes `tree` a repository with one commit of all its files; the same files give the same commit id."""
    start_repository(tree)
    _add_everything(tree)
    git(
        tree,
        "commit",
        "--quiet",
        "--no-verify",
        "--allow-empty",
        "--message=Import source",
        variables=AUTHOR,
    )


def commit_changes(tree: Path) -> None:
    """Adds one commit with all files of `tree` to HEAD, unless nothing changed; the same changes give the same id."""
    _add_everything(tree)
    _commit(tree, "Changes of the work tree")


def _commit(tree: Path, message: str) -> None:
    if git(tree, "write-tree") != git(tree, "rev-parse", "HEAD^{tree}"):
        git(tree, "commit", "--quiet", "--no-verify", f"--message={message}", variables=AUTHOR)


def _add_everything(tree: Path, paths: bytes = b".") -> None:
    attributes = tree / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    # `git add` fails for a file that does not have the encoding in its attributes.
    attributes.write_text("* !working-tree-encoding\n", encoding="utf-8")
    # one pack of objects, not thousands of files that are packed afterwards
    git(
        tree,
        "-c",
        "core.bigFileThreshold=1",
        "--literal-pathspecs",
        "add",
        "-Af",
        *PATHS,
        stdin=paths,
    )


def submodules(tree: Path) -> dict[str, str]:
    """The commit of each submodule in the index of `tree`, by its path."""
    rows = git(tree, "ls-files", "--stage", "-z").split(b"\0")
    entries = (row.partition(b"\t") for row in rows if row.startswith(b"160000 "))
    return {os.fsdecode(path): facts.split()[1].decode() for facts, _, path in entries}


def commit_checkout(tree: Path, removals: tuple[str, ...]) -> None:
    """Adds one commit without the paths `removals`, and with the files of submodules as its own, to HEAD.

    There is none when nothing changed; the same changes give the same commit id.
    """
    stdin = b"\0".join(os.fsencode(path.rstrip("/")) for path in removals)
    if stdin:
        git(
            tree,
            "--literal-pathspecs",
            "rm",
            "-r",
            "--cached",
            "--quiet",
            "--ignore-unmatch",
            *PATHS,
            stdin=stdin,
        )
    paths = b"\0".join(
        os.fsencode(path) for path in submodules(tree) if any((tree / path).iterdir())
    )
    if paths:
        git(tree, "update-index", "--force-remove", "-z", "--stdin", stdin=paths)
        _add_everything(tree, paths)
    _commit(tree, "Changes of the import")


def rewrite_history(tree: Path, without: set[str]) -> bytes:
    """Rewrites the history of the branch without the paths `without`, and without commits that changed nothing else.

    Authors, dates and messages are kept. Returns the new history in git's format for export, which contains the
    messages but no content of files, and no commit when none is left. Raises GitError.
    """
    paths = (f":(exclude,literal){path}" for path in sorted(without))
    branch = f"refs/heads/{BRANCH}"
    stream = git(
        tree,
        "fast-export",
        "--no-data",
        "--reencode=no",
        "--full-history",
        branch,
        "--",
        ".",
        *paths,
    )
    git(tree, "update-ref", "-d", branch)
    git(tree, "fast-import", "--quiet", "--date-format=raw-permissive", stdin=stream)
    (tree / ".git" / "shallow").unlink(missing_ok=True)
    return stream


def shrink(tree: Path) -> None:
    """Packs the repository in `tree` and deletes everything except its history, because each run copies it."""
    git(tree, "repack", "-adnq")
    git(tree, "pack-refs", "--all")
    repository = tree / ".git"
    for name in LEFTOVERS:
        (repository / name).unlink(missing_ok=True)
    for name in LEFTOVER_FOLDERS:
        remove_tree(str(repository / name))


def head_commit(tree: Path) -> str:
    """The id of the current commit of `tree`. Raises GitError when it is not a repository."""
    return git(tree, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
