"""The rules by which differences give a verdict: its interval, and what it must pass beside it.

They are functions of numbers, for one benchmark or, as arrays, for thousands of the same tasks at once: planning and
calibration simulate the rules that decide. `given` is the whole decision about the score; `decide` in gate.py adds what
only a run folder knows.

docs/gate.md has the rules, docs/decisions/t.md the reasons, docs/measured/gate.md the figures.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from lensbench.core.distributions import t_isf
from lensbench.core.frozen_plan import GateSettings, VerdictName
from lensbench.core.numeric import Bools, Floats, np
from lensbench.scores.intervals import (
    LARGEST,
    Estimate,
    Room,
    Rooms,
    effective,
    floors,
    is_skewed,
    likelihood_roots,
    rooms_of,
    standard_errors,
    units_of,
    unseen_share,
)

FEWEST_TASKS = 10
"""With fewer tasks there is no GO, no HARM and no SAVES: a few skewed differences have any mean."""


class ReasonKind(StrEnum):
    """Why there is no verdict."""

    NO_INTERVAL = "no interval"
    LEDGER = "ledger of looks"
    OFFLINE = "offline agent"
    RUNS_DUE = "runs due"
    TOO_FEW_CALLS = "too few calls"
    MIXED_RUNS = "mixed runs"
    WRONG_JUDGE = "wrong judge"
    UNTRUSTED_JUDGES = "untrusted judges"
    BIASED_JUDGES = "biased judges"
    FEW_TASKS = "few tasks"
    HEAVY_TAIL = "heavy tail"
    LOST_RUNS = "lost runs"
    DOUBTED = "doubted verdicts"
    SHOWN_BEFORE = "shown before"
    UNSEEN = "unseen losses"
    SAVING = "a saving that is shown"
    PATTERNS = "patterns that hardly tell answers apart"
    LIMITS_CHANGED = "limits changed"


class Reason(NamedTuple):
    """A reason against a verdict."""

    kind: ReasonKind
    """Its name."""
    detail: str = ""
    """What those who found it say: one sentence, or ""."""
    undoes: VerdictName = "INCONCLUSIVE"
    """The verdict that it undoes; INCONCLUSIVE when it forbids any."""


class Tail(NamedTuple):
    """Rare heavy losses that a verdict must not rest on, when none of them is seen."""

    share: float
    """The share of the tasks, or of the repositories, that loses."""
    chance: float
    """The accepted chance of such a verdict; samples in which one is seen add some."""
    promise: float
    """In how many of such benchmarks there is a false verdict at most, all samples together (docs/gate.md)."""


ANY_TASKS = Tail(0.05, 0.04, promise=0.05)
"""Some tasks, whichever, lose all that their baselines had."""
BEST_TASKS = Tail(0.05, 0.09, promise=0.1)
"""Only tasks with the best baselines do: they lose the most that can be lost, so more of it is accepted.

