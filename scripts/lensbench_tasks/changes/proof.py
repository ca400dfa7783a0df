"""Proves that a change task can be judged: tests fail and pass as it says in several rounds, the reference breaks none
that passed before, hidden or the project's own, each hidden file loads, and no agent can see the solution."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lensbench.agents.sandbox import Sandbox
from lensbench.changes.calibration import calibrated
from lensbench.changes.environment import NO_ENVIRONMENT, Environment
from lensbench.changes.execute import Run, TestRun, Trouble, runs_of_trusted
from lensbench.changes.reports import unloaded_files
from lensbench.changes.task import PYTEST, ChangeTask, Tests, WrongCopies, content_bytes
from lensbench.core.project_files import is_test_program
from lensbench.repositories.sources.git_program import GitError, git
from lensbench_tasks.changes.nearness import LARGE, nearest_tests, tree_files
from lensbench_tasks.changes.prompts import added_lines
from lensbench_tasks.changes.suites import Suite, django_label, form_of

ROUNDS = 3
_LONG_LINE = 24
"""A line of this length is hardly in two places by chance."""
_SEEN_SHARE = 0.5
_NEAREST = 6
_SUITE_TIME = 10
"""How many times longer than the hidden tests the project's own suite may take."""


@dataclass(frozen=True)
class ChangeProof:
    """The findings about a task."""

    task: str
    reasons: tuple[str, ...] = ()
    """Why it cannot be used; empty when it can."""
    flaky: tuple[str, ...] = ()
    """Tests with different results between rounds; they are excluded."""
    fail_to_pass: tuple[str, ...] = ()
    """The proven tests."""
    pass_to_pass: tuple[str, ...] = ()
    seconds: float = 0.0
    """The average duration of a test run with the reference."""
    memory_mb: int = 0
    own: int = 0
    """How many tests of the project's whole suite pass without a change; 0 when it could not be run."""
    wrong_copies: WrongCopies | None = None
    """The proven tests that fail by an assertion in a wrong copy."""


def prove(
    task: ChangeTask,
    tree: Path,
    sandbox: Sandbox,
    environment: Environment = NO_ENVIRONMENT,
    rounds: int = ROUNDS,
    foreign: bool = False,
    runs: Sequence[TestRun] = (),
) -> ChangeProof:
    """The proof of a task whose repository is in `tree`. A data set of others (`foreign`) has own words and tests:
    neither prompt nor suite are examined. `runs`: a first round."""
    reasons = [*_leaks(task, tree, foreign)]
    if not content_bytes(task.reference).strip():
        return ChangeProof(task.id, (*reasons, "it has no reference patch"))
    with runs_of_trusted(tree, sandbox, environment) as run:
        return _proven(task, tree, run, rounds, foreign, runs, reasons)


def _proven(
    task: ChangeTask,
    tree: Path,
    run: Run,
    rounds: int,
    foreign: bool,
    runs: Sequence[TestRun],
    reasons: list[str],
) -> ChangeProof:
    reference = content_bytes(task.reference)
    before = _rounds(run, b"", task.tests, rounds, runs[:1])
    trouble = _trouble(before, is_changed=False)
    if trouble:
        return ChangeProof(task.id, (*reasons, f"without a change: {trouble}"))
    after = _rounds(run, reference, task.tests, rounds, runs[1:])
    trouble = _trouble(after)
    if trouble:
        return ChangeProof(task.id, (*reasons, f"with the reference: {trouble}"))
    for path in sorted(unloaded_files(after[0].results, task.tests.files)):
        reasons.append(f"the hidden file {path} does not load with the reference")
    own = 0
    broken = _broken(before, after)
    if not foreign:
        own, breaks = _suite(run, task.tests, tree, reference)
        broken |= breaks
    for name in sorted(broken):
        reasons.append(f"the reference breaks {name}")
    proof = replace(_compare(task, reasons, before, after), own=own)
    if proof.reasons:
        return proof
    tests = task.tests.model_copy(update={"fail_to_pass": proof.fail_to_pass})
    return replace(proof, wrong_copies=tests.wrong_copies or calibrated(run, reference, tests))


