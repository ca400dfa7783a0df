"""Interim looks at the results, without more false verdicts than a single look at the end.

Group-sequential design: the error is spent over the looks by the O'Brien-Fleming-type function of Lan and DeMets
(Biometrika 70, 1983), which spends almost nothing at first. The runs also stop when a GO has become unlikely; ignoring
this stop does not increase the error (non-binding futility).
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from lensbench.core.distributions import norm_isf, norm_sf, t_isf, t_sf
from lensbench.core.frozen_plan import Aim, GateSettings
from lensbench.scores.intervals import LARGEST, Estimate, unseen
from lensbench.scores.verdict_of import DEFAULTS, verdict_of

FUTILE = 0.2
"""Below this conditional power of a GO the remaining runs are not worth their cost."""


SHARE = 0.7
"""The share of what is left of `alpha` that a look may spend: the planned benchmark, then each later addition."""


class LookResult(NamedTuple):
    """The result of a look."""

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
    """The probability of a GO at the last look; None at the last look."""
    open: bool
    """True when the next wave is to be run."""
    why: str


def even_fractions(looks: int) -> tuple[float, ...]:
    """The planned share of the information at each look, for waves of equal size.

    With shrinking waves, or trials of the same tasks, the true shares are larger at early looks. The looks are then
    more correlated than assumed, so the error is smaller (Slepian's inequality), never larger.
    """
    return tuple(look / looks for look in range(1, looks + 1))


HIGHEST = 8.0
"""The boundary when no error is left to spend."""
POINTS, PRIMES = 2**13, (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
"""Of the lattice: with 3 earlier looks the error of a boundary is below 0.0001, with 6 below 0.001."""
SINGULAR = 1e-10
"""Added to the variances, because sets of pairs may determine each other."""


def spending(fraction: float, alpha: float) -> float:
    """The two-sided error that is spent up to a fraction t of the information: 4 (1 - F(q / sqrt(t))), where
    F(q) = 1 - alpha / 4."""
    return 4 * norm_sf(norm_isf(alpha / 4) / math.sqrt(fraction)) if fraction > 0 else 0.0


@lru_cache(maxsize=4096)
def next_boundary(limits: tuple[float, ...], correlations: tuple[tuple[float, ...], ...], spend: float) -> float:
    """The boundary for the last of correlated normal deviates, so that the probability of reaching it without having
    reached an earlier limit is `spend` (two-sided). With earlier limits it is rounded to 3 decimals, the precision of
    the integration.
    """
    if spend <= 0:
        return HIGHEST
    alone = min(norm_isf(spend / 2), HIGHEST)
    if not limits:
        return round(alone, 6)
    reached = _first_reached(limits, correlations)
    thousandths = range(round(-1000 * HIGHEST), round(1000 * alone))
    index = bisect_left(thousandths, -spend / 2, key=lambda each: -reached((each + 0.5) / 1000))
    return (thousandths.start + index) / 1000


def _first_reached(limits: tuple[float, ...], correlations: tuple[tuple[float, ...], ...]) -> Callable[[float], float]:
    """The probability that the last of correlated normal deviates reaches a value and none before it its limit.

    Each deviate is drawn given those before it, the last one first, from where it may lie (Genz, J. Comp. Graph. Stat.
    1, 1992), at the points of a Richtmyer lattice.
    """
    import numpy as np

    last = len(limits)
    order = [last, *range(last)]
    factor = np.linalg.cholesky(np.array(correlations)[np.ix_(order, order)] + SINGULAR * np.eye(last + 1))
    lattice = np.abs(2 * (np.arange(1, POINTS + 1)[:, None] * np.sqrt(PRIMES[:last]) % 1) - 1)
    beyond_each = np.vectorize(norm_sf, otypes=[float])
    reached_with = np.vectorize(norm_isf, otypes=[float])

    def probability(value: float) -> float:
        chances = np.full(POINTS, norm_sf(value))
        deviates = np.empty((POINTS, last))
        beyond, within = 0.0, chances
        for row, limit in enumerate(limits, start=1):
            deviates[:, row - 1] = reached_with((beyond + lattice[:, row - 1] * within).clip(1e-300, 1 - 1e-16))
            beyond = beyond_each((limit - deviates[:, :row] @ factor[row, :row]) / factor[row, row])
            within = 1 - beyond
            chances = chances * within
        return float(chances.mean())

    return probability


@lru_cache
def boundaries(fractions: tuple[float, ...], alpha: float = 0.05) -> tuple[float, ...]:
    """The z value that each look must reach, for a two-sided `alpha` and increasing fractions of the information."""
    if not fractions or any(a >= b for a, b in pairwise((0.0, *fractions, 1.0 + 1e-9))):
        raise ValueError(f"information fractions must rise from above 0 to at most 1: {fractions}")
    correlations = tuple(tuple(math.sqrt(min(a, b) / max(a, b)) for b in fractions) for a in fractions)
    found: tuple[float, ...] = ()
    for before, time in pairwise((0.0, *fractions)):
        found += (next_boundary(found, correlations, spending(time, alpha) - spending(before, alpha)),)
    return found


def interval_at(estimate: Estimate, boundary: float) -> tuple[float, float] | None:
    """The interval of a difference of scores that excludes 0 when the estimate's deviate reaches the boundary; None
    when it cannot be estimated.

    The boundary is converted to a nominal p, which is used with the t distribution at the estimate's degrees of
    freedom, because the normal distribution gives too short intervals for few tasks. Equal differences have the
    interval of what so many tasks may not have seen.
    """
    if estimate.sd == 0 and estimate.delta is not None:
        equal = unseen(estimate.delta, estimate.n, norm_sf(boundary))
        return equal.low, equal.high
    if not estimate.se or not estimate.df or estimate.delta is None:
        return None
    margin = t_isf(norm_sf(boundary), estimate.df) * estimate.se
    return max(estimate.delta - margin, -LARGEST), min(estimate.delta + margin, LARGEST)


def level_of(boundary: float) -> float:
    """The level of the interval that excludes 0 when the normal deviate reaches the boundary."""
    return math.erf(boundary / math.sqrt(2))


def look_result(estimate: Estimate, look: int, looks: int, settings: GateSettings, boundary: float) -> LookResult:
    """The result of look number `look` of `looks` at a treatment, with the boundary of the account."""
    settings = {**DEFAULTS, **settings}
    limits, last = boundaries(even_fractions(looks), settings["alpha"] * SHARE), look == looks
    interval, z = interval_at(estimate, boundary), deviate(estimate)
    if interval is None:
        why = "nothing can be estimated" if last else "nothing can be estimated yet"
        return LookResult(look, looks, None, boundary, None, None, None, not last, why)
    verdict = verdict_of(*interval, settings["effect"] / 100)
    if z is None or estimate.se is None:
        is_open = not last and verdict == "INCONCLUSIVE"
        return LookResult(look, looks, None, boundary, *interval, None, is_open, "all differences are the same")
    power = None if last else conditional_power(z, estimate.se, look / looks, limits[-1], settings)
    return LookResult(look, looks, z, boundary, *interval, power, *_open(verdict, power))


def deviate(estimate: Estimate) -> float | None:
    """The estimate as a normal deviate with the same p; None when it cannot be estimated."""
    if not estimate.se or not estimate.df or estimate.delta is None:
        return None
    tail = max(t_sf(abs(estimate.delta) / estimate.se, estimate.df), 1e-300)
    return math.copysign(norm_isf(tail), estimate.delta)


def _open(verdict: str, power: float | None) -> tuple[bool, str]:
    if verdict != "INCONCLUSIVE":
        return False, f"the verdict is {verdict}"
    if power is None:
        return False, "this was the last look"
    chance = f"the chance of a GO at the last look is {100 * power:.0f}%"
    return (True, chance) if power >= FUTILE else (False, f"{chance}, below {100 * FUTILE:.0f}%")


def conditional_power(z: float, se: float, time: float, final: float, settings: Aim) -> float:
    """The probability that the last look reaches its boundary `final`, given `z` and the standard error `se` at the
    fraction `time` of the information.

    The assumed true effect is the smallest worthwhile one or, if the planned runs are too few to detect it, the effect
    that they detect with the planned power (Brownian motion: Lan and Wittes, Biometrics 44, 1988).
    """
    return norm_sf((_expected(se, time, final, settings) - z * math.sqrt(time)) / math.sqrt(1 - time))


def futile_below(se: float, time: float, final: float, settings: Aim) -> float:
    """The z below which a GO has become unlikely: there `conditional_power` is FUTILE."""
    return (_expected(se, time, final, settings) - norm_isf(FUTILE) * math.sqrt(1 - time)) / math.sqrt(time)


def _expected(se: float, time: float, final: float, settings: Aim) -> float:
    """The value of the Brownian motion at `time` from which it is expected to end at `final`."""
    planned_se = se * math.sqrt(time)
    detectable = norm_isf(settings["alpha"] / 2) - norm_isf(settings["power"])
    return final - max(settings["effect"] / 100 / planned_se, detectable) * (1 - time)
