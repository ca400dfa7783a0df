"""Reads and keeps the frozen plan without importing the config's models, which would slow the start of stages."""

from __future__ import annotations

import json
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import all_entries
from lensbench.core.system.files import write_atomic

_DIGITS = 12


FORMAT = 2
"""The layout of run folders. The first one had no number, and records in a folder of their own."""


def read_plan(folder: Path) -> Plan:
    """The frozen plan of a run folder. Raises UserError when there is none, or it has another layout."""
    path = RunFolder(folder).plan
    try:
        plan: Plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: cannot be read ({error}); start the benchmark again, which writes it"
        ) from None
    if not isinstance(plan, dict) or not {"order", "tasks", "conditions"} <= plan.keys():
        raise UserError(f"{path}: is not a plan; delete it, and the next start writes it again")
    number = 1 if (folder / "records").is_dir() else plan.get("format", FORMAT)
    if number != FORMAT:
        raise UserError(
            f"{path}: has format {number}, and this version reads {FORMAT}; use another run_id"
        )
    return plan


def keep_plan(folder: Path, plan: Plan) -> None:
    """Stores a plan beside the attempts, under the next number and its hash, unless it is the newest one there. Plans
    from before the first attempt are forgotten."""
    earlier = _stored_plans(folder)
    text = json.dumps(plan, indent=1, sort_keys=True, ensure_ascii=False)
    content = f"{text}\n".encode(errors="replace")
    name = f"{sha256(content)[:_DIGITS]}.json"
    if not any(all_entries(folder)):
        for _, path in earlier:
            path.unlink()
        earlier = []
    number, newest = earlier[-1] if earlier else (0, Path())
    if not newest.name.endswith(name):
        write_atomic(RunFolder(folder).attempts / f"plan-{number + 1}-{name}", content)


def accepted_plans(folder: Path) -> list[Plan]:
    """The newest plan in the store, last; before it those that came from another machine, with the same number as
    another plan. Raises UserError for a damaged one."""
    plans = _stored_plans(folder)
    if not plans and RunFolder(folder).plan.exists():
        return [read_plan(folder)]
    numbers = [number for number, _ in plans]
    accepted = [plan for plan in plans if numbers.count(plan[0]) > 1 or plan in plans[-1:]]
    return [_read_stored(path) for _, path in accepted]


def first_plan(folder: Path) -> Plan | None:
    """The oldest plan in the store, that of the first runs; None without one."""
    plans = _stored_plans(folder)
    return _read_stored(plans[0][1]) if plans else None


def _read_stored(path: Path) -> Plan:
    content = path.read_bytes()
    if sha256(content)[:_DIGITS] != path.stem.rpartition("-")[2]:
        raise UserError(f"{path}: was changed after it was written; restore it, or delete it")
    plan: Plan = json.loads(content)
    return plan


def _stored_plans(folder: Path) -> list[tuple[int, Path]]:
    """The plans in the store with their numbers, oldest first."""
    paths = RunFolder(folder).attempts.glob("plan-*-*.json")
    numbered = ((path.name.split("-")[1], path) for path in paths)
    return sorted((int(number), path) for number, path in numbered if number.isdecimal())


def frozen_tasks(folder: Path) -> Path:
    beside = RunFolder(folder).tasks_beside
    return beside if beside.exists() else RunFolder(folder).tasks
