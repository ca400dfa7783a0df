"""Interim looks at the results, without more false verdicts than a single look at the end: a group-sequential design
whose error is spent by the O'Brien-Fleming-type function of Lan and DeMets (Biometrika 70, 1983)."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lensbench.core.distributions import norm_isf, norm_sf
from lensbench.scores.intervals import LARGEST, Estimate, interval_of

SHARE = 0.7
"""The share of what is left of `alpha` that a look may spend: the planned benchmark, then each later addition."""


class LookResult(NamedTuple):
    look: int
    looks: int
    z: float | None
    """The estimate as a normal deviate; None when it cannot be estimated yet."""
    boundary: float
    """The value that `z` must reach for a GO, or its negative for a HARM."""
    low: float | None
    """The repeated confidence interval of the delta, in shares of 1."""
    high: float | None
    conditional_power: float | None
    """The probability of a GO, SAVES or HARM at the last look, of the most likely; None at the last look."""
    open: bool
    """True when the next wave is to be run."""
    why: str


def even_fractions(looks: int) -> tuple[float, ...]:
    """The planned share of the information at each look, for waves of equal size. If the true shares of early looks are
    larger, as with trials of the same tasks, looks are more correlated than assumed, and the error is smaller
    (Slepian's inequality)."""
    return tuple(look / looks for look in range(1, looks + 1))


HIGHEST = 8.0
"""The boundary when no error is left to spend."""
POINTS, PRIMES = 2**13, (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
"""Of the lattice: with 3 earlier looks the error of a boundary is below 0.0001, with 6 below 0.001."""
SINGULAR = 1e-10
"""Added to the variances, because sets of pairs may determine each other."""


def spending(fraction: float, alpha: float) -> float:
    """The two-sided error spent up to a fraction t: 4 (1 - F(q / sqrt(t))), where F(q) = 1 - alpha / 4."""
    return 4 * norm_sf(norm_isf(alpha / 4) / math.sqrt(fraction)) if fraction > 0 else 0.0


@lru_cache(maxsize=4096)
def next_boundary(
    limits: tuple[float, ...], correlations: tuple[tuple[float, ...], ...], spend: float
) -> float:
    """The boundary for the last of correlated normal deviates, so that the probability of reaching it without having
    reached an earlier limit is `spend` (two-sided). With earlier limits it is rounded to 3 decimals, the precision of
    the integration.
    """
    if spend <= 0:
        return HIGHEST
    alone = min(norm_isf(spend / 2), HIGHEST)
    if not limits:
        return round(alone, 6)
    chance_at = _first_reached(limits, correlations)
    thousandths = range(round(-1000 * HIGHEST), round(1000 * alone))
    index = bisect_left(thousandths, -spend / 2, key=lambda step: -chance_at((step + 0.5) / 1000))
    return (thousandths.start + index) / 1000


def _first_reached(
    limits: tuple[float, ...], correlations: tuple[tuple[float, ...], ...]
) -> Callable[[float], float]:
    """The probability that the last of correlated normal deviates reaches a value and none before it its limit. Each is
    drawn given those before it, the last one first, from where it may lie (Genz, J. Comp. Graph. Stat. 1, 1992), at the
    points of a Richtmyer lattice."""
    import numpy as np

    last = len(limits)
    order = [last, *range(last)]
    factor = np.linalg.cholesky(
        np.array(correlations)[np.ix_(order, order)] + SINGULAR * np.eye(last + 1)
    )
    lattice = np.abs(2 * (np.arange(1, POINTS + 1)[:, None] * np.sqrt(PRIMES[:last]) % 1) - 1)
    beyond_each = np.vectorize(norm_sf, otypes=[float])
    reached_with = np.vectorize(norm_isf, otypes=[float])

    def probability(value: float) -> float:
        chances = np.full(POINTS, norm_sf(value))
        deviates = np.empty((POINTS, last))
        beyond, within = 0.0, chances
        for row, limit in enumerate(limits, start=1):
            deviates[:, row - 1] = reached_with(
                (beyond + lattice[:, row - 1] * within).clip(1e-300, 1 - 1e-16)
            )
            beyond = beyond_each((limit - deviates[:, :row] @ factor[row, :row]) / factor[row, row])
            within = 1 - beyond
            chances = chances * within
        return float(chances.mean())

    return probability


@lru_cache
def boundaries(fractions: tuple[float, ...], alpha: float = 0.05) -> tuple[float, ...]:
    """The z value that each look must reach, for a two-sided `alpha` and increasing fractions of the information."""
    correlations = tuple(
        tuple(math.sqrt(min(a, b) / max(a, b)) for b in fractions) for a in fractions
    )
    limits: tuple[float, ...] = ()
    for before, time in pairwise((0.0, *fractions)):
        limits += (
            next_boundary(limits, correlations, spending(time, alpha) - spending(before, alpha)),
        )
    return limits


def interval_at(
    estimate: Estimate, boundary: float, limit: float = LARGEST
) -> tuple[float, float] | None:
    """The interval of a mean that excludes 0 when the estimate's deviate reaches the boundary, cut at `limit`. The
    boundary's nominal p is used with the t distribution, since the normal one gives too short intervals for few tasks.
    """
    return interval_of(estimate, norm_sf(boundary), limit)


def level_of(boundary: float) -> float:
    """The level of the interval that excludes 0 when the normal deviate reaches the boundary."""
    return math.erf(boundary / math.sqrt(2))
