from __future__ import annotations

from pathlib import Path

import pytest
from calculator import FAILING, FIXED, KEPT, SANDBOX, make_task, make_tree, patch_of

from lensbench.agents.sandbox import NO_SANDBOX
from lensbench.changes.execute import run_tests
from lensbench.changes.proof import prove
from lensbench.changes.reports import TestResult

pytestmark = pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


@pytest.fixture
def reference(tree: Path, tmp_path: Path) -> bytes:
    return patch_of(tree, {"calculator.py": FIXED}, tmp_path)


def test_without_a_change_the_failing_tests_fail_and_the_others_pass(tree: Path, reference: bytes) -> None:
    run = run_tests(tree, b"", make_task(reference).tests, SANDBOX)
    assert not run.unstarted + run.problem
    assert run.results == {**dict.fromkeys(FAILING, TestResult.FAILED), KEPT[0]: TestResult.PASSED}


def test_with_the_reference_all_pass(tree: Path, reference: bytes) -> None:
    run = run_tests(tree, reference, make_task(reference).tests, SANDBOX)
    assert run.results == dict.fromkeys([*FAILING, *KEPT], TestResult.PASSED), run
    assert (run.size.files, run.size.added, run.size.removed) == (("calculator.py",), 1, 1)


def test_without_a_sandbox_no_test_is_started(tree: Path, reference: bytes) -> None:
    assert run_tests(tree, reference, make_task(reference).tests, NO_SANDBOX).unstarted


def test_a_missing_program_is_unstarted(tree: Path, reference: bytes) -> None:
    tests = make_task(reference, command=["no-such-program"], report="exit", fail_to_pass=["exit"]).tests
    assert "no-such-program" in run_tests(tree, reference, tests, SANDBOX).unstarted


def test_the_task_is_proven(tree: Path, reference: bytes) -> None:
    proof = prove(make_task(reference), tree, SANDBOX, rounds=2)
    assert proof.holds, proof
    assert set(proof.fail_to_pass) == set(FAILING)
    assert list(proof.pass_to_pass) == KEPT