def _suite(run: Run, tests: Tests, tree: Path, reference: bytes) -> tuple[int, set[str]]:
    """How many tests of the project's own suite pass, and those that the reference breaks, in two rounds if any does;
    zero and none when there is no other test, or the suite cannot be run."""
    timeout_s = _SUITE_TIME * tests.timeout_s
    for words in _commands(tests, tree, reference):
        whole = {"command": words, "timeout_s": timeout_s, "wrong_copies": None}
        suite = tests.model_copy(update=whole)
        before = _rounds(run, b"", suite, 1)
        if not _trouble(before):
            after = _rounds(run, reference, suite, 1)
            if _broken(before, after):
                before = _rounds(run, b"", suite, 2, before)
                after = _rounds(run, reference, suite, 2, after)
            return len(before[0].passing), _broken(before, after)
    return 0, set()


def _commands(tests: Tests, tree: Path, reference: bytes) -> Iterator[tuple[str, ...]]:
    """What runs the suite: the command without hidden files; with pytest in all places with tests, else in theirs.
    In a large repository: the nearest tests, else those of them beside the hidden ones."""
    hidden = {*tests.files, *map(django_label, tests.files)}
    words = tuple(word for word in tests.command if word.partition("::")[0] not in hidden)
    files = [*tree_files(tree)]
    if len(files) < LARGE:
        yield from _commands_by_folder(tests, words, tree, files)
        return
    suite = Suite(
        (),
        tests.command,
        tests.report,
        form=form_of(tests.command),
    )
    text = reference.decode(errors="replace")
    near = nearest_tests(
        tree,
        text,
        tests.files,
        _NEAREST,
    )
    folders = {path.rpartition("/")[0] for path in tests.files}
    own = tuple(path for path in near if path.rpartition("/")[0] in folders)
    for paths in dict.fromkeys((near, own)):
        command = [*words]
        for place in map(suite.argument, paths):
            if place not in command:
                command.append(place)
        yield tuple(command)


