"""Differences between benchmarks, task by task, of which many are looked at. One limit is for all of them together: if
nothing differs, the largest of their t values exceeds it with the chance `alpha` (sign flips of tasks, or of whole
repositories; Westfall and Young, 1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from lensbench.core.numeric import Floats, np
from lensbench.scores.intervals import codes, units_of
from lensbench.scores.power import FEWEST_REPOSITORIES
from lensbench.scores.rules import FEWEST_TASKS

ALPHA = 0.04
"""A little below the promised 0.05, since scores are few values, and not symmetric."""
FLIPS = 1_999


class Contrast(NamedTuple):
    """One difference, as a share of 1; its interval is that of all together."""

    delta: float
    margin: float
    """Half of the interval."""
    tasks: int

    @property
    def low(self) -> float:
        return self.delta - self.margin

    @property
    def high(self) -> float:
        return self.delta + self.margin

    @property
    def clearness(self) -> float:
        """The difference in halves of its interval: above 1, 0 lies outside of it."""
        return abs(self.delta) / self.margin if self.margin else 0.0


class Contrasts(NamedTuple):
    """Differences that share enough tasks, with a unit for each task or repository."""

    kept: Sequence[int]
    """The numbers of these differences among those that were asked for."""
    units: Floats
    """Units x differences; 0 where a unit has no task."""
    counts: Floats
    """Units of each difference that have one."""
    tasks: Floats
    """Tasks of each difference."""

    def estimates(self, alpha: float = ALPHA, seed: int = 1) -> list[Contrast]:
        """The differences with intervals that hold together with the chance 1 - `alpha`."""
        means, errors = self._means(np.ones((1, len(self.units))))
        scale = self.counts / self.tasks
        margins = self._limit(alpha, seed) * errors[0] * scale
        found = []
        deltas = means[0] * scale
        for delta, margin, tasks in zip(deltas, margins, self.tasks, strict=True):
            found.append(Contrast(float(delta), float(margin), int(tasks)))
        return found

    def _means(self, signs: Floats) -> tuple[Floats, Floats]:
        """Sets of signs x differences: the mean over units with these signs, and its standard error."""
        means = signs @ self.units / self.counts
        squares = (self.units**2).sum(axis=0)
        deviations = np.maximum(squares - self.counts * means**2, 1e-12)
        variances = deviations / (self.counts - 1)
        return means, np.sqrt(variances / self.counts)

    def _limit(self, alpha: float, seed: int) -> float:
        """What the largest t value exceeds with the chance `alpha` where nothing differs."""
        signs = np.random.default_rng(seed).choice((-1.0, 1.0), (FLIPS, len(self.units)))
        means, errors = self._means(signs)
        largest = np.abs(means / errors).max(axis=1)
        largest.sort()
        rank = math.ceil((1 - alpha) * (FLIPS + 1))
        return float(largest[rank - 1])


def contrasts(changes: Floats, repositories: Sequence[str | None]) -> Contrasts:
    """Those of `changes` (differences x tasks, NaN where one has no such task) that share enough tasks, and enough
    repositories where these are the units. `repositories`: those of the tasks."""
    groups = codes(repositories)
    is_known = (~np.isnan(changes)).astype(float)
    units = units_of(np.nan_to_num(changes), groups)
    counts = (units_of(is_known, groups) > 0).sum(axis=1)
    tasks = is_known.sum(axis=1)
    is_enough = (tasks >= FEWEST_TASKS) & (counts >= FEWEST_REPOSITORIES)
    kept = [int(number) for number in np.flatnonzero(is_enough)]
    return Contrasts(kept, units[is_enough].T, counts[is_enough].astype(float), tasks[is_enough])
