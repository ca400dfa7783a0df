"""Finds problems of criteria and tasks, with advice (docs/judges.md).

A criterion that all answers meet, that none meets, or that the question gives away costs money without information.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from statistics import mean
from typing import NamedTuple

from lensbench.core.conditions import CLOSED_BOOK
from lensbench.core.numbers import COMPLETE, percent
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow
from lensbench.core.tables import grouped
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges import Verdict, mechanical
from lensbench.judging.judges.normalising import normalise

NEAR = Fraction(1, 10)
"""A closed-book score within this distance of the best condition's counts as equal."""
MANY_DISAGREEMENTS = Fraction(1, 4)
"""When judges differ on a larger share of answers, the criterion is ambiguous."""


class Finding(NamedTuple):
    """A problem of a criterion or of a whole task."""

    task: str
    """The id of the task."""
    criterion: int | None
    """None for the whole task."""
    kind: str
    """`met_by_all`, `met_by_none`, `partial_by_all`, `given_away`, `judges_disagree`, `unjudged`,
    `closed_book`."""
    sentence: str
    """What is wrong, for people."""


def check_criteria(
    tasks: Mapping[str, Task], decisions: Sequence[DecisionRow], conditions: Sequence[str]
) -> list[Finding]:
    """The problems of each criterion, from its decisions in the compared `conditions`."""
    compared = (row for row in decisions if row["condition"] in conditions)
    by_criterion = grouped(compared, lambda row: (row["task"], int(row["criterion"])))
    findings = []
    for name, task in tasks.items():
        for number, criterion in enumerate(task.criteria, 1):
            rows = by_criterion.get((name, number), [])
            for kind, sentence in _wrong_with(task, criterion, rows, conditions):
                findings.append(Finding(name, number, kind, sentence))
    return findings


def _wrong_with(
    task: Task, criterion: Criterion, rows: Sequence[DecisionRow], conditions: Sequence[str]
) -> Iterator[tuple[str, str]]:
    judged = [row for row in rows if row["verdict"] != Verdict.UNJUDGED]
    verdicts = {Verdict(row["verdict"]) for row in judged}
    if len(verdicts) == 1 and {row["condition"] for row in judged} == set(conditions):
        kind, least, sentence = _UNINFORMATIVE[verdicts.pop()]
        if len(judged) >= least:
            yield kind, sentence.format(n=len(judged))
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
    gaps = len(rows) - len(judged)
    remedy = "It has no patterns: write some, or add a judge that can read it."
    if criterion.mechanical:
        remedy = "Look for the judges' failures in verdicts.csv, and start again, or let a person decide."
    if gaps:
        yield "unjudged", f"{gaps} of {len(rows)} answers have no verdict. {remedy}"


_UNINFORMATIVE = {
    Verdict.MET: (
        "met_by_all",
        3,
        "Met by all {n} answers, in every condition, so it showed no difference. "
        "Should that stay so with more trials, ask for something harder.",
    ),
    Verdict.PARTIAL: (
        "partial_by_all",
        3,
        "Partial in all {n} answers, in every condition, so it showed no difference. "
        "Should that stay so with more trials, split it into two criteria.",
    ),
    Verdict.MISSED: (
        "met_by_none",
        2,
        "Missed by all {n} answers, in every condition, so it showed no difference. Check that the fact is true, "
        "that the question asks for it, and that the patterns find it in a right answer.",
    ),
}
"""Kind of finding, minimum number of answers, and sentence. Two suffice for "met by none", since the patterns may be
wrong; "met by all" needs a few more."""


def check_tasks(scores: Mapping[RunId, Fraction], conditions: Sequence[str]) -> list[Finding]:
    """The tasks that can be answered without the repository: closed book, over trials, their score is complete, or
    above 0 and within 10 points of the best of `conditions`."""
    findings = []
    for task, runs in grouped(scores, lambda run: run.task).items():
        points = {}
        for condition, own in grouped(runs, lambda run: run.condition).items():
            points[condition] = mean([scores[run] for run in own])
        closed_book = points.get(CLOSED_BOOK, Fraction(0))
        best = max((points[name] for name in conditions if name in points), default=None)
        needed = COMPLETE
        against = ""
        if best is not None:
            needed = min(needed, best - NEAR)
            against = f", and {percent(best)} with it in the best condition"
        if closed_book and closed_book >= needed:
            sentence = (
                f"Answered without the repository: {percent(closed_book)} closed book{against}. It asks what the model "
                "knows already; ask for something that only this repository says."
            )
            findings.append(Finding(task, None, CLOSED_BOOK, sentence))
    return findings
