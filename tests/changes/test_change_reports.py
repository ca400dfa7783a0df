"""Reports of test runs: ids carry the file, and a hidden file that does not load fails all its tests."""

import subprocess
import sys
from pathlib import Path

import pytest

from lensbench.changes import pytest_starter
from lensbench.changes.printed import read_printed
from lensbench.changes.reports import TestResult, read_junit, with_unloaded

PASSED, FAILED, ASSERTED = TestResult.PASSED, TestResult.FAILED, TestResult.ASSERTED
FILES = ["tests/test_a.py", "tests/test_b.py"]
PRINTED = {
    file.stem: file.read_text(encoding="utf-8")
    for file in (Path(__file__).parent / "printed").iterdir()
}


@pytest.mark.parametrize(
    ("case", "name"),
    [
        ('<testcase classname="tests.test_a" name="test_x"/>', "tests.test_a::test_x"),
        (
            '<testcase classname="cart" name="sums" file="/repo/test/a.js"/>',
            "test/a.js::cart > sums",
        ),
        ('<testsuite file="./test/a.js"><testcase name="sums"/></testsuite>', "test/a.js::sums"),
        (
            '<testcase classname="test/a.spec.ts" name="cart &gt; sums"/>',
            "test/a.spec.ts::cart > sums",
        ),
        ('<testcase classname="test" name="sums" file="/repo/test/a.js"/>', "test/a.js::sums"),
        ('<testcase classname="test/a.spec.ts" name="test/a.spec.ts"/>', "test/a.spec.ts"),
    ],
)
def test_an_id_is_the_file_that_the_report_names_and_the_test(case: str, name: str) -> None:
    assert read_junit(f"<testsuites>{case}</testsuites>".encode()) == {name: PASSED}


@pytest.mark.parametrize(
    ("unloaded", "results"),
    [
        (
            "tests/test_a.py",
            {"tests/test_a.py::x": FAILED, "tests/test_b.py::x": PASSED, "tests/c.py::x": PASSED},
        ),
        (
            "::tests.test_a",
            {"tests.test_a.Sums::x": FAILED, "tests.test_b::x": PASSED, "unknown::x": FAILED},
        ),
        ("tests/test_c.py", {"tests/test_a.py::x": PASSED, "unknown::x": PASSED}),
    ],
)
def test_a_hidden_file_that_does_not_load_fails_its_tests(
    unloaded: str, results: dict[str, TestResult]
) -> None:
    reported = {unloaded: FAILED, **dict.fromkeys(results, PASSED)}
    assert with_unloaded(reported, FILES) == {unloaded: FAILED, **results}


def test_what_unittest_prints_is_read_with_the_other_names_of_its_tests() -> None:
    results, names = read_printed(PRINTED["django"], {"tests/maps/test_a.py": ""})
    place = "tests/maps/test_a.py::Http::"
    assert {
        name.removeprefix(place): result
        for name, result in results.items()
        if name.startswith(place)
    } == {
        "test_get": PASSED,
        "test_put": ASSERTED,
        "test_skip": TestResult.SKIPPED,
        "test_old": PASSED,
        "test_noisy": PASSED,
    }
    assert names["A map can be put"] == f"{place}test_put"
    assert names["A docstring."] == "tests/maps/test_a.py::Other::test_same"
    assert names["test_put (maps.test_a.Http)"] == f"{place}test_put"


def test_what_sympy_prints_is_read_by_file() -> None:
    results, _ = read_printed(PRINTED["sympy"], {})
    assert results == {
        "sympy/units/tests/test_a.py::test_one": PASSED,
        "sympy/units/tests/test_a.py::test_two": ASSERTED,
        "sympy/units/tests/test_a.py::test_three": PASSED,
        "sympy/units/tests/test_a.py::test_four": FAILED,
        "sympy/units/tests/test_b.py::test_one": PASSED,
    }


