"""What an interval that excludes 0 has to stand beside: tests that assume less about the differences than it does.

An interval of Student's t takes the differences for nearly normal. Those of few tasks often are not: most gain a little
and a few lose much. docs/gate.md has the figures.
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
    """What tasks may be like although the few that were drawn do not show it."""

    share: float = 0.05
    """Of all tasks, which lose heavily."""
    loss: float = 0.95
    gain: float = 0.05
    """What the others gain on average: together, as much as is lost."""
    spread: float = 0.10
    """Of what the others gain in one trial. Half of its variance is that of trials, which several average out."""
    chance: float = 0.05
    """How often such tasks may give a GO that looks like the one at hand."""


RARE = RareLosses()


def excludes_zero(estimate: Estimate, boundary: float) -> bool:
    """True when the interval at this boundary lies on one side of 0, and nothing speaks against it."""
    interval = interval_at(estimate, boundary)
    return interval is not None and not interval[0] <= 0 <= interval[1] and not objection(estimate, boundary)


def objection(estimate: Estimate, boundary: float) -> str:
    """Why the interval at this boundary is not believed to exclude 0; "" when it is, or does not.

    The sign-flip test may be too coarse for the level: then it confirms with the smallest p that it can give.
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
    """Why a GO is not believed whose gain is small and even; "" when it is larger, less even, or of many tasks.

    It is not believed when tasks of which a few lose heavily would too often draw none of those, be a GO, and have at
    least this sum of delta and spread. The sum tells such a gain from a larger or less even one about as well as
    anything can (benchmarks/rare_losses.py).
    """
    n, none = estimate.n, (1 - rare.share) ** estimate.n
    if none <= rare.chance or estimate.delta is None or not estimate.sd:
        return ""
    spread, sure = rare.spread * math.sqrt((1 + 1 / trials) / 2), t_isf(norm_sf(boundary), n - 1) / math.sqrt(n)
    reached = 0.0
    for ratio, chance in _spreads(n - 1):
        least = max(estimate.delta - estimate.drift + estimate.sd - ratio * spread, sure * ratio * spread)
        reached += chance * norm_sf((least - rare.gain) * math.sqrt(n) / spread)
    if none * reached <= rare.chance:
        return ""
    lose, gain = f"{100 * rare.share:g} % of all tasks lose {100 * rare.loss:g} points", f"gain {100 * rare.gain:g}"
    return f"a gain as small and even as this is also what {n} tasks show where {lose} and the others {gain}"


@lru_cache
def _spreads(df: int) -> list[tuple[float, float]]:
    """What a standard deviation may be, as a multiple of the true one, and how likely: the chi distribution."""
    ratios = [(step + 0.5) / 50 for step in range(200)]
    likely = [math.exp(df * (math.log(ratio) + (1 - ratio**2) / 2)) / ratio for ratio in ratios]
    return [(ratio, each / sum(likely)) for ratio, each in zip(ratios, likely, strict=True)]


def tasks_that_would_show(estimate: Estimate, boundary: float, trials: int = 1) -> int:
    """With how many tasks the same gain would be believed, if none of the further ones loses heavily either."""
    tasks = estimate.n
    while rare_losses(replace(estimate, n=tasks), boundary, trials):
        tasks += 1
    return tasks