def _commands_by_folder(
    tests: Tests, words: Sequence[str], tree: Path, files: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    tops = set[str]()
    every = set[str]()
    if tests.report == PYTEST:
        tops = {path.partition("/")[0] for path in tests.files}
        every = set(tops)
        for path in filter(is_test_program, files):
            if path.endswith(".py"):
                every.add(path.partition("/")[0])
    named = set[str]()
    for word in words:
        top = word.partition("/")[0]
        if top in tops or (tree / word).exists():
            named.add(top)
    if len(words) < len(tests.command) or (named and every - named):
        yield (*words, *sorted(every - named))
        if every != tops:
            yield (*words, *sorted(tops - named))


def _broken(before: Sequence[TestRun], after: Sequence[TestRun]) -> set[str]:
    """The tests that pass in each run of `before` and in none of `after`."""
    broken = set(before[0].results)
    for run in before:
        broken &= run.passing
    for run in after:
        broken -= run.passing
    return broken


def _rounds(
    run: Run, patch: bytes, tests: Tests, rounds: int, first: Sequence[TestRun] = ()
) -> list[TestRun]:
    """The `first` runs, and more until there are `rounds` or one cannot be used; the first has the wrong copies."""
    runs = [*first]
    while len(runs) < rounds and not _trouble(runs):
        runs.append(run(patch, tests))
        tests = tests.model_copy(update={"wrong_copies": None})
    return runs


def _trouble(runs: Sequence[TestRun], is_changed: bool = True) -> str:
    """Why a run gave no results. Without a change, the tests may not compile."""
    for run in runs:
        problem = run.unstarted or run.problem
        is_compiler_error = run.trouble is Trouble.NO_REPORT and run.exit_code
        if problem and (is_changed or not is_compiler_error):
            return problem
    return ""


def _compare(
    task: ChangeTask, reasons: list[str], before: Sequence[TestRun], after: Sequence[TestRun]
) -> ChangeProof:
    flaky = _flaky(before) | _flaky(after)
    goals = [name for name in task.tests.fail_to_pass if name not in flaky]
    fixes = []
    for name in goals:
        if name in before[0].passing:
            reasons.append(f"{name} passes without a change")
        elif name in after[0].passing:
            fixes.append(name)
        if name not in after[0].passing:
            reasons.append(f"{name} does not pass with the reference")
    always = before[0].passing & after[0].passing - flaky
    wanted = task.tests.pass_to_pass
    if wanted == "all":
        passes = sorted(always.difference(goals))
        excluded = flaky
    else:
        passes = [name for name in wanted if name in always]
        excluded = flaky.intersection((*task.tests.fail_to_pass, *wanted))
        for name in wanted:
            if name not in always | flaky:
                reasons.append(f"{name} is to pass in both cases, and does not")
    if not goals:
        reasons.append("all tests that are to fail first are flaky")
    return ChangeProof(
        task.id,
        tuple(reasons),
        tuple(sorted(excluded)),
        tuple(fixes),
        tuple(passes),
        round(sum(run.duration_s for run in after) / len(after), 3),
        max(run.memory_mb for run in after),
    )


def _flaky(runs: Sequence[TestRun]) -> set[str]:
    """The tests that pass in some of the runs only."""
    some = set[str]()
    every = set(runs[0].passing)
    for run in runs:
        some |= run.passing
        every &= run.passing
    return some - every


def _leaks(task: ChangeTask, tree: Path, foreign: bool) -> Iterator[str]:
    """The parts of the hidden tests or of the reference that an agent could read."""
    line = given_away(task.prompt, content_bytes(task.reference))
    if line and not foreign:
        yield f"the prompt contains a line of the reference: {line!r}"
    for path, content in task.tests.files.items():
        if place := _seen(tree, path, content_bytes(content)):
            yield f"the hidden file {path} can be seen: {place}"


def given_away(prompt: str, reference: bytes) -> str:
    """A line of the reference that is in the prompt, too long to be there by chance; "" when there is none."""
    text = flat(prompt)
    patch = reference.decode(errors="replace")
    for line in map(flat, added_lines(patch)):
        if len(line) >= _LONG_LINE and re.search(r"\w", line) and line in text:
            return line
    return ""


def flat(text: str) -> str:
    """The text with whitespace collapsed, for comparing quotes."""
    return " ".join(text.split())


def _seen(tree: Path, path: str, data: bytes) -> str:
    """Where the history has most of the lines of a hidden file that are new to the pinned version; "" when nowhere."""
    new = _lines(data)
    try:
        names = git(tree, "ls-files", "-z", f"*{Path(path).suffix}")
        for name in names.decode().split("\0"):
            file = tree / name
            if file.is_file() and not file.is_symlink():
                new -= _lines(file.read_bytes())
        long_lines = {line for line in new if len(line) >= _LONG_LINE}
        for version in _versions(tree, path, data):
            if git(tree, "cat-file", "-t", version).strip() == b"blob":
                lines = _lines(git(tree, "cat-file", "blob", version))
                if len(lines & long_lines) > _SEEN_SHARE * len(long_lines):
                    return f"object {version[:12]} of the history has most of its new lines"
    except GitError:
        return ""
    return ""


def _lines(data: bytes) -> set[bytes]:
    return set(map(bytes.strip, data.splitlines()))


def _versions(tree: Path, path: str, data: bytes) -> list[str]:
    """The objects of the history with a hidden file's content, or its name."""
    blob = git(tree, "hash-object", "--stdin", "--no-filters", stdin=data)
    objects = git(tree, "rev-list", "--objects", "--all")
    start = blob.decode().strip()
    end = Path(path).name
    versions = set()
    for line in objects.decode(errors="replace").split("\n"):
        if line.startswith(start) or line.endswith(end):
            versions.add(line.split(" ")[0])
    return sorted(versions)
