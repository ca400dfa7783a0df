"""The gate: the verdict on a treatment, and the reasons why there is none (docs/gate.md; gate_words.py says them); and
when the runs stop between waves: at a GO, SAVES or HARM, or when none of them is likely any more.

Differences are shares of 1; `effect` and `margin` in the settings are in points and `least` in percent, as in the
config. To ignore a stop does not increase the error (non-binding futility). The chances are those of a Brownian motion
(Lan and Wittes, Biometrics 44, 1988): of a GO with the smallest worthwhile effect, of SAVES with equal answers from now
on, and of a loss or a saving that goes on as it began.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, get_args

from lensbench.core.distributions import norm_isf, norm_sf, t_sf
from lensbench.core.frozen_plan import Aim, GateSettings, VerdictName
from lensbench.scores.intervals import Estimate, most_lost, unseen_share
from lensbench.scores.rules import Reason, ReasonKind, allows, objection
from lensbench.scores.saving import Saving
from lensbench.scores.sequential import LookResult, boundaries, even_fractions, interval_at


def claims(look: LookResult, settings: GateSettings, saving: Saving | None) -> list[VerdictName]:
    """The verdicts that the intervals allow, in the order in which they are given."""
    low = look.low or 0.0
    high = look.high or 0.0
    more = {
        "GO": high >= settings["effect"] / 100,
        "SAVES": saving is not None and saving.is_cheaper(look.boundary),
        "COSTS": saving is not None and saving.is_dearer(look.boundary),
    }
    allowed = [name for name in get_args(VerdictName)[:-1] if allows(name, low, high, settings)]
    return [name for name in allowed if more.get(name, True)]


class Reading(NamedTuple):
    """The differences under another assumption about the data, in which a verdict must hold as well."""

    kind: ReasonKind
    worst: Estimate
    """With everything that is assumed at its worst for the treatment."""
    best: Estimate

    def keeps(self, verdict: VerdictName, boundary: float, settings: GateSettings) -> bool:
        """True when the reading supports the verdict; without an interval, its delta alone is used."""
        estimate = self.of(verdict)
        delta = estimate.delta or 0.0
        low, high = interval_at(estimate, boundary) or (delta, delta)
        is_allowed = bool(allows(verdict, low, high, settings))
        return is_allowed and not objection(verdict, estimate, norm_sf(boundary), settings)

    def of(self, verdict: VerdictName) -> Estimate:
        """The estimate that speaks least for a verdict."""
        return self.worst if verdict in ("GO", "SAVES") else self.best


class GateVerdict(NamedTuple):
    """The decision about a treatment. `decide` leaves the words to gate_words.py."""

    verdict: VerdictName
    """GO, SAVES, COSTS, HARM, NO-GO or INCONCLUSIVE."""
    sentence: str
    """The finding and its meaning, understandable on its own."""
    needs: str
    """What would be needed for a decision; empty when there is one."""
    low: float | None
    """The interval behind the verdict, adjusted for the looks."""
    high: float | None
    """The upper end of this interval, a share of 1."""
    notes: Sequence[str] = ()
    """What else readers should know, one sentence each."""
    reasons: Sequence[Reason] = ()
    """Why there is no verdict; empty where the interval alone leaves it open."""
    worst: float = 0.0
    """By how much answers may be worse, in shares of 1."""


def blocks(reason: Reason, verdict: VerdictName) -> bool:
    """True when a reason forbids a verdict: patterns with one verdict only cannot show that answers differ."""
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
    decision = GateVerdict("INCONCLUSIVE", "", "", look.low, look.high)
    if look.low is None or look.high is None:
        return decision._replace(reasons=(*blockers, Reason(ReasonKind.NO_INTERVAL)))
    reasons = [reason for reason in blockers if reason.undoes == "INCONCLUSIVE"]
    for verdict in claims(look, settings, saving):
        doubts = _doubts(verdict, estimate, settings, look.boundary, readings, saving)
        blocking = [reason for reason in blockers if blocks(reason, verdict)]
        if not doubts and not blocking:
            return decision._replace(verdict=verdict)
        reasons += (reason for reason in blocking if reason not in reasons)
        reasons += (Reason(kind, undoes=verdict) for kind in doubts)
    return decision._replace(reasons=tuple(reasons))


def _doubts(
    verdict: VerdictName,
    estimate: Estimate,
    settings: GateSettings,
    boundary: float,
    readings: Sequence[Reading],
    saving: Saving | None,
) -> list[ReasonKind]:
    """What speaks in the data against a verdict that the intervals allow: the first rule, or else the readings."""
    if verdict == "NO-GO" and saving and saving.is_cheaper(boundary):
        return [ReasonKind.SAVING]
    against = objection(verdict, estimate, norm_sf(boundary), settings)
    if against:
        return [against]
    undone = (
        reading.kind for reading in readings if not reading.keeps(verdict, boundary, settings)
    )
    return list(dict.fromkeys(undone))


ENDING_VERDICTS: tuple[VerdictName, ...] = ("GO", "SAVES", "HARM")
"""A NO-GO or a COSTS ends the runs only when none of these is likely any more."""
FUTILE = 0.2
"""Below this probability of a verdict the remaining runs are not worth their cost."""


def look_result(
    estimate: Estimate,
    look: int,
    looks: int,
    settings: GateSettings,
    boundary: float,
    saving: Saving | None = None,
) -> LookResult:
    """Look number `look` of `looks`, at the boundary of the account; open as far as the intervals say."""
    z = deviate(estimate)
    low, high = interval_at(estimate, boundary) or (None, None)
    result = LookResult(look, looks, z, boundary, low, high, None, False, "")
    if z is not None and look < looks:
        power = max(_chances(estimate, z, result, settings, saving))
        result = result._replace(conditional_power=power)
    verdicts = []
    if low is not None:
        verdicts = claims(result, settings, saving)
    return stopped(result, next(iter(verdicts), "INCONCLUSIVE"))


def stopped(look: LookResult, verdict: VerdictName) -> LookResult:
    """Whether the next wave is to be run, and why, at this verdict of the gate."""
    power = look.conditional_power
    is_last = look.look == look.looks
    is_decided = verdict != "INCONCLUSIVE"
    if look.low is None:
        return look._replace(open=not is_last, why="nothing can be estimated")
    if is_last or verdict in ENDING_VERDICTS or (is_decided and (power or 0.0) < FUTILE):
        why = f"the verdict is {verdict}" if is_decided else "this is the last look"
        return look._replace(open=False, why=why)
    if power is None:
        return look._replace(open=True, why="all differences are the same")
    why = f"the chance of a GO, SAVES or HARM at the last look is {100 * power:.0f}%"
    if power < FUTILE:
        why += f", below {100 * FUTILE:.0f}%"
    return look._replace(open=power >= FUTILE, why=why)


def deviate(estimate: Estimate) -> float | None:
    """The estimate as a normal deviate with the same p; None when it cannot be estimated."""
    if not estimate.se or not estimate.df or estimate.delta is None:
        return None
    tail = max(t_sf(abs(estimate.delta) / estimate.se, estimate.df), 1e-300)
    return math.copysign(norm_isf(tail), estimate.delta)


def _chances(
    estimate: Estimate, z: float, look: LookResult, settings: GateSettings, saving: Saving | None
) -> Iterator[float]:
    """How likely the last look gives each of ENDING_VERDICTS."""
    time = look.look / look.looks
    se = estimate.se or 0.0
    final = boundaries(even_fractions(look.looks), settings["alpha"])[-1]
    yield conditional_power(-z, time, -z / math.sqrt(time), final)
    if (look.high or 0.0) >= settings["effect"] / 100:
        yield conditional_power(z, time, worthwhile(se, time, settings), final)
    margin = settings["margin"] / 100
    tasks = estimate.n
    if settings["over"] == "tasks":
        tasks = math.floor(estimate.n / time)
    unseen = unseen_share(tasks, norm_sf(final)) * most_lost(estimate.baselines)
    if saving and unseen <= margin:
        above = ((estimate.delta or 0.0) + margin) / se
        chances = [conditional_power(above, time, margin / se / math.sqrt(time), final)]
        for part in (*saving.saved, *saving.bills):
            ratio = (part.delta or 0.0) / (part.se or 1e-9)
            chances.append(conditional_power(ratio, time, ratio / math.sqrt(time), final))
        yield min(chances)


def conditional_power(z: float, time: float, drift: float, final: float) -> float:
    """The probability that the last look reaches its boundary `final`, given `z` at the fraction `time` of the
    information; `drift` is the expected deviate of all of it."""
    return norm_sf((final - z * math.sqrt(time) - drift * (1 - time)) / math.sqrt(1 - time))


def worthwhile(se: float, time: float, aim: Aim) -> float:
    """The drift of the smallest worthwhile effect or, if the planned runs are too few to detect it, of the effect that
    they detect with the planned power; `se` at the fraction `time` of the information."""
    detectable = norm_isf(aim["alpha"] / 2) - norm_isf(aim["power"])
    return max(aim["effect"] / 100 / (se * math.sqrt(time)), detectable)
