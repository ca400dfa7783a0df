"""Finds the independent changes between two releases of a package that make tests of the later one pass."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.project_files import is_test_program
from lensbench.core.system.trees import copy_tree
from lensbench_tasks.changes.kinds import FileKind, kind_of
from lensbench_tasks.changes.pieces import EditPiece, apply, differences, own_names
from lensbench_tasks.changes.reducing import separate

RunTests = Callable[[Path, Sequence[str], Collection[str]], Mapping[str, bool] | None]
"""Runs test files in a tree (without any: the project's whole suite), or at least the tests with these ids in them.
Returns test id -> passed, or None when they did not finish."""

MAX_PIECES = 60
MAX_FAILING = 40
"""The maximum number of failing tests per file; more indicate a failing import, which separates no changes."""


class ReleaseChange(NamedTuple):
    """A change that tests can separate from the rest of the release."""

    pieces: tuple[EditPiece, ...]
    tests: tuple[str, ...]
    """The hidden test files."""
    fail_to_pass: tuple[str, ...]


def changes_between(earlier: Path, later: Path, run: RunTests) -> list[ReleaseChange]:
    """The independent changes from `earlier` to `later` that tests need, most tests first.

    None breaks a test that passed before and passes with all of them. Pieces that no test needs belong to the changes
    with which they share a name of their own. Raises UserError when there are more than MAX_PIECES pieces.
    """
    pieces = differences(earlier, later, lambda path: kind_of(path) is FileKind.SOURCE)
    tests = differences(earlier, later, lambda path: kind_of(path) is FileKind.TEST)
    paths = dict.fromkeys(piece.path for piece in tests if piece.lines)
    programs = [path for path in paths if is_test_program(path)]
    if len(pieces) > MAX_PIECES:
        raise UserError(
            f"the releases differ in {len(pieces)} places, more than {MAX_PIECES}; choose closer releases"
        )

    def passing(
        files: Sequence[str], selection: Iterable[int], only: Collection[str] = ()
    ) -> frozenset[str] | None:
        with tempfile.TemporaryDirectory(prefix="lb-") as folder:
            tree = Path(folder, "tree")
            copy_tree(str(earlier), str(tree))
            apply(map(pieces.__getitem__, selection), tree)
            apply(tests, tree)
            results = run(tree, files, only)
        if results is None:
            return None
        return frozenset(test for test, success in results.items() if success)

    everything = range(len(pieces))
    asking = {}
    for file in programs:
        after = passing([file], everything)
        before = passing([file], ()) if after else None
        if after and before is not None and 0 < len(after - before) <= MAX_FAILING:
            asking[file] = after - before
    if not asking:
        return []
    failing = frozenset[str]().union(*asking.values())
    passing_before = passing([], ()) or frozenset()
    passing_after = passing([], everything) or frozenset()
    baseline = passing_before & passing_after
    apart = separate(
        len(pieces),
        failing,
        lambda selection: passing([*asking], selection, failing) or frozenset(),
        lambda selection: baseline <= (passing([], selection) or frozenset()),
    )
    names = own_names(pieces, earlier)
    unneeded = set(everything)
    for change in apart:
        unneeded -= change.pieces
    helpers = [path for path in paths if path not in programs]
    changes = []
    for change in apart:
        own = set[bytes]()
        for number in change.pieces:
            own |= names[number]
        selection = set(change.pieces)
        for number in unneeded:
            if names[number] & own:
                selection.add(number)
        files = [file for file in asking if asking[file] & change.tests]
        edits = tuple(pieces[number] for number in sorted(selection))
        tests_of_change = (*files, *helpers)
        failing_tests = tuple(sorted(change.tests))
        changes.append(ReleaseChange(edits, tests_of_change, failing_tests))
    return sorted(changes, key=lambda change: -len(change.fail_to_pass))
