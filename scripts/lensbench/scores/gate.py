"""The gate: the verdict on a treatment, and the reasons why there is none (docs/gate.md; gate_words.py says them).
Differences are shares of 1; `effect` in the settings is in points, as in the config."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, get_args

from lensbench.core.frozen_plan import GateSettings, Verdict
from lensbench.scores.intervals import Estimate
from lensbench.scores.objections import Reason, ReasonKind, objection
from lensbench.scores.saving import Saving, better
from lensbench.scores.sequential import LookResult, interval_at

DEFAULTS: GateSettings = {
    "effect": 5, "alpha": 0.05, "power": 0.8, "looks": 1, "over": "tasks", "comparisons": (),
    "saves": "cost", "margin": 10, "least": 10,
}  # fmt: skip
"""Settings that a plan may omit: `effect` and `margin` in points, `least` in percent, `alpha` two-sided."""


def allows(verdict: Verdict, low: float, high: float, settings: GateSettings) -> bool:
    """True when an interval of the score allows a verdict. Those on effort need more: `claims`."""
    rules = {"GO": low > 0, "SAVES": low > -settings["margin"] / 100, "HARM": high < 0}
    return rules.get(verdict, high < settings["effect"] / 100)


def claims(look: LookResult, settings: GateSettings, saving: Saving | None) -> list[Verdict]:
    """The verdicts that the intervals allow, in the order in which they are given."""
    low, high = look.low or 0.0, look.high or 0.0
    more = {
        "GO": high >= settings["effect"] / 100,
        "SAVES": saving is not None and saving.is_cheaper(look.boundary),
        "COSTS": saving is not None and saving.is_dearer(look.boundary),
    }
    return [name for name in get_args(Verdict)[:-1] if allows(name, low, high, settings) and more.get(name, True)]


class Reading(NamedTuple):
    """The differences under another assumption about the data, in which a verdict must hold as well."""

    kind: ReasonKind
    worst: Estimate
    """With everything that is assumed at its worst for the treatment."""
    best: Estimate

    def keeps(self, verdict: Verdict, boundary: float, settings: GateSettings) -> bool:
        """True when the reading supports the verdict; without an interval, its delta alone is used."""
        estimate = self.worst if verdict in ("GO", "SAVES") else self.best
        delta = estimate.delta or 0.0
        interval = interval_at(estimate, boundary) or (delta, delta)
        return allows(verdict, *interval, settings) and not objection(verdict, estimate, boundary, settings)


class GateVerdict(NamedTuple):
    """The decision about a treatment. `decide` leaves the words to gate_words.py."""

    verdict: Verdict
    sentence: str
    """The finding and its meaning, understandable on its own."""
    needs: str
    """What would be needed for a decision; empty when there is one."""
    low: float | None
    """The interval behind the verdict, adjusted for the looks."""
    high: float | None
    notes: Sequence[str] = ()
    reasons: Sequence[Reason] = ()
    """Why there is no verdict; empty where the interval alone leaves it open."""
    worst: float = 0.0
    """By how much answers may be worse, in shares of 1."""


def blocks(reason: Reason, verdict: Verdict) -> bool:
    """True when a reason forbids a verdict. Patterns that give one verdict only cannot show that answers differ, but
    they can be as good."""
    on_effort = reason.kind is ReasonKind.PATTERNS and verdict in ("SAVES", "COSTS")
    return reason.undoes in (verdict, "INCONCLUSIVE") and not on_effort


def decide(
    estimate: Estimate,
    settings: GateSettings,
    look: LookResult,
    blockers: Sequence[Reason] = (),
    readings: Sequence[Reading] = (),
    saving: Saving | None = None,
) -> GateVerdict:
    """The strongest verdict on a treatment that its intervals allow, that no test of its differences contradicts, and
    that holds in every reading. `look` has the interval of the score; `blockers` forbid any verdict, one only, or all
    but those on effort (`blocks`)."""
    low, high, boundary = look.low, look.high, look.boundary
    if low is None or high is None:
        return GateVerdict("INCONCLUSIVE", "", "", low, high, (), (*blockers, Reason(ReasonKind.NO_INTERVAL)))
    reasons = [reason for reason in blockers if reason.undoes == "INCONCLUSIVE"]
    for verdict in claims(look, settings, saving):
        at = better(boundary, saving) if verdict == "GO" else boundary
        against = objection(verdict, estimate, at, settings)
        if not allows(verdict, *(interval_at(estimate, at) or (low, high)), settings):
            against = ReasonKind.SHARED
        undone_in = [reading.kind for reading in readings if not reading.keeps(verdict, at, settings)]
        doubts = [against] if against else list(dict.fromkeys(undone_in))
        blocking = [reason for reason in blockers if blocks(reason, verdict)]
        if not doubts and not blocking:
            return GateVerdict(verdict, "", "", low, high)
        reasons += (reason for reason in blocking if reason not in reasons)
        reasons += (Reason(kind, undoes=verdict) for kind in doubts)
    return GateVerdict("INCONCLUSIVE", "", "", low, high, (), tuple(reasons))
