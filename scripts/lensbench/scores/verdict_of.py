"""The verdict for an interval, and the default settings of the gate."""

from __future__ import annotations

from lensbench.core.frozen_plan import GateSettings
from lensbench.plan.names import Verdict

DEFAULTS: GateSettings = {"effect": 5, "alpha": 0.05, "power": 0.8, "looks": 1, "over": "tasks", "contrasts": ()}
"""Settings that a plan may omit: `effect` in points, `alpha` two-sided."""


def verdict_of(low: float, high: float, effect: float) -> Verdict:
    """The verdict for an interval; `effect` is the smallest worthwhile effect, in the unit of the interval.

    An interval between 0 and `effect` is a NO-GO: the treatment helps, but by less than is worthwhile.
    """
    if high < 0:
        return "HARM"
    if high < effect:
        return "NO-GO"
    return "GO" if low > 0 else "INCONCLUSIVE"
