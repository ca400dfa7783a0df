"""The judge `tests`: verdicts on a change from the results of the hidden tests.

As a program it runs the tests on the patch of one run; test runs are cached by patch, tests, tree and environment.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.agents.sandbox import Sandbox, find_sandbox
from lensbench.changes.calibration import calibrated
from lensbench.changes.environment import Environment, read_environment
from lensbench.changes.execute import TestRun, run_tests, runs_of_trusted
from lensbench.changes.patches import NOTHING, PatchSize, size_of
from lensbench.changes.reports import TestResult
from lensbench.changes.suspicion import suspicions
from lensbench.changes.task import (
    EXIT,
    TEST_CRITERION,
    ChangeTask,
    Tests,
    WrongCopies,
    content_bytes,
    read_task,
    tests_digest,
)
from lensbench.core.errors import UserError, some_of
from lensbench.core.frozen_plan import Repositories
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import run_files
from lensbench.core.system.files import T, read_json, read_typed, write_json
from lensbench.core.system.locks import locked
from lensbench.core.system.program import run_parser, run_program
from lensbench.core.tasks import Task
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.shown_answers import JudgedCriterion, ShownAnswer
from lensbench.plan.frozen import read_plan

_VERSION = "6"
"""Increased when the same tests on the same patch may give another verdict."""
_SHOWN = 3


@dataclass(frozen=True, kw_only=True)
class Tested(TestRun):
    """The test results of a run, as stored in `tests/<run>.json`: those of the task's tests, and of the test run all
    but its results."""

    fixed: Mapping[str, str]
    """The results of the tests that fail without a change; "" for an unreported one."""
    kept: Mapping[str, str]
    """The results of the tests that pass in both cases."""
    reference: PatchSize = NOTHING
    suspicions: tuple[str, ...] = ()
    """What the patch has that can steer a judge (`suspicion`)."""

    @property
    def passing_fixed(self) -> list[str]:
        """The tests that failed without a change and pass now."""
        return [name for name, result in self.fixed.items() if result == TestResult.PASSED]

    @property
    def broken(self) -> list[str]:
        """The tests that passed without a change and do not now."""
        return [name for name, result in self.kept.items() if result != TestResult.PASSED]

    @property
    def share(self) -> Fraction:
        """The share of the failing tests that pass now; 0 where a passing test broke."""
        if self.broken:
            return Fraction(0)
        return Fraction(len(self.passing_fixed), len(self.fixed))

    @property
    def resolved(self) -> bool:
        """True when all tests have the required result: all or nothing, as in SWE-bench."""
        return self.share == 1

    @property
    def reason(self) -> str:
        """What the tests said, in words."""
        if self.problem:
            return self.problem
        failures = [name for name in self.fixed if name not in self.passing_fixed]
        kept = len(self.kept) - len(self.broken)
        return (
            f"{len(self.passing_fixed)} of {len(self.fixed)} failing tests pass{_names(failures)}; "
            f"{kept} of {len(self.kept)} tests still pass{_names(self.broken)}"
        )

    @property
    def judgement(self) -> Judgement:
        """The verdict on the test criterion."""
        if self.unstarted:
            return replace(unjudged("no_test_run", self.unstarted), version=_VERSION)
        verdict = Verdict.MISSED
        if self.resolved:
            verdict = Verdict.MET
        elif self.share:
            verdict = Verdict.PARTIAL
        return Judgement(verdict, reason=self.reason, share=self.share, version=_VERSION)


def _names(tests: Sequence[str]) -> str:
    return f"; not: {some_of(tests, _SHOWN)}" if tests else ""


def tested_file(folder: Path, run: RunId) -> Path:
    return RunFolder(folder).tests / f"{run.stem}.json"


class StoredRuns(NamedTuple):
    """Test runs on one tree in one environment, stored in a folder by all their inputs."""

    folder: Path
    tree: Path
    tree_sha256: str
    sandbox: Sandbox
    environment: Environment

    def run(self, tests: Tests, patch: bytes) -> TestRun:
        """The tests' results for a patch. The runs of a pair often have the same one."""
        path = self._file("", tests, patch)
        with _stored(path, TestRun) as result:
            if result is None:
                result = run_tests(self.tree, patch, tests, self.sandbox, self.environment)
                if not result.unstarted:
                    write_json(path, asdict(result))
            return result

    def with_wrong_copies(self, tests: Tests, reference: bytes) -> Tests:
        """The tests with their wrong copies: the task's own, or those found with the reference once for all runs."""
        if tests.wrong_copies or not reference.strip() or not self.sandbox.program:
            return tests
        path = self._file("copies-", tests, reference)
        with _stored(path, WrongCopies) as copies:
            if copies is None:
                with runs_of_trusted(self.tree, self.sandbox, self.environment) as run:
                    copies = calibrated(run, reference, tests)
                write_json(path, copies.model_dump(mode="json"))
        return tests.model_copy(update={"wrong_copies": copies})

    def _file(self, kind: str, tests: Tests, patch: bytes) -> Path:
        inputs = (
            _VERSION,
            tests_digest(tests),
            self.tree_sha256,
            self.environment.key,
            hashlib.sha256(patch).hexdigest(),
        )
        name = hashlib.sha256("\n".join(inputs).encode()).hexdigest()
        return self.folder / f"{kind}{name}.json"


