"""The start gate: the runs of a task start at the same time, so that no condition has an advantage from time of day
(docs/decisions/pairs.md).
The gate opens when all partners have arrived, when no run is left whose end could make room for a partner, or at the
time limit."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from lensbench.core.system.locks import is_held, lock

RUNNING = "*running*"
"""The note of a run that has left the gate; not a valid name of a run."""
PARTNER_LIMIT_S = 900.0
"""Seconds that a run waits for the others of its task."""
POLL_S = 0.03
GRACE_S = 2.0
"""Seconds without a running run before a missing partner is given up; Snakemake starts the next job well within
it. On a cluster it must be longer, because the partner may have to wait for its node."""


@contextmanager
def at_the_gate(
    folder: str,
    run: str,
    partners: Sequence[str],
    limit_s: float,
    grace_s: float = GRACE_S,
    is_due: Callable[[], bool] = lambda: True,
) -> Iterator[None]:
    """Waits for the `partners`; then the run is "running" until the block ends. `is_due` is called once this run holds
    its file: another job may have done it."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, run)
    with _held(path):
        try:
            if partners and limit_s > 0 and is_due():
                _wait(folder, run, partners, limit_s, grace_s)
            with suppress(FileNotFoundError):
                _leave_note(path, RUNNING)
            yield
        finally:
            with suppress(OSError):  # such as a file that somebody deleted
                os.unlink(path)


def who_is_there(folder: str) -> list[str]:
    """The names of the runs that wait at the gate or are running."""
    try:
        return sorted(name for name in os.listdir(folder) if is_held(os.path.join(folder, name)))
    except FileNotFoundError:
        return []


@contextmanager
def _held(path: str) -> Iterator[None]:
    """Locks and empties the run's own file, once the same run of an earlier start has let it go."""
    while True:
        with open(path, "a+", encoding="utf-8") as mine:
            lock(mine)
            if _is_at(path, mine.fileno()):  # it was not removed by the previous holder
                mine.truncate(0)
                yield
                return


def _is_at(path: str, file: int) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


def _wait(folder: str, run: str, partners: Sequence[str], limit_s: float, grace_s: float) -> None:
    began = last_running = time.monotonic()
    while not all(_has_come(folder, run, partner) for partner in partners):
        now = time.monotonic()
        others = (os.path.join(folder, name) for name in os.listdir(folder) if name != run)
        if any(is_held(other) and RUNNING in _notes(other) for other in others):
            last_running = now
        if now - last_running > grace_s or now - began > limit_s:
            return
        time.sleep(POLL_S)
    for partner in partners:
        with suppress(FileNotFoundError):
            _leave_note(os.path.join(folder, partner), run)


def _has_come(folder: str, run: str, partner: str) -> bool:
    """True when the partner is alive or has been at the gate: a quick one may finish between two polls."""
    return is_held(os.path.join(folder, partner)) or partner in _notes(os.path.join(folder, run))


def _leave_note(path: str, note: str) -> None:
    with open(os.open(path, os.O_WRONLY | os.O_APPEND), "w", encoding="utf-8") as file:
        file.write(f"{note}\n")


def _notes(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().splitlines()
    except FileNotFoundError:
        return []