@pytest.mark.parametrize(
    ("printed", "files", "results"),
    [
        (
            PRINTED["go"],
            {"cart/a_test.go": "func TestSum(t *testing.T) {", "shop_test.go": ""},
            {
                "cart/a_test.go::TestSum/same": ASSERTED,
                "example.invalid/shop/till::TestSum": TestResult.SKIPPED,
                "shop_test.go": FAILED,
            },
        ),
        (
            PRINTED["cargo"],
            {"crates/shop/tests/sums.rs": "", "tests/late.rs": ""},
            {
                "src/lib.rs::tests::own": PASSED,
                "crates/shop/tests/sums.rs::more::zero": PASSED,
                "crates/shop/tests/sums.rs::two": FAILED,
                "src/lib.rs::sum": PASSED,
                "tests/late.rs": FAILED,
            },
        ),
        (
            PRINTED["tap"],
            {"test/sum.js": "", "test/gone.js": ""},
            {
                "test/sum.js::later": TestResult.SKIPPED,
                "test/sum.js::two": FAILED,
                "test/gone.js": FAILED,
            },
        ),
    ],
)
def test_ids_have_the_file_and_no_ordinal(
    printed: str, files: dict[str, str], results: dict[str, TestResult]
) -> None:
    assert read_printed(printed, files)[0] == results


@pytest.mark.parametrize(
    ("options", "is_loaded"),
    [
        ([], True),
        (["--disable-plugin-autoload"], False),
        (["-p", "no:xdist"], False),
    ],
)
def test_the_environment_s_plugins_load_unless_told_not_to(
    tmp_path: Path, options: list[str], is_loaded: bool
) -> None:
    starter = [
        sys.executable,
        "-s",
        pytest_starter.__file__,
        str(tmp_path / "report"),
        *options,
        "--help",
    ]
    shown = subprocess.run(
        starter, input="nonce\n", capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout
    assert ("--numprocesses" in shown) == is_loaded


PANIC = (
    "running 1 test\ntest two ... FAILED\n\n---- two stdout ----\n\nthread 'two' (71) panicked at "
)


@pytest.mark.parametrize(
    ("printed", "result"),
    [
        (PANIC + "tests/a.rs:3:14:\nassertion `left == right` failed\n", ASSERTED),
        (PANIC + "src/testing.rs:1:53:\nexplicit panic\n", ASSERTED),
        (PANIC + "src/testing.rs:1:53:\nwanted 3, got 4\n", ASSERTED),
        (PANIC + "'assertion failed: even(3)', tests/a.rs:3:14\n", ASSERTED),
        (PANIC + "'attempt to divide by zero', tests/a.rs:3:14\n", FAILED),
        (PANIC + "tests/a.rs:3:14:\nindex out of bounds: the len is 2\n", FAILED),
        (PANIC + "tests/a.rs:3:14:\nrange end index 5 out of range for slice\n", FAILED),
        (PANIC + "a.rs:3:14:\ncalled `Option::unwrap()` on a `None` value\n", FAILED),
        (PANIC.partition("thread")[0] + 'Error: "wanted 3"\n', FAILED),
        ("TAP version 13\nnot ok 1 - two\n  ---\n    name: AssertionError\n  ...\n", ASSERTED),
        ("TAP version 13\nnot ok 1 - two\n  ---\n    name: TypeError\n  ...\n", FAILED),
        ('{"Time":"1","Action":"fail","Package":"p","Test":"two"}\n', ASSERTED),
        (
            '{"Time":"1","Action":"output","Package":"p","Test":"two","Output":"panic: index"}\n{"Time":"1","Action":"fail","Package":"p","Test":"two"}\n',
            FAILED,
        ),
    ],
)
def test_a_printed_failure_has_its_cause(printed: str, result: TestResult) -> None:
    assert set(read_printed(printed, {})[0].values()) == {result}


@pytest.mark.parametrize(
    ("failure", "result"),
    [
        ('<failure type="AssertionError" message="expected 1 to be 2"/>', ASSERTED),
        ("<failure>Error: expect(received).toBe(expected)</failure>", ASSERTED),
        ('<failure message="assert 3 == 4"/>', ASSERTED),
        ('<failure type="TypeError" message="expected a function"/>', FAILED),
        ("<failure>TypeError: a is not a function</failure>", FAILED),
        ('<error message="assert"/>', FAILED),
    ],
)
def test_a_failure_in_junit_has_its_cause(failure: str, result: TestResult) -> None:
    report = f'<testsuites><testcase name="a">{failure}</testcase></testsuites>'
    assert set(read_junit(report.encode()).values()) == {result}
