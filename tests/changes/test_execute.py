import os
import shutil
import subprocess
import sys
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
from calculator import (
    FAILING,
    FIXED,
    KEPT,
    OLD_TESTS,
    SANDBOX,
    TESTS,
    by_exit,
    commit,
    make_task,
    make_tree,
    needs_sandbox,
    patch_of,
)

from lensbench.agents.sandbox import NO_SANDBOX
from lensbench.changes.environment import (
    NO_ENVIRONMENT,
    Environment,
    environment_key,
    prepare_environment,
)
from lensbench.changes.execute import TestRun, Trouble, last_error, run_tests
from lensbench.changes.reports import TestResult
from lensbench.core.errors import UserError
from lensbench_tasks.changes.candidates import Prover
from lensbench_tasks.changes.proof import prove
from stock import write

pytestmark = needs_sandbox


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return make_tree(tmp_path / "tree")


@pytest.fixture
def reference(tree: Path, tmp_path: Path) -> bytes:
    return patch_of(tree, {"calculator.py": FIXED}, tmp_path)


def test_without_a_change_the_failing_tests_fail_and_with_the_reference_all_pass(
    tree: Path, reference: bytes
) -> None:
    write(
        tree, {"tests/test_own.py": "def test_own():\n    pass\n"}
    )  # which the command does not name
    run = run_tests(tree, b"", make_task(reference).tests, SANDBOX)
    assert not run.unstarted + run.problem
    assert run.results == {
        **dict.fromkeys(FAILING, TestResult.ASSERTED),
        KEPT[0]: TestResult.PASSED,
    }
    run = run_tests(tree, reference, make_task(reference).tests, SANDBOX)
    assert run.results == dict.fromkeys([*FAILING, *KEPT], TestResult.PASSED), run
    assert (run.size.files, run.size.added, run.size.removed) == (("calculator.py",), 1, 1)
    tests = make_task(reference).tests
    run = run_tests(
        tree,
        reference,
        tests.model_copy(update={"command": (*tests.command, "-k", "none")}),
        SANDBOX,
    )
    assert (run.trouble, run.problem[:11]) == (Trouble.NO_REPORT, "no test ran")


ADOPTING = """\
import os, sys
from pathlib import Path
sys.path[:0] = sys.argv[2:]
from calculator import SANDBOX, make_task
from lensbench.changes.execute import run_tests
from lensbench.core.system.processes import adopt_orphans
adopt_orphans()
for _ in range(2):
    run_tests(Path(sys.argv[1]), b"", make_task(b"").tests, SANDBOX)
print(Path(f"/proc/self/task/{os.getpid()}/children").read_text())
"""


def test_no_process_of_a_test_run_is_left_behind(tree: Path) -> None:
    folders = [str(Path(__file__).parent), str(Path(__file__).parents[1] / "support")]
    command = [sys.executable, "-c", ADOPTING, str(tree), *folders]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() == []


def test_without_a_sandbox_or_its_program_no_test_is_started(tree: Path, reference: bytes) -> None:
    assert run_tests(tree, reference, make_task(reference).tests, NO_SANDBOX).unstarted
    tests = by_exit(reference, "no-such-program").tests
    assert "no-such-program" in run_tests(tree, reference, tests, SANDBOX).unstarted


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (
            f"{sys.executable} -m pip install --no-index no-such-package-x",
            "Could not find a version that satisfies the requirement no-such-package-x",
        ),
        (
            "echo one; echo 'npm error code E404' >&2; echo 'npm error 404 Not Found - x' >&2; exit 1",
            "npm error 404 Not Found - x",
        ),
    ],
)
def test_an_installer_s_own_line_says_why_it_failed(
    tree: Path, tmp_path: Path, command: str, why: str
) -> None:
    with pytest.raises(UserError, match=why) as caught:
        prepare_environment([command], tree, tmp_path / "cache", SANDBOX)
    assert "\n" not in str(caught.value)
    with pytest.raises(UserError, match="environment: tests of changes need a sandbox"):
        prepare_environment([command], tree, tmp_path / "other", NO_SANDBOX)


def test_an_environment_is_that_of_its_commands_and_the_locked_packages(tree: Path) -> None:
    keys = {environment_key([], tree), environment_key(["a"], tree)}
    write(tree, {"requirements.txt": "a==1\n"})
    assert len({*keys, environment_key(["a"], tree)}) == 3


@pytest.mark.parametrize(
    "name", ["PIP_INDEX_URL", "npm_config_registry", "GOPROXY", "GONOSUMDB", "CARGO_HTTP_CAINFO"]
)
def test_an_installation_asks_the_user_s_registry(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "https://registry.example.invalid")
    environment = prepare_environment(
        [f'echo "${name}" > /env/said'], tree, tmp_path / "cache", SANDBOX
    )
    assert environment.folder
    assert (environment.folder / "said").read_text() == "https://registry.example.invalid\n"
    tests = by_exit(b"", "true").tests
    assert run_tests(tree, b"", tests, SANDBOX, environment).results == {"exit": TestResult.PASSED}


