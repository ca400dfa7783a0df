"""Tests that run in a container image, made here of this machine's shell and its libraries."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from calculator import SANDBOX, make_task, make_tree, patch_of

from lensbench.changes.environment import prepare_environment, read_environment
from lensbench.changes.execute import TestRun, run_tests
from lensbench.changes.proof import prove
from lensbench.changes.reports import TestResult
from lensbench.changes.task import ChangeTask
from lensbench.core.errors import UserError

pytestmark = pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap")
SCRIPT = "test -f /only-in-the-image && test ! -e /usr/bin/env && grep -q 'one + other' calculator.py\n"


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """An image of a shell, by its digest, in a store of its own."""
    engine = shutil.which("podman")
    if not engine:
        pytest.skip("needs podman: apt-get install podman")
    folder = tmp_path_factory.mktemp("image")
    storage = folder / "storage.conf"
    storage.write_text(f'[storage]\ndriver = "vfs"\ngraphroot = "{folder}/graph"\nrunroot = "{folder}/run"\n')
    programs = [os.path.realpath(found) for name in ("sh", "grep", "touch") if (found := shutil.which(name))]
    libraries = re.findall(r"(/\S+) \(0x", subprocess.run(["ldd", *programs], capture_output=True, text=True).stdout)
    (folder / "note").write_text("here\n")
    with tarfile.open(folder / "image.tar", "w") as tar:
        tar.dereference = True
        for name, program in zip(("sh", "grep", "touch"), programs, strict=True):
            tar.add(program, f"bin/{name}")
        for library in sorted(set(libraries)):
            tar.add(library, library[1:])
        tar.add(folder / "note", "only-in-the-image")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("CONTAINERS_STORAGE_CONF", str(storage))
        made = subprocess.run(
            [engine, "import", "--change", "ENV PATH=/bin", "--change", "ENV COLOUR=green", str(folder / "image.tar"),
             "localhost/shell:1"],
            capture_output=True, text=True,
        )  # fmt: skip
        if made.returncode:
            pytest.skip(f"podman cannot make an image here: {made.stderr.strip().splitlines()[-1]}")
        inspected = subprocess.run(
            [engine, "image", "inspect", "localhost/shell:1"], capture_output=True, text=True, check=True
        )
        yield f"localhost/shell@{json.loads(inspected.stdout)[0]['Digest']}"
        subprocess.run([engine, "rmi", "--force", "localhost/shell:1"], capture_output=True, check=True)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


def in_image(tree: Path, image: str, tmp_path: Path, script: str = SCRIPT) -> ChangeTask:
    """The task of the calculator, judged by a script of the shell."""
    task = make_task(patch_of(tree, {"calculator.py": "def add(one, other):\n    return one + other\n"}, tmp_path))
    tests = {
        "files": {"judge.sh": script}, "command": ["sh", "judge.sh"], "report": "exit", "fail_to_pass": ["exit"],
        "timeout_s": 20,
    }  # fmt: skip
    return ChangeTask.model_validate({**task.model_dump(mode="json"), "tests": tests, "container": image})


def test_a_task_is_proven_in_its_image(tree: Path, image: str, tmp_path: Path) -> None:
    task = in_image(tree, image, tmp_path)
    environment = prepare_environment((), tree, tmp_path / "cache", SANDBOX, task.container)
    assert prove(task, tree, SANDBOX, environment).fail_to_pass == ("exit",)


def test_an_environment_is_installed_in_the_image_and_read_again(tree: Path, image: str, tmp_path: Path) -> None:
    made = prepare_environment(["touch /env/$COLOUR"], tree, tmp_path / "cache", SANDBOX, image)
    environment = read_environment(json.loads(json.dumps(made.written())))
    assert environment == made
    task = in_image(tree, image, tmp_path, "test -f /env/green && test -d /env/bin || ! touch /env/x\n")
    assert run_tests(tree, b"", task.tests, SANDBOX, environment).results == {"exit": TestResult.PASSED}


def test_code_in_an_image_has_no_network_and_nothing_of_this_machine(tree: Path, image: str, tmp_path: Path) -> None:
    environment = prepare_environment((), tree, tmp_path / "cache", SANDBOX, image)
    script = f"test ! -e {Path(__file__).parent} && test ! -e /root && ! grep -q eth /proc/net/dev && ! touch /bin/x\n"
    task = in_image(tree, image, tmp_path, script)
    run: TestRun = run_tests(tree, b"", task.tests, SANDBOX, environment)
    assert (run.results, run.output) == ({"exit": TestResult.PASSED}, run.output)


def test_an_image_that_cannot_be_had_is_named_in_one_line(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="needs podman or docker"):
        prepare_environment((), tree, tmp_path / "cache", SANDBOX, f"localhost/none@sha256:{64 * '0'}")
    assert not list((tmp_path / "cache" / "images").glob("[!.]*"))
