"""Power of a paired t test: numbers of tasks, effects and standard deviations, as pure functions of numbers."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache

from lensbench.core.distributions import chi2_ppf, nct_cdf, t_isf

FEWEST_REPOSITORIES = 6
STEPS = 1 << 40
"""The resolution of the search for an effect."""


def tasks_needed(sd: float, effect: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """The number of tasks, at least 4, that detect an effect of this size with this power; `sd` and `effect` in the
    same unit. Effects above three standard deviations are treated as three."""
    size = min(effect / sd, 3.0) if sd else 3.0
    enough = 4
    while _power(size, enough, alpha) < power:
        enough *= 2
    return bisect_left(
        range(enough), power, lo=min(4, enough // 2), key=lambda tasks: _power(size, tasks, alpha)
    )


@lru_cache
def standard_effect(tasks: int, power: float, alpha: float) -> float:
    """The minimum detectable effect in standard deviations."""
    largest = 1.0
    while _power(largest, tasks, alpha) < power:
        largest *= 2
    step = largest / STEPS
    return step * bisect_left(
        range(STEPS), power, key=lambda steps: _power(step * steps, tasks, alpha)
    )


def _power(size: float, tasks: int, alpha: float) -> float:
    """Power of a two-sided paired t test; `size` in standard deviations (Cohen, Statistical Power Analysis, 1988)."""
    far = t_isf(alpha / 2, tasks - 1)
    shift = size * math.sqrt(tasks)
    return 1 - nct_cdf(far, tasks - 1, shift) + nct_cdf(-far, tasks - 1, shift)


def upper_sd(sd: float, tasks: int) -> float:
    """The 80% upper bound of a standard deviation from this many tasks: a factor of 1.25 at 12, of 1.16 at 24."""
    return sd * math.sqrt((tasks - 1) / chi2_ppf(0.2, tasks - 1))