@contextmanager
def _stored(path: Path, kind: type[T]) -> Iterator[T | None]:
    """What the file at `path` has, with its lock held for the block; None when there is none, or it is damaged."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with locked(path.with_name(f".{path.stem}.lock")):
        stored = None
        with suppress(UserError):
            stored = read_typed(path, kind)
        yield stored


def judge_patch(runs: StoredRuns, task: ChangeTask, patch: bytes) -> Tested:
    """The test results for a patch."""
    reference = content_bytes(task.reference)
    tests = runs.with_wrong_copies(task.tests, reference)
    result = runs.run(tests, patch)
    fixed = task.tests.fail_to_pass
    kept: Iterable[str] = ()
    if task.tests.pass_to_pass != "all":
        kept = task.tests.pass_to_pass
    elif task.tests.report != EXIT:
        before = runs.run(tests, b"")
        after = runs.run(tests, reference)
        kept = sorted((before.passing & after.passing) - {*fixed})
        result = replace(result, unstarted=result.unstarted or before.unstarted or after.unstarted)
    return Tested(
        **{**vars(result), "results": {}},
        reference=size_of(reference),
        suspicions=suspicions(patch),
        fixed={name: result.results.get(name, "") for name in fixed},
        kept={name: result.results.get(name, "") for name in kept},
    )


def judge_changes(
    folder: Path, answers: Iterable[ShownAnswer], tasks: Mapping[str, Task]
) -> Iterator[JudgedCriterion]:
    """The verdicts of the tests on the runs of change tasks."""
    for answer in answers:
        texts = [criterion.text for criterion in tasks[answer.run.task].criteria]
        if TEST_CRITERION in texts:
            results = read_typed(tested_file(folder, answer.run), Tested)
            yield answer, texts.index(TEST_CRITERION) + 1, results.judgement


def judge_run(folder: Path, run: RunId) -> str:
    """Judges the patch of a run and writes tests/<run>.json; returns the outcome as a sentence."""
    place = RunFolder(folder)
    plan = read_plan(folder)
    repositories: Repositories = read_json(place.repositories, needed=True)
    repository = repositories[plan["tasks"][run.task]["repository"] or ""]
    environments = read_json(place.environments, needed=True)
    runs = StoredRuns(
        place.judging_tests,
        Path(repository["tree"]),
        repository["tree_sha256"],
        find_sandbox(plan.get("sandbox")),
        read_environment(environments[run.task]),
    )
    results = judge_patch(
        runs, read_task(folder, run.task), run_files(folder, run).patch.read_bytes()
    )
    write_json(tested_file(folder, run), asdict(results))
    return results.unstarted or results.reason


def main() -> None:
    """Run the hidden tests on the patch of one run."""
    arguments = run_parser(main.__doc__).parse_args()
    run = RunId(arguments.task, arguments.condition, arguments.trial)
    print(f"{run.stem}: {judge_run(arguments.folder, run)}", file=sys.stderr)


if __name__ == "__main__":
    run_program(main)
