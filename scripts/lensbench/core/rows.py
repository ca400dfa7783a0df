"""The rows of the tables between the stages: a type per table, whose keys are the columns in their order.

When read, every cell is a string, empty for a missing value.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from typing_extensions import ReadOnly


class RunStatus(StrEnum):
    """In validity.csv a run is valid, discarded or missing; in scores.csv a valid one is scored or unjudged."""

    VALID = "valid"
    DISCARDED = "discarded"
    MISSING = "missing"
    SCORED = "scored"
    UNJUDGED = "unjudged"
    """Valid, but at least one criterion has no verdict."""


COUNTING = frozenset((RunStatus.SCORED, RunStatus.UNJUDGED))
"""The status in scores.csv of runs that count."""


class RunRow(TypedDict):
    """A row about a run."""

    task: ReadOnly[str]  # the id of the task
    condition: ReadOnly[str]  # the condition, as the config names it
    trial: ReadOnly[str]  # from 1


class ValidityRow(RunRow):
    """validity.csv: whether a planned run counts."""

    status: ReadOnly[str]  # valid, discarded or missing
    reason: ReadOnly[str]  # of a discarded run
    detail: ReadOnly[str]  # what was observed
    attempts: ReadOnly[str]  # of this run, in all starts: those in attempts/ that have an answer
    discards: ReadOnly[str]  # the reasons of its discarded rounds, joined with ;
    given_up: ReadOnly[str]  # yes after `discards.max_rounds` rounds
    ending: ReadOnly[str]  # how the answer ended: finished, limit, refusal, compaction


class ReportRow(RunRow):
    """reports.csv: the content of a valid run's report."""

    report_present: ReadOnly[str]  # whether the answer has a `## Report`
    tool_calls: ReadOnly[str]  # their number, as the agent states it
    tools_used: ReadOnly[str]  # a list
    files_read: ReadOnly[str]  # their number
    files_used: ReadOnly[str]  # a list
    server_calls: ReadOnly[str]  # the number in `LENS calls` or `MCP calls` of imports


class VerdictRow(RunRow):
    """verdicts.csv and verdicts/<judge>.csv: a judge's verdict on a criterion."""

    criterion: ReadOnly[str]  # its number in the task, from 1
    judge: ReadOnly[str]  # its name; human-<name> for a person
    verdict: ReadOnly[str]  # Met, Partial, Missed or Unjudged
    points: ReadOnly[str]  # 1, 0.5, 0, the share of tests, or empty
    evidence: ReadOnly[str]  # the piece that decided, word for word
    position: ReadOnly[str]  # the character of the answer at which it starts
    reason: ReadOnly[str]  # the judge's, or the patterns that matched
    failure: ReadOnly[str]  # why there is no verdict
    version: ReadOnly[str]  # of the prompt and the program
    model: ReadOnly[str]  # the model that judged
    cost_usd: ReadOnly[str]  # US dollars
    cost_estimated: ReadOnly[str]  # yes where they are estimated from the tokens


class DecisionRow(RunRow):
    """decisions.csv: the verdict that counts for a criterion."""

    criterion: ReadOnly[str]  # its number in the task, from 1
    verdict: ReadOnly[str]  # the one that counts
    points: ReadOnly[str]  # 1, 0.5, 0, the share of tests, or empty
    decided_by: ReadOnly[str]  # single, majority or human; empty when it is unjudged
    votes: ReadOnly[str]  # judge=verdict of each judge that was asked
    disagreement: ReadOnly[str]  # whether judges, or people, differ
    judges_verdict: ReadOnly[str]  # that of the judges without people


class ScoreRow(RunRow):
    """scores.csv: the score of a run."""

    criteria: ReadOnly[str]  # how many the task has
    judged: ReadOnly[str]  # how many have a verdict
    points: ReadOnly[str]  # their sum
    score: ReadOnly[str]  # a share of 1, to the nearest 0.05; empty if one is unjudged
    complete: ReadOnly[str]  # a score of 0.8 or more
    duration_s: ReadOnly[str]  # seconds of the attempt that gave the answer
    status: ReadOnly[str]  # scored, unjudged, discarded or missing


class PairRow(TypedDict):
    """pairs.csv: a treatment's run and the baseline's; the file also has a column `adopted_<tool>` for each tool."""

    task: ReadOnly[str]  # the id of the task
    trial: ReadOnly[str]  # from 1
    treatment: ReadOnly[str]  # the condition that is compared
    treatment_score: ReadOnly[str]  # a share of 1
    baseline_score: ReadOnly[str]  # a share of 1
    delta: ReadOnly[str]  # treatment minus baseline
    adopted: ReadOnly[str]  # whether its report names a tool of the treatment
    offered: ReadOnly[str]  # whether the agent could use one
    called: ReadOnly[str]  # whether it called one
    called_without_error: ReadOnly[str]  # whether a call succeeded
    diverged: ReadOnly[str]  # whether the two answers cite different files
    jaccard: ReadOnly[str]  # how alike the two sets of files are: 0 to 1
    only_treatment_files: ReadOnly[str]  # cited by the treatment only
    misdirected: ReadOnly[str]  # diverged, and the treatment scored less


class PublishedRow(TypedDict):
    """published.csv: a score from imported runs."""

    task: ReadOnly[str]  # the id of the task
    condition: ReadOnly[str]  # the condition
    score: ReadOnly[str]  # a share of 1, as published


def columns(row: type) -> tuple[str, ...]:
    """The columns of a table, by the type of its rows."""
    return tuple(row.__annotations__)