A gain of 6 with a spread of 10 is found in .46 of benchmarks with 24 tasks. What finds it more often breaks the promise
of 10%: a chance of .10 gives .49 and errs in up to .110, the mean of the top tenth as the room .51 and .128, no such
rule .61 and .255."""
REPOSITORIES = Tail(0.2, 0.045, promise=0.05)
"""A fifth of the repositories loses REPOSITORY_LOSS, where tasks share them."""
REPOSITORY_LOSS = 0.2375


class Sample(NamedTuple):
    """What the rules need of the differences of benchmarks: one entry of each array is one benchmark. All have the
    same number of tasks in the same repositories."""

    tasks: int
    df: float
    repositories: float
    """The effective number of repositories."""
    is_general: bool
    """True when tasks share repositories, and the claim is about others like them, too."""
    delta: Floats
    se: Floats
    rooms: Rooms
    root: Floats
    """As in Estimate; nan where the differences are not skewed."""
    floor: Floats
    """As in Estimate; nan where it was not asked for."""


def sample(
    differences: Floats,
    baselines: Floats,
    repositories: Sequence[int] = (),
    *,
    with_floor: bool = False,
) -> Sample:
    """The sample of simulated benchmarks: a row each, a column for each task, with the number of each task's repository
    (one each by default). The floor, which only SAVES needs, takes most of the time."""
    benchmarks, count = differences.shape
    groups = list(repositories) or list(range(count))
    error = standard_errors(differences, groups)
    units = units_of(differences, groups)
    skewed = is_skewed(units)
    root = np.full(benchmarks, math.nan)
    root[skewed] = likelihood_roots(units[skewed])
    floor = np.full(benchmarks, math.nan)
    if with_floor:
        floor = floors(differences, baselines.mean(axis=-1), 1)
    return Sample(
        tasks=count,
        df=error.df,
        repositories=effective(groups),
        is_general=max(groups) + 1 < count and units.shape[-1] < count,
        delta=differences.mean(axis=-1),
        se=error.se,
        rooms=rooms_of(baselines),
        root=root,
        floor=floor,
    )


def sample_of(estimate: Estimate) -> Sample:
    """The sample of one benchmark. Where baselines are not known, a task may lose or gain everything."""

    def one(value: float | None) -> Floats:
        return np.array([math.nan if value is None else value])

    if estimate.baselines:
        rooms = rooms_of(np.array([estimate.baselines]))
    else:
        whole = Room(one(LARGEST), one(1.0), one(LARGEST))
        rooms = Rooms(whole, whole)
    return Sample(
        tasks=estimate.n,
        df=estimate.df or math.inf,
        repositories=estimate.repositories,
        is_general=estimate.repositories < estimate.n and not estimate.scope,
        delta=one(estimate.delta or 0.0),
        se=one(estimate.se or 0.0),
        rooms=rooms,
        root=one(estimate.root),
        floor=one(estimate.floor),
    )


def interval(found: Sample, chance: float) -> tuple[Floats, Floats]:
    """The intervals with this chance of an error a side. Equal differences have that of what so many tasks may not have
    seen."""
    share = unseen_share(found.tasks, chance)
    most_down = np.maximum(found.rooms.losses.mean + found.delta, 0.0)
    most_up = np.maximum(found.rooms.gains.mean - found.delta, 0.0)
    margin = t_isf(chance, found.df) * found.se
    low = found.delta - np.where(found.se > 0, margin, share * most_down)
    high = found.delta + np.where(found.se > 0, margin, share * most_up)
    return np.maximum(low, -LARGEST), np.minimum(high, LARGEST)


def allows(
    verdict: VerdictName, low: Floats | float, high: Floats | float, settings: GateSettings
) -> Bools | bool:
    """Where intervals of the score allow a verdict. Those on effort need more."""
    if verdict == "GO":
        return low > 0
    if verdict == "SAVES":
        return low > -settings["margin"] / 100
    if verdict == "HARM":
        return high < 0
    return high < settings["effect"] / 100


def given(verdict: VerdictName, found: Sample, chance: float, settings: GateSettings) -> Bools:
    """Where a verdict is given: the interval allows it, and nothing speaks against it. `chance` is the one-sided error
    of the look, `alpha` / 2 at the first one. SAVES and COSTS need a saving or an increase beside it (saving.py)."""
    low, high = interval(found, chance)
    result: Bools = np.asarray(allows(verdict, low, high, settings))
    if verdict == "GO":
        result &= high >= settings["effect"] / 100
    for _, against in objections(verdict, found, chance, settings):
        result &= ~against
    return result


def objections(
    verdict: VerdictName, found: Sample, chance: float, settings: GateSettings
) -> Iterator[tuple[ReasonKind, Bools]]:
    """The rules that speak against a verdict which the interval allows, each with where it does. For SAVES, tasks that
    lose all may be unseen in so few, or too rare for a normal interval."""
    margin = settings["margin"] / 100
    if verdict in ("GO", "HARM", "SAVES"):
        yield ReasonKind.FEW_TASKS, np.full(found.delta.shape, found.tasks < FEWEST_TASKS)
    if verdict == "SAVES":
        yield ReasonKind.UNSEEN, unseen_loss(found, chance) > margin
        yield ReasonKind.HEAVY_TAIL, ~(found.floor > -margin)
    if verdict in ("GO", "HARM"):
        sign = 1 if verdict == "GO" else -1
        yield ReasonKind.HEAVY_TAIL, sign * found.root < t_isf(chance, found.df)
    yield ReasonKind.HEAVY_TAIL, hides_a_tail(verdict, found, settings)


def objection(
    verdict: VerdictName, estimate: Estimate, chance: float, settings: GateSettings
) -> ReasonKind | None:
    """Why a verdict on one benchmark is not given although its interval allows it; None when it is."""
    for kind, against in objections(verdict, sample_of(estimate), chance, settings):
        if against[0]:
            return kind
    return None


def unseen_loss(found: Sample, chance: float) -> Floats:
    """The mean loss of the tasks that so few may not have seen: they lose what an average baseline had."""
    return unseen_share(found.tasks, chance) * found.rooms.losses.mean


def hides_a_tail(verdict: VerdictName, found: Sample, settings: GateSettings) -> Bools:
    """Where tasks with rare heavy losses would too often give a sample without one that lies as far from what the
    verdict denies: from a difference of 0 for a GO, from -`margin` for SAVES, where only repositories count, and,
    mirrored, from 0 for a HARM and from `effect` for a NO-GO.

    Without a loss the sample is one around the gain of the others, with the spread of the data: a one-sided t test of
    this mean, at the accepted chance divided by how often such a sample occurs.
    """
    if verdict == "GO":
        distance = found.delta
    elif verdict == "SAVES":
        distance = found.delta + settings["margin"] / 100
    elif verdict == "HARM":
        distance = -found.delta
    else:
        distance = settings["effect"] / 100 - found.delta
    hidden = np.zeros(found.delta.shape, bool)
    varies = found.se > 0
    spread = np.where(varies, found.se, 1.0)
    for none_seen, gain, accepted in _tails(verdict, found):
        far = quantiles(accepted / none_seen, found.df)
        hidden |= varies & (distance < gain + far * spread)
    return hidden


def _tails(verdict: VerdictName, found: Sample) -> Iterator[tuple[Floats, Floats, float]]:
    """For each tail how likely no loss is seen, what the others gain, so that the mean is 0, and its chance."""
    room = found.rooms.losses if verdict in ("GO", "SAVES") else found.rooms.gains
    if verdict != "SAVES":
        # Where few tasks have much to lose, as many lose as if those alone were hit.
        share = ANY_TASKS.share * room.evenness
        none_seen = (1 - share) ** found.tasks
        yield none_seen, ANY_TASKS.share * room.mean / (1 - share), ANY_TASKS.chance
        share = np.full(found.delta.shape, BEST_TASKS.share)
        none_seen = (1 - share) ** found.tasks
        yield none_seen, share * room.most / (1 - share), BEST_TASKS.chance
    if found.is_general:
        share = np.full(found.delta.shape, REPOSITORIES.share)
        none_seen = (1 - share) ** found.repositories
        yield none_seen, share * REPOSITORY_LOSS / (1 - share), REPOSITORIES.chance


def quantiles(tails: Floats, df: float) -> Floats:
    """What Student's t exceeds with these probabilities, to three decimals of them; below everything for 1 and more."""
    rounded, place = np.unique(np.minimum(np.round(tails, 3), 1.0), return_inverse=True)
    far = np.array([t_isf(float(tail), df) for tail in rounded])
    return far[place]


def excludes_zero(estimate: Estimate, chance: float, settings: GateSettings) -> bool:
    """True when the interval with this chance of an error a side lies on one side of 0, and nothing speaks against
    it."""
    if estimate.sd is None:  # fewer than two tasks
        return False
    found = sample_of(estimate)
    settings = {**settings, "effect": 0}
    is_better = given("GO", found, chance, settings)
    is_worse = given("HARM", found, chance, settings)
    return bool((is_better | is_worse)[0])


def most_worse(estimate: Estimate, low: float, chance: float) -> float:
    """By how much answers may be worse, in shares of 1: the bound that is reached, unseen heavy losses included."""
    floor = estimate.floor
    if floor is None:
        floor = low
    lost = unseen_loss(sample_of(estimate), chance)[0]
    return max(-low, -floor, float(lost))
