"""Says whether agents and models differ in what a server does for them: benchmarks of one version on the same tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from lensbench.core.numbers import interval, points
from lensbench.core.numeric import np
from lensbench.core.tables import grouped
from lensbench.scores.rules import FEWEST_TASKS
from lensbench_archive.contrasts import Contrast, contrasts
from lensbench_archive.table_rows import DOT, TableRow

MOST_CELLS = 40
"""Cells that are compared, the newest ones: the number of pairs grows with the square."""


class Matrix(NamedTuple):
    """The newest benchmark of each agent and model, by name."""

    name: str
    rows: Sequence[TableRow]
    sentences: Sequence[str]
    """The pairs that differ, and what of the others."""


def matrices_of(rows: Iterable[TableRow]) -> list[Matrix]:
    """A matrix for each server, version, profile and task set with two or more agents or models."""
    found = []
    by_time = sorted(rows, key=lambda row: row.started)
    for what, own in grouped(by_time, _what).items():
        cells = {row.cell: row for row in own}  # the newest of each
        if len(cells) > 1:
            kept = sorted([*cells.values()][-MOST_CELLS:], key=lambda row: row.cell)
            found.append(Matrix(DOT.join(what), kept, [*_sentences(kept)]))
    return found


def _what(row: TableRow) -> tuple[str, str, str]:
    return f"{row.server} {row.version}".strip(), row.profile, row.task_set


def _sentences(cells: Sequence[TableRow]) -> Iterator[str]:
    pairs = [*combinations(cells, 2)]
    compared = _compared(cells, pairs)
    alike = 0
    for number, contrast in compared.items():
        if contrast.clearness > 1:
            yield _difference(*pairs[number], contrast)
        else:
            alike += 1
    lost = len(pairs) - len(compared)
    if alike == len(pairs):
        yield "no two of them differ by more than chance may explain"
    elif alike:
        yield f"other pairs, which differ by no more than chance may explain: {alike}"
    if lost:
        yield f"pairs that share fewer tasks than a comparison needs ({FEWEST_TASKS}): {lost}"


def _compared(
    cells: Sequence[TableRow], pairs: Sequence[tuple[TableRow, TableRow]]
) -> dict[int, Contrast]:
    """What is found for a pair, by its number; pairs that share too few tasks have nothing."""
    repositories: dict[str, str | None] = {}
    for row in cells:
        repositories.update(row.repositories)
    changes = []
    for first, second in pairs:
        changes.append([_change(first, second, task) for task in repositories])
    found = contrasts(np.array(changes), [*repositories.values()])
    if not found.kept:
        return {}
    return dict(zip(found.kept, found.estimates(), strict=True))


def _change(first: TableRow, second: TableRow, task: str) -> float:
    """How much more the treatment adds with the first; NaN where one of them has no such task."""
    return first.differences.get(task, math.nan) - second.differences.get(task, math.nan)


def _difference(first: TableRow, second: TableRow, contrast: Contrast) -> str:
    """`claude-code · sonnet less codex · gpt-5: +12.0 points (+3.1 to +20.9), 24 shared tasks`"""
    ends = interval(contrast.low, contrast.high, "")
    names = f"{DOT.join(first.cell)} less {DOT.join(second.cell)}"
    return f"{names}: {points(contrast.delta)} ({ends}), {contrast.tasks} shared tasks"
