"""Measures the errors of judges against people in each condition, and their effect on the delta (docs/judges.md).

An error with the same frequency in both conditions shrinks the delta: a judge that takes a share e of missed facts as
met leaves 1 - e of it. An error that differs between the conditions shifts the delta by that difference. If people have
judged part of the pairs, the delta is corrected by the judges' errors there: prediction-powered inference
(Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import mean, stdev
from typing import NamedTuple

from lensbench.core.distributions import t_isf
from lensbench.core.frozen_plan import PlannedTask
from lensbench.core.numbers import score_of
from lensbench.core.numeric import np
from lensbench.core.records import RunId
from lensbench.core.tables import grouped
from lensbench.judging.decisions import Key, is_person, majority
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.trust.agreement import CONFIDENCE, Verdicts

WORTH_SAYING = 0.005
"""Differences of errors above half a point are reported in a sentence."""
MIN_JUDGED_TASKS = 24
"""The minimum number of tasks judged by people; with fewer, the correction is too uncertain for a claim."""

Decided = Mapping[Key, Verdict]
"""(Run, criterion) -> verdict, without unjudged criteria."""
Deltas = Mapping[tuple[str, int], Fraction]
"""(Task, trial) -> a treatment's score minus the baseline's."""
Points = Mapping[Key, Fraction]
"""(Run, criterion) -> the points of the verdict, which for one by tests are their share."""


class Mean(NamedTuple):
    """A mean over tasks with its 95% interval."""

    value: float | None = None
    """Points per criterion, or a share of 1; None when unknown."""
    low: float | None = None
    """The lower end of its interval."""
    high: float | None = None
    """The upper end of its interval."""
    n: int = 0
    """Tasks."""
    reason: str = ""
    """Why something is missing."""
    se: float | None = None
    """Of a corrected mean."""


class Differential(NamedTuple):
    """The points per criterion that a judge gives in excess of people in a treatment, less the same in the baseline,
    over the tasks with both."""

    signed: Mean
    """More points for the treatment are above 0."""
    sentence: str
    """Its effect on the delta; empty when it is small."""


def persons_verdicts(verdicts: Verdicts) -> Decided:
    """The majority of people's verdicts, the stricter one of a tie; only criteria that people judged."""
    decided = {}
    for key, votes in verdicts.items():
        by_people = [verdict for judge, verdict in votes.items() if is_person(judge)]
        if by_people:
            decided[key] = majority(by_people)
    return decided


def judge_bias(
    name: str,
    verdicts: Decided,
    persons: Decided,
    comparisons: Mapping[str, tuple[str, str]],
    whose: Mapping[str, str],
) -> dict[str, Differential]:
    """How the errors of one judge differ in each comparison of two conditions; `whose` has, for a
    sentence, whose answers a condition has: `with lens`."""
    by_condition: dict[str, dict[str, list[Fraction]]] = defaultdict(lambda: defaultdict(list))
    for key in sorted(verdicts.keys() & persons.keys()):
        error = POINTS[verdicts[key]] - POINTS[persons[key]]
        by_condition[key[0].condition][key[0].task].append(error)
    biases = {}
    for label, (treatment, other) in comparisons.items():
        there = by_condition[treatment]
        elsewhere = by_condition[other]
        both = [task for task in there if task in elsewhere]
        gap = task_mean([mean(there[task]) - mean(elsewhere[task]) for task in both])
        biases[label] = Differential(gap, _sentence(name, gap, whose[treatment], whose[other]))
    return biases


def _sentence(name: str, gap: Mean, treatment: str, baseline: str) -> str:
    if gap.value is None:
        return ""
    sure = False
    interval = "too few tasks, or too even, for an interval"
    if gap.low is not None and gap.high is not None:
        sure = not gap.low <= 0 <= gap.high
        interval = f"95% interval {100 * gap.low:+.1f} to {100 * gap.high:+.1f}"
    if abs(gap.value) <= WORTH_SAYING and not sure:
        return ""
    advice = "It may be chance: let persons judge more pairs to know."
    if sure:
        advice = "This part of the delta is the judge's: fix the judge, or let people judge."
    more = "more" if gap.value > 0 else "less"
    return (
        f"Against persons, {name} gives answers {treatment} {100 * abs(gap.value):.1f} points {more} than answers "
        f"{baseline} ({interval}; {gap.n} tasks). {advice}"
    )


