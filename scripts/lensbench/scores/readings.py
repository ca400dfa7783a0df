"""Readings of the data in which a verdict must hold as well: what lost runs, judges that nobody has validated, and
figures that were shown before may hide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

from lensbench.core.numbers import decimal, score_of
from lensbench.core.records import RunId
from lensbench.judging.trust.belief import Doubt
from lensbench.scores.account import SeenPair
from lensbench.scores.differences import Comparison, overall
from lensbench.scores.gate import Reading
from lensbench.scores.intervals import LARGEST, Estimate
from lensbench.scores.objections import ReasonKind

DIFFER = 0.25
"""Lost runs differ between the conditions when chance alone gives one of them as many with at most this probability: it
takes two against none. A usual level would overlook most runs that crash where they go badly."""


def runs_of(comparison: Comparison) -> dict[str, list[RunId]]:
    """The planned runs of the treatment and of the baseline."""
    plan = comparison.plan
    return {
        name: [
            RunId(task, name, trial)
            for task in plan["order"]
            for trial in range(1, plan["trials"] + 1)
        ]
        for name in comparison.conditions
    }


def with_lost_runs(
    comparison: Comparison, crashed: Collection[RunId], interrupted: Collection[RunId] = ()
) -> tuple[Estimate, Estimate] | None:
    """The delta with the runs whose first answer is unknown at their worst for the treatment, and at their best; None
    when none matters.

    These are the runs without a score, and those whose first attempt `crashed` or was `interrupted`. Where they differ
    between the conditions, those of the side that has more score 0 or 1. Else the crashes of the side that has more
    score 0 where that speaks against it, and the difference of a pair without one is at the quartile of the others.
    """
    score, runs = comparison.tables.score, runs_of(comparison)
    again = {*crashed, *interrupted}
    losses = {
        name: {run for run in own if score(run) is None or run in again}
        for name, own in runs.items()
    }
    total, size = sum(map(len, losses.values())), len(runs[comparison.treatment])
    differ = {
        name for name, own in losses.items() if own and chance_of(len(own), total, size) <= DIFFER
    }
    crashes = {name: own.intersection(crashed) for name, own in losses.items()}
    fewest = min(map(len, crashes.values()))
    zero = {run for own in crashes.values() for run in own if len(own) > fewest}
    if (
        not differ
        and not zero
        and all(score(run) is not None for own in losses.values() for run in own)
    ):
        return None

    def value(run: RunId, at_best: bool) -> Fraction | None:
        if run.condition in differ and run in losses[run.condition]:
            return Fraction(at_best)
        return Fraction(0) if run in zero and not at_best else score(run)

    def at(best: bool) -> Estimate:
        pairs = [
            (run.task, value(run, best), value(base, not best))
            for run, base in zip(*runs.values(), strict=True)
        ]
        deltas = sorted(
            one - other for _, one, other in pairs if one is not None and other is not None
        )
        quarter = (len(deltas) - 1) // 4
        missing = deltas[-1 - quarter if best else quarter] if deltas else Fraction(2 * best - 1)
        values: dict[str, list[Fraction]] = {}
        for task, one, other in pairs:
            values.setdefault(task, []).append(
                missing if one is None or other is None else one - other
            )
        return comparison.over(values, values, LARGEST)

    return at(False), at(True)


def chance_of(count: int, total: int, size: int) -> float:
    """The one-sided p of Fisher's exact test that a condition has `count` or more of the `total` lost runs."""
    ways = sum(comb(size, k) * comb(size, total - k) for k in range(count, min(size, total) + 1))
    return ways / comb(2 * size, total)


def readings(
    comparison: Comparison,
    crashes: Collection[RunId],
    doubts: Sequence[Doubt],
    now: Mapping[str, SeenPair],
    looks: Sequence[Mapping[str, SeenPair]],
    interruptions: Collection[RunId] = (),
) -> Iterator[Reading]:
    """The readings that the data call for: lost runs; verdicts of judges that nobody has validated; and the pairs `now`
    with what earlier looks showed of them."""
    if ends := with_lost_runs(comparison, crashes, interruptions):
        yield Reading(ReasonKind.LOST_RUNS, *ends)
    if doubts:
        worst, best = (_doubted(comparison, doubts, best) for best in (False, True))
        low, high = (with_lost_runs(side, crashes, interruptions) for side in (worst, best))
        yield Reading(
            ReasonKind.DOUBTED,
            low[0] if low else overall(worst),
            high[1] if high else overall(best),
        )
    for pairs in looks:
        estimate = as_shown(comparison, now, pairs)
        yield Reading(ReasonKind.SHOWN_BEFORE, estimate, estimate)


def _doubted(comparison: Comparison, doubts: Sequence[Doubt], best: bool) -> Comparison:
    """The comparison with the verdicts of untrusted judges at their worst or best for the treatment."""
    scores = dict(comparison.tables.scores)
    for doubt in doubts:
        if (run := doubt.run) in scores and (row := scores[run])["score"]:
            points = doubt.most if best == (run.condition == comparison.treatment) else doubt.least
            scores[run] = {**row, "score": decimal(score_of([points], int(row["criteria"]))) or ""}
    return replace(comparison, tables=comparison.tables._replace(scores=scores))


def as_shown(
    comparison: Comparison, now: Mapping[str, SeenPair], before: Mapping[str, SeenPair]
) -> Estimate:
    """The delta of the pairs `now`, with those in `before` as an earlier look showed them."""
    values: dict[str, list[Fraction]] = {}
    for place, pair in sorted({**now, **before}.items()):
        values.setdefault(place.rpartition("/")[0], []).append(Fraction(pair.delta))
    return comparison.over(values, values, LARGEST)
