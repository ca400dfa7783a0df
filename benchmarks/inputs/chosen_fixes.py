"""The change task of one fix of a release, which a person chose: what `change_set.py` builds sets from."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from lensbench.changes.task import ChangeTask, FromSource
from lensbench.core.project_files import is_test_program
from lensbench.core.tasks import Category
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.candidates import ChangeFate, Prover, deciding_tests
from lensbench_tasks.changes.from_releases import Releases, contents_of
from lensbench_tasks.changes.kinds import FileKind, kind_of
from lensbench_tasks.changes.pieces import EditPiece, differences, patch, piece_text


@dataclass(frozen=True)
class ChosenFix:
    """One fix of the later release, chosen by a person who has read the difference."""

    id: str
    prompt: str
    paths: tuple[str, ...]
    """The files and folders of the fix and of its tests; a test file that is named may be unchanged."""
    words: str = ""
    """A regular expression for the pieces of the source that belong to it; "" takes all of these files."""


def chosen_task(fix: ChosenFix, releases: Releases, bench: Prover) -> ChangeFate:
    """The task of a chosen fix, or the reasons against it. Raises UserError when a release cannot be fetched."""
    earlier = prepare(releases.earlier, bench.cache).tree.resolve()
    later = prepare(releases.later, bench.cache).tree.resolve()
    suite = bench.suite(earlier)
    environment = suite.environments[0]
    installation = bench.environment(environment, earlier)

    def chosen(kind: FileKind) -> list[EditPiece]:
        return differences(
            earlier, later, lambda path: _is_below(path, fix.paths) and kind_of(path) is kind
        )

    pieces = []
    for piece in chosen(FileKind.SOURCE):
        if re.search(fix.words, piece_text(piece, earlier)):
            pieces.append(piece)
    tests_of_fix = {piece.path for piece in chosen(FileKind.TEST) if piece.lines}
    for path in filter(is_test_program, fix.paths):
        if (later / path).is_file():
            tests_of_fix.add(path)
    paths = sorted(tests_of_fix)
    programs = [*filter(is_test_program, paths)]
    sources = sorted({piece.path for piece in pieces})
    size = sum(piece.size for piece in pieces)
    what = f"{', '.join(sources)}: {size} lines"
    reference = patch(pieces, earlier)
    files = contents_of(later, paths)
    tests = bench.hidden_tests(suite, programs, files)
    runs = bench.before_and_after(earlier, reference.encode(), tests, installation)
    failing, _ = deciding_tests(*runs)
    if not failing:
        why = next((run.problem for run in runs if run.problem), "no test fails without it")
        return ChangeFate.refused(fix.id, what, why)
    proven = {
        "files": dict.fromkeys(paths, FromSource(source=releases.later)),
        "fail_to_pass": failing,
        "pass_to_pass": "all",
    }
    tests = tests.model_copy(update=proven)
    task = ChangeTask(
        id=fix.id,
        kind="change",
        category=Category.DEBUG,
        repository=releases.earlier,
        prompt=fix.prompt,
        tests=tests,
        environment=environment,
        reference=reference,
    )
    return bench.judged(task, what, earlier, installation, runs=runs)


def _is_below(path: str, places: Collection[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)
