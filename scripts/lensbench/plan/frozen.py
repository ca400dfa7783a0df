"""Reads the frozen plan without importing the config's models, which would slow down the start of every stage."""

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
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); start Snakemake to write it again") from None
    if not isinstance(found, dict) or not {"order", "tasks", "conditions"} <= found.keys():
        raise UserError(f"{path}: is not a plan; delete it, and the next start of Snakemake writes it again")
    if not {"judges", "judging", "gate"} <= found.keys():
        found = _before_these_sections() | found
    plan: Plan = found
    return plan


def frozen_tasks(folder: Path) -> Path:
    """The path of the frozen tasks."""
    beside = RunFolder(folder).tasks_beside
    return beside if beside.exists() else RunFolder(folder).tasks


def _before_these_sections() -> dict[str, Any]:
    """The values of sections that older plans lack."""
    from lensbench.plan.config import Gate, Judging
    from lensbench.plan.names import MECHANICAL

    return {
        "judges": [{"name": MECHANICAL}],
        "judging": Judging().model_dump(mode="json"),
        "gate": Gate().model_dump(mode="json"),
    }
