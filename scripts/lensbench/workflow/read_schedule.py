"""Reads the schedule of a start: from the config, or from the settings that a job elsewhere was submitted with."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.frozen_plan import Plan
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Store, all_entries
from lensbench.plan import freeze as planning
from lensbench.plan.config import Config
from lensbench.plan.freeze import changes
from lensbench.plan.frozen import accepted_plans, read_plan
from lensbench.plan.own_files import in_the_way, local_paths, own_files, run_folder
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import ScenarioSet, read_scenarios
from lensbench.scores.account import was_looked_at
from lensbench.workflow.schedule import Schedule


def read_schedule(
    settings: Mapping[str, Any],
    files: Iterable[str],
    prepare: Callable[[Schedule], Store] | None = None,
) -> Schedule:
    """The schedule for a config as Snakemake merged it from `files` and options. `prepare` is called with the
    run folder before anything in it is read, and returns its store. Raises UserError for every error."""
    files = list(map(str, files))
    config = load_config(settings, files)
    if not config.scenario_files:
        raise UserError(
            f"{files[-1] if files else '--config'}: scenarios is empty; write the path of a task set"
        )
    scenarios = read_scenarios(
        config.scenario_files, config.repository, config.imported, config.agent.kind
    )
    _check_repositories(config, scenarios)
    _check_only(config, scenarios)
    plan = planning.make_plan(config, scenarios, [])
    if config.run_id == AUTO_RUN_ID:
        config = config.model_copy(update={"run_id": dated_run(plan, Path("bench"))})
        plan = {**plan, "run_id": config.run_id}
    schedule = Schedule(config, plan, [], own_files(config, files))
    schedule = replace(
        schedule, store=prepare(schedule) if prepare else dict(all_entries(schedule.folder))
    )
    accepted_before = accepted_plans(schedule.folder)
    if not accepted_before:
        return schedule
    *earlier, old = accepted_before
    differences = planning.changes(old, plan)
    consents = list(old["accepted_changes"])
    for other in earlier:
        differences += [
            change
            for change in planning.changes(other, plan)
            if change not in [*differences, *consents]
        ]
    if not any(attempts[-1].counts for attempts in schedule.store.values()):
        differences = []
    elif dealt := planning.dealt_tasks(old, plan):
        schedule = replace(schedule, plan={**plan, "dealt": dealt})
    if was_looked_at(schedule.folder):
        meaning, waves_only = planning.gate_changes(old, plan)
        differences += meaning
        consents += [change for change in waves_only if change not in consents]
    acceptance = planning.accept_or_refuse(differences, consents, config, schedule.folder)
    return replace(schedule, accepted=acceptance)


def _check_only(config: Config, scenarios: ScenarioSet) -> None:
    tasks = [task.id for task in scenarios.tasks]
    for name in config.only if tasks else ():
        if name not in tasks:
            raise UserError(f"only: there is no task {name!r}{did_you_mean(name, tasks)}")


def _check_repositories(config: Config, scenarios: ScenarioSet) -> None:
    """Raises UserError for a task whose repository is in a folder that a stage writes to."""
    paths = {
        path: task.id for task in reversed(scenarios.tasks) for path in local_paths(task.repository)
    }
    problems = [
        f"task {task!r}: its repository {problem}"
        for path, task in paths.items()
        if (problem := in_the_way(config, path))
    ]
    if problems:
        raise UserError("\n".join(problems))


def frozen_schedule(settings: str | None) -> Schedule:
    """The schedule of the start that submitted this job to another machine, from its `settings`, whatever was edited
    since. Raises UserError when the scheduler did not pass them on."""
    if settings is None:
        raise UserError(
            "this job has no settings in its environment, and no keys either; "
            "make the submit command pass the environment on, as `sbatch --export=ALL` and `qsub -V` do"
        )
    config = Config.model_validate_json(settings)
    plan = read_plan(run_folder(config))
    return Schedule(config, plan, list(plan["accepted_changes"]))


AUTO_RUN_ID = "auto"
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}-\d{4}(-\d{1,4})?")


def newest_dated(benches: Path) -> str:
    """The name of the newest dated run folder in `benches`; "" when there is none."""
    names = [folder.name for folder in benches.glob("*-*-*-*") if _DATED.fullmatch(folder.name)]
    starts = (
        name
        for name in names
        if RunFolder(benches / name).plan.exists() or RunFolder(benches / name).attempts.exists()
    )
    return max(starts, key=_place, default="")


def _place(name: str) -> tuple[str, int]:
    """The sort key; names of the same minute sort by their last number."""
    return name[:15], int(name[16:] or 1)


def dated_run(plan: Plan, benches: Path) -> str:
    """The newest dated run, unless it rejects this plan; else a new name, the time in UTC."""
    newest = newest_dated(benches)
    if newest and not any(
        changes(plan_before, plan) for plan_before in accepted_plans(benches / newest)
    ):
        return newest
    return new_dated(benches)


def new_dated(benches: Path) -> str:
    """A new dated name that no folder in `benches` has."""
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    names = (now, *(f"{now}-{number}" for number in range(2, 9999)))
    return next(name for name in names if not (benches / name).exists())
