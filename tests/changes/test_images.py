"""Tests that run in a container image, made here of this machine's shell and its libraries."""

import json
from pathlib import Path

import pytest
from calculator import SANDBOX, make_task, make_tree, patch_of

from images import image
from lensbench.changes.environment import prepare_environment, read_environment
from lensbench.changes.execute import TestRun, run_tests
from lensbench.changes.reports import TestResult
from lensbench.changes.task import ChangeTask
from lensbench.core.errors import UserError
from lensbench_tasks.changes.proof import prove

__all__ = ["image"]
pytestmark = pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap")
SCRIPT = (
    "test -f /only-in-the-image && test ! -e /usr/bin/env && grep -q 'one + other' calculator.py\n"
)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def in_image(tree: Path, image: str, tmp_path: Path, script: str = SCRIPT) -> ChangeTask:
    """The task of the calculator, judged by a script of the shell."""
    task = make_task(
        patch_of(
            tree, {"calculator.py": "def add(one, other):\n    return one + other\n"}, tmp_path
        )
    )
    tests = {
        "files": {"judge.sh": script},
        "command": ["sh", "judge.sh"],
        "report": "exit",
        "fail_to_pass": ["exit"],
        "timeout_s": 20,
    }
    return ChangeTask.model_validate(
        {**task.model_dump(mode="json"), "tests": tests, "container": image}
    )


def test_a_task_is_proven_in_its_image(tree: Path, image: str, tmp_path: Path) -> None:
    task = in_image(tree, image, tmp_path)
    environment = prepare_environment((), tree, tmp_path / "cache", SANDBOX, task.container)
    assert prove(task, tree, SANDBOX, environment).fail_to_pass == ("exit",)


def test_an_environment_is_installed_in_the_image_and_read_again(
    tree: Path, image: str, tmp_path: Path
) -> None:
    made = prepare_environment(["touch /env/$COLOUR"], tree, tmp_path / "cache", SANDBOX, image)
    environment = read_environment(json.loads(json.dumps(made.written())))
    assert environment == made
    task = in_image(
        tree, image, tmp_path, "test -f /env/green && test -d /env/bin || ! touch /env/x\n"
    )
    assert run_tests(tree, b"", task.tests, SANDBOX, environment).results == {
        "exit": TestResult.PASSED
    }


def test_code_in_an_image_has_no_network_and_nothing_of_this_machine(
    tree: Path, image: str, tmp_path: Path
) -> None:
    environment = prepare_environment((), tree, tmp_path / "cache", SANDBOX, image)
    script = f"test ! -e {Path(__file__).parent} && test ! -e /root && ! grep -q eth /proc/net/dev && ! touch /bin/x\n"
    task = in_image(tree, image, tmp_path, script)
    run: TestRun = run_tests(tree, b"", task.tests, SANDBOX, environment)
    assert (run.results, run.output) == ({"exit": TestResult.PASSED}, run.output)


def test_an_image_that_is_not_to_be_had_is_named(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs podman or docker"):
        prepare_environment(
            (), tree, tmp_path / "cache", SANDBOX, f"localhost/none@sha256:{64 * '0'}"
        )
    assert not list((tmp_path / "cache" / "images").glob("[!.]*"))
