"""What stops everything: a rejected key, equal failures, a spent budget. No new attempt starts; running ones finish."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Discard
from lensbench.core.system.files import write_atomic
from lensbench.runs.reasons import DiscardReason


class StopEverything(UserError):
    """No other run may start, because the error affects all of them."""


def stop_everything(folder: Path, why: str) -> None:
    """Lets running agents finish and starts no others: a mark stops runs on other machines, SIGTERM this Snakemake."""
    write_atomic(RunFolder(folder).stopped, f"{why}\n")
    if _is_snakemake(os.getppid()):
        os.kill(os.getppid(), signal.SIGTERM)


def why_stopped(folder: Path) -> str:
    """Why this start of the benchmark was stopped; "" when it was not."""
    try:
        return RunFolder(folder).stopped.read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return ""


def check_not_stopped(folder: Path) -> None:
    """Raises UserError when this start of the benchmark was stopped."""
    if why := why_stopped(folder):
        raise UserError(f"not started, because everything was stopped: {why}")


EQUAL_FAILURES = 5
_BROKEN = (
    DiscardReason.CRASHED,
    DiscardReason.MCP_FAILED,
    DiscardReason.MCP_NOT_OFFERED,
    DiscardReason.MCP_GONE,
)
"""What is wrong with an agent or a server, in all their runs."""


def repeated(folder: Path, condition: str, discard: Discard) -> str:
    """Why everything must stop when that many attempts of a condition in a row failed alike; "" until then."""
    path = RunFolder(folder).crashes / condition
    if discard.reason not in _BROKEN:
        path.unlink(missing_ok=True)
        return ""
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(
            re.sub(r"/\S+|\d+", "", discard.detail) + "\n"
        )  # paths and numbers differ from run to run
    last = path.read_text(encoding="utf-8").split("\n")[-EQUAL_FAILURES - 1 : -1]
    alike = len(last) == EQUAL_FAILURES and len(set(last)) == 1
    how = f"({discard.reason}: {discard.detail})"
    return f"{EQUAL_FAILURES} attempts of {condition} in a row failed alike {how}" if alike else ""


def clear(folder: Path) -> None:
    shutil.rmtree(RunFolder(folder).crashes, ignore_errors=True)
    RunFolder(folder).stopped.unlink(missing_ok=True)


def _is_snakemake(process: int) -> bool:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.rpartition(b"/")[2] == b"snakemake" for word in words[:4])


NOTHING = {"runs": 0.0, "hours": 0.0, "usd": 0.0}
_NAMES = {"runs": "attempts", "hours": "hours of agents' work", "usd": "US dollars"}


def spend(folder: Path, runs: int = 0, hours: float = 0.0, usd: float | None = 0.0) -> None:
    """Adds to the spent `runs` (attempts), `hours` (of agents' work) and `usd`. Safe with concurrent runs. `usd` is
    None for a killed agent that would tell it at its end: its hours count at their price so far."""
    path = RunFolder(folder).spent
    with open(os.open(path, os.O_RDWR | os.O_CREAT, 0o644), "r+", encoding="utf-8") as ledger:
        fcntl.flock(ledger, fcntl.LOCK_EX)
        before = ledger.read()
        so_far = _parse(before)
        if so_far is None:
            return  # do not lose a paid answer: `spent` reports the damage before the next attempt
        rate = so_far["usd"] / so_far["hours"] if so_far["hours"] else 0.0
        amounts = {"runs": runs, "hours": hours, "usd": hours * rate if usd is None else usd}
        total = {name: round(value + amounts[name], 9) for name, value in so_far.items()}
        ledger.seek(0)
        # Never truncated first: on a full disk the amounts would be lost.
        ledger.write(json.dumps(total).ljust(len(before)))


def spent(folder: Path) -> dict[str, float]:
    """The amounts spent so far, named as in `spend`. Raises StopEverything when the ledger is damaged."""
    path = RunFolder(folder).spent
    so_far = (
        _parse(path.read_text(errors="replace", encoding="utf-8")) if path.exists() else NOTHING
    )
    if so_far is None:
        raise StopEverything(
            f"{path} is damaged, so the amount spent is unknown; restore it from the records, in the form "
            f'{{"runs": 24, "hours": 0.5, "usd": 3.1}}, or delete it to start from zero'
        )
    return dict(so_far)


def _parse(text: str) -> dict[str, float] | None:
    """The amounts of a ledger; None when the text is not one."""
    try:
        amounts = json.loads(text or "{}")
        return {name: float(amounts.get(name, 0)) for name in NOTHING}
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None


def check_budget(folder: Path, limits: Mapping[str, Any]) -> None:
    """Raises StopEverything when one of `max_runs`, `max_hours`, `max_usd` is reached."""
    so_far = spent(folder) if any(limits.values()) else NOTHING
    for name, value in so_far.items():
        limit = limits.get(f"max_{name}")
        if limit is not None and value >= limit:
            raise StopEverything(
                f"the budget is spent ({value:.2f} of {limit:g} {_NAMES[name]}); raise budget.max_{name} to continue"
            )
