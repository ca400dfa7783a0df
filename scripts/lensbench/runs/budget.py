"""What a benchmark has cost so far, and its limits: at a limit no new attempt starts, and running ones end."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lensbench.core.run_folder import RunFolder
from lensbench.runs.stopping import StopEverything

NOTHING = {"runs": 0.0, "hours": 0.0, "usd": 0.0}
_NAMES = {"runs": "attempts", "hours": "hours of agents' work", "usd": "US dollars"}


def spend(folder: Path, **amounts: float) -> None:
    """Adds to what was spent: `runs` (attempts), `hours` (of agents' work), `usd`. Safe with many runs at once."""
    path = RunFolder(folder).spent
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        before = ledger.read()
        so_far = _parse(before)
        if so_far is None:
            return  # a paid answer is not lost for it: `spent` says so before the next attempt
        total = {name: round(value + amounts.get(name, 0), 9) for name, value in so_far.items()}
        ledger.seek(0)
        ledger.write(json.dumps(total).ljust(len(before)))  # never emptied: a full disk would forget what was spent


def spent(folder: Path) -> dict[str, float]:
    """What was spent so far, by the same names as in `spend`. Raises StopEverything when the ledger is damaged."""
    path = RunFolder(folder).spent
    so_far = _parse(path.read_text(errors="replace")) if path.exists() else NOTHING
    if so_far is None:
        raise StopEverything(
            f"{path} is damaged, so what was spent is unknown; write it again, such as "
            f'{{"runs": 24, "hours": 0.5, "usd": 3.1}}, by what the records say, or delete it to begin at nothing'
        )
    return dict(so_far)


def _parse(text: str) -> dict[str, float] | None:
    """The amounts of a ledger; None when it is none."""
    try:
        found = json.loads(text or "{}")
        return {name: float(found.get(name, 0)) for name in NOTHING}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def check_budget(folder: Path, limits: Mapping[str, Any]) -> None:
    """Raises StopEverything when one of `max_runs`, `max_hours`, `max_usd` is reached."""
    so_far = spent(folder) if any(limits.values()) else NOTHING
    for name, value in so_far.items():
        limit = limits.get(f"max_{name}")
        if limit is not None and value >= limit:
            raise StopEverything(
                f"the budget is spent ({value:.2f} of {limit:g} {_NAMES[name]}); raise budget.max_{name} to go on"
            )
