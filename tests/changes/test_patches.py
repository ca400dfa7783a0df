"""The patch of what an agent changed holds every change, whatever it did to git."""

import os
from pathlib import Path

import pytest
from calculator import FIXED, commit, make_tree

from lensbench.changes.patches import apply_patch, make_patch
from lensbench.changes.steering import steering
from lensbench.core.system.trees import copy_tree
from lensbench.repositories.sources.git_program import git
from stock import write


@pytest.mark.parametrize("commits", [False, True])
def test_no_ignore_rule_or_repository_of_the_agent_loses_a_change(
    tmp_path: Path, commits: bool
) -> None:
    tree = make_tree(tmp_path / "tree")
    workspace = tmp_path / "workspace"
    again = tmp_path / "again"
    copy_tree(str(tree), str(workspace))
    copy_tree(str(tree), str(again))
    files: dict[str, str | None] = {
        "calculator.py": FIXED,
        ".gitignore": "*\n",
        "inner/new.py": "1\n",
        "sums/[a]*.py": "2\n",
    }
    write(
        workspace,
        {**files, "build/out.py": "3\n", "inner/__pycache__/x.pyc": "4\n", "pyproject.toml": None},
    )
    git(workspace, "init", "--quiet", "inner")
    (workspace / "link").symlink_to("inner")
    os.mkfifo(workspace / "pipe")
    if commits:
        commit(workspace / "inner")
    for scratch in (tmp_path / "scratch", tmp_path / "other"):
        scratch.mkdir()
    apply_patch(make_patch(tree, workspace, tmp_path / "scratch"), again, tmp_path / "other")
    assert {path: (again / path).read_text() for path in files} == files
    assert os.readlink(again / "link") == "inner"
    assert not [
        one
        for one in ("build", "inner/__pycache__", "inner/.git", "pyproject.toml")
        if (again / one).exists()
    ]


def test_what_determines_how_tests_run_is_left_out_of_a_patch(tmp_path: Path) -> None:
    write(
        tmp_path,
        {"core.py": "", "src/lib.py": "", "go/help.go": 'import "testing"\n'},
    )
    environment = tmp_path / "environment"
    write(
        environment / "lib/python3.11/site-packages",
        {"attr/__init__.py": "", "core.py": "", "six.py": ""},
    )
    left_out = [
        "tests/unit/other.py",
        "run.sh",
        "six.py",
        "attr/x.py",
        "src/json.py",
        "conftest.py",
        "a/PyProject.toml",
        "x.pth",
        "x-1.dist-info/entry_points.txt",
        "vitest.config.ts",
        "node_modules/x/i.js",
        "go/new_test.go",
    ]
    applied = [
        "core.py",
        "src/lib.py",
        "lib/json.py",
        "a/six.py",
        "src/new.py",
        "latest/x.py",
        "attributes.py",
        "go/help.go",
        "src/testing.rs",
    ]
    command = ["bash", "./run.sh", "-q"]
    assert steering([*left_out, *applied], ["tests/test_a.py"], command, environment, tmp_path) == (
        *left_out,
    )