def test_a_python_project_is_compiled_once_and_a_changed_file_of_the_same_size_and_time_again(
    tree: Path, tmp_path: Path
) -> None:
    commands = [f"{sys.executable} -m venv --without-pip /env"]
    environment = prepare_environment(commands, tree, tmp_path / "cache", SANDBOX)
    assert environment.folder
    built = environment.folder.with_name("built")
    assert [path.name.partition(".")[0] for path in built.glob("__pycache__/*.pyc")] == [
        "calculator"
    ]
    source = tree / "calculator.py"
    times = source.stat()
    (tree / "show.py").write_text("import calculator\nprint(calculator.__cached__)\nassert 0\n")
    other = "assert 0, 'new'".ljust(times.st_size - 1)[: times.st_size - 1] + "\n"
    for text, said in ((source.read_text(), "__pycache__"), (other, "AssertionError: new")):
        source.write_text(text)
        os.utime(source, ns=(times.st_atime_ns, times.st_mtime_ns))
        tests = by_exit(b"", "python", "show.py").tests
        assert said in run_tests(tree, b"", tests, SANDBOX, environment).output


def test_the_last_error_of_an_output_is_shown_if_there_is_one() -> None:
    assert [last_error(text) for text in ("fine\n", "a\nE   KeyError: x\nend\n")] == [
        "",
        ": KeyError: x",
    ]


def test_a_file_that_tests_write_has_a_limit(tree: Path, reference: bytes) -> None:
    for size, result in {"400M": TestResult.PASSED, "600M": TestResult.FAILED}.items():
        tests = by_exit(reference, "truncate", "-s", size, "big").tests
        assert run_tests(tree, reference, tests, SANDBOX).results == {"exit": result}


A, B = ({name: TestResult.PASSED} for name in "ab")
BOTH = TestRun({**A, **B}, duration_s=1)
NONE = TestRun(exit_code=1, trouble=Trouble.NO_REPORT, problem="no report")


@pytest.mark.parametrize(
    ("before", "after", "rest", "found"),
    [
        (TestRun(B), [BOTH, replace(BOTH, duration_s=2)], "all", ((), (), ("a",), ("b",), 1.5)),
        (
            NONE,
            [BOTH],
            "all",
            ((), (), ("a",), (), 1),
        ),
        (
            replace(NONE, exit_code=0),
            [BOTH],
            "all",
            (("without a change: no report",), (), (), (), 0),
        ),
        (
            TestRun(exit_code=1, trouble=Trouble.TIMED_OUT, problem="too long"),
            [BOTH],
            "all",
            (("without a change: too long",), (), (), (), 0),
        ),
        (
            TestRun(B),
            [NONE],
            "all",
            (("with the reference: no report",), (), (), (), 0),
        ),
        (BOTH, [BOTH], "all", (("a passes without a change",), (), (), ("b",), 1)),
        (
            TestRun(B),
            [TestRun(B)],
            "all",
            (("a does not pass with the reference",), (), (), ("b",), 0),
        ),
        (
            TestRun(B),
            [BOTH, TestRun(B)],
            "all",
            (("all tests that are to fail first are flaky",), ("a",), (), ("b",), 0.5),
        ),
        (
            TestRun(),
            [BOTH],
            ["b"],
            (("b is to pass in both cases, and does not",), (), ("a",), (), 1),
        ),
        (TestRun(B), [BOTH, TestRun(A)], ["b"], ((), ("b",), ("a",), (), 0.5)),
        (TestRun(B), [BOTH, TestRun(A)], [], ((), (), ("a",), (), 0.5)),
        (TestRun(B), [TestRun(A)], "all", (("the reference breaks b",), (), ("a",), (), 0)),
    ],
)
def test_what_a_proof_concludes_from_its_runs(
    tree: Path,
    reference: bytes,
    before: TestRun,
    after: list[TestRun],
    rest: Any,
    found: tuple[Any, ...],
) -> None:
    task = make_task(reference, fail_to_pass=["a"], pass_to_pass=rest)
    assert (
        astuple(prove(task, tree, SANDBOX, rounds=1, foreign=True, runs=(before, *after)))[1:6]
        == found
    )


def test_a_proven_task_names_the_tests_that_count(tree: Path, reference: bytes) -> None:
    task = by_exit(reference, "grep", "-q", "one + other", "calculator.py")
    fate = Prover(SANDBOX, tree).judged(task, "", tree, NO_ENVIRONMENT)
    assert fate.task, fate.reasons
    assert prove(make_task(b""), tree, SANDBOX).reasons == ("it has no reference patch",)
    assert (fate.task.tests.fail_to_pass, fate.task.tests.pass_to_pass) == (("exit",), ())


