"""How many tasks a verdict needs: the power of the gate's own rules (rules.py), simulated for normal differences.

`tasks_for` is the one answer to "how many tasks?", for planning before any run and for advice after a look. A mean of
normal differences and its standard error are independent, so two numbers a benchmark are drawn instead of its tasks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from lensbench.core.distributions import norm_isf
from lensbench.core.frozen_plan import GateSettings, VerdictName
from lensbench.core.numeric import Floats, np
from lensbench.scores.intervals import UNSEEN, Estimate, rooms_of
from lensbench.scores.power import tasks_needed, upper_sd
from lensbench.scores.rules import FEWEST_TASKS, ReasonKind, Sample, given

if TYPE_CHECKING:
    from lensbench.scores.gate import Reading
    from lensbench.scores.saving import Saving

BENCHMARKS = 2_000
"""Simulated for a power: its error is below 0.01."""
MOST_TASKS = 2_000
"""More are not proposed."""
ASSUMED_BASELINES = (0.4, 0.55, 0.7, 0.85, 1.0)
"""The baselines of tasks before any is known."""


class Truth(NamedTuple):
    """What the tasks are supposed to be like. Shares of 1."""

    delta: float
    sd: float
    """Of a task's difference; where tasks share repositories, the standard error times the root of the tasks."""
    baselines: Sequence[float] = ASSUMED_BASELINES
    """Scores of the baseline; of tasks like these."""
    tasks_each: float = 1.0
    """The tasks of a repository, when the claim is about others like them, too."""


USUAL = Truth(delta=0.1, sd=0.2)
"""The gain that is worth finding, and the spread that is assumed, before any run has shown them."""


def usual_tasks(settings: GateSettings) -> int | None:
    """How many tasks a verdict usually needs: those that show such a gain."""
    return tasks_for("GO", USUAL, settings["alpha"] / 2, settings, settings["power"])


def power_of(
    verdict: VerdictName, truth: Truth, tasks: int, chance: float, settings: GateSettings
) -> float:
    """How often so many tasks give a verdict on the score. `chance` is the one-sided error of the look. For SAVES this
    is the part about the answers."""
    found = simulated(truth, tasks, with_floor=verdict == "SAVES")
    return float(given(verdict, found, chance, settings).mean())


def tasks_for(
    verdict: VerdictName,
    truth: Truth,
    chance: float,
    settings: GateSettings,
    power: float = 0.8,
    fewest: int = FEWEST_TASKS,
) -> int | None:
    """The least number of tasks, from `fewest`, that give a verdict on the score with this power; None where MOST_TASKS
    do not."""

    def is_enough(tasks: int) -> bool:
        return power_of(verdict, truth, tasks, chance, settings) >= power

    enough = max(fewest, FEWEST_TASKS)
    below = enough - 1
    while not is_enough(enough):
        if enough >= MOST_TASKS:
            return None
        below = enough
        enough = min(math.ceil(1.5 * enough), MOST_TASKS)
    while enough - below > 1:
        middle = (below + enough) // 2
        if is_enough(middle):
            enough = middle
        else:
            below = middle
    return enough


def simulated(truth: Truth, tasks: int, *, with_floor: bool = False) -> Sample:
    """The samples of benchmarks of so many tasks, always from the same seed."""
    rng = np.random.default_rng(1)
    repositories = max(tasks / truth.tasks_each, 2.0)
    df = repositories - 1
    error = truth.sd / math.sqrt(tasks)
    delta = truth.delta + error * rng.standard_normal(BENCHMARKS)
    se = error * np.sqrt(rng.chisquare(df, BENCHMARKS) / df)
    rooms = rooms_of(np.tile(truth.baselines, (BENCHMARKS, 1)))
    nothing = np.full(BENCHMARKS, math.nan)
    floor = nothing
    if with_floor:
        floor = _floor(delta, se, tasks, float(rooms.losses.mean[0]))
    return Sample(
        tasks=tasks,
        df=df,
        repositories=repositories,
        is_general=truth.tasks_each > 1,
        delta=delta,
        se=se,
        rooms=rooms,
        root=nothing,
        floor=floor,
    )


