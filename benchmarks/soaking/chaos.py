"""Disruptions of the machine: killed processes, a full disk, a read-only folder, a clock that jumps."""

from __future__ import annotations

import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import psutil

from soaking.injector import Injector

MARK = "LENSBENCH_SOAK"
"""The environment variable by which all processes of a soak test are found, including agents and their servers."""
FULL_MB = 192
HELD_S = (0.5, 3)
HUNG_AFTER_S = 60.0
"""Ending takes less than 5 s of a quiet machine (core/system/processes.py); a process that is slow is no fault."""
DAEMON = Path(__file__).with_name("daemon.py")


class Disruption(NamedTuple):
    """A disruption, its time, and the affected runs, whose answers in flight may be lost."""

    began: float
    ended: float
    runs: frozenset[str]
    hits_all: bool = False
    """Affects also runs that started and ended in between, unobserved."""


def living(mark: str) -> list[psutil.Process]:
    """All processes of this soak test except this one."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            is_ours = process.pid != os.getpid() and process.environ().get(MARK) == mark
            if is_ours and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def runners(mark: str) -> dict[str, psutil.Process]:
    """The programs that execute runs, by the run's name."""
    found = {}
    for process in living(mark):
        with suppress(psutil.Error, ValueError):
            words = process.cmdline()
            if "lensbench.runs.run" in words and "--task" in words and not words[0].endswith("sh"):
                found[
                    f"{words[words.index('--task') + 1]}-{words[words.index('--condition') + 1]}"
                ] = process
    return found


