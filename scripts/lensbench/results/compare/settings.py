"""What runs were made with, setting by setting, and which differences between them forbid a comparison."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lensbench.core.conditions import compared
from lensbench.core.errors import some_of
from lensbench.core.frozen_plan import Plan, PlannedJudge
from lensbench.core.records import sha256
from lensbench.core.rows import VerdictRow
from lensbench.judging.decisions import is_person
from lensbench.results.compare.runs import FinishedRun

NOT_RECORDED = "not recorded"
SHORT = 12
"""Digits of a hash that people compare."""

REPOSITORY = "repository of "
JUDGING = ("judges",)
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


def changed_settings(runs: Sequence[FinishedRun], tasks: Sequence[str]) -> tuple[list[Setting], list[str]]:
    """The settings that differ, and the names of those that do not. `tasks` are those that are compared."""
    by_run = {run.name: settings_of(run) for run in runs}
    names = dict.fromkeys(name for settings in by_run.values() for name in settings)
    rows = [Setting(name, {run: by_run[run].get(name, "") for run in by_run}) for name in names]
    rows += _repositories(runs, tasks)
    changes = [row for row in rows if len(set(row.values.values())) > 1]
    kinds = {row.name: _kind(row.name) for row in rows}
    changed_kinds = {kinds[row.name] for row in changes}
    same = (kind if kind not in changed_kinds else name for name, kind in kinds.items())
    return changes, [name for name in dict.fromkeys(same) if name not in {row.name for row in changes}]


def _kind(name: str) -> str:
    """Settings that belong together are named as one where all of them are the same."""
    if name.startswith(REPOSITORY):
        return "repositories"
    section, dot, _ = name.partition(".")
    return f"all of {section}" if dot else name


def settings_of(run: FinishedRun) -> dict[str, str]:
    """Everything but the tasks and their repositories, as texts."""
    plan, records = run.plan, [record for record in run.tables.valid if record.source == "run"]
    outcomes = [record.outcome for record in records]
    return {
        "lensbench": _all(record.lensbench for record in records),
        **{f"agent.{name}": _text(value) for name, value in {"profile": "strict", **plan["agent"]}.items()},
        "agent's version": _all(outcome.agent_version for outcome in outcomes),
        "model mapping": plan["model_mapping"],
        "models that answered": models_of(run),
        "baseline": plan["baseline"],
        **dict(_conditions(plan)),
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


def _conditions(plan: Plan) -> Iterator[tuple[str, str]]:
    for name, condition in compared(plan).items():
        yield f"servers of {name}", ", ".join(condition["servers"]) or "none"
        yield f"MCP file of {name}", condition["mcp_sha256"][:SHORT] or "none"
        for key, between in (("files", ", "), ("agent", ", "), ("setup", " "), ("teardown", " ")):
            if value := condition.get(key):
                yield f"{key} of {name}", _text(value, between)


def judge_names(run: FinishedRun) -> list[str]:
    """Who judged: name, versions, models, and of a model judge a hash of its prompt and settings. Persons have no
    version: what stands there is their sheet, which is another one for every run."""
    rows: dict[str, list[VerdictRow]] = {}
    for row in run.tables.verdicts:
        rows.setdefault(row["judge"], []).append(row)
    plan = {judge["name"]: judge for judge in run.plan["judges"] if "agent" in judge}
    return [name if is_person(name) else _judge(name, rows[name], plan.get(name)) for name in sorted(rows)]


def _judge(name: str, rows: Sequence[VerdictRow], judge: PlannedJudge | None) -> str:
    words = [name, *sorted({row["version"] for row in rows} - {""})]
    if models := sorted({row.get("model", "") for row in rows} - {""}):
        words.append(f"({', '.join(models)})")
    if judge:
        digest = sha256(json.dumps([judge["prompt"], judge["agent"]], sort_keys=True).encode())
        words.append(f"settings {digest[:SHORT]}")
    return " ".join(words)


def _repositories(runs: Sequence[FinishedRun], tasks: Sequence[str]) -> list[Setting]:
    """One row for the tasks that rest on the same repositories in all runs."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for task in tasks:
        groups.setdefault(tuple(_repository(run, task) for run in runs), []).append(task)
    names = [run.name for run in runs]
    return [
        Setting(f"{REPOSITORY}{some_of(members, 3)}", dict(zip(names, values, strict=True)))
        for values, members in groups.items()
    ]


def _repository(run: FinishedRun, task: str) -> str:
    name = run.plan["tasks"][task]["repository"] or "none named"
    entry = run.repositories.get(name, {})
    tree = (entry.get("tree_sha256") or "")[:SHORT]
    parts = [name, entry.get("revision") or "", f"files {tree}" if tree else ""]
    return ", ".join(filter(None, parts))


def notices(runs: Sequence[FinishedRun], settings: Sequence[Setting]) -> list[Notice]:
    """What makes a comparison wrong, or another one than it seems, the worst first."""
    notes = [
        *_differs(settings, JUDGING, "Not comparable: other judges.",
                  "Deltas and scores differ by what the judges hold to be met, whatever the agents did. Judge all runs"
                  " with the same judges, which repeats no run."),
        *_differs(settings, MODELS, "Other models.",
                  "A difference between the runs is one of models or agents; it says nothing about the servers alone."),
        *_differs(settings, [row.name for row in settings if row.name.startswith(REPOSITORY)],
                  "Other files.", "The agents of these tasks did not read the same repositories."),
    ]  # fmt: skip
    if offline := [run.name for run in runs if run.plan["agent"]["kind"] == "offline"]:
        text = f"The agent of {', '.join(offline)} is a deterministic retrieval program: its numbers say nothing"
        notes.append(Notice("No language model answered.", f"{text} about any model."))
    if names := [run.name for run in runs if run.plan["imported"]]:
        text = f"{', '.join(names)}: made elsewhere; what the machine did not record cannot be compared."
        notes.append(Notice("Imported.", text))
    for run in runs:
        if run.plan["accepted_changes"]:
            notes.append(Notice(f"{run.name} was changed in the middle.", "; ".join(run.plan["accepted_changes"])))
    return notes


def _differs(settings: Sequence[Setting], names: Sequence[str], lead: str, text: str) -> Iterator[Notice]:
    if rows := [row for row in settings if row.name in names]:
        details = ". ".join(
            f"{row.name}: " + "; ".join(f"{run} has {value or 'none'}" for run, value in row.values.items())
            for row in rows
        )
        yield Notice(lead, f"{text} {details}.")
