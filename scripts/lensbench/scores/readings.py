"""Readings of the data in which a verdict must hold as well: what lost runs, judges that nobody has validated, and
figures that were shown before may hide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb
from typing import Literal

from lensbench.core.numbers import decimal, score_of
from lensbench.core.records import RunId
from lensbench.judging.belief import Doubt
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
        name: [RunId(task, name, trial) for task in plan["order"] for trial in range(1, plan["trials"] + 1)]
        for name in comparison.conditions
    }


def with_lost_runs(comparison: Comparison, repeated: Collection[RunId]) -> tuple[Estimate, Estimate] | None:
    """The delta with the runs whose first answer is unknown at their worst for the treatment, and at their best; None
    when none matters.

    These are the runs without a score and those in `repeated`. Where they differ between the conditions, those of the
    side that has more score 0 or 1. Else missing scores are at the quartile of their condition, and repeated runs count
    as they are.
    """
    score, runs = comparison.tables.score, runs_of(comparison)
    lost = {name: {run for run in own if score(run) is None or run in repeated} for name, own in runs.items()}
    known = {name: sorted(each for run in own if (each := score(run)) is not None) for name, own in runs.items()}
    total, planned = sum(map(len, lost.values())), len(runs[comparison.treatment])
    differ = {name for name, own in lost.items() if own and chance_of(len(own), total, planned) <= DIFFER}
    if not differ and all(score(run) is not None for own in lost.values() for run in own):
        return None

    def value(run: RunId, at_best: bool) -> Fraction:
        own, scores = score(run), known[run.condition]
        if (run.condition in differ and run in lost[run.condition]) or not scores:
            return Fraction(at_best)
        if own is None:
            quarter = (len(scores) - 1) // 4
            return scores[-1 - quarter if at_best else quarter]
        return own

    def at(best: bool) -> Estimate:
        values: dict[str, list[Fraction]] = {}
        for treated, base in zip(*runs.values(), strict=True):
            values.setdefault(treated.task, []).append(value(treated, best) - value(base, not best))
        return comparison.over(values, values, LARGEST)

    return at(False), at(True)


def chance_of(lost: int, total: int, planned: int) -> float:
    """The probability that a condition has at least `lost` of the `total` lost runs, with `planned` runs in each of
    both: Fisher's exact test, one-sided."""
    ways = sum(comb(planned, k) * comb(planned, total - k) for k in range(lost, min(planned, total) + 1))
    return ways / comb(2 * planned, total)


def readings(
    comparison: Comparison,
    repeated: Collection[RunId],
    doubts: Sequence[Doubt],
    now: Mapping[str, SeenPair],
    shown: Sequence[Mapping[str, SeenPair]],
) -> Iterator[Reading]:
    """The readings that the data call for: lost runs; verdicts of judges that nobody has validated, in both ways in
    which they can be doubted; and the pairs `now` with what earlier looks showed of them."""
    if ends := with_lost_runs(comparison, repeated):
        yield Reading(ReasonKind.LOST_RUNS, *ends)
    judged: tuple[Literal["alone", "any"], ...] = ("alone", "any") if doubts else ()
    for which in judged:
        worst, best = (_doubted(comparison, doubts, which, good) for good in (0, 1))
        low, high = with_lost_runs(worst, repeated), with_lost_runs(best, repeated)
        yield Reading(ReasonKind.DOUBTED, low[0] if low else overall(worst), high[1] if high else overall(best))
    for pairs in shown:
        estimate = as_shown(comparison, now, pairs)
        yield Reading(ReasonKind.SHOWN_BEFORE, estimate, estimate)


def _doubted(
    comparison: Comparison, doubts: Sequence[Doubt], judged: Literal["alone", "any"], treatment: int
) -> Comparison:
    """The comparison with the verdicts of untrusted judges at their worst (0) or best (1) for the treatment: those on
    which no trusted judge decides `alone`, or all."""
    scores = dict(comparison.tables.scores)
    for doubt in doubts:
        if (run := doubt.run) in scores and (row := scores[run])["score"]:
            ends = doubt.alone if judged == "alone" else doubt.any
            points = ends[treatment if run.condition == comparison.treatment else 1 - treatment]
            scores[run] = {**row, "score": decimal(score_of([points], int(row["criteria"]))) or ""}
    return replace(comparison, tables=comparison.tables._replace(scores=scores))


def as_shown(comparison: Comparison, now: Mapping[str, SeenPair], before: Mapping[str, SeenPair]) -> Estimate:
    """The delta of the pairs `now`, with those in `before` as an earlier look showed them."""
    values: dict[str, list[Fraction]] = {}
    for place, pair in sorted({**now, **before}.items()):
        values.setdefault(place.rpartition("/")[0], []).append(Fraction(pair.delta))
    return comparison.over(values, values, LARGEST)
