"""Runs hidden tests on a patch: a copy of the pinned tree, the patch, the hidden files, the sandboxed command.

The command has no network and sees nothing of the machine except its programs; time, memory and processes are limited,
and no process outlives it.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath

import psutil

from lensbench.agents.sandbox import ENVIRONMENT, Place, Sandbox
from lensbench.changes import reports
from lensbench.changes.copies import NEW_COPIES, Copies
from lensbench.changes.environment import NO_ENVIRONMENT, Environment
from lensbench.changes.patches import NOTHING, PatchError, PatchSize, apply_patch, patch_size
from lensbench.changes.printed import read_printed
from lensbench.changes.reports import MAX_REPORT, Forged, TestResult, with_unloaded
from lensbench.changes.steering import steering
from lensbench.changes.task import (
    EXIT,
    EXIT_ID,
    NODE,
    PRINTED,
    PYTEST,
    REPORT_PLACE,
    Tests,
    content_bytes,
)
from lensbench.changes.wrong_copy import wrong_copies
from lensbench.core.errors import some_of
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import descendants, reap_children
from lensbench.core.system.trees import READ_FLAGS, copy_tree, remove_tree

REPORT_FOLDER = "/report"
JUDGE = "/judge"
"""The folder of our own reporters inside the sandbox."""
STARTER, REPORTER = "pytest_starter.py", "node_reporter.mjs"
MEASURE_S = 0.05
"""Seconds between two measurements of what the tests use."""
TAIL = 12_000
"""The characters kept of the output."""
FILE_GB = 0.5
"""The maximum size of a file that the tests write."""
_MB = 1 << 20
_SHOWN = 3


class Trouble(StrEnum):
    """Why no result of a run counts although the tests were started."""

    UNAPPLIED = "unapplied"  # the patch does not apply
    TIMED_OUT = "timed out"
    OVER_LIMIT = "over a limit"  # of memory or processes
    FORGED = "forged"  # the report has lines that its reporter did not write
    WRONG_HELD = "wrong assertions hold"  # tests passed that must fail
    NO_REPORT = "no report"  # the tests ended before their report did


@dataclass(frozen=True)
class TestRun:
    __test__ = False

    results: Mapping[str, TestResult] = field(default_factory=dict)
    """By test id; unreported tests did not pass."""
    unstarted: str = ""
    """Why the tests could not be started, which does not count against the patch; "" when they were."""
    trouble: Trouble | None = None
    problem: str = ""
    """The trouble as a sentence; "" when there is none."""
    left_out: tuple[str, ...] = ()
    """Skipped files of the patch: hidden files, and those that configure tests."""
    size: PatchSize = NOTHING
    output: str = ""
    """The end of the tests' output."""
    exit_code: int | None = None
    duration_s: float = 0.0
    """The duration of the command alone."""
    memory_mb: int = 0
    """The peak of all its processes together."""

    @property
    def passing(self) -> set[str]:
        """The tests that passed."""
        return {name for name, result in self.results.items() if result is TestResult.PASSED}


def run_tests(
    tree: Path,
    patch: bytes,
    tests: Tests,
    sandbox: Sandbox,
    environment: Environment = NO_ENVIRONMENT,
    tail: int = TAIL,
    copies: Copies = NEW_COPIES,
) -> TestRun:
    """The results of `tests` on a copy of `tree` with `patch`, and the last `tail` characters of the output.

    Leaves no files and no children, so no thread may have any meanwhile. The wrong copies of the tests that passed
    run as well, if they are known.
    """
    if not sandbox.program:
        return TestRun(unstarted=f"tests of changes {sandbox.lack}")
    sandbox = replace(sandbox, limits={**sandbox.limits, "file_gb": FILE_GB})

    def run(tests: Tests) -> TestRun:
        with private_folder() as private:
            place = environment.place(sandbox, private)
            try:
                return _run(
                    tree,
                    patch,
                    tests,
                    place,
                    environment,
                    tail,
                    copies,
                )
            except PatchError as error:
                return TestRun(
                    trouble=Trouble.UNAPPLIED, problem=f"the patch does not apply: {error}"
                )

    try:
        result = run(tests)
        held = _held(tests, result, run)
    except OSError as error:
        return TestRun(unstarted=f"{error.filename or tree}: {error.strerror}")
    if held:
        return replace(
            result,
            trouble=Trouble.WRONG_HELD,
            problem=f"wrong assertions hold as well: {some_of(sorted(held), _SHOWN)}",
            results={},
        )
    return result


Run = Callable[[bytes, Tests], TestRun]
"""Runs tests on a patch."""


