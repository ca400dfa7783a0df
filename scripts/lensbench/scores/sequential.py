"""Looking at the results before all runs are made, without more false verdicts than one look at the end would give.

Group-sequential design: the error that one look may make is spent over the looks by the O'Brien-Fleming-type function
of Lan and DeMets (Biometrika 70, 1983), almost nothing at first. The runs also stop when a GO has become unlikely;
nothing is lost by ignoring that stop (non-binding futility).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from lensbench.scores.intervals import Estimate
from lensbench.scores.verdict_of import DEFAULTS, verdict_of

FUTILE = 0.2
"""Below this conditional power of a GO the remaining runs are not worth their cost."""


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


@lru_cache
def boundaries(fractions: tuple[float, ...], alpha: float = 0.05) -> tuple[float, ...]:
    """The z value that each look must reach, for a two-sided `alpha`, at these rising fractions of the information.

    The error spent up to the fraction t is 2 (1 - F(q / sqrt(t))), where F(q) = 1 - alpha / 4. Rounded to 3 decimals,
    which is what the integration is good for.
    """
    import numpy as np
    from scipy.optimize import brentq
    from scipy.stats import multivariate_normal, norm

    if not fractions or any(a >= b for a, b in pairwise((0.0, *fractions, 1.0 + 1e-9))):
        raise ValueError(f"information fractions must rise from above 0 to at most 1: {fractions}")
    times = np.array(fractions)
    correlation = np.sqrt(np.minimum.outer(times, times) / np.maximum.outer(times, times))
    found: list[float] = []
    for count, time in enumerate(fractions, start=1):
        spent = 2 * norm.sf(norm.isf(alpha / 4) / math.sqrt(time))

        def excess(z: float, count: int = count, spent: float = spent) -> float:
            below = multivariate_normal.cdf(
                [*found, z], cov=correlation[:count, :count], abseps=1e-5, releps=1e-5, maxpts=2000 * count,
                rng=np.random.default_rng(0),
            )  # fmt: skip
            return float(1 - spent - below)

        found.append(float(norm.isf(spent)) if count == 1 else brentq(excess, 0.5, 10, xtol=1e-5))
    return tuple(round(z, 3) for z in found)


def look_result(estimate: Estimate, look: int, looks: int, settings: Mapping[str, Any]) -> LookResult:
    """What the look number `look` of `looks` says about a treatment, whose estimate rests on the waves so far.

    The boundary is used as a nominal p, on the t distribution with the estimate's degrees of freedom, because the
    normal one promises too much for few tasks.
    """
    from scipy.stats import norm, t

    settings = {**DEFAULTS, **settings}
    limits = boundaries(even_fractions(looks), settings["alpha"])
    boundary, last = limits[look - 1], look == looks
    if not estimate.se or not estimate.df or estimate.delta is None:
        why = "nothing can be estimated" if last else "nothing can be estimated yet"
        return LookResult(look, looks, None, boundary, None, None, None, not last, why)
    margin = float(t.isf(norm.sf(boundary), estimate.df)) * estimate.se
    low, high = estimate.delta - margin, estimate.delta + margin
    tail = max(float(t.sf(abs(estimate.delta) / estimate.se, estimate.df)), 1e-300)
    z = math.copysign(float(norm.isf(tail)), estimate.delta)
    power = None if last else float(conditional_power(z, estimate.se, look / looks, limits[-1], settings))
    verdict = verdict_of(low, high, settings["effect"] / 100)
    return LookResult(look, looks, z, boundary, low, high, power, *_open(verdict, power))


def _open(verdict: str, power: float | None) -> tuple[bool, str]:
    if verdict != "INCONCLUSIVE":
        return False, f"the verdict is {verdict}"
    if power is None:
        return False, "this was the last look"
    chance = f"the chance of a GO at the last look is {100 * power:.0f} %"
    return (True, chance) if power >= FUTILE else (False, f"{chance}, below {100 * FUTILE:.0f} %")


def conditional_power(z: Any, se: float, time: float, final: float, settings: Mapping[str, Any]) -> Any:
    """The chance that the last look reaches its boundary `final`, given `z` at the fraction `time` of the information.

    `z` is a number, or an array of them; `se` is the standard error now.

    It is computed for a treatment that is worth finding: with the smallest worthwhile effect or, where all planned
    runs are too few to find that one, with the effect that they find with the planned power. What was observed so far
    counts as it is. (Brownian motion: Lan and Wittes, Biometrics 44, 1988.)
    """
    from scipy.stats import norm

    planned_se = se * math.sqrt(time)
    detectable = norm.isf(settings["alpha"] / 2) + norm.ppf(settings["power"])
    drift = max(settings["effect"] / 100 / planned_se, detectable)
    missing = final - z * math.sqrt(time) - drift * (1 - time)
    return norm.sf(missing / math.sqrt(1 - time))
