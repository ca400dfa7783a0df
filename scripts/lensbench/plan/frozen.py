"""Reads the frozen plan without importing the config's models, which would slow down the start of every stage."""

from __future__ import annotations

import json
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.run_folder import RunFolder


def read_plan(folder: Path) -> Plan:
    """The frozen plan of a run folder. Raises UserError when there is none."""
    path = RunFolder(folder).plan
    try:
        plan: Plan = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); start Snakemake to write it again") from None
    if not isinstance(plan, dict) or not {"order", "tasks", "conditions"} <= plan.keys():
        raise UserError(f"{path}: is not a plan; delete it, and the next start of Snakemake writes it again")
    return plan


def frozen_tasks(folder: Path) -> Path:
    """The path of the frozen tasks."""
    beside = RunFolder(folder).tasks_beside
    return beside if beside.exists() else RunFolder(folder).tasks
