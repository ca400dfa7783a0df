"""Finished runs to be compared: reading them, and finding the tasks that are the same in all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import treatments
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan, Repositories
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.shown_answers import read_tasks
from lensbench.scores.run_tables import Tables, read_tables

NEEDED = (
    RunFolder.validity, RunFolder.reports, RunFolder.verdicts, RunFolder.scores, RunFolder.pairs, RunFolder.tasks,
)  # fmt: skip


@dataclass(frozen=True)
class FinishedRun:
    """A run folder with results."""

    name: str
    """The folder's name, or its path where two runs have the same name."""
    tables: Tables
    tasks: Mapping[str, Task]
    """With their criteria, as they stand in scenarios.md."""
    repositories: Repositories
    """repositories.json; empty for imported runs."""
    tools: Sequence[str]
    """What the MCP servers listed before the runs; empty when nobody asked them."""

    @property
    def plan(self) -> Plan:
        """The frozen plan, as far as its waves are open."""
        return self.tables.plan

    def counterpart(self, treatment: str, of: FinishedRun) -> str | None:
        """The condition that stands for a treatment of another run: the one of that name, or the only one of both."""
        own, others = treatments(self.plan), treatments(of.plan)
        if treatment in own:
            return treatment
        return own[0] if len(own) == len(others) == 1 else None


def read_runs(folders: Sequence[Path]) -> list[FinishedRun]:
    """The runs, the first one being the reference. Raises UserError for less than two, for a folder that is none of a
    finished run, and for the same run twice."""
    if len(folders) < 2:
        raise UserError("one run cannot be compared; name two or more, such as bench/a bench/b")
    names = [folder.resolve().name for folder in folders]
    runs = [
        _read_run(folder, name if names.count(name) == 1 else str(folder))
        for folder, name in zip(folders, names, strict=True)
    ]
    for number, run in enumerate(runs):
        for other in runs[:number]:
            if (run.tables.records, run.tables.scores) == (other.tables.records, other.tables.scores):
                raise UserError(f"{other.name} and {run.name} are the same run; name two different ones")
    return runs


def _read_run(folder: Path, name: str) -> FinishedRun:
    if not RunFolder(folder).plan.is_file():
        raise UserError(f"{folder}: is not a run folder (it has no plan.json); name folders such as bench/<run_id>")
    for file in NEEDED:
        if not (folder / file).is_file():
            raise UserError(f"{folder}: has no {file}, so this run is not finished; finish it first")
    repositories = read_json(RunFolder(folder).repositories, Repositories)
    return FinishedRun(
        name, read_tables(folder), read_tasks(folder), repositories, PreflightFindings.read(folder).listing
    )


class LeftOut(NamedTuple):
    """A task that cannot be compared, and why."""

    task: str
    reason: str


def shared_tasks(runs: Sequence[FinishedRun]) -> tuple[list[str], list[LeftOut]]:
    """The tasks with the same id, prompt and criteria in all runs, and the others. Raises UserError without any."""
    order = dict.fromkeys(task for run in runs for task in run.plan["order"])
    reasons = {task: _difference(runs, task) for task in order}
    tasks = [task for task, reason in reasons.items() if not reason]
    left_out = [LeftOut(task, reason) for task, reason in reasons.items() if reason]
    if not tasks:
        examples = "; ".join(f"{task}: {reason}" for task, reason in left_out[:3])
        names = ", ".join(run.name for run in runs)
        raise UserError(f"{names}: no task is the same in all of them ({examples}); compare runs of one task set")
    return tasks, left_out


def _difference(runs: Sequence[FinishedRun], task: str) -> str:
    """Why a task is not the same in all runs; "" when it is."""
    absent = [run.name for run in runs if task not in run.plan["order"]]
    if absent:
        return f"not in {', '.join(absent)}"
    first = runs[0]
    hashes = [run.plan["tasks"][task]["prompt_sha256"] for run in runs]
    prompts = [run.name for run, digest in zip(runs, hashes, strict=True) if digest != hashes[0]]
    if prompts:
        return f"another prompt in {', '.join(prompts)}"
    criteria = [run for run in runs if _criteria(run, task) != _criteria(first, task)]
    same_text = [_texts(_criteria(run, task)) == _texts(_criteria(first, task)) for run in criteria]
    what = "other patterns of the same criteria" if all(same_text) else "other criteria"
    return f"{what} in {', '.join(run.name for run in criteria)}" if criteria else ""


def _criteria(run: FinishedRun, task: str) -> Sequence[Criterion]:
    return run.tasks[task].criteria if task in run.tasks else ()


def _texts(criteria: Sequence[Criterion]) -> list[str]:
    return [criterion.text for criterion in criteria]
