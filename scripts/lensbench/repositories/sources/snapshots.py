"""The git repository that every working copy carries: reproducible, small, and without anything but its history."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.trees import remove_tree
from lensbench.repositories.sources.git_program import git

BRANCH = "main"
AUTHOR = {
    f"GIT_{role}_{field}": value
    for role in ("AUTHOR", "COMMITTER")
    for field, value in (("NAME", "Import"), ("EMAIL", "import@example.invalid"), ("DATE", "2000-01-01T00:00:00+0000"))
}
LEFTOVERS = ("FETCH_HEAD", "ORIG_HEAD", "COMMIT_EDITMSG", "description")
LEFTOVER_FOLDERS = ("hooks", "info", "logs", "branches", "objects/info")


def start_repository(tree: Path) -> None:
    """Makes `tree` an empty repository on the branch `main`, without sample hooks."""
    git(tree, "init", "--quiet", "--template=", f"--initial-branch={BRANCH}")


def commit_everything(tree: Path) -> None:
    """Makes `tree` a repository of one commit that holds all its files; the same files give the same commit id."""
    start_repository(tree)
    _add_everything(tree)
    git(tree, "commit", "--quiet", "--no-verify", "--allow-empty", "--message=Import source", variables=AUTHOR)


def commit_changes(tree: Path) -> None:
    """Adds one commit to HEAD that holds all files of `tree`, unless HEAD does; the same changes give the same id."""
    _add_everything(tree)
    if git(tree, "write-tree") != git(tree, "rev-parse", "HEAD^{tree}"):
        git(tree, "commit", "--quiet", "--no-verify", "--message=Changes of the work tree", variables=AUTHOR)


def _add_everything(tree: Path) -> None:
    attributes = tree / ".git" / "info" / "attributes"
    attributes.parent.mkdir(exist_ok=True)
    # A file that is not in the encoding its attributes claim would stop `git add`.
    attributes.write_text("* !working-tree-encoding\n")
    git(tree, "add", "--all", "--force", ".")


def commit_removals(tree: Path, removed: tuple[str, ...]) -> None:
    """Adds one commit to HEAD that no longer has the `removed` paths; the same removals give the same commit id."""
    paths = b"\0".join(path.encode(errors="surrogateescape") for path in removed)
    git(
        tree, "--literal-pathspecs", "rm", "-r", "--cached", "--quiet", "--ignore-unmatch",
        "--pathspec-from-file=-", "--pathspec-file-nul", given=paths,
    )  # fmt: skip
    git(tree, "commit", "--quiet", "--no-verify", "--allow-empty", "--message=Remove tool settings", variables=AUTHOR)


def shrink(tree: Path) -> None:
    """Packs the repository in `tree` and drops all that is not its history: each run copies what is left."""
    git(tree, "repack", "-a", "-d", "-n", "--quiet")
    git(tree, "pack-refs", "--all")
    repository = tree / ".git"
    for name in LEFTOVERS:
        (repository / name).unlink(missing_ok=True)
    for name in LEFTOVER_FOLDERS:
        remove_tree(str(repository / name))


def head_commit(tree: Path) -> str:
    """The id of the commit that `tree` stands on. Raises GitError when it is no repository."""
    return git(tree, "rev-parse", "--verify", "HEAD^{commit}").decode().strip()
