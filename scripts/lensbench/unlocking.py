"""Takes away the lock that a killed Snakemake left on a run folder. Whoever holds the folder knows that it is stale."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

from lensbench.at_work import claim

LOCKS = Path(".snakemake") / "locks"


def begin_work(folder: Path) -> None:
    """Claims the run folder for this process and removes what a killed Snakemake locked in it.

    Raises UserError when another Snakemake is at work on it. A lock from another machine stays: whether that one is
    alive cannot be seen on every file system.
    """
    before = claim(folder)
    if before and before.host == socket.gethostname() and remove_locks(folder):
        print(f"the Snakemake before this one was killed: removed its lock on {folder}", file=sys.stderr, flush=True)


def remove_locks(folder: Path, locks: Path = LOCKS) -> bool:
    """Removes the locks on files of `folder`; True when there were any. Those of other run folders stay."""
    inside = f"{folder.as_posix()}/"
    stale = [
        lock
        for lock in locks.glob("*.lock")
        if any(name.startswith(inside) for name in lock.read_text(errors="replace").splitlines())
    ]
    for lock in stale:
        lock.unlink(missing_ok=True)
    return bool(stale)
