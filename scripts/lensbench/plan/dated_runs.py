"""`run_id: auto`: runs named by date and time."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from lensbench.core.frozen_plan import Plan
from lensbench.core.run_folder import RunFolder
from lensbench.plan.freeze import changes
from lensbench.plan.frozen import accepted_plans

AUTO = "auto"
_DATED = re.compile(r"\d{4}-\d{2}-\d{2}-\d{4}(-\d{1,4})?")


def newest_dated(benches: Path) -> str:
    """The name of the newest dated run folder in `benches`; "" when there is none."""
    names = [folder.name for folder in benches.glob("*-*-*-*") if _DATED.fullmatch(folder.name)]
    starts = (
        name for name in names if RunFolder(benches / name).plan.exists() or RunFolder(benches / name).attempts.exists()
    )
    return max(starts, key=_place, default="")


def _place(name: str) -> tuple[str, int]:
    """The sort key; names of the same minute sort by their last number."""
    return name[:15], int(name[16:] or 1)


def dated_run(plan: Plan, benches: Path) -> str:
    """The newest dated run if this plan can continue it, else a new name from the current time in UTC.

    A new one is started by changes that a named run would reject: another agent, condition, prompt or repository.
    """
    newest = newest_dated(benches)
    if newest and not any(changes(plan_before, plan) for plan_before in accepted_plans(benches / newest)):
        return newest
    return new_dated(benches)


def new_dated(benches: Path) -> str:
    """A new dated name that no folder in `benches` has."""
    now = f"{datetime.now(UTC):%Y-%m-%d-%H%M}"
    names = (now, *(f"{now}-{number}" for number in range(2, 9999)))
    return next(name for name in names if not (benches / name).exists())
