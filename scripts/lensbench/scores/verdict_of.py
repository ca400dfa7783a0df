"""The verdicts that an interval allows, and the default settings of the gate."""

from __future__ import annotations

from lensbench.core.frozen_plan import GateSettings
from lensbench.plan.names import Verdict

DEFAULTS: GateSettings = {
    "effect": 5, "alpha": 0.05, "power": 0.8, "looks": 1, "over": "tasks", "comparisons": (),
    "saves": "cost", "margin": 10, "least": 10,
}  # fmt: skip
"""Settings that a plan may omit: `effect` and `margin` in points, `least` in percent, `alpha` two-sided."""


def verdict_of(low: float, high: float, effect: float) -> Verdict:
    """The strongest verdict that an interval of the score allows. `effect` is the smallest worthwhile effect, in the
    unit of the interval.

    An interval between 0 and `effect` is a NO-GO: the treatment helps, but by less than is worthwhile.
    """
    if high < effect:
        return "HARM" if high < 0 else "NO-GO"
    return "GO" if low > 0 else "INCONCLUSIVE"