def task_mean(values: Sequence[Fraction]) -> Mean:
    """The mean of one value per task with its t interval."""
    n = len(values)
    if not n:
        return Mean(reason="no task has both runs judged")
    value = float(mean(values))
    if n == 1:
        return Mean(value, n=n, reason="one task has no interval")
    if len(set(values)) == 1:
        reason = "all tasks have the same value, so there is no spread"
        return Mean(value, n=n, reason=reason)
    margin = _margin(stdev(values) / math.sqrt(n), n)
    return Mean(value, value - margin, value + margin, n)


def _margin(se: float, n: int) -> float:
    return t_isf((1 - CONFIDENCE) / 2, n - 1) * se


def run_scores(points: Points, tasks: Mapping[str, PlannedTask]) -> dict[RunId, Fraction]:
    """The score of every run with all criteria decided."""
    scores = {}
    for run, keys in grouped(points, lambda key: key[0]).items():
        if len(keys) == tasks[run.task]["criteria"]:
            scores[run] = score_of([points[key] for key in keys], len(keys))
    return scores


def pair_deltas(scores: Mapping[RunId, Fraction], treatment: str, baseline: str) -> Deltas:
    """The treatment's score minus the baseline's, by task and trial, if both runs have a score."""
    deltas = {}
    for run in sorted(scores):
        other = run._replace(condition=baseline)
        if run.condition == treatment and other in scores:
            deltas[run.task, run.trial] = scores[run] - scores[other]
    return deltas


def corrected_delta(by_judges: Deltas, by_persons: Deltas) -> Mean:
    """The delta by the judges, corrected by the tasks that people have judged: with the trials in which they judged
    every criterion of both runs. The other tasks contribute the judges' scores over all their trials."""
    both = by_judges.keys() & by_persons.keys()
    truth = _by_task({pair: by_persons[pair] for pair in both})
    there = _by_task({pair: by_judges[pair] for pair in both})
    elsewhere = [value for task, value in _by_task(by_judges).items() if task not in truth]
    delta = prediction_powered([*truth.values()], [*there.values()], elsewhere)
    extra = len(_by_task(by_persons)) - len(truth)
    if not extra:
        return delta
    reason = f"in {extra} further tasks of theirs no judge but people gave a score"
    return delta._replace(reason=f"{delta.reason}; {reason}".removeprefix("; "))


def _by_task(deltas: Deltas) -> dict[str, Fraction]:
    tasks = grouped(sorted(deltas), lambda pair: pair[0])
    return {task: mean([deltas[pair] for pair in pairs]) for task, pairs in tasks.items()}


def prediction_powered(
    truth: Sequence[Fraction], there: Sequence[Fraction], elsewhere: Sequence[Fraction]
) -> Mean:
    """The mean of `truth` over all tasks when the other tasks have predictions only: PPI++, power-tuned (Angelopoulos,
    Duchi and Zrnic 2023, arXiv 2311.01453), with the t distribution of n - 1 degrees of freedom instead of the normal
    one, whose intervals are too narrow for few tasks.

    `there`: the predictions for the tasks of `truth`, in the same order; `elsewhere`: those for the other tasks.
    """
    n = len(truth)
    reason = ""
    if n < MIN_JUDGED_TASKS:
        reason = (
            f"{n} tasks of the sample have scores by people and by judges in both runs;"
            f" a correction needs {MIN_JUDGED_TASKS}"
        )
    elif not elsewhere:
        reason = "persons have judged every task, so nothing is left to correct"
    elif len(set(truth)) == 1 or len({*there, *elsewhere}) == 1:
        reason = "all tasks have the same delta, so there is no spread to correct by"
    if reason:
        return Mean(n=n, reason=reason)
    true = np.array(truth, float)
    inside = np.array(there, float)
    outside = np.array(elsewhere, float)
    spread = (1 + n / len(outside)) * np.var(np.concatenate([inside, outside]), ddof=1)
    weight = float(np.clip(np.cov(true, inside, ddof=0)[0, 1] / spread, 0, 1))
    rest = true - weight * inside
    value = float(weight * outside.mean() + rest.mean())
    se = math.sqrt(weight**2 * outside.var() / len(outside) + rest.var() / n)
    margin = _margin(se, n)
    return Mean(value, value - margin, value + margin, n, se=se)
