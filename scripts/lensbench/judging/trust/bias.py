"""Measures the errors of judges against people in each condition, and their effect on the delta (docs/judges.md).

An error with the same frequency in both conditions shrinks the delta: a judge that takes a share e of missed facts as
met leaves 1 - e of it. An error that differs between the conditions shifts the delta by that difference. If people have
judged part of the pairs, the delta is corrected by the judges' errors there: prediction-powered inference
(Angelopoulos, Duchi and Zrnic, PPI++, arXiv 2311.01453).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from statistics import stdev
from typing import NamedTuple

from lensbench.core.distributions import t_isf
from lensbench.core.numbers import score_of
from lensbench.core.records import RunId
from lensbench.core.tables import grouped
from lensbench.judging.decisions import Key, is_person, majority
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.trust.agreement import CONFIDENCE, Verdicts

WORTH_SAYING = 0.005
"""Differences of errors above half a point are reported in a sentence."""
MIN_TASKS = 24
"""The minimum number of tasks judged by people; with fewer, the correction is too uncertain for a claim."""

Decided = Mapping[Key, Verdict]
"""(Run, criterion) -> verdict, without unjudged criteria."""
Points = Mapping[Key, Fraction]
"""(Run, criterion) -> the points of the verdict, which for one by tests are their share."""


class Mean(NamedTuple):
    """A mean over tasks with its 95% interval."""

    value: float | None
    """Points per criterion, or a share of 1; None when unknown."""
    low: float | None
    """The lower end of its interval."""
    high: float | None
    """The upper end of its interval."""
    n: int
    """Tasks."""
    reason: str
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
    by_people = {
        key: [votes[judge] for judge in votes if is_person(judge)]
        for key, votes in verdicts.items()
    }
    return {key: majority(votes) for key, votes in by_people.items() if votes}


def judge_bias(
    name: str,
    verdicts: Decided,
    persons: Decided,
    comparisons: Mapping[str, tuple[str, str]],
    whose: Mapping[str, str],
) -> dict[str, Differential]:
    """How the errors of one judge differ in each comparison of two conditions; `whose` has, for a
    sentence, whose answers a condition has: `with lens`."""
    keys = sorted(verdicts.keys() & persons.keys())
    gaps = {
        group: _mean([POINTS[verdicts[key]] - POINTS[persons[key]] for key in own])
        for group, own in grouped(keys, lambda key: (key[0].condition, key[0].task)).items()
    }
    errors = {}
    for label, (treatment, other) in comparisons.items():
        of_both = [
            task for condition, task in gaps if condition == treatment and (other, task) in gaps
        ]
        gap = task_mean([gaps[treatment, task] - gaps[other, task] for task in of_both])
        errors[label] = Differential(gap, _sentence(name, gap, whose[treatment], whose[other]))
    return errors


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def _sentence(name: str, gap: Mean, treatment: str, baseline: str) -> str:
    if gap.value is None:
        return ""
    sure = gap.low is not None and gap.high is not None and not gap.low <= 0 <= gap.high
    if abs(gap.value) <= WORTH_SAYING and not sure:
        return ""
    interval = (
        "too few tasks, or too even, for an interval"
        if gap.low is None or gap.high is None
        else f"95% interval {100 * gap.low:+.1f} to {100 * gap.high:+.1f}"
    )
    advice = (
        "This part of the delta is the judge's: fix the judge, or let people judge."
        if sure
        else "It may be chance: let persons judge more pairs to know."
    )
    return (
        f"Against persons, {name} gives answers {treatment} {100 * abs(gap.value):.1f} points "
        f"{'more' if gap.value > 0 else 'less'} than answers {baseline} ({interval}; {gap.n} tasks). {advice}"
    )


def task_mean(values: Sequence[Fraction]) -> Mean:
    """The mean of one value per task with its t interval."""
    if not values:
        return Mean(None, None, None, 0, "no task has both runs judged")
    value = float(_mean(values))
    if len(values) < 2:
        return Mean(value, None, None, 1, "one task has no interval")
    if len(set(values)) == 1:
        return Mean(
            value, None, None, len(values), "all tasks have the same value, so there is no spread"
        )
    margin = _margin(stdev(values) / math.sqrt(len(values)), len(values))
    return Mean(value, value - margin, value + margin, len(values), "")


def _margin(se: float, n: int) -> float:
    return t_isf((1 - CONFIDENCE) / 2, n - 1) * se


def run_scores(points: Points, criteria: Mapping[str, int]) -> dict[RunId, Fraction]:
    """The score of every run with all criteria decided; `criteria` is their number by task."""
    by_run = grouped(points, lambda key: key[0])
    return {
        run: score_of([points[key] for key in keys], len(keys))
        for run, keys in by_run.items()
        if len(keys) == criteria[run.task]
    }


def pair_deltas(
    scores: Mapping[RunId, Fraction], treatment: str, baseline: str
) -> dict[tuple[str, int], Fraction]:
    """The treatment's score minus the baseline's, by task and trial, if both runs have a score."""
    return {
        (run.task, run.trial): score - scores[other]
        for run, score in sorted(scores.items())
        if run.condition == treatment and (other := run._replace(condition=baseline)) in scores
    }


def corrected_delta(
    by_judges: Mapping[tuple[str, int], Fraction], by_persons: Mapping[tuple[str, int], Fraction]
) -> Mean:
    """The delta by the judges, corrected by the tasks that people have judged: with the trials in which they judged
    every criterion of both runs. The other tasks contribute the judges' scores over all their trials."""
    both = by_judges.keys() & by_persons.keys()
    truth = _by_task({pair: by_persons[pair] for pair in both})
    there = _by_task({pair: by_judges[pair] for pair in both})
    elsewhere = [value for task, value in _by_task(by_judges).items() if task not in truth]
    delta = prediction_powered([*truth.values()], [*there.values()], elsewhere)
    if extra := len(_by_task(by_persons)) - len(truth):
        reason = (
            f"{delta.reason}; in {extra} further tasks of theirs no judge but people gave a score"
        )
        delta = delta._replace(reason=reason.removeprefix("; "))
    return delta


