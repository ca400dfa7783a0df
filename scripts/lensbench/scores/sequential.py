"""Looking at the results before all runs are made, without more false verdicts than one look at the end would give.

Group-sequential design: the error that one look may make is spent over the looks by the O'Brien-Fleming-type function
of Lan and DeMets (Biometrika 70, 1983), almost nothing at first. The runs also stop when a GO has become unlikely;
nothing is lost by ignoring that stop (non-binding futility).
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
"""What of `alpha` the planned benchmark may spend. The rest is for what people add: 1 to 2 points of power buy it."""


class LookResult(NamedTuple):
    """What a look at the results says."""

    look: int
    looks: int
    z: float | None
    """The estimate as a normal deviate; None when nothing can be estimated yet."""
    boundary: float
    """What `z` must reach for a GO, or its negative for a HARM."""
    low: float | None
    """The repeated confidence interval of the delta, in shares of 1."""
    high: float | None
    conditional_power: float | None
    """The chance of a GO at the last look; None when there is no further look."""
    open: bool
    """True when the next wave is to be run."""
    why: str


def even_fractions(looks: int) -> tuple[float, ...]:
    """The share of the information that each look is planned to have, for waves of equal size.

    Waves that get smaller, and trials of the same tasks, have more information early than this says. Then the looks
    are more alike than assumed, and the error is smaller (Slepian's inequality): never larger.
    """
    return tuple(look / looks for look in range(1, looks + 1))


HIGHEST = 8.0
"""The boundary where nothing is left to spend."""
_LEAST = 2e-4
"""A smaller error is spent as if no look had been before, which is stricter: the integration is not so good."""


def spending(fraction: float, alpha: float) -> float:
    """The error, two-sided, that is spent up to a fraction t of the information: 4 (1 - F(q / sqrt(t))), where
    F(q) = 1 - alpha / 4."""
    return float(4 * norm_sf(norm_isf(alpha / 4) / math.sqrt(fraction))) if fraction > 0 else 0.0


@lru_cache(maxsize=4096)
def next_boundary(limits: tuple[float, ...], correlations: tuple[tuple[float, ...], ...], spend: float) -> float:
    """What the last of correlated normal deviates must reach, so that it does in `spend` (two-sided) of the cases in
    which none of those before has reached its limit. Rounded to 3 decimals after other limits, which is what the
    integration is good for.
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
    """The z value that each look must reach, for a two-sided `alpha`, at these rising fractions of the information."""
    if not fractions or any(a >= b for a, b in pairwise((0.0, *fractions, 1.0 + 1e-9))):
        raise ValueError(f"information fractions must rise from above 0 to at most 1: {fractions}")
    correlations = tuple(tuple(math.sqrt(min(a, b) / max(a, b)) for b in fractions) for a in fractions)
    found: tuple[float, ...] = ()
    for before, time in pairwise((0.0, *fractions)):
        found += (next_boundary(found, correlations, spending(time, alpha) - spending(before, alpha)),)
    return found


def interval_at(estimate: Estimate, boundary: float) -> tuple[float, float] | None:
    """The interval of a difference of scores that excludes 0 when the estimate's deviate reaches the boundary; None
    when nothing can be estimated.

    The boundary is used as a nominal p, on the t distribution with the estimate's degrees of freedom, because the
    normal one promises too much for few tasks.
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
    """What the look number `look` of `looks` says about a treatment, whose estimate rests on the waves so far.

    `boundary` is what the account of error leaves this look; without one, that of looks with `alpha` to themselves.
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
    """The estimate as a normal deviate with the same p; None when nothing can be estimated."""
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
    """The chance that the last look reaches its boundary `final`, given `z` at the fraction `time` of the information.

    `z` is a number, or an array of them; `se` is the standard error now.

    It is computed for a treatment that is worth finding: with the smallest worthwhile effect or, where all planned
    runs are too few to find that one, with the effect that they find with the planned power. What was observed so far
    counts as it is. (Brownian motion: Lan and Wittes, Biometrics 44, 1988.)
    """
    planned_se = se * math.sqrt(time)
    detectable = norm_isf(settings["alpha"] / 2) - norm_isf(settings["power"])
    drift = max(settings["effect"] / 100 / planned_se, detectable)
    missing = final - z * math.sqrt(time) - drift * (1 - time)
    return norm_sf(missing / math.sqrt(1 - time))
