"""Which runs count (protocol, section 5). Decided from the records alone, before anything is scored:
docs/decisions/validity.md.

A run that must not count gets a discard.json in the store, and Snakemake misses its answer in the next start, which
repeats it. A run that was discarded more often than `discards.max_rounds` is given up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from lensbench.agents.refusals import Action
from lensbench.core.conditions import CLOSED_BOOK
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import Record, RunId, trial_folder
from lensbench.core.rows import RunStatus, ValidityRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import (
    DISCARD,
    Discard,
    Entry,
    State,
    entries,
    read_records,
    rounds,
    state_of,
)
from lensbench.core.system.files import write_atomic
from lensbench.core.system.program import run_stage
from lensbench.core.tables import grouped, joined, row_of_run, write_table, yes_no
from lensbench.plan.waves import read_opened_plan
from lensbench.runs.made_with import as_made
from lensbench.runs.reasons import DiscardReason, meaning_of
from lensbench.runs.reports import read_reports


@dataclass(frozen=True)
class Validity:
    """Whether a run counts."""

    run: RunId
    status: RunStatus
    reason: str = ""
    detail: str = ""


def planned_runs(plan: Plan) -> list[RunId]:
    """All runs: by trial, task and condition."""
    return [
        RunId(task, condition, trial)
        for trial in range(1, plan["trials"] + 1)
        for task in plan["order"]
        for condition in plan["conditions"]
    ]


def decide(
    records: Mapping[RunId, Record],
    plan: Plan,
    discards: Mapping[RunId, Discard] = MappingProxyType({}),
) -> list[Validity]:
    """The validity of every planned run: what its last attempt says, and whether it fits the other runs of its pair.
    `discards` are the runs that were discarded before: they stay so until made again."""
    together = grouped(planned_runs(plan), lambda run: (run.task, run.trial))
    validities = {run: _alone(run, records.get(run)) for runs in together.values() for run in runs}
    for run in validities.keys() & discards.keys():
        reason, detail = discards[run][:2]
        validities[run] = replace(
            validities[run], status=RunStatus.DISCARDED, reason=reason, detail=detail
        )
    for runs in together.values():
        counting = [
            run
            for run in runs
            if validities[run].status == RunStatus.VALID and run.condition != CLOSED_BOOK
        ]
        odd, reason, detail = _apart([records[run] for run in counting], plan)
        for record in odd:
            validities[record.run] = Validity(record.run, RunStatus.DISCARDED, reason, detail)
    return list(validities.values())


def _alone(run: RunId, record: Record | None) -> Validity:
    if record is None:
        return Validity(run, RunStatus.MISSING)
    last = record.attempt
    status = RunStatus.DISCARDED if last.reason else RunStatus.VALID
    return Validity(run, status, last.reason, last.detail)


def _apart(together: Sequence[Record], plan: Plan) -> tuple[Sequence[Record], str, str]:
    """Those of a pair's runs that were made under other circumstances, with the reason and its detail."""
    if not together:
        return (), "", ""
    models = {}
    versions = {}
    for record in together:
        if record.outcome.models:
            models[record.condition] = ", ".join(sorted(set(record.outcome.models)))
        if record.outcome.agent_version:
            versions[record.condition] = f"version {record.outcome.agent_version}"
    for reason, facts in (
        (DiscardReason.MODEL_CHANGED, models),
        (DiscardReason.SETTINGS_CHANGED, versions),
    ):
        if len(set(facts.values())) > 1:
            detail = "; ".join(f"{condition}: {value}" for condition, value in facts.items())
            return together, reason, detail
    if len({record.prompt_sha256 for record in together}) > 1:
        digest = plan["tasks"][together[0].task]["prompt_sha256"]
        odd = [record for record in together if record.prompt_sha256 != digest]
        return odd, DiscardReason.PROMPT_MISMATCH, "its prompt is not the planned one"
    if len({record.agent_sha256 for record in together if record.agent_sha256}) > 1:
        odd = [record for record in together if record.agent_sha256 != plan.get("agent_sha256")]
        detail = "the agent's settings are not the planned ones"
        return odd, DiscardReason.SETTINGS_CHANGED, detail
    if len({record.tree_before for record in together}) > 1:
        detail = "the runs of the pair began with different files"
        return together, DiscardReason.WORKSPACE_CHANGED, detail
    return (), "", ""


def timing_csv(attempts: Iterable[tuple[int, Record]], mapping: str) -> str:
    """timing.csv in the protocol's form (section 3): a model_mapping row, then `task,condition,duration_s,attempt=N` in
    the order in which the runs began, discarded ones too, so that the last row of a run is the one that stands. Each
    record comes with the number of the attempt."""
    rows = set()
    for number, record in attempts:
        if (last := record.attempt).duration_s is not None:
            name = f"{trial_folder(record.trial)}{record.task}"
            seconds = f"{last.duration_s:.3f}".rstrip("0").rstrip(".")
            rows.add((last.started_at, f"{name},{record.condition},{seconds},attempt={number}"))
    return "\n".join([f"model_mapping,{mapping}", *(row for _, row in sorted(rows))]) + "\n"


def which_attempt(entry: Entry, record: Record) -> int:
    """The number of an attempt among those of its run: in the store, or what a run made elsewhere says itself."""
    if record.source == "run":
        return entry.number
    return record.attempt.number


def judge_validity(folder: Path) -> None:
    """Writes validity.csv and runs/timing.csv, and discards in the store what must not count."""
    plan = read_opened_plan(folder)
    attempts = {run: entries(folder, run) for run in planned_runs(plan)}
    records = read_records(folder, attempts)
    standing = {
        run: tries[-1].read_discard()
        for run, tries in attempts.items()
        if tries and DISCARD in tries[-1].files
    }
    validities = decide(records, plan, standing)
    rows: list[ValidityRow] = []
    timed: list[tuple[int, Record]] = []
    for validity in validities:
        run = validity.run
        tries = attempts[validity.run]
        if validity.status == RunStatus.DISCARDED:
            is_busy = run in records and meaning_of(records[run].outcome) == Action.PAUSE
            tries[-1] = tries[-1].discard(
                Discard(validity.reason, validity.detail, "validity", spends_round=not is_busy)
            )
        past_rounds = rounds(tries)
        made = len(tries)
        if run in records:
            number = which_attempt(tries[-1], records[run])
            timed.append((number, records[run]))
            if records[run].source != "run":
                made = number
        for entry, _ in past_rounds:
            if record := entry.read_record(run):
                timed.append((which_attempt(entry, record), record))
        rows.append(
            {
                **row_of_run(run),
                "status": validity.status,
                "reason": validity.reason,
                "detail": validity.detail,
                "attempts": str(made),
                "discards": joined(discard.reason for _, discard in past_rounds),
                "given_up": yes_no(state_of(tries, plan["max_rounds"]) == State.GIVEN_UP),
                "ending": records[run].outcome.ending if run in records else "",
            }
        )
    write_table(RunFolder(folder).validity, columns(ValidityRow), rows)
    mapping = as_made(plan, records.values())["model_mapping"]
    write_atomic(RunFolder(folder).timing, timing_csv(timed, mapping))


def read_runs(folder: Path) -> None:
    """Writes validity.csv (which runs are valid), runs/timing.csv and reports.csv."""
    judge_validity(folder)
    read_reports(folder)


if __name__ == "__main__":
    run_stage(read_runs)
