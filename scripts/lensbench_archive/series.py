"""Puts benchmarks that can be compared into series over the versions of a server, and says where each one changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from lensbench.core.numbers import interval, points
from lensbench.core.tables import grouped
from lensbench.scores.rules import FEWEST_TASKS
from lensbench_archive.history import SeriesStep, steps
from lensbench_archive.matrix import Matrix
from lensbench_archive.table_rows import DOT, TableRow


class Series(NamedTuple):
    """Benchmarks of one server with the same agent, model, profile and task set, in order of time."""

    name: str
    rows: Sequence[TableRow]
    steps: Sequence[SeriesStep]
    sentences: Sequence[str]
    """One for each step."""

    @property
    def is_worse(self) -> bool:
        """True when its last step made it worse."""
        return bool(self.steps) and self.steps[-1].is_worse


def series_of(
    rows: Sequence[TableRow], matrices: Sequence[Matrix]
) -> tuple[list[Series], list[str]]:
    """The series of two or more benchmarks; and what is compared neither there nor in a matrix, one sentence each."""
    by_setting = grouped(sorted(rows, key=lambda row: row.started), _setting)
    found: list[Series] = []
    apart: list[str] = []
    for own in by_setting.values():
        stretches = [*_with_shared_tasks(own)]
        for before, after in pairwise(stretches):
            apart.append(_too_little(before[-1], after[0]))
        for stretch in stretches:
            if len(stretch) > 1:
                found.append(_series(stretch))
    compared = [{_setting(row) for row in matrix.rows} for matrix in matrices]
    return found, [*apart, *_other_settings(by_setting, compared)]


def _too_little(before: TableRow, after: TableRow) -> str:
    count = len(_shared([before, after]))
    return (
        f"{_name(before)}: {before.label} and {after.label} are not compared: they share {count} tasks"
        f" with the same prompt and criteria, and {FEWEST_TASKS} are needed."
    )


def _other_settings(
    by_setting: Mapping[tuple[str, ...], object], compared: Sequence[set[tuple[str, ...]]]
) -> Iterator[str]:
    """A sentence for each server that was measured with more than one setting. `compared`: those of each matrix."""
    for server, own in grouped(by_setting, lambda setting: setting[0]).items():
        if len(own) > 1 and not any(settings.issuperset(own) for settings in compared):
            names = "; ".join(DOT.join(setting[1:]) for setting in own)
            yield f"{server}: benchmarks with different settings are not compared: {names}."


def _setting(row: TableRow) -> tuple[str, ...]:
    return (
        row.server,
        *row.cell,
        row.profile,
        row.task_set,
    )


def _name(row: TableRow) -> str:
    return DOT.join(_setting(row))


def _shared(rows: Sequence[TableRow]) -> list[str]:
    """The tasks that all rows have, in the order of the first."""
    keys = [*rows[0].differences]
    for row in rows[1:]:
        keys = [key for key in keys if key in row.differences]
    return keys


def _with_shared_tasks(rows: Sequence[TableRow]) -> Iterator[list[TableRow]]:
    """The rows, apart where two neighbours share too few tasks."""
    stretch = [rows[0]]
    for row in rows[1:]:
        if len(_shared([stretch[-1], row])) < FEWEST_TASKS:
            yield stretch
            stretch = []
        stretch.append(row)
    yield stretch


def _series(rows: Sequence[TableRow]) -> Series:
    repositories: dict[str, str | None] = {}
    for row in rows:
        repositories.update(row.repositories)
    keys = [*repositories]
    differences = []
    for row in rows:
        differences.append([row.differences.get(key) for key in keys])
    found = steps(differences, [*repositories.values()])
    sentences = [_sentence(rows, keys, step) for step in found]
    return Series(_name(rows[0]), rows, found, sentences)


def _sentence(rows: Sequence[TableRow], keys: Sequence[str], step: SeriesStep) -> str:
    """`2.3 -> 2.4: -11.0 points (-19.0 to -3.0), 24 shared tasks; first bad task: ...`"""
    before = rows[step.place - 1]
    after = rows[step.place]
    old = before.label
    new = after.label
    if old == new:
        old = f"{old} ({before.benchmark})"
        new = f"{new} ({after.benchmark})"
    word = "bad" if step.is_worse else "better"
    task = keys[step.most].rpartition(" ")[0]
    ends = interval(step.low, step.high, "")
    text = (
        f"{old} -> {new}: {points(step.delta)} ({ends}), "
        f"{step.tasks} shared tasks; first {word} task: {task}"
    )
    if before.agent_version != after.agent_version:
        text += f"; the agent changed, too: {before.agent_version} -> {after.agent_version}"
    return text