@contextmanager
def runs_of_trusted(tree: Path, sandbox: Sandbox, environment: Environment) -> Iterator[Run]:
    """Runs tests as `run_tests` does, but the runs of a patch in the block have one copy of `tree`. Not for patches
    of agents (`Copies`)."""
    with private_folder() as folder:
        yield partial(
            run_tests,
            tree,
            sandbox=sandbox,
            environment=environment,
            copies=Copies(Path(folder)),
        )


def _held(tests: Tests, result: TestRun, run: Callable[[Tests], TestRun]) -> set[str]:
    """The tests that passed in a wrong copy, in which they must fail."""
    passing = result.passing
    if tests.wrong_copies is None or not passing:
        return set()
    kinds = tests.wrong_copies.kinds
    if tests.report != EXIT:
        kinds = {name: kind for name, kind in kinds.items() if name in passing}
    for copy, must_fail in wrong_copies(tests, kinds):
        if held := run(copy).passing & must_fail:
            return held
    return set()


def _run(
    tree: Path,
    patch: bytes,
    tests: Tests,
    place: Place,
    environment: Environment,
    tail: int,
    copies: Copies,
) -> TestRun:
    private = Path(place.private)
    repo = private / "repo"
    scratch = private / "scratch"
    scratch.mkdir()
    report = private / "report"
    report.mkdir()
    size = patch_size(patch, scratch)
    left_out = steering(size.files, tests.files, tests.command, environment.folder, tree)
    written = tuple(filter(None, (*tests.files, tests.report_file)))

    def make() -> None:
        copy_tree(str(tree), str(repo), with_git=False)  # tests need no history
        apply_patch(patch, repo, scratch, left_out)
        environment.add_built(repo)
        for path in written:
            remove_tree(str(_real(repo, path)))

    with copies.at(repo, (patch, left_out, written), make):
        remove_tree(str(scratch))
        for path, content in tests.files.items():
            (repo / path).write_bytes(content_bytes(content))
        job = _Job(place, tests, environment, report, tail)
        return job.judged(replace(job.start(), left_out=left_out, size=size))


def last_error(output: str) -> str:
    """The last line of the output that names an error, after a colon; "" when there is none."""
    lines = [" ".join(line.split()) for line in output.splitlines()]
    errors = [
        line for line in lines if re.search(r"\b\w*(Error|Exception|Warning|error)\b: ?\S", line)
    ]
    return f": {errors[-1].removeprefix('E ')[:300]}" if errors else ""


def _real(repo: Path, path: str) -> Path:
    """The path of a file below real folders; a link or file in the place of a folder is removed."""
    place = repo
    for part in PurePosixPath(path).parts[:-1]:
        place = place / part
        if place.is_symlink() or not place.is_dir():
            remove_tree(str(place))
            place.mkdir()
    return place / PurePosixPath(path).name


