"""A small project with a defect, its hidden tests, and the right change: what change tasks are tried on."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lensbench.agents.sandbox import find_sandbox
from lensbench.changes.patches import make_patch
from lensbench.changes.task import ChangeTask
from lensbench.repositories.sources.git_program import git
from stock import write

SANDBOX = find_sandbox({"mode": "auto", "visible": [], "hidden": []})
needs_sandbox = pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap")

SOURCE = '''\
"""Sums."""


def add(one, other):
    return one - other


def double(number):
    return 2 * number
'''
FIXED = SOURCE.replace("one - other", "one + other")
OLD_TESTS = """\
from calculator import double


def test_double():
    assert double(2) == 4
"""
TESTS = """\
import unittest

from calculator import add, double


def test_double():
    assert double(2) == 4


def test_add():
    assert add(2, 2) == 4


class Sums(unittest.TestCase):
    def test_negative(self):
        self.assertEqual(add(-1, -2), -3)
"""
FAILING = ["tests/test_calculator.py::test_add", "tests/test_calculator.py::Sums::test_negative"]
KEPT = ["tests/test_calculator.py::test_double"]
PYPROJECT = '[project]\nname = "calculator"\nversion = "1"\n'


def make_tree(folder: Path) -> Path:
    """The pinned tree, a git repository."""
    files: dict[str, str | None] = {
        "calculator.py": SOURCE,
        "tests/test_calculator.py": OLD_TESTS,
        "pyproject.toml": PYPROJECT,
        ".gitignore": "build/\n",
    }
    folder.mkdir(parents=True)
    write(folder, files)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def commit(folder: Path) -> None:
    """Commits everything in a repository."""
    git(folder, "add", "--all", "--force")
    git(folder, "-c", "user.name=x", "-c", "user.email=x@y", "commit", "--quiet", "-m", "Begin")


def patch_of(tree: Path, files: Mapping[str, str | None], scratch: Path) -> bytes:
    """The patch that writes these files."""
    from lensbench.core.system.trees import copy_tree

    copy_tree(str(tree), str(scratch / "workspace"))
    write(scratch / "workspace", files)
    (scratch / "git").mkdir()
    return make_patch(tree, scratch / "workspace", scratch / "git")


def task_value(reference: bytes, **tests: Any) -> dict[str, Any]:
    """The task as a set has it."""
    return {
        "id": "mend-add",
        "kind": "change",
        "category": "Debug",
        "repository": {"path": "repo"},
        "prompt": "Sums come out wrong. Mend that.",
        "reference": reference.decode(),
        "tests": {
            "files": {"tests/test_calculator.py": TESTS},
            "command": [
                sys.executable,
                "-m",
                "pytest",
                "tests/test_calculator.py",
                "-q",
                "--disable-plugin-autoload",
            ],
            "fail_to_pass": FAILING,
            "timeout_s": 60,
            **tests,
        },
    }


def make_task(reference: bytes, **tests: Any) -> ChangeTask:
    """The task about the project."""
    return ChangeTask.model_validate(task_value(reference, **tests))


def by_exit(reference: bytes, *command: str) -> ChangeTask:
    """The task without hidden files, judged by the exit status of a command."""
    return make_task(
        reference,
        command=command,
        report="exit",
        fail_to_pass=["exit"],
        files={},
    )
