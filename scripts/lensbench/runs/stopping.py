"""Stopping everything, so that not every remaining run fails on a rejected key or a spent budget."""

from __future__ import annotations

import os
import re
import shutil
import signal
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import Discard
from lensbench.core.system.files import write_atomic
from lensbench.runs.reasons import DiscardReason


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


EQUAL_CRASHES = 5


def equal_crashes(folder: Path, condition: str, discard: Discard) -> str:
    """Why everything must stop when as many attempts of a condition in a row crashed in the same way; "" until then."""
    path = RunFolder(folder).crashes / condition
    if discard.reason != DiscardReason.CRASHED:
        path.unlink(missing_ok=True)
        return ""
    path.parent.mkdir(exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(re.sub(r"/\S+|\d+", "", discard.detail) + "\n")  # paths and numbers differ from run to run
    last = path.read_text(encoding="utf-8").split("\n")[-EQUAL_CRASHES - 1 : -1]
    alike = len(last) == EQUAL_CRASHES and len(set(last)) == 1
    return f"{EQUAL_CRASHES} attempts of {condition} in a row crashed alike ({discard.detail})" if alike else ""


def clear(folder: Path) -> None:
    """Removes the marks of an earlier start."""
    shutil.rmtree(RunFolder(folder).crashes, ignore_errors=True)
    RunFolder(folder).stopped.unlink(missing_ok=True)


def _is_snakemake(process: int) -> bool:
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return any(word.rpartition(b"/")[2] == b"snakemake" for word in words[:4])
