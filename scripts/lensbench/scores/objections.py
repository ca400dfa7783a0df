"""Further tests for an interval that excludes 0, which assume less about the differences.

Student's t interval assumes that differences are nearly normal. With few tasks they often are not: most tasks gain a
little and a few lose much. docs/gate.md has the figures.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from lensbench.core.distributions import norm_sf, t_isf
from lensbench.scores.intervals import Estimate, smallest_mid_p
from lensbench.scores.sequential import interval_at, level_of


class RareLosses(NamedTuple):
    """A distribution of tasks with rare heavy losses, which a small sample may not show."""

    share: float = 0.05
    """The share of tasks that lose heavily."""
    loss: float = 0.95
    gain: float = 0.05
    """The average gain of the others; gains and losses cancel out."""
    spread: float = 0.10
    """The standard deviation of these gains in one trial. Half of the variance is between trials, and averages out."""
    chance: float = 0.05
    """The accepted probability that such tasks give a GO like the observed one."""


RARE = RareLosses()


def excludes_zero(estimate: Estimate, boundary: float) -> bool:
    """True when the interval at this boundary lies on one side of 0, and there is no objection."""
    interval = interval_at(estimate, boundary)
    return interval is not None and not interval[0] <= 0 <= interval[1] and not objection(estimate, boundary)


def objection(estimate: Estimate, boundary: float) -> str:
    """Why an interval at this boundary that excludes 0 is not accepted; "" when it is accepted or includes 0.

    If the sign-flip test is too coarse for the level, its smallest possible p counts as a confirmation.
    """
    interval = interval_at(estimate, boundary)
    if interval is None or estimate.mid_p is None or interval[0] <= 0 <= interval[1]:
        return ""
    if estimate.mid_p > max(1 - level_of(boundary), smallest_mid_p(estimate.units)):
        return f"the sign-flip test, which assumes less, does not confirm it (mid-p = {estimate.mid_p:.3f})"
    far = t_isf(norm_sf(boundary), estimate.df or math.inf)
    sign, few = (1, "losses") if interval[0] > 0 else (-1, "gains")
    if estimate.root is not None and sign * estimate.root < far:
        return f"the {few} are few and heavy, and the empirical likelihood, which allows for this, does not confirm it"
    return ""


def rare_losses(estimate: Estimate, boundary: float, trials: int = 1, rare: RareLosses = RARE) -> str:
    """Why a GO with a small and even gain is not accepted; "" when the gain is larger or less even, or of many tasks.

    It is not accepted if tasks with rare heavy losses would too often give a sample without such a loss that is a GO
    and has at least the observed sum of delta and standard deviation. This sum distinguishes such a gain from a larger
    or less even one nearly as well as is possible (benchmarks/rare_losses.py).
    """
    n, none = estimate.n, (1 - rare.share) ** estimate.n
    if none <= rare.chance or estimate.delta is None or not estimate.sd:
        return ""
    spread, sure = rare.spread * math.sqrt((1 + 1 / trials) / 2), t_isf(norm_sf(boundary), n - 1) / math.sqrt(n)
    reached = 0.0
    for ratio, chance in _spreads(n - 1):
        least = max(estimate.delta + estimate.sd - ratio * spread, sure * ratio * spread)
        reached += chance * norm_sf((least - rare.gain) * math.sqrt(n) / spread)
    if none * reached <= rare.chance:
        return ""
    lose, gain = f"{100 * rare.share:g} % of all tasks lose {100 * rare.loss:g} points", f"gain {100 * rare.gain:g}"
    return f"a gain as small and even as this is also what {n} tasks show where {lose} and the others {gain}"


@lru_cache
def _spreads(df: int) -> list[tuple[float, float]]:
    """Sample standard deviations as multiples of the true one, with their probabilities: the chi distribution."""
    ratios = [(step + 0.5) / 50 for step in range(200)]
    likely = [math.exp(df * (math.log(ratio) + (1 - ratio**2) / 2)) / ratio for ratio in ratios]
    return [(ratio, each / sum(likely)) for ratio, each in zip(ratios, likely, strict=True)]


def tasks_that_would_show(estimate: Estimate, boundary: float, trials: int = 1) -> int:
    """The number of tasks at which the same gain would be accepted, if no further task loses heavily."""
    tasks = estimate.n
    while rare_losses(replace(estimate, n=tasks), boundary, trials):
        tasks += 1
    return tasks
