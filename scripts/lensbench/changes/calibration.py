"""Finds the wrong copies in which a task's failing tests fail by an assertion with the reference."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lensbench.agents.sandbox import Sandbox
from lensbench.changes.environment import Environment
from lensbench.changes.execute import run_tests
from lensbench.changes.reports import TestResult
from lensbench.changes.task import EXIT, EXIT_ID, Tests, WrongCopies
from lensbench.changes.wrong_copy import EXIT_COPIES, Kinds, test_names, wrong_copy
from lensbench.changes.wrong_kinds import CopyKind


def calibrated(
    tree: Path, reference: bytes, tests: Tests, sandbox: Sandbox, environment: Environment
) -> WrongCopies:
    """The first kind of copy, for each failing test, in which it fails by an assertion; some have none."""
    found: dict[str, CopyKind] = {}
    for group in _groups(tests):
        found |= _first_kinds(tree, reference, tests, sandbox, environment, group)
    return WrongCopies.of(found)


def _groups(tests: Tests) -> Iterable[list[str]]:
    """The tests that are wrong together: all, or each alone where only the exit status counts."""
    if tests.report == EXIT:
        return [[name] for name in test_names(tests)[:EXIT_COPIES]]
    return [list(tests.fail_to_pass)]


def _first_kinds(
    tree: Path,
    reference: bytes,
    tests: Tests,
    sandbox: Sandbox,
    environment: Environment,
    names: list[str],
) -> Kinds:
    found: dict[str, CopyKind] = {}
    for kind in CopyKind:
        kinds = {**dict.fromkeys(names, kind), **found}
        copy = wrong_copy(tests, kinds)
        if copy.files == tests.files:
            continue
        results = run_tests(tree, reference, copy, sandbox, environment).results
        id_of = (
            dict.fromkeys(names, EXIT_ID)
            if tests.report == EXIT
            else dict(zip(names, names, strict=True))
        )
        asserted = {name for name in names if results.get(id_of[name]) is TestResult.ASSERTED}
        found = {name: kinds[name] for name in names if name in asserted}
        if len(found) == len(names):
            break
    return found
