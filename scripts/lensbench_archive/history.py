"""Finds the versions at which a series of benchmarks became better or worse (docs/history.md).

A series is a table of differences: a row for each benchmark in order of time, a column for each task. A step is between
two neighbours: the difference of the stretch of benchmarks after it and the one before it, task by task. All stretches
that touch are compared at once, and one limit is for the largest of their t values: in a series in which nothing
changed, it is exceeded with the chance `alpha` (sign flips of tasks, or of whole repositories; Westfall and Young,
1993).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lensbench.scores.intervals import codes, units_of
from lensbench.scores.power import FEWEST_REPOSITORIES
from lensbench.scores.rules import FEWEST_TASKS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]

ALPHA = 0.04
"""A little below the promised 0.05, since scores are few values, and not symmetric."""
FLIPS = 1_999
MOST = 60
"""Benchmarks of a series that are looked at, the newest ones: the number of stretches grows with the cube."""


class Step(NamedTuple):
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


class _Stretches(NamedTuple):
    """The differences of all stretches that touch, with a unit for each task or repository."""

    spans: Sequence[tuple[int, int, int]]
    """First benchmark before the step, first one after it, and the end."""
    units: Floats
    """Units x stretches; 0 where a unit has no task that the stretch can use."""
    counts: Floats
    """Units of each stretch that have one."""

    def t_values(self, signs: Floats) -> Floats:
        """Sets of signs x stretches: the t value of the mean over units, with these signs of the units."""
        import numpy as np

        means = signs @ self.units / self.counts
        squares = (self.units**2).sum(axis=0)
        spread = np.maximum(squares - self.counts * means**2, 1e-12) / (self.counts - 1)
        values: Floats = means / np.sqrt(spread / self.counts)
        return values


def steps(
    differences: Sequence[Sequence[float | None]],
    repositories: Sequence[str | None],
    alpha: float = ALPHA,
    seed: int = 1,
) -> list[Step]:
    """The steps of a series in order of time.

    `differences`: for each benchmark, that of each task, as shares of 1; None where it has none. `repositories`: those
    of the tasks.
    """
    import numpy as np

    offset = max(len(differences) - MOST, 0)
    rows = []
    for row in differences[offset:]:
        rows.append([math.nan if cell is None else cell for cell in row])
    if len(rows) < 2:
        return []
    table = np.array(rows)
    stretches = _stretches(table, codes(repositories))
    if not stretches.spans:
        return []
    limit = _limit(stretches, alpha, seed)
    values = stretches.t_values(np.ones((1, len(stretches.units))))[0]
    search = _Search(stretches.spans, values, limit)
    found = []
    for best in sorted(search.between(0, len(table)), key=search.place):
        span, value = stretches.spans[best], float(values[best])
        found.append(_step(table, span, limit / abs(value), offset))
    return found


def _stretches(table: Floats, groups: Sequence[int]) -> _Stretches:
    """All stretches that share enough tasks, and repositories where these are the units."""
    import numpy as np

    spans = [*_spans(len(table))]
    changes = np.array([_change(table, span) for span in spans])
    is_known = (~np.isnan(changes)).astype(float)
    units = units_of(np.nan_to_num(changes), groups)
    counts = (units_of(is_known, groups) > 0).sum(axis=1)
    is_enough = (is_known.sum(axis=1) >= FEWEST_TASKS) & (counts >= FEWEST_REPOSITORIES)
    kept = [span for span, enough in zip(spans, is_enough, strict=True) if enough]
    return _Stretches(kept, units[is_enough].T, counts[is_enough].astype(float))


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


def _limit(stretches: _Stretches, alpha: float, seed: int) -> float:
    """What the largest t value of a series without any change exceeds with the chance `alpha`."""
    import numpy as np

    signs = np.random.default_rng(seed).choice((-1.0, 1.0), (FLIPS, len(stretches.units)))
    largest = np.sort(np.abs(stretches.t_values(signs)).max(axis=1))
    return float(largest[math.ceil((1 - alpha) * (FLIPS + 1)) - 1])


class _Search(NamedTuple):
    """The search for steps among stretches with these t values."""

    spans: Sequence[tuple[int, int, int]]
    values: Floats
    limit: float

    def place(self, number: int) -> int:
        """Where the step of a stretch lies."""
        return self.spans[number][1]

    def between(self, start: int, end: int) -> Iterator[int]:
        """The clearest step between two benchmarks, then those on each side of it."""
        best, largest = None, self.limit
        for number, span in enumerate(self.spans):
            is_inside = start <= span[0] and span[2] <= end
            if is_inside and abs(self.values[number]) > largest:
                best, largest = number, abs(self.values[number])
        if best is not None:
            yield best
            yield from self.between(start, self.place(best))
            yield from self.between(self.place(best), end)


def _step(
    table: Floats,
    span: tuple[int, int, int],
    share: float,
    offset: int,
) -> Step:
    """The step of a stretch; half its interval is this `share` of the difference."""
    import numpy as np

    change = _change(table, span)
    delta = float(np.nanmean(change))
    margin = abs(delta) * share
    most = np.nanargmin(change) if delta < 0 else np.nanargmax(change)
    first, place, end = span
    return Step(
        place=place + offset,
        first=first + offset,
        end=end + offset,
        delta=delta,
        low=delta - margin,
        high=delta + margin,
        tasks=int((~np.isnan(change)).sum()),
        most=int(most),
    )
