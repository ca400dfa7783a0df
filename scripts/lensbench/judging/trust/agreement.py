"""Agreement of judges: Cohen's kappa with linear weights for two of them, Krippendorff's ordinal alpha for all
(docs/judges.md). The criteria of one task are not independent, so the intervals come from a bootstrap of whole tasks
(percentiles). They describe the judges, and no decision depends on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from typing_extensions import TypedDict

from lensbench.core.numeric import Floats, np
from lensbench.core.tables import grouped
from lensbench.judging.decisions import Key
from lensbench.judging.judges import Verdict

Verdicts = Mapping[Key, Mapping[str, Verdict]]
"""(Run, criterion) -> judge -> verdict, for judges that gave one; never Unjudged."""

SCALE = (Verdict.MISSED, Verdict.PARTIAL, Verdict.MET)
CONFIDENCE = 0.95
_RESAMPLES = 1000
MIN_RESAMPLED_TASKS = 12
"""With fewer tasks, the interval from resampling them is too short."""


class Coefficient(NamedTuple):
    """A coefficient of agreement, 1 when it is perfect and 0 when it is as good as chance, with its 95% interval."""

    value: float | None = None
    """The coefficient; None when unknown."""
    low: float | None = None
    """The lower end of the interval."""
    high: float | None = None
    """The upper end of the interval."""
    reason: str = ""
    """Why something is missing."""


class JudgePair(NamedTuple):
    """The agreement of two judges on the criteria that both judged."""

    n: int
    """Criteria that both judged."""
    equal: float | None
    """The share of equal verdicts, of 1."""
    kappa: Coefficient
    """Cohen's, weighted."""


class All(NamedTuple):
    """The agreement of all judges on the criteria that at least two of them judged."""

    n: int
    """Criteria that at least two judged."""
    alpha: Coefficient
    """Krippendorff's."""


class AgreementOfPair(TypedDict):
    """The agreement of two judges, overall and in each condition."""

    judges: list[str]
    """Their two names."""
    overall: JudgePair
    """In all conditions."""
    conditions: dict[str, JudgePair]
    """By condition."""


class Agreement(TypedDict):
    """The agreement of each two judges and of all."""

    pairs: list[AgreementOfPair]
    """Of each two judges."""
    all: All
    """Of all judges together."""


def agreement(verdicts: Verdicts, conditions: Sequence[str], seed: int) -> Agreement:
    """The agreement of each two judges, overall and in each of `conditions`, and of all together."""
    judges = {judge for votes in verdicts.values() for judge in votes}
    overall = _of_conditions(verdicts, conditions)
    parts = {name: _of_conditions(verdicts, [name]) for name in conditions}

    def of_pair(pair: tuple[str, str]) -> AgreementOfPair:
        return {
            "judges": [*pair],
            "overall": two_judges(overall, *pair, seed),
            "conditions": {name: two_judges(part, *pair, seed) for name, part in parts.items()},
        }

    pairs = [of_pair(pair) for pair in combinations(sorted(judges), 2)]
    return {"pairs": pairs, "all": all_judges(overall, seed)}


def _of_conditions(verdicts: Verdicts, conditions: Sequence[str]) -> Verdicts:
    return {key: votes for key, votes in verdicts.items() if key[0].condition in conditions}


def two_judges(verdicts: Verdicts, first: str, second: str, seed: int) -> JudgePair:
    """Cohen's kappa with linear weights of two judges."""
    both = [key for key, votes in sorted(verdicts.items()) if {first, second} <= votes.keys()]
    by_task = grouped(both, lambda key: key[0].task)
    tables = np.zeros((len(by_task), len(SCALE), len(SCALE)), int)
    for table, keys in zip(tables, by_task.values(), strict=True):
        for key in keys:
            votes = verdicts[key]
            table[SCALE.index(votes[first]), SCALE.index(votes[second])] += 1
    equal = float(np.trace(tables.sum(0))) / len(both) if both else None
    return JudgePair(len(both), equal, _with_interval(tables, _kappa, seed))


def all_judges(verdicts: Verdicts, seed: int) -> All:
    """Krippendorff's ordinal alpha of all judges."""
    several = [key for key, votes in sorted(verdicts.items()) if len(votes) > 1]
    tasks = grouped(several, lambda key: key[0].task).values()
    units = np.zeros((len(tasks), max(map(len, tasks), default=1), len(SCALE)), int)
    for number, keys in enumerate(tasks):
        for unit, key in zip(units[number], keys, strict=False):
            for verdict in verdicts[key].values():
                unit[SCALE.index(verdict)] += 1
    return All(len(several), _with_interval(units, _alpha, seed))


def _kappa(tables: Floats) -> float:
    """Cohen, Psychological Bulletin 70, 1968: 1 - observed distance / distance expected by chance."""
    table = tables.sum(0)
    step = np.arange(len(SCALE))
    distance = np.abs(step[:, None] - step)
    by_chance = np.outer(table.sum(1), table.sum(0)) / table.sum()
    # with a single verdict the result is NaN, as intended
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(1 - (distance * table).sum() / (distance * by_chance).sum())


def _alpha(counts: Floats) -> float:
    from krippendorff import alpha

    units = counts.reshape(-1, len(SCALE))
    scale = range(len(SCALE))
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(alpha(value_counts=units, value_domain=scale, level_of_measurement="ordinal"))


def _with_interval(by_task: Floats, statistic: Callable[[Floats], float], seed: int) -> Coefficient:
    """The coefficient of counts whose first axis is the task, with its bootstrap interval."""
    if not by_task.sum():
        return Coefficient(reason="no criterion has two verdicts")
    value = statistic(by_task)
    if math.isnan(value):
        reason = "all verdicts are the same, so chance alone would agree as well"
        return Coefficient(reason=reason)
    n = len(by_task)
    if n < MIN_RESAMPLED_TASKS:
        reason = f"an interval needs {MIN_RESAMPLED_TASKS} tasks, there are {n}"
        return Coefficient(value, reason=reason)
    draws = np.random.default_rng(seed).integers(0, n, (_RESAMPLES, n))
    resampled = [statistic(by_task[tasks]) for tasks in draws]
    low, high = map(float, np.quantile(resampled, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2)))
    if math.isnan(low):
        return Coefficient(value, reason="too few different verdicts for an interval")
    return Coefficient(value, low, high)
