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
from lensbench.changes.execute import TestRun, Trouble, run_tests
from lensbench.changes.reports import TestResult, unloaded_files
from lensbench.changes.task import PYTEST, ChangeTask, Tests, WrongCopies, content_bytes
from lensbench.core.project_files import is_test_program
from lensbench.repositories.sources.git_program import GitError, git
from lensbench_tasks.changes.nearness import LARGE, nearest_tests, tree_files
from lensbench_tasks.changes.prompts import added_lines
from lensbench_tasks.changes.suites import DJANGO, django_label

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
    reference = content_bytes(task.reference)
    if not reference.strip():
        return ChangeProof(task.id, (*reasons, "it has no reference patch"))
    before = _rounds(tree, b"", task.tests, sandbox, environment, rounds, runs[:1])
    after = []
    if not _trouble(before, is_changed=False):
        after = _rounds(tree, reference, task.tests, sandbox, environment, rounds, runs[1:])
    for name, made in (("without a change", before), ("with the reference", after)):
        if trouble := _trouble(made, is_changed=made is after):
            reasons.append(f"{name}: {trouble}")
    if not after or _trouble(after):
        return ChangeProof(task.id, tuple(reasons))
    paths = sorted(unloaded_files(after[0].results, task.tests.files))
    reasons += [f"the hidden file {path} does not load with the reference" for path in paths]
    own, breaks = (
        _suite(task.tests, tree, reference, sandbox, environment) if not foreign else (0, [])
    )
    reasons += [
        f"the reference breaks {name}" for name in sorted({*breaks, *_broken(before, after)})
    ]
    proof = replace(_compare(task, reasons, before, after), own=own)
    if proof.reasons:
        return proof
    tests = task.tests.model_copy(update={"fail_to_pass": proof.fail_to_pass})
    wrong = tests.wrong_copies or calibrated(tree, reference, tests, sandbox, environment)
    return replace(proof, wrong_copies=wrong)


def _suite(
    tests: Tests, tree: Path, reference: bytes, sandbox: Sandbox, environment: Environment
) -> tuple[int, Sequence[str]]:
    """How many tests of the project's own suite pass, and those that the reference breaks, in two rounds if any does;
    (0, []) when there is no other test, or the suite cannot be run."""
    for words in _commands(tests, tree, reference):
        suite = tests.model_copy(
            update={
                "command": words,
                "timeout_s": _SUITE_TIME * tests.timeout_s,
                "wrong_copies": None,
            }
        )
        before = _rounds(tree, b"", suite, sandbox, environment, 1)
        if not _trouble(before):
            after = _rounds(tree, reference, suite, sandbox, environment, 1)
            if _broken(before, after):
                before = _rounds(tree, b"", suite, sandbox, environment, 2, before)
                after = _rounds(tree, reference, suite, sandbox, environment, 2, after)
            return len(before[0].passing), _broken(before, after)
    return 0, []


def _commands(tests: Tests, tree: Path, reference: bytes) -> Iterator[tuple[str, ...]]:
    """What runs the suite: the command without hidden files; with pytest in all places with tests, else in theirs.
    In a large repository: the nearest tests, else those of them beside the hidden ones."""
    hidden = {word for path in tests.files for word in (path, django_label(path))}
    words = tuple(word for word in tests.command if word.partition("::")[0] not in hidden)
    is_django = DJANGO in words
    if sum(1 for _ in tree_files(tree)) >= LARGE:
        if tests.report == PYTEST or is_django:
            near = nearest_tests(
                tree,
                reference.decode(errors="replace"),
                tests.files,
                _NEAREST,
            )
            folders = {path.rpartition("/")[0] for path in tests.files}
            own = tuple(path for path in near if path.rpartition("/")[0] in folders)
            for paths in dict.fromkeys((near, own)):
                yield (*words, *(django_label(path) if is_django else path for path in paths))
        return
    tops = set[str]()
    every = set[str]()
    if tests.report == PYTEST:
        tops = {path.partition("/")[0] for path in tests.files}
        every = tops | {
            file.relative_to(tree).parts[0]
            for file in tree.rglob("*.py")
            if is_test_program(file.name)
        }
    named = {
        top for word in words if (top := word.partition("/")[0]) in tops or (tree / word).exists()
    }
    if len(words) < len(tests.command) or (named and every - named):
        yield from (
            (*words, *sorted(places - named)) for places in (every, *[tops] * (every != tops))
        )


def _broken(before: Sequence[TestRun], after: Sequence[TestRun]) -> list[str]:
    """The tests that pass in each run of `before` and in none of `after`."""
    return [
        name
        for name in before[0].results
        if all(_passed(run, name) for run in before)
        and not any(_passed(run, name) for run in after)
    ]


