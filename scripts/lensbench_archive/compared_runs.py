"""Finished runs to be compared: reading them, the tasks that are the same in all of them, what they were made with,
setting by setting, and which differences between them forbid a comparison."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.core.conditions import compared, shown_names, treatments
from lensbench.core.errors import UserError, some_of
from lensbench.core.frozen_plan import Plan, PlannedJudge, Repositories
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import sha256
from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json
from lensbench.core.tables import grouped
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.decisions import is_person
from lensbench.judging.shown_answers import read_tasks
from lensbench.scores.run_tables import Tables, read_tables

NEEDED_FILES = (
    RunFolder.validity,
    RunFolder.reports,
    RunFolder.verdicts,
    RunFolder.scores,
    RunFolder.pairs,
    RunFolder.tasks,
)


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

    @property
    def names(self) -> Mapping[str, str]:
        """What readers call each condition."""
        return shown_names(self.plan)

    def counterpart(self, treatment: str, of: FinishedRun) -> str | None:
        """The condition that stands for a treatment of another run: the one of that name, or the only one of both."""
        own = treatments(self.plan)
        others = treatments(of.plan)
        if treatment in own:
            return treatment
        return own[0] if len(own) == len(others) == 1 else None


def read_runs(folders: Sequence[Path]) -> list[FinishedRun]:
    """The runs, the first one being the reference. Raises UserError for less than two, for a folder that is none of a
    finished run, and for the same run twice."""
    if len(folders) < 2:
        raise UserError("one run cannot be compared; name two or more, such as bench/a bench/b")
    names = [folder.resolve().name for folder in folders]
    runs: list[FinishedRun] = []
    for folder, name in zip(folders, names, strict=True):
        is_unique = names.count(name) == 1
        run = _read_run(folder, name if is_unique else str(folder))
        for other in runs:
            if _is_same(run, other):
                raise UserError(
                    f"{other.name} and {run.name} are the same run; name two different ones"
                )
        runs.append(run)
    return runs


def _is_same(run: FinishedRun, other: FinishedRun) -> bool:
    """True for two copies of one run folder."""
    has_same_records = run.tables.records == other.tables.records
    return has_same_records and run.tables.scores == other.tables.scores


def _read_run(folder: Path, name: str) -> FinishedRun:
    if not RunFolder(folder).plan.is_file():
        raise UserError(
            f"{folder}: is not a run folder (it has no plan.json); name folders such as bench/<run_id>"
        )
    for file in NEEDED_FILES:
        if not (folder / file).is_file():
            raise UserError(
                f"{folder}: has no {file}, so this run is not finished; finish it first"
            )
    repositories: Repositories = read_json(RunFolder(folder).repositories)
    return FinishedRun(
        name,
        read_tables(folder),
        read_tasks(folder),
        repositories,
        PreflightFindings.read(folder).listing,
    )


class LeftOut(NamedTuple):
    """A task that cannot be compared, and why."""

    task: str
    reason: str


def shared_tasks(runs: Sequence[FinishedRun]) -> tuple[list[str], list[LeftOut]]:
    """The tasks with the same id, prompt and criteria in all runs, and the others. Raises UserError without any."""
    order: dict[str, None] = {}
    for run in runs:
        order |= dict.fromkeys(run.plan["order"])
    tasks = []
    left_out = []
    for task in order:
        reason = _difference(runs, task)
        if reason:
            left_out.append(LeftOut(task, reason))
        else:
            tasks.append(task)
    if not tasks:
        examples = "; ".join(f"{task}: {reason}" for task, reason in left_out[:3])
        names = ", ".join(run.name for run in runs)
        raise UserError(
            f"{names}: no task is the same in all of them ({examples}); compare runs of one task set"
        )
    return tasks, left_out


def _difference(runs: Sequence[FinishedRun], task: str) -> str:
    """Why a task is not the same in all runs; "" when it is."""
    if absent := [run.name for run in runs if task not in run.plan["order"]]:
        return f"not in {', '.join(absent)}"

    def differ(what: str, of: Callable[[FinishedRun], object]) -> str:
        names = [run.name for run in runs if of(run) != of(runs[0])]
        return f"{what} in {', '.join(names)}" if names else ""

    def criteria(run: FinishedRun) -> Sequence[Criterion]:
        return run.tasks[task].criteria if task in run.tasks else ()

    same_text = not differ("", lambda run: [criterion.text for criterion in criteria(run)])
    what = "other patterns of the same criteria" if same_text else "other criteria"
    return differ("another prompt", lambda run: run.plan["tasks"][task]["prompt_sha256"]) or differ(
        what, criteria
    )


NOT_RECORDED = "not recorded"
HASH_DIGITS = 12
"""Digits of a hash that people compare."""

REPOSITORY = "repository of "
MODELS = ("agent.kind", "agent.profile", "agent.model", "model mapping", "models that answered")


class Setting(NamedTuple):
    """A setting that is not the same in all runs."""

    name: str
    values: Mapping[str, str]
    """By run."""


class Notice(NamedTuple):
    """What a reader must know before any number."""

    lead: str
    text: str


def changed_settings(
    runs: Sequence[FinishedRun], tasks: Sequence[str]
) -> tuple[list[Setting], list[str]]:
    """The settings that differ, and the names of those that do not. `tasks` are those that are compared."""
    by_name: dict[str, dict[str, str]] = {}
    for run in runs:
        for name, value in settings_of(run, runs[0]).items():
            by_name.setdefault(name, dict.fromkeys((each.name for each in runs), ""))
            by_name[name][run.name] = value
    rows = [Setting(name, values) for name, values in by_name.items()]
    rows += _repositories(runs, tasks)
    changes = [row for row in rows if len(set(row.values.values())) > 1]
    changed = {row.name for row in changes}
    changed_kinds = {_kind(name) for name in changed}
    same: dict[str, None] = {}
    for row in rows:
        if row.name not in changed:
            kind = _kind(row.name)
            same[row.name if kind in changed_kinds else kind] = None
    return changes, [*same]


def _kind(name: str) -> str:
    """Settings that belong together are named as one where all of them are the same."""
    if name.startswith(REPOSITORY):
        return "repositories"
    section, dot, _ = name.partition(".")
    return f"all of {section}" if dot else name


def settings_of(run: FinishedRun, reference: FinishedRun) -> dict[str, str]:
    """Everything but the tasks and their repositories, as texts. Conditions have their names in the reference."""
    plan = run.plan
    records = [record for record in run.tables.valid if record.source == "run"]
    outcomes = [record.outcome for record in records]
    return {
        "lensbench": _all(record.lensbench for record in records),
        **{
            f"agent.{name}": _text(value)
            for name, value in {"profile": "strict", **plan["agent"]}.items()
        },
        "agent's version": _all(outcome.agent_version for outcome in outcomes),
        "model mapping": plan["model_mapping"],
        "models that answered": models_of(run),
        "baseline": run.names[plan["baseline"]],
        **dict(_conditions(run, reference)),
        "tools that the servers list": ", ".join(run.tools) or NOT_RECORDED,
        "judges": " + ".join(judge_names(run)),
        "trials": _text(plan["trials"]),
        "seed": _text(plan["seed"]),
        "sandbox": _all(record.sandbox for record in records),
    }


def models_of(run: FinishedRun) -> str:
    """The models that answered, as the service names them."""
    return _all(model for record in run.tables.valid for model in record.outcome.models or ())


def _all(values: Iterable[str | None]) -> str:
    return ", ".join(sorted({value for value in values if value})) or NOT_RECORDED


def _text(value: Any, between: str = ", ") -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={item}" for key, item in sorted(value.items()))
    return between.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _conditions(run: FinishedRun, reference: FinishedRun) -> Iterator[tuple[str, str]]:
    for own, condition in compared(run.plan).items():
        name = reference.names.get(own, own)
        yield f"servers of {name}", ", ".join(condition["servers"]) or "none"
        yield f"MCP file of {name}", condition["mcp_sha256"][:HASH_DIGITS] or "none"
        for key, between in (("files", ", "), ("agent", ", "), ("setup", " "), ("teardown", " ")):
            if value := condition.get(key):
                yield f"{key} of {name}", _text(value, between)


def judge_names(run: FinishedRun) -> list[str]:
    """Who judged: name, versions, models, and of a model judge a hash of its prompt and settings. Persons have no
    version: what stands there is their sheet, which is another one for every run."""
    rows = grouped(run.tables.verdicts, lambda row: row["judge"])
    plan = {judge["name"]: judge for judge in run.plan["judges"] if "agent" in judge}
    names = []
    for name in sorted(rows):
        if is_person(name):
            names.append(name)
        else:
            names.append(_judge(name, rows[name], plan.get(name)))
    return names


def _judge(name: str, rows: Sequence[VerdictRow], judge: PlannedJudge | None) -> str:
    words = [name, *sorted({row["version"] for row in rows} - {""})]
    if models := sorted({row.get("model", "") for row in rows} - {""}):
        words.append(f"({', '.join(models)})")
    if judge:
        digest = sha256(json.dumps([judge["prompt"], judge["agent"]], sort_keys=True).encode())
        words.append(f"settings {digest[:HASH_DIGITS]}")
    return " ".join(words)


def _repositories(runs: Sequence[FinishedRun], tasks: Sequence[str]) -> list[Setting]:
    """One row for the tasks that rest on the same repositories in all runs."""
    groups = grouped(tasks, lambda task: tuple(_repository(run, task) for run in runs))
    names = [run.name for run in runs]
    settings = []
    for values, members in groups.items():
        by_run = dict(zip(names, values, strict=True))
        settings.append(Setting(f"{REPOSITORY}{some_of(members, 3)}", by_run))
    return settings


def _repository(run: FinishedRun, task: str) -> str:
    name = run.plan["tasks"][task]["repository"] or "none named"
    entry = run.repositories.get(name, {})
    tree = (entry.get("tree_sha256") or "")[:HASH_DIGITS]
    parts = [name, entry.get("revision") or "", f"files {tree}" if tree else ""]
    return ", ".join(filter(None, parts))


def notices(runs: Sequence[FinishedRun], settings: Sequence[Setting]) -> list[Notice]:
    """What makes a comparison wrong, or another one than it seems, the worst first."""
    notes = [
        *_differs(
            settings,
            ["judges"],
            "Not comparable: other judges.",
            "Deltas and scores differ by what the judges hold to be met, whatever the agents did. Judge all runs"
            " with the same judges, which repeats no run.",
        ),
        *_differs(
            settings,
            MODELS,
            "Other models.",
            "A difference between the runs is one of models or agents; it says nothing about the servers alone.",
        ),
        *_differs(
            settings,
            [row.name for row in settings if row.name.startswith(REPOSITORY)],
            "Other files.",
            "The agents of these tasks did not read the same repositories.",
        ),
    ]
    if offline := [run.name for run in runs if run.plan["agent"]["kind"] == "offline"]:
        text = f"The agent of {', '.join(offline)} is a deterministic retrieval program: its numbers say nothing"
        notes.append(Notice("No language model answered.", f"{text} about any model."))
    if names := [run.name for run in runs if run.plan["imported"]]:
        text = f"{', '.join(names)}: made elsewhere; what the machine did not record cannot be compared."
        notes.append(Notice("Imported.", text))
    for run in runs:
        if run.plan["accepted_changes"]:
            notes.append(
                Notice(
                    f"{run.name} was changed in the middle.",
                    "; ".join(run.plan["accepted_changes"]),
                )
            )
    return notes


def _differs(
    settings: Sequence[Setting], names: Sequence[str], lead: str, text: str
) -> Iterator[Notice]:
    details = []
    for row in settings:
        if row.name in names:
            values = [f"{run} has {value or 'none'}" for run, value in row.values.items()]
            details.append(f"{row.name}: {'; '.join(values)}")
    if details:
        yield Notice(lead, f"{text} {'. '.join(details)}.")
