"""Stopping everything, so that not every remaining run fails on a rejected key or a spent budget."""

from __future__ import annotations

import os
import signal
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic


class StopEverything(UserError):
    """No other run may start, because the error affects all of them."""


def stop_everything(folder: Path, why: str) -> None:
    """Lets running agents finish and prevents others from starting.

    A mark file stops runs on other machines; SIGTERM stops the Snakemake that started this run.
    """
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


def clear(folder: Path) -> None:
    """Removes the mark of an earlier start."""
    RunFolder(folder).stopped.unlink(missing_ok=True)


def _is_snakemake(process: int) -> bool:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.rpartition(b"/")[2] == b"snakemake" for word in words[:4])
