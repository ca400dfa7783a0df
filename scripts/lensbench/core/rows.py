"""The rows of the tables between the stages: a type per table, whose keys are the columns in their order.

When read, every cell is a string, empty for a missing value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


class RunRow(TypedDict):
    """A row about a run."""

    task: ReadOnly[str]
    condition: ReadOnly[str]
    trial: ReadOnly[str]


class ValidityRow(RunRow):
    """validity.csv: whether a planned run counts."""

    status: ReadOnly[str]
    reason: ReadOnly[str]
    detail: ReadOnly[str]
    attempts: ReadOnly[str]
    discards: ReadOnly[str]
    given_up: ReadOnly[str]
    ending: ReadOnly[str]


class ReportRow(RunRow):
    """reports.csv: the content of a valid run's report."""

    report_present: ReadOnly[str]
    tool_calls: ReadOnly[str]
    tools_used: ReadOnly[str]
    files_read: ReadOnly[str]
    files_used: ReadOnly[str]
    server_calls: ReadOnly[str]


class VerdictRow(RunRow):
    """verdicts.csv and verdicts/<judge>.csv: a judge's verdict on a criterion."""

    criterion: ReadOnly[str]
    judge: ReadOnly[str]
    verdict: ReadOnly[str]
    points: ReadOnly[str]
    evidence: ReadOnly[str]
    position: ReadOnly[str]
    reason: ReadOnly[str]
    failure: ReadOnly[str]
    version: ReadOnly[str]
    model: ReadOnly[str]
    cost_usd: ReadOnly[str]
    cost_estimated: ReadOnly[str]


class DecisionRow(RunRow):
    """decisions.csv: the verdict that counts for a criterion."""

    criterion: ReadOnly[str]
    verdict: ReadOnly[str]
    points: ReadOnly[str]
    decided_by: ReadOnly[str]
    votes: ReadOnly[str]
    disagreement: ReadOnly[str]
    judges_verdict: ReadOnly[str]


class ScoreRow(RunRow):
    """scores.csv: the score of a run."""

    criteria: ReadOnly[str]
    judged: ReadOnly[str]
    points: ReadOnly[str]
    score: ReadOnly[str]
    complete: ReadOnly[str]
    duration_s: ReadOnly[str]
    status: ReadOnly[str]


class PairRow(TypedDict):
    """pairs.csv: a treatment's run and the baseline's; the file also has a column `adopted_<tool>` for each tool."""

    task: ReadOnly[str]
    trial: ReadOnly[str]
    treatment: ReadOnly[str]
    treatment_score: ReadOnly[str]
    baseline_score: ReadOnly[str]
    delta: ReadOnly[str]
    adopted: ReadOnly[str]
    offered: ReadOnly[str]
    called: ReadOnly[str]
    called_without_error: ReadOnly[str]
    diverged: ReadOnly[str]
    jaccard: ReadOnly[str]
    only_treatment_files: ReadOnly[str]
    misdirected: ReadOnly[str]


class GuessRow(RunRow):
    """guesses/<judge>.csv: the condition of an answer as guessed by a model judge."""

    guessed: ReadOnly[str]


class PublishedRow(TypedDict):
    """published.csv: a score from imported runs."""

    task: ReadOnly[str]
    condition: ReadOnly[str]
    score: ReadOnly[str]


def columns(row: type) -> tuple[str, ...]:
    """The columns of a table, by the type of its rows."""
    return tuple(row.__annotations__)