@dataclass
class Machine:
    """The folder of the soak test, and its disruptions."""

    mark: str
    folder: Path
    bench: Path
    injector: Injector
    rng: random.Random
    mounted: bool
    """Whether the folder is a separate small disk, which can be filled."""

    def __post_init__(self) -> None:
        self.disruptions: list[Disruption] = []
        self.abandoned: set[str] = set()
        """Private folders of killed jobs: processes left in them are ended when the next run starts."""
        self._dated_until = 0.0
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        """The address of the daemon."""
        self.start_daemon()

    def deck(self, count: int) -> list[str]:
        """`count` shuffled events; without a mount, those that need one are skipped."""
        kinds = ["agent", "agent", "job", "job", "snakemake", "forks", "clock", "daemon"]
        kinds += ["disk full", "read-only"] if self.mounted else []
        deck = [kinds[number % len(kinds)] for number in range(count)]
        self.rng.shuffle(deck)
        return deck

    def strike(self, kind: str, snakemake: subprocess.Popen[bytes]) -> None:
        """Performs one disruption, and records it."""
        doing: dict[str, Callable[[], str | None]] = {
            "agent": lambda: self._kill("agent"),
            "job": lambda: self._kill("job"),
            "snakemake": lambda: self._kill_snakemake(snakemake),
            "forks": self._kill_forks,
            "disk full": self._fill,
            "read-only": self._forbid,
            "clock": self._jump,
            "daemon": self._kill_daemon,
        }
        began = time.time()
        runs = runners(self.mark).keys()
        detail = doing[kind]()
        if detail is None:
            self.injector.note("missed", fault=kind)
            return
        hit = frozenset(
            {detail}
            if kind in ("agent", "job")
            else {*runs, *runners(self.mark)}
            if kind not in ("forks", "clock", "daemon")
            else ()
        )
        self.disruptions.append(
            Disruption(began, time.time(), hit, kind in ("disk full", "read-only", "daemon"))
        )
        name = {
            "agent": "kill -9 of the agent",
            "job": "kill -9 of a job",
            "snakemake": "kill -9 of Snakemake",
            "disk full": "disk full",
            "read-only": "read-only folder",
            "clock": "clock jump",
            "forks": "kill -9 of the process that runs are forked off",
            "daemon": "kill -9 of the daemon",
        }[kind]
        self.injector.note("injected", fault=name, detail=detail, runs=sorted(hit))

    def _kill(self, what: str) -> str | None:
        """Kills a runner, or the agent that it started. None when none is running."""
        found = sorted(runners(self.mark).items())
        self.rng.shuffle(found)
        for run, process in found:
            with suppress(psutil.Error, IndexError):
                agent = process.children()[0]
                if what == "job":
                    self.abandoned.add(Path(agent.cwd()).parent.name)
                (process if what == "job" else agent).kill()
                return run
        return None

    def left(self) -> list[psutil.Process]:
        """Processes that should not run without Snakemake, and do not end."""
        until = time.monotonic() + HUNG_AFTER_S
        while True:
            found = [process for process in living(self.mark) if not self._is_abandoned(process)]
            if not found or time.monotonic() > until:
                return found
            time.sleep(0.1)

    def _is_abandoned(self, process: psutil.Process) -> bool:
        with suppress(psutil.Error):
            return any(
                f"/{place}/" in process.environ().get("HOME", "") for place in self.abandoned
            )
        return True

    def _kill_snakemake(self, snakemake: subprocess.Popen[bytes]) -> str | None:
        if snakemake.poll() is not None:
            return None
        snakemake.kill()
        snakemake.wait()
        return "snakemake"

    def _kill_forks(self) -> str | None:
        """Kills the process that runs are forked from, even while it forks; no answer may be lost."""
        for process in living(self.mark):
            with suppress(psutil.Error):
                if "snakemake_executor_plugin_lensbench/forks.py" in " ".join(process.cmdline()):
                    process.kill()
                    return "forks"
        return None

    def start_daemon(self) -> None:
        """Starts the MCP server that all runs share."""
        command = [sys.executable, "-I", str(DAEMON), str(self.port)]
        self._daemon = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def _kill_daemon(self) -> str:
        """Kills the daemon, and starts it again after a while."""
        self.stop_daemon()
        time.sleep(self.rng.uniform(*HELD_S))
        self.start_daemon()
        return "daemon"

    def stop_daemon(self) -> None:
        """Kills the daemon."""
        self._daemon.kill()
        self._daemon.wait()

    def _fill(self) -> str:
        """Fills the disk with one file, and removes it later."""
        filler = self.folder / "filler"
        with filler.open("wb", buffering=0) as file:
            for size in (1 << 20, 1 << 12):
                with suppress(OSError):
                    while True:
                        file.write(b"\0" * size)
        time.sleep(self.rng.uniform(*HELD_S))
        filler.unlink()
        return f"{FULL_MB} MB"

    def _forbid(self) -> str | None:
        """Makes a folder of the benchmark read-only for a while; not possible while a file in it is being written."""
        name = self.rng.choice(("runs", "attempts"))
        held_s = self.rng.uniform(*HELD_S)
        for _ in range(50):
            if _remount(self.bench / name, "ro"):
                time.sleep(held_s)
                _remount(self.bench / name, "rw")
                return name
            time.sleep(0.05)
        return None

    def _jump(self) -> str:
        """Shifts the timestamps of files written since the last jump by an hour, as after a clock change."""
        hours = self.rng.choice((-1, 1))
        until = time.time()
        files = [path for path in self.bench.rglob("*") if path.is_file()]
        for path in files:
            with suppress(OSError):
                status = path.stat()
                if self._dated_until <= status.st_mtime < until:
                    os.utime(path, (status.st_atime, status.st_mtime + 3600 * hours))
        self._dated_until = until
        return f"{hours:+d} h"


def _remount(folder: Path, mode: str) -> bool:
    return (
        subprocess.run(
            ["mount", "-o", f"remount,bind,{mode}", folder], capture_output=True
        ).returncode
        == 0
    )


def mount(folder: Path) -> bool:
    """Mounts a small disk at `folder`. False when that is not allowed here."""
    options = ["-t", "tmpfs", "-o", f"size={FULL_MB}m", "soak", folder]
    return subprocess.run(["mount", *options], capture_output=True).returncode == 0


def mount_again(folder: Path) -> None:
    """Mounts `folder` onto itself, so that it can be made read-only separately."""
    folder.mkdir(parents=True)
    (
        folder / ".mounted"
    ).touch()  # Snakemake removes empty folders, and would fail for a mounted one
    subprocess.run(["mount", "--bind", folder, folder], check=True)