def _floor(delta: Floats, se: Floats, tasks: int, lost: float) -> Floats:
    """The floors of intervals.floors for normal differences: a quantile with the skewness of one more task that loses
    everything (Cornish and Fisher, 1938). Where nothing can be lost, that task adds nothing."""
    far = norm_isf(UNSEEN)
    weight = lost / tasks
    if not weight:
        return delta - far * se
    spread = np.hypot(se, weight)
    skewness = (far**2 - 1) / 3 * weight**3 / spread**2
    floor: Floats = delta - weight - far * spread - skewness
    return floor


def deciding(
    estimate: Estimate,
    readings: Sequence[Reading],
    settings: GateSettings,
    chance: float,
    saving: Saving | None,
) -> Iterator[tuple[VerdictName, int]]:
    """The verdicts that more tasks like these would give, each with the number of tasks in all, if the true difference
    is the one found, in every reading; the one with the fewest tasks first. `chance` is that of the next look."""
    needs: dict[VerdictName, int] = {}
    verdicts: list[VerdictName] = ["GO", "HARM", "NO-GO"]
    if saving is not None:
        verdicts.append("SAVES")
    for verdict in verdicts:
        tasks = [_tasks_in(verdict, estimate, settings, chance)]
        for reading in readings:
            tasks.append(_tasks_in_reading(verdict, estimate, reading, settings, chance))
        if verdict == "SAVES" and saving is not None:
            for mean in (*saving.saved, *saving.bills):
                tasks.append(_tasks_for_mean(mean, settings, chance))
        known = [count for count in tasks if count is not None]
        if len(known) == len(tasks):
            needs[verdict] = max(known)
    yield from sorted(needs.items(), key=lambda need: need[1])


def _tasks_in(
    verdict: VerdictName,
    estimate: Estimate,
    settings: GateSettings,
    chance: float,
    shift: float = 0.0,
) -> int | None:
    """The tasks that a reading needs, by the upper bound of its spread."""
    if estimate.delta is None or estimate.n < 2:
        return None
    each = 1.0
    if not estimate.scope and estimate.repositories < estimate.n:
        each = estimate.n / estimate.repositories
    baselines = estimate.baselines or ASSUMED_BASELINES
    truth = Truth(estimate.delta + shift, _upper_sd(estimate), baselines, each)
    return tasks_for(verdict, truth, chance, settings, settings["power"], estimate.n + 1)


def _upper_sd(mean: Estimate) -> float:
    """The upper bound of a task's spread; where tasks share repositories, of what its standard error says of it."""
    return upper_sd((mean.se or 0.0) * math.sqrt(mean.n), mean.n)


def _tasks_in_reading(
    verdict: VerdictName,
    estimate: Estimate,
    reading: Reading,
    settings: GateSettings,
    chance: float,
) -> int | None:
    if reading.kind is ReasonKind.SHOWN_BEFORE:
        # More tasks dilute what was shown of these: the same loss of points is one of fewer tasks.
        return _tasks_beside(verdict, estimate, reading.of(verdict), settings, chance)
    return _tasks_in(verdict, reading.of(verdict), settings, chance)


def _tasks_beside(
    verdict: VerdictName, estimate: Estimate, shown: Estimate, settings: GateSettings, chance: float
) -> int | None:
    """The tasks at which a verdict holds with what was shown of the present ones."""
    lost = ((shown.delta or 0.0) - (estimate.delta or 0.0)) * estimate.n
    total = _tasks_in(verdict, estimate, settings, chance)
    while total is not None:
        enough = _tasks_in(verdict, estimate, settings, chance, lost / total)
        if enough is not None and enough <= total:
            return total
        if total >= MOST_TASKS:
            return None
        total = min(math.ceil(1.1 * total), MOST_TASKS)
    return None


def _tasks_for_mean(mean: Estimate, settings: GateSettings, chance: float) -> int | None:
    """The tasks that show that a mean is above 0."""
    delta = mean.delta or 0.0
    if delta <= 0 or mean.n < 2:
        return None
    sd = _upper_sd(mean)
    if delta * math.sqrt(MOST_TASKS) < sd:
        return None  # a rounding error above 0 would need more tasks than there are numbers
    tasks = tasks_needed(sd, delta, settings["power"], 2 * chance)
    return tasks if tasks <= MOST_TASKS else None