@dataclass(frozen=True)
class _Job:
    place: Place
    tests: Tests
    environment: Environment
    report: Path
    tail: int
    nonce: str = field(default_factory=lambda: secrets.token_hex(16))
    name: str = field(default_factory=lambda: f"{secrets.token_hex(8)}.xml")

    def start(self) -> TestRun:
        """Runs the command until it ends or reaches a limit; without results."""
        # a fixed order of sets, because pytest numbers parameters that have no name of their own
        env = self.environment.variables_in(self.place) | {"PYTHONHASHSEED": "0", "TZ": "UTC"}
        command = self._command(env["PATH"])
        if not command:
            return TestRun(
                unstarted=f"there is no program {self.tests.command[0]!r} here or in the environment"
            )
        options = ["--unshare-net", "--unshare-uts", "--bind", str(self.report), REPORT_FOLDER]
        for name in (STARTER, REPORTER):
            options += ["--ro-bind", str(Path(__file__).with_name(name)), f"{JUDGE}/{name}"]
        for name in self.tests.files:  # the code under test must not rewrite them
            path = os.path.join(self.place.private, "repo", name)
            options += ["--ro-bind", path, self.place.inside(path)]
        argv = self.place.wrap(command, env, "", options)
        began = time.monotonic()
        with open(os.path.join(self.place.private, "output"), "w+b") as output:
            process = subprocess.Popen(
                argv,
                env=env,
                cwd=self.place.private,
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            with suppress(BrokenPipeError):
                assert process.stdin
                process.stdin.write(f"{self.nonce}\n".encode())
                process.stdin.close()
            try:
                trouble, limit, memory_mb = _watched(process, self.tests, began)
            finally:
                process.kill()  # bubblewrap's first process: all others end with it
                process.wait()
                reap_children()
            duration_s = round(time.monotonic() - began, 3)
            size = output.seek(0, os.SEEK_END)
            output.seek(max(0, size - 4 * self.tail))
            text = output.read().decode(errors="replace")[-self.tail :]
        start_error = text.strip() if text.startswith("bwrap: ") and process.returncode == 1 else ""
        return TestRun(
            unstarted=start_error,
            trouble=trouble,
            problem=limit,
            output=text,
            exit_code=process.returncode,
            duration_s=duration_s,
            memory_mb=memory_mb,
        )

    def _command(self, path: str) -> list[str]:
        first, *rest = self.tests.command
        first = _found(first, path, self.environment)
        if not first:
            return []
        report = f"{REPORT_FOLDER}/{self.name}"
        if self.tests.report == NODE:
            return [
                first,
                f"--test-reporter={JUDGE}/{REPORTER}",
                f"--test-reporter-destination={report}",
                *rest,
            ]
        if self.tests.report != PYTEST:
            return [first, *(word.replace(REPORT_PLACE, report) for word in rest)]
        if PurePosixPath(first).name in ("pytest", "py.test"):
            python = _found("python", os.path.dirname(first) + os.pathsep + path, self.environment)
        else:
            python = first
            rest = rest[2:]
        return [python, "-s", f"{JUDGE}/{STARTER}", report, *rest]

    def judged(self, run: TestRun) -> TestRun:
        """The run with the reported results, or why they do not count."""
        if run.unstarted or run.problem:
            return run
        try:
            results = self.results(run)
        except Forged as error:
            return replace(run, trouble=Trouble.FORGED, problem=str(error))
        except ValueError as error:
            return replace(
                run, trouble=Trouble.NO_REPORT, problem=f"{error}{last_error(run.output)}"
            )
        if not results:
            return replace(run, trouble=Trouble.NO_REPORT, problem="no test ran")
        return replace(run, results=with_unloaded(results, self.tests.files))

    def results(self, run: TestRun) -> dict[str, TestResult]:
        """The reported results. Raises ValueError when they cannot be trusted or read."""
        if self.tests.report == EXIT:
            is_assertion = re.search(r"assert|expect", run.output, re.IGNORECASE)
            failure = TestResult.ASSERTED if is_assertion else TestResult.FAILED
            return {EXIT_ID: TestResult.PASSED if run.exit_code == 0 else failure}
        if self.tests.report == PRINTED:
            output = Path(self.place.private, "output").read_bytes()[-MAX_REPORT:]
            return read_printed(output.decode(errors="replace"), self.tests.files)[0]
        report = self.report / self.name
        if self.tests.report_file:
            report = Path(self.place.private, "repo", self.tests.report_file)
        content = _read(report)
        if self.tests.report in (PYTEST, NODE):
            return reports.read_lines(content.decode(errors="replace"), self.nonce)
        return reports.read_junit(content)


def _found(program: str, path: str, environment: Environment) -> str:
    """The path of a program by its name inside the sandbox; "" when it is not found."""
    for folder in path.split(os.pathsep) if "/" not in program else [""]:
        inside = os.path.join(folder, program)
        outside = inside
        if environment.folder and inside.startswith(f"{ENVIRONMENT}/"):
            outside = str(environment.folder) + inside[len(ENVIRONMENT) :]
        if os.path.lexists(outside) and (os.path.islink(outside) or os.access(outside, os.X_OK)):
            return inside
    return ""


def _read(path: Path) -> bytes:
    """A file that the tests wrote; it must be a regular file. Raises ValueError."""
    try:
        with open(os.open(path, READ_FLAGS), "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("the report is not a file")
            return file.read(MAX_REPORT + 1)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP, errno.ENOTDIR):
            raise ValueError("the tests wrote no report") from None
        raise


def _watched(
    process: subprocess.Popen[bytes], tests: Tests, began: float
) -> tuple[Trouble | None, str, int]:
    """Waits until a test run ends or exceeds a limit: the limit, a sentence for it, and the most memory of all its
    processes, in MB."""
    most_mb = 0
    pause = 0.01
    while True:
        with suppress(subprocess.TimeoutExpired):
            process.wait(pause)
            return None, "", most_mb
        pause = min(2 * pause, MEASURE_S * 4)
        if time.monotonic() > began + tests.timeout_s:
            return Trouble.TIMED_OUT, f"the tests took longer than {tests.timeout_s:g} s", most_mb
        memory_mb, processes = _use(process.pid)
        most_mb = max(most_mb, memory_mb)
        problem = ""
        if memory_mb > tests.memory_mb:
            problem = f"the tests used more than {tests.memory_mb} MB"
        elif processes > tests.processes:
            problem = f"the tests started more than {tests.processes} processes"
        if problem:
            return Trouble.OVER_LIMIT, problem, most_mb


def _use(top: int) -> tuple[int, int]:
    """The memory of a process and those below it, in MB, and the number of their threads."""
    memory = 0
    count = 0
    for process in [psutil.Process(top), *descendants(top)]:
        with suppress(psutil.Error):
            memory += process.memory_info().rss
            count += process.num_threads()
    return memory // _MB, count
