"""The frozen plan as every stage reads it, without the config's models: a stage is a program that starts anew."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.run_folder import RunFolder


def read_plan(folder: Path) -> Plan:
    """The frozen plan of a run folder. Raises UserError when there is none."""
    path = RunFolder(folder).plan
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); start Snakemake to write it again") from None
    if not isinstance(found, dict) or not {"order", "tasks", "conditions"} <= found.keys():
        raise UserError(f"{path}: is not a plan; delete it, and the next start of Snakemake writes it again")
    if not {"judges", "judging", "gate"} <= found.keys():
        found = _before_these_sections() | found
    plan: Plan = found
    return plan


def frozen_tasks(folder: Path) -> Path:
    """The file with the tasks as they were frozen."""
    beside = RunFolder(folder).tasks_beside
    return beside if beside.exists() else RunFolder(folder).tasks


def _before_these_sections() -> dict[str, Any]:
    """What plans that are older than a section had."""
    from lensbench.plan.config import Gate, Judging
    from lensbench.plan.names import MECHANICAL

    return {
        "judges": [{"name": MECHANICAL}],
        "judging": Judging().model_dump(mode="json"),
        "gate": Gate().model_dump(mode="json"),
    }
