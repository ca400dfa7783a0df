"""Readings of the data in which a verdict must hold as well: what lost runs, judges that nobody has validated, and
figures that were shown before may hide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import comb

from lensbench.core.numbers import decimal, points, score_of
from lensbench.core.records import RunId
from lensbench.judging.trust.belief import Doubt
from lensbench.runs.made_with import Starts
from lensbench.scores.account import SeenPair, SeenPairs
from lensbench.scores.differences import Comparison, overall
from lensbench.scores.gate import Reading
from lensbench.scores.intervals import Estimate
from lensbench.scores.rules import ReasonKind

DIFFER = 0.15
"""Failures differ between the conditions when chance alone gives one of them as many with at most this probability:
three against none. At 0.1 more of the runs that crash where they go badly are overlooked; at 0.25, where two are
enough, random failures cost a tenth of the power."""


def with_lost_runs(
    comparison: Comparison, starts: Sequence[Starts]
) -> tuple[Estimate, Estimate] | None:
    """The delta with the runs whose first answer is unknown at their worst for the treatment, and at their best; None
    when none matters.

    Where more first attempts of one condition than of the other failed, and not by chance, the extra ones score 0
    (`extra_failures`). The difference of a pair without a score is at the quartile of the others. Pairs that a spent
    budget left out are not lost: nothing is known of them, and nothing in them failed.
    """
    left_out = comparison.tables.left_out
    pairs = [pair for pair in comparison.run_pairs if left_out.isdisjoint(pair)]
    missing = {run for run in chain.from_iterable(pairs) if comparison.tables.score(run) is None}
    interrupted = {run for own in starts for run in own.interrupted}
    crashed = {run for own in starts for run in own.crashed}
    zero: dict[RunId, Fraction] = {}
    for failed in (crashed | missing - interrupted, interrupted):
        zero |= extra_failures(comparison.runs, failed)
    if not missing and not zero:
        return None
    worst = _with_supposed(comparison, pairs, zero, upper=False)
    best = _with_supposed(comparison, pairs, zero, upper=True)
    return worst, best


def _with_supposed(
    comparison: Comparison,
    pairs: Sequence[tuple[RunId, RunId]],
    zero: Mapping[RunId, Fraction],
    *,
    upper: bool,
) -> Estimate:
    """The delta of all `pairs`: those without a score at a quartile, and runs in `zero` by their share at 0."""
    score = comparison.tables.score
    known = comparison.complete_pairs(score).values()
    unseen = quartile([own - base for own, base in known], upper=upper)
    values: dict[str, list[Fraction]] = {}
    for run, other in pairs:
        own = score(run)
        base = score(other)
        delta = unseen
        if own is not None and base is not None:
            delta = own - base
        if base is not None and run in zero:
            delta += zero[run] * (-base - delta)
        if own is not None and other in zero:
            delta += zero[other] * (own - delta)
        values.setdefault(run.task, []).append(delta)
    return comparison.of_scores(values, values)


def extra_failures(
    runs: Mapping[str, Sequence[RunId]], failed: Collection[RunId]
) -> dict[RunId, Fraction]:
    """The share of each failed run of the condition with more of them that the other condition's failures do not
    explain; none where the conditions do not differ."""
    losses = {name: [run for run in own if run in failed] for name, own in runs.items()}
    counts = [len(own) for own in losses.values()]
    for name, own in losses.items():
        extra = len(own) - min(counts)
        if extra and chance_of(len(own), sum(counts), len(runs[name])) <= DIFFER:
            return dict.fromkeys(own, Fraction(extra, len(own)))
    return {}


def quartile(deltas: Sequence[Fraction], *, upper: bool) -> Fraction:
    """The lower or upper quartile, a value of the list; what a pair can lose or gain at most where there is none."""
    if not deltas:
        return Fraction(1) if upper else Fraction(-1)
    place = (len(deltas) - 1) // 4
    return sorted(deltas, reverse=upper)[place]


def chance_of(count: int, total: int, size: int) -> float:
    """The one-sided p of Fisher's exact test that a condition has `count` or more of the `total` lost runs."""
    ways = sum(comb(size, k) * comb(size, total - k) for k in range(count, min(size, total) + 1))
    return ways / comb(2 * size, total)


def readings(
    comparison: Comparison,
    starts: Sequence[Starts],
    doubts: Sequence[Doubt],
    now: SeenPairs,
    looks: Sequence[SeenPairs],
) -> Iterator[Reading]:
    """The readings that the data call for: lost runs; verdicts of judges that nobody has validated; and the pairs `now`
    with what earlier looks showed of them."""
    ends = with_lost_runs(comparison, starts)
    if ends:
        yield Reading(ReasonKind.LOST_RUNS, *ends)
    if doubts:
        yield _doubted(comparison, starts, doubts)
    for pairs in looks:
        estimate = as_shown(comparison, now, pairs)
        yield Reading(ReasonKind.SHOWN_BEFORE, estimate, estimate)


def _doubted(comparison: Comparison, starts: Sequence[Starts], doubts: Sequence[Doubt]) -> Reading:
    """The reading in which untrusted judges are wrong, with what lost runs hide."""
    worst = _judged_otherwise(comparison, doubts, best=False)
    best = _judged_otherwise(comparison, doubts, best=True)
    low, _ = with_lost_runs(worst, starts) or (overall(worst), None)
    _, high = with_lost_runs(best, starts) or (None, overall(best))
    return Reading(ReasonKind.DOUBTED, low, high)


def _judged_otherwise(comparison: Comparison, doubts: Sequence[Doubt], *, best: bool) -> Comparison:
    """The comparison with the verdicts of untrusted judges at their worst or best for the treatment."""
    scores = dict(comparison.tables.scores)
    for doubt in doubts:
        row = scores.get(doubt.run)
        if row and row["score"]:
            is_treatment = doubt.run.condition == comparison.treatment
            points = doubt.most if best == is_treatment else doubt.least
            score = score_of([points], int(row["criteria"]))
            scores[doubt.run] = {**row, "score": decimal(score) or ""}
    return replace(comparison, tables=comparison.tables._replace(scores=scores))


def edits(comparison: Comparison, now: SeenPairs, looks: Sequence[SeenPairs]) -> Iterator[str]:
    """What readers must know of criteria that were edited after a look: the tasks, and the delta without the edit."""
    for shown in looks:
        edited = {place: pair for place, pair in shown.items() if _is_edited(pair, now.get(place))}
        if edited:
            tasks = sorted({_task_of(place) for place in edited})
            delta = as_shown(comparison, now, edited).delta or 0.0
            yield (
                f"The criteria of {', '.join(tasks)} were edited after a look; without the edit the score changes by"
                f" {points(delta)}."
            )


def _is_edited(before: SeenPair, now: SeenPair | None) -> bool:
    """True for the same runs with other criteria."""
    return now is not None and now.runs == before.runs and now.criteria != before.criteria


def _task_of(place: str) -> str:
    return place.rpartition("/")[0]


def as_shown(comparison: Comparison, now: SeenPairs, before: SeenPairs) -> Estimate:
    """The delta of the pairs `now`, with those in `before` as an earlier look showed them."""
    values: dict[str, list[Fraction]] = {}
    for place, pair in sorted({**now, **before}.items()):
        values.setdefault(_task_of(place), []).append(Fraction(pair.delta))
    return comparison.of_scores(values, values)
