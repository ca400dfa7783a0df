"""Finds problems of criteria and tasks, with advice (docs/judges.md).

A criterion that all answers meet, that none meets, or that the question gives away costs money without information.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lensbench.core.conditions import CLOSED_BOOK
from lensbench.core.numbers import COMPLETE, mean, percent
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges import Verdict, mechanical
from lensbench.judging.judges.normalising import normalise

NEAR = Fraction(1, 10)
"""A closed-book score within this distance of the best condition's counts as equal."""
MANY_DISAGREEMENTS = Fraction(1, 4)
"""When judges differ on a larger share of answers, the criterion is ambiguous."""
MIN_ANSWERS, MIN_HITS = 2, 3
"""The minimum number of answers for each finding. Two suffice for "met by none", since the patterns may be wrong; "met
by all" needs a few more."""


class Finding(NamedTuple):
    """A problem of a criterion or of a whole task."""

    task: str
    criterion: int | None
    """None for the whole task."""
    kind: str
    """`met_by_all`, `met_by_none`, `partial_by_all`, `given_away`, `judges_disagree`, `unjudged`,
    `closed_book`."""
    sentence: str


def check_criteria(
    tasks: Mapping[str, Task], decisions: Sequence[DecisionRow], conditions: Sequence[str]
) -> list[Finding]:
    """The problems of each criterion, from its decisions in the compared `conditions`."""
    by_criterion: dict[tuple[str, int], list[DecisionRow]] = {}
    for row in decisions:
        if row["condition"] in conditions:
            by_criterion.setdefault((row["task"], int(row["criterion"])), []).append(row)
    return [
        Finding(name, number, kind, sentence)
        for name, task in tasks.items()
        for number, criterion in enumerate(task.criteria, 1)
        for kind, sentence in _wrong_with(task, criterion, by_criterion.get((name, number), []), conditions)
    ]


def _wrong_with(
    task: Task, criterion: Criterion, rows: Sequence[DecisionRow], conditions: Sequence[str]
) -> Iterator[tuple[str, str]]:
    yield from _uninformative(rows, conditions)
    verdict = mechanical.judge(criterion, normalise(task.prompt)).verdict
    if verdict in (Verdict.MET, Verdict.PARTIAL):
        yield (
            "given_away",
            f"The question alone is {verdict} by its patterns: an answer that repeats the question earns points. "
            "Take the fact out of the question, or ask in the patterns for what the question does not say.",
        )
    apart = sum(row["disagreement"] == "yes" for row in rows)
    if apart > MANY_DISAGREEMENTS * len(rows):
        yield (
            "judges_disagree",
            f"The judges differ on {apart} of {len(rows)} answers. "
            "Say in the criterion what Met, Partial and Missed ask for, or let a person decide.",
        )
    gap_count = sum(row["verdict"] == Verdict.UNJUDGED for row in rows)
    if gap_count:
        yield "unjudged", f"{gap_count} of {len(rows)} answers have no verdict. {_remedy(criterion)}"


def _remedy(criterion: Criterion) -> str:
    if criterion.mechanical:
        return "Look for the judges' failures in verdicts.csv, and start again, or let a person decide."
    return "It has no patterns: write some, or add a judge that can read it."


_UNINFORMATIVE = {
    Verdict.MET: (
        "met_by_all",
        "Met by all {n} answers, in every condition, so it showed no difference. "
        "Should that stay so with more trials, ask for something harder.",
    ),
    Verdict.PARTIAL: (
        "partial_by_all",
        "Partial in all {n} answers, in every condition, so it showed no difference. "
        "Should that stay so with more trials, split it into two criteria.",
    ),
    Verdict.MISSED: (
        "met_by_none",
        "Missed by all {n} answers, in every condition, so it showed no difference. Check that the fact is true, "
        "that the question asks for it, and that the patterns find it in a right answer.",
    ),
}


def _uninformative(rows: Sequence[DecisionRow], conditions: Sequence[str]) -> Iterator[tuple[str, str]]:
    verdict_rows = [row for row in rows if row["verdict"] != Verdict.UNJUDGED]
    verdicts = Counter(Verdict(row["verdict"]) for row in verdict_rows)
    everywhere = {row["condition"] for row in verdict_rows} == set(conditions)
    if len(verdicts) == 1 and everywhere:
        (verdict,) = verdicts
        kind, sentence = _UNINFORMATIVE[verdict]
        if len(verdict_rows) >= (MIN_ANSWERS if verdict is Verdict.MISSED else MIN_HITS):
            yield kind, sentence.format(n=len(verdict_rows))


def check_tasks(scores: Mapping[RunId, Fraction], conditions: Sequence[str]) -> list[Finding]:
    """The tasks that can be answered without the repository: closed book, over trials, their score is complete, or
    above 0 and within 10 points of the best of `conditions`."""
    by_task: dict[str, dict[str, list[Fraction]]] = {}
    for run, score in scores.items():
        by_task.setdefault(run.task, {}).setdefault(run.condition, []).append(score)
    findings = []
    for task, points in by_task.items():
        closed_book = mean(points.get(CLOSED_BOOK, ()))
        best = max((value for name in conditions if (value := mean(points.get(name, ()))) is not None), default=None)
        if closed_book and (closed_book >= COMPLETE or (best is not None and closed_book >= best - NEAR)):
            findings.append(Finding(task, None, CLOSED_BOOK, _closed_book_sentence(closed_book, best)))
    return findings


def _closed_book_sentence(score: Fraction, best: Fraction | None) -> str:
    against = "" if best is None else f", and {percent(best)} with it in the best condition"
    return (
        f"Answered without the repository: {percent(score)} closed book{against}. It asks what the model knows "
        "already; ask for something that only this repository says."
    )
