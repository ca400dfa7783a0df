"""The changes of runs in change tasks, for the page of a pair."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.changes.task import content_bytes, read_task, task_file
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.core.system.files import read_typed
from lensbench.judging.changes import Tested, tested_file


class TestedChange(NamedTuple):
    """The change of a run, and the test results."""

    patch: Sequence[tuple[str, str]]
    """Kind (`added`, `removed`, `place`, or empty) and text of each line."""
    results: Mapping[str, str]
    """Results by test; empty for an unreported one."""
    problem: str
    left_out: Sequence[str]
    output: str
    lint: int | None = None
    """New findings of the linter; None without a linter."""


MOST_LINES = 2000
"""The maximum length of a patch on a page."""


def _lines(patch: bytes) -> list[tuple[str, str]]:
    """The lines of a patch with their kinds."""
    lines = []
    for line in patch.decode(errors="replace").removesuffix("\n").split("\n")[:MOST_LINES]:
        is_place = line.startswith(("diff ", "index ", "@@", "+++", "---"))
        kind = "place" if is_place else {"+": "added", "-": "removed"}.get(line[:1], "")
        lines.append((kind, line))
    return lines


def reference_of(folder: Path, task: str) -> list[tuple[str, str]]:
    """The reference as lines of a patch; empty when it is not in the run folder."""
    file = task_file(folder, task)
    return _lines(content_bytes(read_task(folder, task).reference)) if file.exists() else []


def change_of(folder: Path, run: RunId) -> TestedChange | None:
    """The change of a run; None for a question, and before the tests have run."""
    patch, file = run_files(folder, run).patch, tested_file(folder, run)
    if not (patch.exists() and file.exists()):
        return None
    report = read_typed(file, Tested)
    results = {**report.fixed, **report.kept}
    problem = report.unstarted or report.problem
    return TestedChange(_lines(patch.read_bytes()), results, problem, report.left_out, report.output, report.lint)
