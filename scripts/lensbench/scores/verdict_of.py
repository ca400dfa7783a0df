"""The verdicts that an interval allows, and the default settings of the gate."""

from __future__ import annotations

from lensbench.core.frozen_plan import GateSettings
from lensbench.plan.names import Verdict

DEFAULTS: GateSettings = {"effect": 5, "alpha": 0.05, "power": 0.8, "looks": 1, "over": "tasks", "contrasts": ()}
"""Settings that a plan may omit: `effect` in points, `alpha` two-sided."""


def claims_of(low: float, high: float, effect: float) -> list[Verdict]:
    """The verdicts that an interval allows, the strongest first. `effect` is the smallest worthwhile effect, in the
    unit of the interval.

    An interval between 0 and `effect` is a NO-GO: the treatment helps, but by less than is worthwhile.
    """
    if high < effect:
        return ["HARM", "NO-GO"] if high < 0 else ["NO-GO"]
    return ["GO"] if low > 0 else []


def verdict_of(low: float, high: float, effect: float) -> Verdict:
    """The strongest verdict that an interval allows."""
    return next(iter(claims_of(low, high, effect)), "INCONCLUSIVE")
