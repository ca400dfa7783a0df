"""The gate: the verdict on a treatment, and the reasons why there is none.

docs/gate.md defines what each verdict guarantees. Differences are shares of 1; `effect` in the settings is in points,
as in the config. What the verdicts and reasons are called in a sentence is in gate_words.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from lensbench.core.frozen_plan import GateSettings
from lensbench.plan.names import Verdict
from lensbench.scores.intervals import Estimate
from lensbench.scores.objections import Reason, ReasonKind, objection
from lensbench.scores.sequential import LookResult, interval_at
from lensbench.scores.verdict_of import claims_of


class Reading(NamedTuple):
    """The differences under another assumption about the data, in which a verdict must hold as well."""

    kind: ReasonKind
    worst: Estimate
    """With everything that is assumed at its worst for the treatment."""
    best: Estimate

    def keeps(self, verdict: Verdict, boundary: float, settings: GateSettings) -> bool:
        """True when the reading supports the verdict; without an interval, its delta alone is used."""
        estimate = self.worst if verdict == "GO" else self.best
        delta = estimate.delta or 0.0
        low, high = interval_at(estimate, boundary) or (delta, delta)
        excluded = low > 0 if verdict == "GO" else high < (0 if verdict == "HARM" else settings["effect"] / 100)
        return excluded and not objection(verdict, estimate, boundary, settings)


class Decision(NamedTuple):
    """The decision about a treatment."""

    verdict: Verdict
    reasons: tuple[Reason, ...]
    """Why there is no verdict; empty where the interval alone leaves it open."""
    low: float | None
    """The interval behind the verdict, adjusted for the looks."""
    high: float | None


class GateVerdict(NamedTuple):
    """The decision in words (gate_words.py)."""

    verdict: Verdict
    sentence: str
    """The finding and its meaning, understandable on its own."""
    needs: str
    """What would be needed for a decision; empty when there is one."""
    low: float | None
    high: float | None
    notes: Sequence[str] = ()
    reasons: Sequence[Reason] = ()


def decide(
    estimate: Estimate,
    settings: GateSettings,
    look: LookResult,
    blockers: Sequence[Reason] = (),
    readings: Sequence[Reading] = (),
) -> Decision:
    """The strongest verdict on a treatment's score that its interval allows, that no test of its differences
    contradicts, and that holds in every reading.

    `look` has the interval. `blockers` forbid any verdict, such as a failed control.
    """
    low, high, boundary = look.low, look.high, look.boundary
    if low is None or high is None:
        return Decision("INCONCLUSIVE", (*blockers, Reason(ReasonKind.NO_INTERVAL)), low, high)
    reasons = list(blockers)
    for verdict in claims_of(low, high, settings["effect"] / 100):
        against = objection(verdict, estimate, boundary, settings)
        undone_in = [each.kind for each in readings if not each.keeps(verdict, boundary, settings)]
        doubts = [against] if against else list(dict.fromkeys(undone_in))
        if not doubts and not blockers:
            return Decision(verdict, (), low, high)
        reasons += (Reason(kind, undoes=verdict) for kind in doubts)
    return Decision("INCONCLUSIVE", tuple(reasons), low, high)
