"""Measures the cost of a command with all its processes, and what its agents did: for benchmarks/peers.py.

Agents write a line to a named pipe when they start and when they have answered: this works in a sandbox that shows it
read-only, and no harness can hide or duplicate a line.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

import psutil

from lensbench.core.system.processes import adopt_orphans, die_with_parent

Run = tuple[str, str]
"""Task and condition."""

POLL_S, SAMPLE_S, GRACE_S = 0.01, 0.5, 5.0


class Cost(NamedTuple):
    """The cost of a command and its processes: seconds, seconds, megabytes of the largest process and of all together.

    `left` processes were still running some seconds after its end.
    """

    wall_s: float
    cpu_s: float
    largest_mb: float
    together_mb: float
    left: int
    exit_code: int


class Kept(NamedTuple):
    """The outcome for the answers of a benchmark that was killed and resumed."""

    finished: int
    """Answers that agents had given before the kill."""
    bought: int
    """Starts of the agent, before and after."""
    again: int
    """Runs that were finished before the kill and paid for again."""
    final: int
    """Runs in the final result."""
    doubled: int
    """Rows of the final result beyond one per run."""
    lost: int
    """Planned runs that are missing in it."""


class Ledger:
    """The pipe that agents write to, and the lines so far: `start <task> <condition>`, `end <task> <condition>`."""

    def __init__(self, path: Path) -> None:
        os.mkfifo(path)
        self.path = path
        self.lines: list[str] = []
        self._rest = b""
        self._pipe = os.open(
            path, os.O_RDWR | os.O_NONBLOCK
        )  # also open for writing: else it ends with each agent

    def read(self) -> None:
        with suppress(BlockingIOError):
            while data := os.read(self._pipe, 65536):
                *lines, self._rest = (self._rest + data).split(b"\n")
                self.lines += [line.decode() for line in lines]

    def close(self) -> None:
        os.close(self._pipe)


def runs_of(word: str, lines: Sequence[str]) -> list[Run]:
    """The runs in the lines that start with `word`."""
    parts = [line.split() for line in lines]
    return [(task, condition) for what, task, condition in parts if what == word]


def account(
    planned: Sequence[Run], before: Sequence[str], after: Sequence[str], rows: Sequence[Run]
) -> Kept:
    """Compares the ledger's lines before and after a kill with the rows of the final result."""
    finished = set(runs_of("end", before))
    again = set(runs_of("start", after))
    counted = Counter(rows)
    return Kept(
        finished=len(finished),
        bought=len(runs_of("start", [*before, *after])),
        again=len(finished & again),
        final=len(counted),
        doubled=counted.total() - len(counted),
        lost=len(set(planned) - set(counted)),
    )


class Meter:
    """Runs commands in turn. Processes that they leave become children of this process, and are counted."""

    def __init__(self, ledger: Ledger) -> None:
        adopt_orphans()
        self.ledger = ledger

    def run(
        self,
        command: Sequence[str],
        folder: Path,
        env: Mapping[str, str],
        log: Path,
        kill_at: int | None = None,
    ) -> Cost:
        """Runs the command until it ends, or agents were started `kill_at` times, and ends remaining processes."""
        began = sampled = time.monotonic()
        usage = _Usage()
        together = 0.0
        starts = len(runs_of("start", self.ledger.lines))
        with log.open("ab") as output:
            end = partial(die_with_parent, os.getpid())
            process = subprocess.Popen(
                command, cwd=folder, env=env, stdout=output, stderr=output, preexec_fn=end
            )
        while (ended := usage.reap(process.pid)) is None:
            self.ledger.read()
            if kill_at is not None and len(runs_of("start", self.ledger.lines)) - starts >= kill_at:
                os.kill(
                    process.pid, signal.SIGKILL
                )  # Popen's own kill would collect an ended process, and its usage
            if time.monotonic() - sampled > SAMPLE_S:
                together = max(together, _together_mb())
                sampled = time.monotonic()
            time.sleep(POLL_S)
        wall_s = time.monotonic() - began
        process.returncode = ended
        left = self._end_rest(usage)
        self.ledger.read()
        return Cost(
            wall_s, usage.cpu_s, usage.largest_mb, max(together, usage.largest_mb), left, ended
        )

    def _end_rest(self, usage: _Usage) -> int:
        """Waits for processes that the command left, ends the rest, and returns the number of those."""
        until = time.monotonic() + GRACE_S
        while (rest := _living()) and time.monotonic() < until:
            usage.reap()
            self.ledger.read()
            time.sleep(POLL_S)
        for process in rest:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        while _living():
            usage.reap()
            time.sleep(POLL_S)
        usage.reap()
        return len(rest)


class _Usage:
    """CPU and memory of all ended processes, each with the children that it waited for."""

    def __init__(self) -> None:
        self.cpu_s = self.largest_mb = 0.0

    def reap(self, awaited: int = 0) -> int | None:
        """Adds processes that have ended since. Returns the exit code of `awaited` when it is one of them."""
        code = None
        with suppress(ChildProcessError):
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if not pid:
                    break
                self.cpu_s += usage.ru_utime + usage.ru_stime
                self.largest_mb = max(self.largest_mb, usage.ru_maxrss / 1024)
                if pid == awaited:
                    code = os.waitstatus_to_exitcode(status)
        return code


def _living() -> list[psutil.Process]:
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            if process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def _together_mb() -> float:
    """The memory of all descendants; shared memory counts once."""
    total = 0
    for process in _living():
        with suppress(psutil.Error):
            total += process.memory_full_info().pss
    return total / 2**20