@pytest.mark.slow
def test_a_reference_that_breaks_a_test_or_does_not_load_a_hidden_file_is_refused(
    tree: Path, tmp_path: Path
) -> None:
    own = "import calculator\n\n\ndef test_limit():\n    assert not hasattr(calculator, 'LIMIT')\n"
    write(tree, {"tests/test_own.py": own, "unit/test_other.py": own})
    wrong = FIXED.replace("2 * number", "number") + "LIMIT = 5\n"
    files = {"tests/test_calculator.py": TESTS, "tests/test_new.py": "import new\n"}
    command = [sys.executable, "-m", "pytest", *files, "--disable-plugin-autoload"]
    patch = patch_of(tree, {"calculator.py": wrong}, tmp_path)
    proof = prove(make_task(patch, files=files, command=command), tree, SANDBOX, rounds=1)
    assert proof.reasons
    for reason in (
        "the reference breaks tests/test_calculator.py::test_double",
        "the reference breaks tests/test_own.py::test_limit",
        "the reference breaks unit/test_other.py::test_limit",
        "the hidden file tests/test_new.py does not load",
    ):
        assert any(given.startswith(reason) for given in proof.reasons), proof.reasons


@pytest.mark.parametrize(
    ("first", "second", "is_seen"),
    [
        ({"tests/test_calculator.py": TESTS}, {"tests/test_calculator.py": OLD_TESTS}, True),
        (
            {"tests/test_calculator.py": TESTS},
            {"tests/test_calculator.py": TESTS + "\nimport os\n"},
            False,
        ),
        (
            {"tests/test_calculator.py": TESTS},
            {"tests/test_calculator.py": None, "tests/renamed.py": TESTS},
            False,
        ),
        (
            {"tests/test_calculator.py": TESTS + "\n"},
            {"tests/test_calculator.py": TESTS.replace("  ", "   ")},
            False,
        ),
        ({"tests/former.py": TESTS}, {"tests/former.py": None}, True),
    ],
    ids=["removed", "extended", "renamed", "indented", "removed under another name"],
)
def test_a_hidden_file_is_seen_when_the_history_has_what_the_pinned_version_has_not(
    tree: Path,
    reference: bytes,
    first: dict[str, str | None],
    second: dict[str, str | None],
    is_seen: bool,
) -> None:
    for files in (first, second):
        write(tree, files)
        commit(tree)
    reasons = prove(make_task(reference), tree, NO_SANDBOX).reasons
    assert any("can be seen" in reason for reason in reasons) == is_seen, reasons


@pytest.mark.skipif(not shutil.which("node"), reason="no node")
@pytest.mark.slow
def test_a_name_in_two_files_hides_no_file_that_does_not_load(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    body = "const test = require('node:test')\ntest('is right', t => t.assert.equal(require('../{0}.js'), 2))\n"
    write(
        tree,
        {"a.js": "module.exports = 1\n", "b.js": "module.exports = 1\n", "package.json": "{}\n"},
    )
    reference = patch_of(
        tree, {"a.js": "const a = 1\nconst a = 2\n", "b.js": "module.exports = 2\n"}, tmp_path
    )
    files = {
        f"test/{name}.test.js": f"require('../{name}.js')\n{body.format(name)}" for name in "ab"
    }
    reports = {
        "node": [],
        "junit": ["--test-reporter=junit", "--test-reporter-destination={report}"],
    }
    for report, options in reports.items():
        right = {"node": "test/b.test.js::is right", "junit": "test::is right"}[report]
        command = ["node", "--test", *options, *files]
        task = make_task(
            reference, files=files, command=command, report=report, fail_to_pass=[right]
        )
        before, run = (run_tests(tree, patch, task.tests, SANDBOX) for patch in (b"", reference))
        wanted = "the hidden file test/a.test.js does not load with the reference"
        assert (
            wanted in prove(task, tree, SANDBOX, rounds=1, foreign=True, runs=(before, run)).reasons
        )
        assert (run.results[right] is TestResult.PASSED) == (report == "node"), (
            "its file decides, where it is known"
        )
        assert "test/a.test.js::is right" not in run.results


@pytest.mark.slow
def test_parameters_out_of_a_set_have_one_order(tree: Path, reference: bytes) -> None:
    text = (
        "import pytest\n@pytest.mark.parametrize('word', [[word] for word in set(map(str, range(99)))])\n"
        "def test_first(word):\n    assert word == ['0']\n"
    )
    tests = make_task(reference).tests.model_copy(
        update={"files": {"tests/test_calculator.py": text}}
    )
    first, second = (run_tests(tree, b"", tests, SANDBOX).results for _ in range(2))
    assert (list(first.values()).count(TestResult.PASSED), first) == (1, second)


def test_what_an_installation_built_is_not_written_through_a_link(tmp_path: Path) -> None:
    for folder in ("environment/built/pkg/__pycache__", "environment/installed", "repo", "outside"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "environment/built/pkg/_version.py").write_text("VERSION = 1")
    (tmp_path / "repo/pkg").symlink_to(tmp_path / "outside")
    environment = Environment("key", tmp_path / "environment/installed")
    environment.add_built(tmp_path / "repo")
    assert list((tmp_path / "outside").iterdir()) == []
    (tmp_path / "repo/pkg").unlink()
    (tmp_path / "repo/pkg").mkdir()
    environment.add_built(tmp_path / "repo")
    assert (tmp_path / "repo/pkg/_version.py").read_text() == "VERSION = 1"
