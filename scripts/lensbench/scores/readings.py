"""Readings of the data in which a verdict must hold as well: what lost runs, judges that nobody has validated, and
figures that were shown before may hide."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from math import comb

from lensbench.core.numbers import decimal, points, score_of
from lensbench.core.records import RunId
from lensbench.judging.trust.belief import Doubt
from lensbench.runs.made_with import Starts
from lensbench.scores.account import SeenPair
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
    score = comparison.tables.score
    runs = comparison.runs
    left_out = comparison.tables.left_out
    pairs = [pair for pair in comparison.run_pairs if left_out.isdisjoint(pair)]
    missing = {run for pair in pairs for run in pair if score(run) is None}
    zero: dict[RunId, Fraction] = {}
    interrupted = {run for own in starts for run in own.interrupted}
    crashed = {run for own in starts for run in own.crashed}
    for failed in (crashed | missing - interrupted, interrupted):
        zero |= extra_failures(runs, failed)
    if not missing and not zero:
        return None

    def at(upper: bool) -> Estimate:
        deltas = [
            own - base
            for own, base in ((score(run), score(other)) for run, other in pairs)
            if own is not None and base is not None
        ]
        unseen = quartile(deltas, upper=upper)
        values: dict[str, list[Fraction]] = {}
        for run, other in pairs:
            own = score(run)
            base = score(other)
            delta = unseen if own is None or base is None else own - base
            if base is not None and run in zero:
                delta += zero[run] * (-base - delta)
            if own is not None and other in zero:
                delta += zero[other] * (own - delta)
            values.setdefault(run.task, []).append(delta)
        return comparison.of_scores(values, values)

    return at(upper=False), at(upper=True)


def extra_failures(
    runs: Mapping[str, Sequence[RunId]], failed: Collection[RunId]
) -> dict[RunId, Fraction]:
    """The share of each failed run of the condition with more of them that the other condition's failures do not
    explain; none where the conditions do not differ."""
    losses = {name: [run for run in own if run in failed] for name, own in runs.items()}
    total = sum(map(len, losses.values()))
    fewest = min(map(len, losses.values()))
    for name, own in losses.items():
        if len(own) > fewest and chance_of(len(own), total, len(runs[name])) <= DIFFER:
            return dict.fromkeys(own, Fraction(len(own) - fewest, len(own)))
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
    now: Mapping[str, SeenPair],
    looks: Sequence[Mapping[str, SeenPair]],
) -> Iterator[Reading]:
    """The readings that the data call for: lost runs; verdicts of judges that nobody has validated; and the pairs `now`
    with what earlier looks showed of them."""
    if ends := with_lost_runs(comparison, starts):
        yield Reading(ReasonKind.LOST_RUNS, *ends)
    if doubts:
        worst, best = (_doubted(comparison, doubts, best) for best in (False, True))
        low, high = (with_lost_runs(side, starts) for side in (worst, best))
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


def edits(
    comparison: Comparison, now: Mapping[str, SeenPair], looks: Sequence[Mapping[str, SeenPair]]
) -> Iterator[str]:
    """What readers must know of criteria that were edited after a look: the tasks, and the delta without the edit."""
    for shown in looks:
        edited = {
            place: pair
            for place, pair in shown.items()
            if place in now
            and now[place].runs == pair.runs
            and now[place].criteria != pair.criteria
        }
        if edited:
            tasks = sorted({place.rpartition("/")[0] for place in edited})
            delta = as_shown(comparison, now, edited).delta or 0.0
            yield (
                f"The criteria of {', '.join(tasks)} were edited after a look; without the edit the score changes by"
                f" {points(delta)}."
            )


def as_shown(
    comparison: Comparison, now: Mapping[str, SeenPair], before: Mapping[str, SeenPair]
) -> Estimate:
    """The delta of the pairs `now`, with those in `before` as an earlier look showed them."""
    values: dict[str, list[Fraction]] = {}
    for place, pair in sorted({**now, **before}.items()):
        values.setdefault(place.rpartition("/")[0], []).append(Fraction(pair.delta))
    return comparison.of_scores(values, values)
