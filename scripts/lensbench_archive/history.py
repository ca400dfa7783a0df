"""Finds the versions at which a series of benchmarks became better or worse (docs/history.md).

A series is a table of differences: a row for each benchmark in order of time, a column for each task. A step is between
two neighbours: the difference of the stretch of benchmarks after it and the one before it, task by task. All stretches
that touch are compared at once, with one limit for all of them (`contrasts`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lensbench.core.numeric import Floats, np
from lensbench_archive.contrasts import ALPHA, Contrast, contrasts

MOST_BENCHMARKS = 60
"""Benchmarks of a series that are looked at, the newest ones: the number of stretches grows with the cube."""


class SeriesStep(NamedTuple):
    """A change between two neighbouring benchmarks of a series. Differences are shares of 1."""

    place: int
    """The number of the first benchmark after it, from 0."""
    first: int
    """The first benchmark of the stretch before it."""
    end: int
    """The first benchmark after the stretch behind it."""
    delta: float
    low: float
    """The interval holds for all stretches together."""
    high: float
    tasks: int
    """Tasks that every benchmark of both stretches has."""
    most: int
    """The number of the task that changed most in this direction."""

    @property
    def is_worse(self) -> bool:
        return self.delta < 0


def steps(
    differences: Sequence[Sequence[float | None]],
    repositories: Sequence[str | None],
    alpha: float = ALPHA,
    seed: int = 1,
) -> list[SeriesStep]:
    """The steps of a series in order of time.

    `differences`: for each benchmark, that of each task, as shares of 1; None where it has none. `repositories`: those
    of the tasks.
    """
    offset = max(len(differences) - MOST_BENCHMARKS, 0)
    rows = []
    for row in differences[offset:]:
        rows.append([math.nan if cell is None else cell for cell in row])
    if len(rows) < 2:
        return []
    table = np.array(rows)
    spans = [*_spans(len(table))]
    compared = contrasts(np.array([_change(table, span) for span in spans]), repositories)
    if not compared.kept:
        return []
    kept = [spans[number] for number in compared.kept]
    search = _Search(kept, compared.estimates(alpha, seed))
    found = []
    for number in search.steps(len(table)):
        found.append(_step(table, kept[number], search.found[number], offset))
    return found


def _spans(length: int) -> Iterator[tuple[int, int, int]]:
    for first in range(length):
        for place in range(first + 1, length):
            for end in range(place + 1, length + 1):
                yield first, place, end


def _change(table: Floats, span: tuple[int, int, int]) -> Floats:
    """By task: the mean after the step less that before it; NaN unless every benchmark has the task."""
    first, place, end = span
    change: Floats = table[place:end].mean(axis=0) - table[first:place].mean(axis=0)
    return change


class _Search(NamedTuple):
    """The search for steps among stretches, by what was found for each."""

    spans: Sequence[tuple[int, int, int]]
    found: Sequence[Contrast]

    def steps(self, end: int) -> list[int]:
        """The numbers of the stretches that show a step, in order of time.

        A stretch that reaches over a step also differs when it is cut beside the step. So a step counts only if it is
        clear between its neighbours, too; the least clear one is dropped first.
        """
        places = sorted(self._places(0, end))
        while places:
            bounds = [0, *places, end]
            shown = []
            for before, place, after in zip(bounds, places, bounds[2:], strict=False):
                shown.append(self._clearest(before, after, place))
            weakest = min(range(len(shown)), key=lambda step: self._clearness(shown[step]))
            if self._clearness(shown[weakest]) > 1:
                return [number for number in shown if number is not None]
            del places[weakest]
        return []

    def _places(self, start: int, end: int) -> Iterator[int]:
        """Where the clearest step between two benchmarks lies, and those on each side of it."""
        number = self._clearest(start, end)
        if number is not None and self._clearness(number) > 1:
            place = self.spans[number][1]
            yield place
            yield from self._places(start, place)
            yield from self._places(place, end)

    def _clearest(self, start: int, end: int, place: int | None = None) -> int | None:
        """The clearest stretch between two benchmarks; that with the step at this place, if one is given."""
        best = None
        for number, (first, middle, last) in enumerate(self.spans):
            is_there = start <= first and last <= end and place in (None, middle)
            if is_there and self._clearness(number) > self._clearness(best):
                best = number
        return best

    def _clearness(self, number: int | None) -> float:
        return -1.0 if number is None else self.found[number].clearness


def _step(table: Floats, span: tuple[int, int, int], contrast: Contrast, offset: int) -> SeriesStep:
    change = _change(table, span)
    most = np.nanargmin(change) if contrast.delta < 0 else np.nanargmax(change)
    first, place, end = span
    return SeriesStep(
        place=place + offset,
        first=first + offset,
        end=end + offset,
        delta=contrast.delta,
        low=contrast.low,
        high=contrast.high,
        tasks=contrast.tasks,
        most=int(most),
    )