def _rounds(
    tree: Path,
    patch: bytes,
    tests: Tests,
    sandbox: Sandbox,
    environment: Environment,
    rounds: int,
    first: Sequence[TestRun] = (),
) -> list[TestRun]:
    """The `first` runs, and more until there are `rounds` or one cannot be used; the first has the wrong copies."""
    runs = [*first]
    while len(runs) < rounds and not any(run.unstarted or run.problem for run in runs):
        runs.append(run_tests(tree, patch, tests, sandbox, environment))
        tests = tests.model_copy(update={"wrong_copies": None})
    return runs


def _trouble(runs: Sequence[TestRun], is_changed: bool = True) -> str:
    """Why a run gave no results. Without a change, the tests may not compile."""
    bad_runs = (
        run
        for run in runs
        if is_changed or run.trouble is not Trouble.NO_REPORT or not run.exit_code
    )
    return next(
        (run.unstarted or run.problem for run in bad_runs if run.unstarted or run.problem), ""
    )


def _compare(
    task: ChangeTask, reasons: list[str], before: Sequence[TestRun], after: Sequence[TestRun]
) -> ChangeProof:
    names = {name for run in (*before, *after) for name in run.results}
    flaky = {
        name
        for name in names
        for runs in (before, after)
        if len({_passed(run, name) for run in runs}) > 1
    }
    goals = [name for name in task.tests.fail_to_pass if name not in flaky]
    fixes = [name for name in goals if not _passed(before[0], name) and _passed(after[0], name)]
    always = [
        name
        for name in sorted(names - flaky)
        if _passed(before[0], name) and _passed(after[0], name)
    ]
    rest = task.tests.pass_to_pass
    passes = (
        [name for name in always if name not in goals]
        if rest == "all"
        else [n for n in rest if n in set(always)]
    )
    reasons += [f"{name} passes without a change" for name in goals if _passed(before[0], name)]
    reasons += [
        f"{name} does not pass with the reference" for name in goals if not _passed(after[0], name)
    ]
    if rest != "all":
        failures = [name for name in rest if name not in set(always) | flaky]
        reasons += [f"{name} is to pass in both cases, and does not" for name in failures]
    if not goals:
        reasons.append("all tests that are to fail first are flaky")
    seconds = round(sum(run.duration_s for run in after) / len(after), 3)
    memory_mb = max(run.memory_mb for run in after)
    flakes = flaky & {*task.tests.fail_to_pass, *(rest if rest != "all" else flaky)}
    return ChangeProof(
        task.id,
        tuple(reasons),
        tuple(sorted(flakes)),
        tuple(fixes),
        tuple(passes),
        seconds,
        memory_mb,
    )


def _passed(run: TestRun, name: str) -> bool:
    return run.results.get(name) is TestResult.PASSED


def _leaks(task: ChangeTask, tree: Path, foreign: bool) -> Iterator[str]:
    """The parts of the hidden tests or of the reference that an agent could read."""
    if not foreign and (line := given_away(task.prompt, content_bytes(task.reference))):
        yield f"the prompt contains a line of the reference: {line!r}"
    for path, content in task.tests.files.items():
        if place := _seen(tree, path, content_bytes(content)):
            yield f"the hidden file {path} can be seen: {place}"


def given_away(prompt: str, reference: bytes) -> str:
    """A line of the reference that is in the prompt, too long to be there by chance; "" when there is none."""
    new_lines = map(flat, added_lines(reference.decode(errors="replace")))
    text = flat(prompt)
    return next(
        (
            line
            for line in new_lines
            if len(line) >= _LONG_LINE and re.search(r"\w", line) and line in text
        ),
        "",
    )


def flat(text: str) -> str:
    """The text with whitespace collapsed, for comparing quotes."""
    return " ".join(text.split())


def _seen(tree: Path, path: str, data: bytes) -> str:
    """Where the history has most of the lines of a hidden file that are new to the pinned version; "" when nowhere."""
    new = set(map(bytes.strip, data.splitlines()))
    try:
        for name in git(tree, "ls-files", "-z", f"*{Path(path).suffix}").decode().split("\0"):
            if (tree / name).is_file() and not (tree / name).is_symlink():
                new.difference_update(map(bytes.strip, (tree / name).read_bytes().splitlines()))
        blob = git(tree, "hash-object", "--stdin", "--no-filters", stdin=data).decode().strip()
        objects = git(tree, "rev-list", "--objects", "--all").decode(errors="replace").split("\n")
        versions = {
            line.split(" ")[0]
            for line in objects
            if line.startswith(blob) or line.endswith(Path(path).name)
        }
        long_lines = {line for line in new if len(line) >= _LONG_LINE}
        for version in sorted(versions):
            if git(tree, "cat-file", "-t", version).strip() == b"blob":
                lines = set(map(bytes.strip, git(tree, "cat-file", "blob", version).splitlines()))
                if len(lines & long_lines) > _SEEN_SHARE * len(long_lines):
                    return f"object {version[:12]} of the history has most of its new lines"
    except GitError:
        return ""
    return ""
