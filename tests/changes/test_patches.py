"""The patch of what an agent changed holds every change, whatever it did to git."""

import os
from pathlib import Path

import pytest
from calculator import FIXED, make_tree

from lensbench.changes.patches import apply_patch, make_patch
from lensbench.core.system.trees import copy_tree
from lensbench.repositories.sources.git_program import git
from stock import write


@pytest.mark.parametrize("commits", [False, True])
def test_no_ignore_rule_or_repository_of_the_agent_loses_a_change(tmp_path: Path, commits: bool) -> None:
    tree, workspace, again = make_tree(tmp_path / "tree"), tmp_path / "workspace", tmp_path / "again"
    copy_tree(str(tree), str(workspace))
    copy_tree(str(tree), str(again))
    files: dict[str, str | None] = {
        "calculator.py": FIXED, ".gitignore": "*\n", "inner/new.py": "1\n", "sums/[a]*.py": "2\n",
    }  # fmt: skip
    write(workspace, {**files, "build/out.py": "3\n", "inner/__pycache__/x.pyc": "4\n", "pyproject.toml": None})
    git(workspace, "init", "--quiet", "inner")
    (workspace / "link").symlink_to("inner")
    os.mkfifo(workspace / "pipe")
    if commits:
        git(workspace / "inner", "add", "--force", ".")
        git(workspace / "inner", "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "-m", "Begin")
    for scratch in (tmp_path / "scratch", tmp_path / "other"):
        scratch.mkdir()
    apply_patch(make_patch(tree, workspace, tmp_path / "scratch"), again, tmp_path / "other")
    assert {path: (again / path).read_text() for path in files} == files
    assert os.readlink(again / "link") == "inner"
    assert not [
        path for path in ("build", "inner/__pycache__", "inner/.git", "pyproject.toml") if (again / path).exists()
    ]
