"""The tables of a run folder together, and the quantities of a run in them. A missing value is missing, never 0."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Literal, NamedTuple

from lensbench.agents.prices import priced
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import COMPLETE, exact
from lensbench.core.records import Outcome, Record, RunId, sha256
from lensbench.core.rows import (
    COUNTING,
    PairRow,
    ReportRow,
    RunStatus,
    ScoreRow,
    ValidityRow,
    VerdictRow,
)
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import read_table, run_of_row
from lensbench.plan.waves import read_opened_plan
from lensbench.runs.made_with import as_made
from lensbench.runs.stopping import StopEverything, spent, why_spent
from lensbench.scores.scores import read_present_records, rows_by_run

RunValue = Callable[[RunId], Fraction | None]
"""A quantity of a run; None where it is missing."""


ALL_KINDS = "all"
"""Tokens of numbers from elsewhere, whose kinds are not known."""


class Tables(NamedTuple):
    """The tables and records of a benchmark."""

    plan: Plan
    validity: Sequence[ValidityRow]
    scores: Mapping[RunId, ScoreRow]
    reports: Mapping[RunId, ReportRow]
    pairs: Sequence[PairRow]
    verdicts: Sequence[VerdictRow]
    records: Mapping[RunId, Record]
    due: Sequence[RunId] = ()
    """As `due_runs` has them."""

    @property
    def valid(self) -> list[Record]:
        """The records of the runs that count."""
        return [
            self.records[run_of_row(row)]
            for row in self.validity
            if row["status"] == RunStatus.VALID
        ]

    @property
    def left_out(self) -> set[RunId]:
        """The planned runs that a spent budget left out: no agent was started for them, and none will be. A run that
        an imported benchmark lacks is lost instead: nobody knows why."""
        if self.plan["agent"]["kind"] == "none":
            return set()
        missing = {run_of_row(row) for row in self.validity if row["status"] == RunStatus.MISSING}
        return missing - {*self.due}

    def identity(self, run: RunId) -> str:
        """A short hash that changes when the run is repeated."""
        return identity(self.records[run])

    def score(self, run: RunId) -> Fraction | None:
        return exact(self.scores[run]["score"])

    def complete(self, run: RunId) -> Fraction | None:
        """1 for a complete run, 0 for another, None without a score."""
        score = self.score(run)
        return None if score is None else Fraction(score >= COMPLETE)

    def duration(self, run: RunId) -> Fraction | None:
        """Seconds of the attempt that gave the answer."""
        return exact(self.scores[run]["duration_s"])

    def reported_calls(self, run: RunId) -> Fraction | None:
        return self._reported(run, "tool_calls")

    def reported_files(self, run: RunId) -> Fraction | None:
        return self._reported(run, "files_read")

    def observed_calls(self, run: RunId) -> Fraction | None:
        """Tool calls in the transcript."""
        calls = self._outcome(run).calls
        return None if calls is None else Fraction(sum(call.count for call in calls))

    def known_calls(self, run: RunId) -> Fraction | None:
        """Tool calls in the transcript; those that the agent reports where there is none."""
        count = self.observed_calls(run)
        return self.reported_calls(run) if count is None else count

    def observed_files(self, run: RunId) -> Fraction | None:
        """Files read in the transcript."""
        files = self._outcome(run).files_read
        return None if files is None else Fraction(len(files))

    def all_tokens(self, run: RunId) -> Mapping[str, int] | None:
        """Tokens by kind; None when unknown."""
        return self._outcome(run).tokens

    def tokens(self, run: RunId, *names: str) -> Fraction | None:
        """Tokens of the named kinds together; None when the agent does not show them, or not apart."""
        tokens = self.all_tokens(run)
        if tokens is None or ALL_KINDS in tokens:
            return None
        return Fraction(sum(tokens.get(name, 0) for name in names))

    def first_cached(self, run: RunId) -> Fraction | None:
        """The share of the first request that the service's cache held before."""
        first = self._outcome(run).tokens_first or {}
        total = sum(first.get(kind, 0) for kind in ("input", "cache_read", "cache_write"))
        return Fraction(first.get("cache_read", 0), total) if total else None

    def of_subagents(self, run: RunId) -> Mapping[str, int] | None:
        """Tokens of sub-agents; None when unknown."""
        outcome = self._outcome(run)
        return {} if outcome.subagents == 0 else outcome.tokens_subagents

    def cost(self, run: RunId) -> Fraction | None:
        """US dollars, as the agent reports them, else estimated."""
        return _exact(self._outcome(run).cost_usd)

    def turns(self, run: RunId) -> Fraction | None:
        return _exact(self._outcome(run).turns)

    def _reported(self, run: RunId, column: Literal["tool_calls", "files_read"]) -> Fraction | None:
        if not self.counts(run) or run not in self.reports:
            return None
        return exact(self.reports[run][column])

    def _outcome(self, run: RunId) -> Outcome:
        """That of a run that counts, without sums that lack sub-agents."""
        if not self.counts(run):
            return Outcome()
        outcome = self.records[run].outcome
        if outcome.hides_work:
            return replace(outcome, calls=None, tokens=None, cost_usd=None)
        return outcome

    def counts(self, run: RunId) -> bool:
        """True when the run is valid, with a score or without."""
        return self.scores[run]["status"] in COUNTING


def _exact(value: float | None) -> Fraction | None:
    """A number of a record as it is written there; None stays None."""
    return None if value is None else Fraction(str(value))


def identity(record: Record) -> str:
    """A short hash of the start of a run's last attempt and of its answer."""
    return sha256(f"{record.attempt.started_at} {record.answer_sha256}".encode())[:10]


def due_runs(folder: Path, plan: Plan, validity: Iterable[ValidityRow]) -> list[RunId]:
    """The planned runs that the next start makes, or makes again. None for those that were given up, and none at all in
    an imported benchmark or when the budget is spent. When nobody knows what was spent, that has to be found out."""
    with suppress(StopEverything):
        if plan["agent"]["kind"] == "none" or why_spent(spent(folder), plan.get("budget", {})):
            return []
    due = []
    for row in validity:
        if row["status"] != RunStatus.VALID and row["given_up"] != "yes":
            due.append(run_of_row(row))
    return due


def read_tables(folder: Path, records: Mapping[RunId, Record] | None = None) -> Tables:
    """The tables of the earlier stages in the run folder; `records` of all runs, if they were read before."""
    files = RunFolder(folder)
    plan = read_opened_plan(folder)
    validity = read_table(files.validity, ValidityRow)
    if records is None:
        records = read_present_records(folder, validity)
    tables = Tables(
        plan=plan,
        validity=validity,
        scores=rows_by_run(files.scores, ScoreRow),
        reports=rows_by_run(files.reports, ReportRow),
        pairs=read_table(files.pairs, PairRow),
        verdicts=read_table(files.verdicts, VerdictRow),
        records={run: _with_price(record, plan) for run, record in records.items()},
        due=due_runs(folder, plan, validity),
    )
    return tables._replace(plan=as_made(plan, tables.valid))


def _with_price(record: Record, plan: Plan) -> Record:
    outcome = priced(record.outcome, plan.get("prices", {}), record.attempt.day)
    return replace(record, outcome=outcome)