def _by_task(deltas: Mapping[tuple[str, int], Fraction]) -> dict[str, Fraction]:
    tasks = grouped(sorted(deltas), lambda pair: pair[0])
    return {task: _mean([deltas[pair] for pair in pairs]) for task, pairs in tasks.items()}


def prediction_powered(
    truth: Sequence[Fraction], there: Sequence[Fraction], elsewhere: Sequence[Fraction]
) -> Mean:
    """The mean of `truth` over all tasks when the other tasks have predictions only: PPI++, power-tuned (Angelopoulos,
    Duchi and Zrnic 2023, arXiv 2311.01453), with the t distribution of n - 1 degrees of freedom instead of the normal
    one, whose intervals are too narrow for few tasks.

    `there`: the predictions for the tasks of `truth`, in the same order; `elsewhere`: those for the other tasks.
    """
    n = len(truth)
    if n < MIN_TASKS:
        text = (
            f"{n} tasks of the sample have scores by people and by judges in both runs;"
            f" a correction needs {MIN_TASKS}"
        )
        return Mean(None, None, None, n, text)
    if not elsewhere:
        return Mean(
            None, None, None, n, "persons have judged every task, so nothing is left to correct"
        )
    if len(set(truth)) == 1 or len({*there, *elsewhere}) == 1:
        return Mean(
            None,
            None,
            None,
            n,
            "all tasks have the same delta, so there is no spread to correct by",
        )
    import numpy as np

    true, inside, outside = (
        np.array([*map(float, deltas)]) for deltas in (truth, there, elsewhere)
    )
    spread = (1 + n / len(outside)) * np.var(np.concatenate([inside, outside]), ddof=1)
    weight = float(np.clip(np.cov(true, inside, ddof=0)[0, 1] / spread, 0, 1))
    rest = true - weight * inside
    value = weight * outside.mean() + rest.mean()
    se = math.sqrt(weight**2 * outside.var() / len(outside) + rest.var() / n)
    margin = _margin(se, n)
    return Mean(float(value), float(value - margin), float(value + margin), n, "", se)
