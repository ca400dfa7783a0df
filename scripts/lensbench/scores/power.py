"""The arithmetic of power: tasks, effects and spreads of a paired t test, as pure functions of numbers."""

from __future__ import annotations

import math
from functools import lru_cache

FEWEST_REPOSITORIES = 6


def tasks_needed(sd: float, effect: float, power: float = 0.8, alpha: float = 0.05) -> int:
    """Tasks for which an effect of this size is found with this probability; `sd` and `effect` in the same unit.

    At least 4: an effect of more than three standard deviations is not planned for.
    """
    from statsmodels.stats.power import TTestPower

    size = min(effect / sd, 3.0) if sd else 3.0
    if TTestPower().power(size, 4, alpha) >= power:
        return 4
    return math.ceil(float(TTestPower().solve_power(effect_size=size, power=power, alpha=alpha)))


def tasks_for_width(sd: float, width: float, alpha: float = 0.05) -> int:
    """Tasks for which the interval is shorter than `width`, in the unit of `sd`."""
    from scipy.stats import t

    tasks = 2
    while 2 * t.isf(alpha / 2, tasks - 1) * sd / math.sqrt(tasks) >= width:
        tasks = max(tasks + 1, math.ceil(tasks * 1.01))
    return tasks


def detectable(sd: float, tasks: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """The minimum detectable effect, in the unit of `sd`."""
    return sd * standard_effect(tasks, power, alpha)


@lru_cache
def standard_effect(tasks: int, power: float, alpha: float) -> float:
    """In standard deviations. For some sizes, 73 is one, statsmodels gives the root below 0, or an array with it."""
    import numpy as np
    from statsmodels.stats.power import TTestPower

    return abs(float(np.asarray(TTestPower().solve_power(nobs=tasks, power=power, alpha=alpha)).item()))


def chance(sd: float, effect: float, tasks: int, alpha: float = 0.05) -> float:
    """The power: how likely an effect of this size is found."""
    from statsmodels.stats.power import TTestPower

    return float(TTestPower().power(effect_size=effect / sd, nobs=tasks, alpha=alpha))


def upper_sd(sd: float, tasks: int) -> float:
    """The 80 % upper bound of a spread that was observed in so many tasks: 1.25 times it at 12, 1.16 times at 24."""
    from scipy.stats import chi2

    return sd * math.sqrt((tasks - 1) / float(chi2.ppf(0.2, tasks - 1)))


def repositories_needed(sd: float, effect: float, tasks_each: int, icc: float, power: float, alpha: float) -> int:
    """Repositories with so many tasks each, for an interval that is cluster-robust: t with repositories - 1 degrees.

    `icc` is the part of the variance that tasks of a repository share. Never under 6: a claim about fewer is one about
    these repositories only.
    """
    spread = sd * math.sqrt((1 + (tasks_each - 1) * icc) / tasks_each)
    return max(tasks_needed(spread, effect, power, alpha), FEWEST_REPOSITORIES)
