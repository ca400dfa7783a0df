"""Tests that a verdict must pass beside its interval, because they assume less about the differences.

Student's t interval assumes that differences are nearly normal. With few tasks they often are not: most tasks gain a
little and a few lose much, or the other way round. docs/gate.md has the rules, docs/measured/gate.md the figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from lensbench.core.distributions import norm_sf, t_isf, t_sf
from lensbench.core.frozen_plan import GateSettings, Verdict
from lensbench.scores.intervals import Estimate, unseen_share
from lensbench.scores.sequential import interval_at

FEWEST_TASKS = 8
"""With fewer tasks there is no GO and no HARM: a few skewed differences have any mean."""
TAIL = 0.0475
"""What rare heavy losses take from the mean, in shares of 1: one task in twenty loses 95 points, or, where tasks share
repositories, one repository in five loses 24. The others gain as much together, so the true difference is 0."""
SHARE_OF_TASKS, SHARE_OF_REPOSITORIES = 0.05, 0.2
UNEVEN = 0.2
"""With a wider spread in one trial the interval of so few tasks is too wide to need this test. The gains of the others
differ by chance, so several trials divide it by the root of their number."""
CHANCE = 0.045
"""The accepted chance of such a verdict; samples with a heavy task add some."""


class ReasonKind(StrEnum):
    """Why there is no verdict."""

    NO_INTERVAL = "no interval"
    LEDGER = "ledger of looks"
    OFFLINE = "offline agent"
    TOO_FEW_CALLS = "too few calls"
    MIXED_RUNS = "mixed runs"
    WRONG_JUDGE = "wrong judge"
    UNTRUSTED_JUDGES = "untrusted judges"
    BIASED_JUDGES = "biased judges"
    FEW_TASKS = "few tasks"
    SIGN_FLIPS = "sign flips"
    HEAVY_TAIL = "heavy tail"
    LOST_RUNS = "lost runs"
    DOUBTED = "doubted verdicts"
    SHOWN_BEFORE = "shown before"
    UNSEEN = "unseen losses"
    SHARED = "shared error"
    PATTERNS = "patterns that hardly tell answers apart"
    LIMITS_CHANGED = "limits changed"


class Reason(NamedTuple):
    """A reason against a verdict."""

    kind: ReasonKind
    detail: str = ""
    """What those who found it say: one sentence, or ""."""
    undoes: Verdict = "INCONCLUSIVE"
    """The verdict that it undoes; INCONCLUSIVE when it forbids any."""


def excludes_zero(estimate: Estimate, boundary: float, settings: GateSettings) -> bool:
    """True when the interval at this boundary lies on one side of 0, and there is no objection."""
    low, high = interval_at(estimate, boundary) or (0.0, 0.0)
    return not low <= 0 <= high and not objection(
        "GO" if low > 0 else "HARM", estimate, boundary, settings
    )


def objection(
    verdict: Verdict, estimate: Estimate, boundary: float, settings: GateSettings
) -> ReasonKind | None:
    """Why a verdict is not given although the interval at this boundary allows it; None when it is given. For SAVES,
    tasks that lose everything may be unseen in so few, or too rare for a normal interval."""
    chance = norm_sf(boundary)
    if verdict in ("GO", "HARM", "SAVES") and estimate.n < FEWEST_TASKS:
        return ReasonKind.FEW_TASKS
    is_heavy = hides_a_tail(verdict, estimate, settings)
    if verdict == "SAVES":
        if unseen_share(estimate.n, chance) > (margin := settings["margin"] / 100):
            return ReasonKind.UNSEEN
        is_heavy |= estimate.floor is None or estimate.floor <= -margin
    elif verdict in ("GO", "HARM"):
        if estimate.mid_p is not None and estimate.mid_p > settings["alpha"]:
            return ReasonKind.SIGN_FLIPS
        far, sign = t_isf(chance, estimate.df or math.inf), 1 if verdict == "GO" else -1
        is_heavy |= estimate.root is not None and sign * estimate.root < far
    return ReasonKind.HEAVY_TAIL if is_heavy else None


def most_worse(estimate: Estimate, low: float, boundary: float) -> float:
    """By how much answers may be worse, in shares of 1: the bound that is reached, unseen heavy losses included."""
    floor = low if estimate.floor is None else estimate.floor
    return max(-low, -floor, unseen_share(estimate.n, norm_sf(boundary)))


def hides_a_tail(verdict: Verdict, estimate: Estimate, settings: GateSettings) -> bool:
    """True when tasks with rare heavy losses would too often give a sample without one that lies as far from what the
    verdict denies: from a difference of 0 for a GO, from -`margin` for SAVES, where only repositories count, and,
    mirrored, from 0 for a HARM and from `effect` for a NO-GO.

    Without a loss the sample is one around the gain of the others, with the spread of the data: a one-sided t test of
    this mean, whose p value counts as often as such a sample occurs.
    """
    if not estimate.se or not estimate.df or estimate.delta is None:
        return False
    sign = 1 if verdict in ("GO", "SAVES") else -1
    worthwhile = settings["effect"] / 100
    bound = {"SAVES": -settings["margin"] / 100, "NO-GO": worthwhile, "COSTS": worthwhile}.get(
        verdict, 0.0
    )
    distance = sign * (estimate.delta - bound)
    return any(
        none * t_sf((distance - gain) / estimate.se, estimate.df) > CHANCE
        for none, gain in _unseen_tails(estimate, of_tasks=verdict != "SAVES")
    )


def _unseen_tails(estimate: Estimate, *, of_tasks: bool) -> Iterator[tuple[float, float]]:
    """How likely no loss is seen, and what the others gain; by tasks, and by repositories where tasks share them."""
    if of_tasks and (estimate.sd or 0.0) * math.sqrt(estimate.pairs / estimate.n) <= UNEVEN:
        yield (1 - SHARE_OF_TASKS) ** estimate.n, TAIL / (1 - SHARE_OF_TASKS)
    if estimate.repositories < estimate.n and not estimate.scope:
        yield (
            (1 - SHARE_OF_REPOSITORIES) ** estimate.repositories,
            TAIL / (1 - SHARE_OF_REPOSITORIES),
        )
