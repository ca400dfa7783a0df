"""Finds the wrong copies in which a task's failing tests fail by an assertion with the reference."""

from __future__ import annotations

from lensbench.changes.execute import Run
from lensbench.changes.reports import TestResult
from lensbench.changes.task import EXIT, EXIT_ID, Tests, WrongCopies
from lensbench.changes.wrong_copy import EXIT_COPIES, Kinds, test_names, wrong_copy
from lensbench.changes.wrong_kinds import CopyKind


def calibrated(run: Run, reference: bytes, tests: Tests) -> WrongCopies:
    """The first kind of copy, for each failing test, in which it fails by an assertion; some have none."""
    groups = [list(tests.fail_to_pass)]
    if tests.report == EXIT:  # each is wrong alone
        groups = [[name] for name in test_names(tests)[:EXIT_COPIES]]
    found: dict[str, CopyKind] = {}
    for group in groups:
        found |= _first_kinds(run, reference, tests, group)
    return WrongCopies.of(found)


def _first_kinds(run: Run, reference: bytes, tests: Tests, names: list[str]) -> Kinds:
    found: dict[str, CopyKind] = {}
    for kind in CopyKind:
        kinds = {**dict.fromkeys(names, kind), **found}
        copy = wrong_copy(tests, kinds)
        if copy.files == tests.files:
            continue
        results = run(reference, copy).results
        found = {}
        for name in names:
            label = EXIT_ID if tests.report == EXIT else name
            if results.get(label) is TestResult.ASSERTED:
                found[name] = kinds[name]
        if len(found) == len(names):
            break
    return found
