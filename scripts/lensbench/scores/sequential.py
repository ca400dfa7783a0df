"""Interim looks at the results, without more false verdicts than a single look at the end.

Group-sequential design: the error is spent over the looks by the O'Brien-Fleming-type function of Lan and DeMets
(Biometrika 70, 1983), which spends almost nothing at first. The runs also stop when a GO has become unlikely; ignoring
this stop does not increase the error (non-binding futility).
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from lensbench.core.distributions import norm_isf, norm_sf, t_isf, t_sf
from lensbench.core.frozen_plan import Aim, GateSettings
from lensbench.scores.intervals import LARGEST, Estimate
from lensbench.scores.verdict_of import DEFAULTS, verdict_of

FUTILE = 0.2
"""Below this conditional power of a GO the remaining runs are not worth their cost."""


FIRST = 0.9
"""The share of `alpha` for the planned benchmark. The rest is for later additions; it costs 1 to 2 points of power."""


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
_LEAST = 2e-4
"""A smaller error is spent as if there were no earlier look, which is stricter: the integration is too imprecise."""


def spending(fraction: float, alpha: float) -> float:
    """The two-sided error that is spent up to a fraction t of the information: 4 (1 - F(q / sqrt(t))), where
    F(q) = 1 - alpha / 4."""
    return float(4 * norm_sf(norm_isf(alpha / 4) / math.sqrt(fraction))) if fraction > 0 else 0.0


@lru_cache(maxsize=4096)
def next_boundary(limits: tuple[float, ...], correlations: tuple[tuple[float, ...], ...], spend: float) -> float:
    """The boundary for the last of correlated normal deviates, so that the probability of reaching it without having
    reached an earlier limit is `spend` (two-sided). With earlier limits it is rounded to 3 decimals, the precision of
    the integration.
    """
    if spend <= 0:
        return HIGHEST
    alone = norm_isf(spend / 2)
    if not limits or spend < _LEAST:
        return round(min(alone, HIGHEST), 6)
    import numpy as np
    from scipy.optimize import brentq
    from scipy.stats import multivariate_normal

    def below(*values: float) -> float:
        count = len(values)
        return float(
            multivariate_normal.cdf(
                values, cov=np.array(correlations)[:count, :count], allow_singular=True, abseps=1e-5, releps=1e-5,
                maxpts=2000 * count, rng=np.random.default_rng(0),
            )
        )  # fmt: skip

    target = below(*limits) - spend / 2
    return round(min(float(brentq(lambda z: below(*limits, z) - target, -HIGHEST, HIGHEST, xtol=1e-5)), alone), 3)


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
    freedom, because the normal distribution gives too short intervals for few tasks.
    """
    if not estimate.se or not estimate.df or estimate.delta is None:
        return None
    margin = float(t_isf(norm_sf(boundary), estimate.df)) * estimate.se + estimate.drift
    return max(estimate.delta - margin, -LARGEST), min(estimate.delta + margin, LARGEST)


def level_of(boundary: float) -> float:
    """The level of the interval that excludes 0 when the normal deviate reaches the boundary."""
    return math.erf(boundary / math.sqrt(2))


def look_result(
    estimate: Estimate, look: int, looks: int, settings: GateSettings, boundary: float | None = None
) -> LookResult:
    """The result of look number `look` of `looks` at a treatment; the estimate is from the waves so far.

    `boundary` is that of the error account; by default, that of a design without an error account.
    """
    settings = {**DEFAULTS, **settings}
    limits = boundaries(even_fractions(looks), settings["alpha"] * (1 if boundary is None else FIRST))
    boundary, last = limits[look - 1] if boundary is None else boundary, look == looks
    interval, z = interval_at(estimate, boundary), deviate(estimate)
    if interval is None or z is None or estimate.se is None:
        why = "nothing can be estimated" if last else "nothing can be estimated yet"
        return LookResult(look, looks, None, boundary, None, None, None, not last, why)
    power = None if last else float(conditional_power(z, estimate.se, look / looks, limits[-1], settings))
    verdict = verdict_of(*interval, settings["effect"] / 100)
    return LookResult(look, looks, z, boundary, *interval, power, *_open(verdict, power))


def deviate(estimate: Estimate) -> float | None:
    """The estimate as a normal deviate with the same p; None when it cannot be estimated."""
    if not estimate.se or not estimate.df or estimate.delta is None:
        return None
    beyond = max(abs(estimate.delta) - estimate.drift, 0.0)
    tail = max(t_sf(beyond / estimate.se, estimate.df), 1e-300)
    return math.copysign(norm_isf(tail), estimate.delta)


def _open(verdict: str, power: float | None) -> tuple[bool, str]:
    if verdict != "INCONCLUSIVE":
        return False, f"the verdict is {verdict}"
    if power is None:
        return False, "this was the last look"
    chance = f"the chance of a GO at the last look is {100 * power:.0f} %"
    return (True, chance) if power >= FUTILE else (False, f"{chance}, below {100 * FUTILE:.0f} %")


def conditional_power(z: Any, se: float, time: float, final: float, settings: Aim) -> Any:
    """The probability that the last look reaches its boundary `final`, given `z` at the fraction `time` of the
    information.

    `z` is a number or an array; `se` is the current standard error.

    The assumed true effect is the smallest worthwhile one or, if the planned runs are too few to detect it, the effect
    that they detect with the planned power (Brownian motion: Lan and Wittes, Biometrics 44, 1988).
    """
    planned_se = se * math.sqrt(time)
    detectable = norm_isf(settings["alpha"] / 2) - norm_isf(settings["power"])
    drift = max(settings["effect"] / 100 / planned_se, detectable)
    missing = final - z * math.sqrt(time) - drift * (1 - time)
    return norm_sf(missing / math.sqrt(1 - time))
