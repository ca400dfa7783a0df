"""Which Snakemake process works on a run folder: it holds a file lock there until it ends, even when it is killed."""

from __future__ import annotations

import json
import os
import socket
import time
from pathlib import Path
from typing import IO, NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.locks import is_held, try_lock

_TRIES = 20
_PAUSE_S = 0.01
"""A process that only checks the lock holds it for a moment."""
_claimed: dict[Path, IO[str]] = {}


class Worker(NamedTuple):
    """The Snakemake process that works on a folder, or did so last."""

    process: int
    host: str
    since: str


def claim(folder: Path) -> None:
    """Claims `folder` until this process ends. Raises UserError if another one has claimed it."""
    if folder.resolve() in _claimed:
        return
    folder.mkdir(parents=True, exist_ok=True)
    path = RunFolder(folder).at_work
    file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  # held until the process ends
    if not _lock(file):
        raise UserError(_refusal(folder))
    file.truncate(0)
    since = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    json.dump(Worker(os.getpid(), socket.gethostname(), since)._asdict(), file)
    file.flush()
    _claimed[folder.resolve()] = file


def at_work(folder: Path) -> Worker | None:
    """The process that works on `folder` now, if any."""
    if not is_held(str(RunFolder(folder).at_work)):
        return None
    return last_worker(folder) or Worker(0, "", "")


def last_worker(folder: Path) -> Worker | None:
    """The process that works on `folder` or did so last, if any."""
    try:
        return Worker(**json.loads(RunFolder(folder).at_work.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _lock(file: IO[str]) -> bool:
    for _ in range(_TRIES):
        if try_lock(file):
            return True
        time.sleep(_PAUSE_S)
    return False


def refuse_if_at_work(folder: Path) -> None:
    """Raises UserError when a Snakemake works on the run folder."""
    if at_work(folder):
        raise UserError(_refusal(folder))


def _refusal(folder: Path) -> str:
    worker = last_worker(folder)
    who = f" (process {worker.process} on {worker.host}, since {worker.since})" if worker else ""
    end = f"end it with kill -TERM {worker.process}" if worker else "end it"
    return (
        f"Another start is running on {folder}{who}. Wait for it (lensbench status {folder}"
        f" shows how far it is), {end}, or start a benchmark beside it: --config run_id=<a new name>"
    )
