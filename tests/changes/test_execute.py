from __future__ import annotations

from pathlib import Path

import pytest
from calculator import FAILING, FIXED, KEPT, SANDBOX, SOURCE, make_task, make_tree, patch_of, write

from lensbench.agents.sandbox import NO_SANDBOX
from lensbench.changes.execute import count_findings, run_tests
from lensbench.changes.proof import prove
from lensbench.changes.reports import TestResult

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap")]


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


def test_a_file_that_tests_write_has_a_limit(tree: Path, reference: bytes) -> None:
    for size, result in {"400M": TestResult.PASSED, "600M": TestResult.FAILED}.items():
        tests = make_task(
            reference, command=["truncate", "-s", size, "big"], report="exit", fail_to_pass=["exit"]
        ).tests
        assert run_tests(tree, reference, tests, SANDBOX).results == {"exit": result}


def test_the_task_is_proven(tree: Path, reference: bytes) -> None:
    proof = prove(make_task(reference), tree, SANDBOX, rounds=2)
    assert proof.holds, proof
    assert set(proof.fail_to_pass) == set(FAILING)
    assert list(proof.pass_to_pass) == KEPT


def test_a_linter_counts_what_a_change_adds_in_the_files_that_it_touches(tree: Path, tmp_path: Path) -> None:
    lint = ["grep", "-Hn", "TODO"]
    write(tree, {"untouched.py": "# TODO\n", "old.py": "# TODO\n# TODO\n", "calculator.py": "# TODO\n" + SOURCE})
    patch = patch_of(
        tree, {"calculator.py": "# TODO\n# TODO\n# TODO\n" + FIXED, "old.py": None, "new.py": "# TODO\n"}, tmp_path
    )
    assert count_findings(tree, patch, lint, SANDBOX) == (3 + 1) - (1 + 2)
    assert count_findings(tree, b"", lint, SANDBOX) == 0
    assert count_findings(tree, patch, ["no-such-linter"], SANDBOX) is None
    assert count_findings(tree, patch, lint, NO_SANDBOX) is None
