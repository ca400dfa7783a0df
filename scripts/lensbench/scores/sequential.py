"""Interim looks at the results, without more false verdicts than a single look at the end: a group-sequential design
whose error is spent by the O'Brien-Fleming-type function of Lan and DeMets (Biometrika 70, 1983)."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lensbench.core.distributions import norm_isf, norm_sf
from lensbench.scores.intervals import LARGEST, Estimate, interval_of

SHARE = 0.7
"""The share of what is left of the whole error that a look may spend: the planned benchmark, which spends `alpha`, then
each later addition. However often a benchmark grows, `alpha` / SHARE is never exceeded."""


class LookResult(NamedTuple):
    look: int
    """The number of this look, from 1."""
    looks: int
    """How many are planned."""
    z: float | None
    """The estimate as a normal deviate; None when it cannot be estimated yet."""
    boundary: float
    """The value that `z` must reach for a GO, or its negative for a HARM."""
    low: float | None
    """The repeated confidence interval of the delta, in shares of 1."""
    high: float | None
    """The upper end of this interval, in shares of 1."""
    conditional_power: float | None
    """The probability of a GO, SAVES or HARM at the last look, of the most likely; None at the last look."""
    open: bool
    """True when the next wave is to be run."""
    why: str
    """Why the runs go on, or end."""


def even_fractions(looks: int) -> tuple[float, ...]:
    """The planned share of the information at each look, for waves of equal size. If the true shares of early looks are
    larger, as with trials of the same tasks, looks are more correlated than assumed, and the error is smaller
    (Slepian's inequality)."""
    return tuple(look / looks for look in range(1, looks + 1))


HIGHEST = 8.0
"""The boundary when no error is left to spend."""
_POINTS = 400
"""At which the probability of a boundary is summed: its error is below 0.0001."""
SINGULAR = 1e-5
"""The least share of a look's deviate that is new: two looks may have the same pairs."""


def spending(fraction: float, alpha: float) -> float:
    """The two-sided error spent up to a fraction t: 4 (1 - F(q / sqrt(t))), where F(q) = 1 - alpha / 4."""
    return 4 * norm_sf(norm_isf(alpha / 4) / math.sqrt(fraction)) if fraction > 0 else 0.0


class EarlierLook(NamedTuple):
    """The look before this one."""

    boundary: float
    correlation: float
    """Of its deviate with that of this look."""


@lru_cache(maxsize=4096)
def next_boundary(spend: float, before: EarlierLook | None = None) -> float:
    """The boundary of a normal deviate, so that the probability of reaching it at this look and not at the one before
    is `spend` (two-sided). Earlier looks are left out, which makes the boundary stricter: three looks lose no power,
    six lose 4 points. After another look it is rounded to 3 decimals."""
    if spend <= 0:
        return HIGHEST
    alone = min(norm_isf(spend / 2), HIGHEST)
    if before is None:
        return round(alone, 6)
    thousandths = range(round(-1000 * HIGHEST), round(1000 * alone))

    def not_reached(step: int) -> float:
        return -_first_reached((step + 0.5) / 1000, before)

    index = bisect_left(thousandths, -spend / 2, key=not_reached)
    return (thousandths.start + index) / 1000


def _first_reached(value: float, before: EarlierLook) -> float:
    """The probability that a normal deviate reaches a value, and the correlated one before it did not reach its
    boundary: a mean over equally likely values of the former."""
    beyond = norm_sf(value)
    new = math.sqrt(max(1 - before.correlation**2, SINGULAR**2))
    total = 0.0
    for point in range(_POINTS):
        deviate = norm_isf(beyond * (point + 0.5) / _POINTS)
        total += norm_sf((before.correlation * deviate - before.boundary) / new)
    return beyond * total / _POINTS


@lru_cache
def boundaries(fractions: tuple[float, ...], alpha: float = 0.05) -> tuple[float, ...]:
    """The z value that each look must reach, for a two-sided `alpha` and increasing fractions of the information."""
    limits: list[float] = []
    for before, time in pairwise((0.0, *fractions)):
        earlier = EarlierLook(limits[-1], math.sqrt(before / time)) if limits else None
        spend = spending(time, alpha) - spending(before, alpha)
        limits.append(next_boundary(spend, earlier))
    return tuple(limits)


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
