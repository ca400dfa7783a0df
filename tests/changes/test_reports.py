"""Reports of test runs: ids carry the file, and a hidden file that does not load fails all its tests."""

from __future__ import annotations

import pytest

from lensbench.changes.reports import TestResult, read_junit, with_unloaded

PASSED, FAILED = TestResult.PASSED, TestResult.FAILED
FILES = ["tests/test_a.py", "tests/test_b.py"]


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ('<testcase classname="tests.test_a" name="test_x"/>', "tests.test_a::test_x"),
        ('<testcase classname="cart" name="sums" file="/repo/test/a.js"/>', "test/a.js::cart > sums"),
        ('<testsuite file="./test/a.js"><testcase name="sums"/></testsuite>', "test/a.js::sums"),
        ('<testcase classname="test/a.spec.ts" name="cart &gt; sums"/>', "test/a.spec.ts::cart > sums"),
        ('<testcase classname="test" name="sums" file="/repo/test/a.js"/>', "test/a.js::sums"),
        ('<testcase classname="test/a.spec.ts" name="test/a.spec.ts"/>', "test/a.spec.ts"),
    ],
)
def test_an_id_is_the_file_that_the_report_names_and_the_test(case: str, name: str) -> None:
    assert read_junit(f"<testsuites>{case}</testsuites>".encode()) == {name: PASSED}


@pytest.mark.parametrize(
    ("unloaded", "results"),
    [
        ("tests/test_a.py", {"tests/test_a.py::x": FAILED, "tests/test_b.py::x": PASSED, "tests/c.py::x": PASSED}),
        ("::tests.test_a", {"tests.test_a.Sums::x": FAILED, "tests.test_b::x": PASSED, "unknown::x": FAILED}),
        ("tests/test_c.py", {"tests/test_a.py::x": PASSED, "unknown::x": PASSED}),
    ],
)
def test_a_hidden_file_that_does_not_load_fails_its_tests(unloaded: str, results: dict[str, TestResult]) -> None:
    reported = {unloaded: FAILED, **dict.fromkeys(results, PASSED)}
    assert with_unloaded(reported, FILES) == {unloaded: FAILED, **results}
