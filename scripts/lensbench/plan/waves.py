"""Waves: the runs are done in parts, and after each part a look decides whether the next one is needed.

Without looks (`gate.looks: 1`) there is a single wave with all runs.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import entries
from lensbench.core.system.files import read_json
from lensbench.core.tables import grouped
from lensbench.plan.frozen import read_plan


class Wave(NamedTuple):
    """The runs of these tasks in these trials, in all conditions."""

    tasks: tuple[str, ...]
    trials: tuple[int, ...]


def waves(plan: Plan) -> list[Wave]:
    """All waves of a plan, in order. Tasks added after the first runs are in the last one."""
    gate = plan["gate"]
    order = tuple(plan["order"])
    trials = tuple(range(1, plan["trials"] + 1))
    if gate["looks"] == 1:
        return [Wave(order, trials)]
    if gate["over"] == "trials":
        return [Wave(order, (trial,)) for trial in trials]
    dealt = [task for task in plan.get("dealt") or plan["order"] if task in plan["tasks"]]
    categories = {task: plan["tasks"][task]["category"] for task in dealt}
    groups = looks_over_tasks(dealt, categories, gate["looks"], plan["seed"])
    groups[-1] += [task for task in order if task not in categories]
    return [Wave(tuple(tasks), trials) for tasks in groups]


def looks_over_tasks(
    tasks: Iterable[str], categories: Mapping[str, str], looks: int, seed: int = 0
) -> list[list[str]]:
    """The tasks of each wave, in a random order by seed: every wave has its share of each category, and none is larger
    than an earlier one. Raises UserError when there are fewer tasks than looks."""
    strata = grouped(sorted(tasks), categories.__getitem__)
    queue: list[str] = []
    rng = random.Random(seed)
    for category in rng.sample(sorted(strata), len(strata)):
        queue += rng.sample(strata[category], len(strata[category]))
    if len(queue) < looks:
        raise UserError(
            f"gate.looks is {looks}, and there are {len(queue)} tasks; each look needs at least one task"
        )
    return [queue[wave::looks] for wave in range(looks)]


def look_file(folder: Path, look: int) -> Path:
    """The path of the result of a look (from 1)."""
    return RunFolder(folder).looks / f"{look}.json"


def opened(folder: Path, plan: Plan) -> int:
    """How many waves are open: the first, each one that a look opened, and each one that has runs."""
    all_waves = waves(plan)
    for count, wave in enumerate(all_waves[1:], 1):
        is_open = read_json(look_file(folder, count)).get("open")
        if not is_open and not _is_begun(folder, plan, wave):
            return count
    return len(all_waves)


def _is_begun(folder: Path, plan: Plan, wave: Wave) -> bool:
    runs = product(wave.tasks, plan["conditions"], wave.trials)
    return any(entries(folder, RunId(*run)) for run in runs)


def restricted(plan: Plan, count: int) -> Plan:
    """The plan with the tasks and trials of its first `count` waves only, and a `look` that says so."""
    all_waves = waves(plan)
    first = all_waves[:count]
    tasks = {task for wave in first for task in wave.tasks}
    return {
        **plan,
        "order": [task for task in plan["order"] if task in tasks],
        "tasks": {name: task for name, task in plan["tasks"].items() if name in tasks},
        "trials": max(max(wave.trials) for wave in first),
        "look": {
            "taken": count,
            "of": len(all_waves),
            "share": _runs(first) / _runs(all_waves),
        },
    }


def _runs(some: Iterable[Wave]) -> int:
    return sum(len(wave.tasks) * len(wave.trials) for wave in some)


def read_opened_plan(folder: Path) -> Plan:
    """The plan of a run folder, restricted to its open waves. Raises UserError when there is none."""
    plan = read_plan(folder)
    return plan if plan["gate"]["looks"] == 1 else restricted(plan, opened(folder, plan))
