"""A process that has imported what runs need, and makes each run in a child that it forks: the imports take longer than
everything else in a short run.

It belongs to one start of Snakemake on this machine and ends with it. A run becomes a child of Snakemake itself: the
process between them ends at once, and Snakemake adopts orphans. So it is Snakemake that waits for the run, and the run
ends with Snakemake, whatever becomes of this process. When it is gone, commands are started as they stand.

Requests come through a pair of sockets that nobody else can reach: a line of JSON with arguments, environment, folder
and file for standard error. The answer is a line with the run's process id, empty when there is no run.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

from lensbench.core.system.processes import (
    ENDING,
    WORKFLOW,
    adopt_orphans,
    die_with_parent,
    end_in_order,
    held_signals,
    show_as,
)
from lensbench.core.system.program import run_program

PROGRAM = "lensbench.runs.run"
SHELL_OPTIONS = "set -euo pipefail;"
"""What Snakemake puts before each command."""
PATIENCE_S = 30.0
"""A fork takes milliseconds: a process that has not answered by then is given up."""
ROOM = " " * 400
"""An argument that makes place for the command line of a run, which `ps` shows."""


class StartedRun:
    """A run that was started, with what Snakemake asks of a `subprocess.Popen`."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def wait(self) -> int:
        """Its exit code, negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def terminate(self) -> None:
        """Sends SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)


class Preloaded:
    """The process as seen by the Snakemake that starts it, which adopts orphans from then on. `python` is how rules
    start our programs, up to the name of the program."""

    def __init__(self, python: str) -> None:
        self._beginning = f"exec {python} {PROGRAM} "
        self._lock = threading.Lock()
        adopt_orphans()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", __name__, str(theirs.fileno()), ROOM]
            self._process = subprocess.Popen(command, pass_fds=[theirs.fileno()])
        ours.settimeout(PATIENCE_S)
        self._socket: socket.socket | None = ours
        atexit.register(self.end)

    def start(self, command: str, environment: Mapping[str, str]) -> StartedRun | None:
        """Starts the run that a shell command asks for. None for any other command, and when the process is gone."""
        told = self._read(command)
        if not told:
            return None
        request = json.dumps({**told, "environment": dict(environment), "folder": os.getcwd()})
        with self._lock:
            if not self._socket:
                return None
            with suppress(OSError, ValueError):
                self._socket.sendall(f"{request}\n".encode())
                with self._socket.makefile("rb") as answers:
                    return StartedRun(int(answers.readline()))
            self.end()
            return None

    def end(self) -> None:
        """Ends the process. A run that it was asked for and has not confirmed may be under way: the start gate keeps
        the same run from being made twice."""
        if self._socket:
            self._socket.close()
            self._socket = None
            self._process.kill()
            self._process.wait()

    def _read(self, command: str) -> dict[str, object]:
        """Arguments and file for standard error of a command that makes a run; nothing when it takes a shell."""
        plain = command.removeprefix(SHELL_OPTIONS).strip()
        words, redirected, log = plain.removeprefix(self._beginning).rpartition(" 2> ")
        if not (plain.startswith(self._beginning) and redirected):
            return {}
        with suppress(ValueError):
            arguments, files = shlex.split(words), shlex.split(log)
            if (shlex.join(arguments), shlex.join(files), len(files)) == (words, log, 1):
                return {"arguments": arguments, "log": files[0]}
        return {}


def serve(requests: socket.socket) -> None:
    """Makes the runs that are asked for, one child each, until the Snakemake that asks has ended."""
    with requests.makefile("rb") as lines:
        for line in lines:
            requests.sendall(_fork(json.loads(line), requests) + b"\n")


def _fork(request: Mapping[str, Any], requests: socket.socket) -> bytes:
    """Starts a run as a child of Snakemake; returns its process id once it would end with Snakemake, else nothing."""
    told, tell = os.pipe()
    with held_signals():
        between = os.fork()
        if between == 0:
            _exit_after(partial(_fork_again, request, requests, tell))
    os.close(tell)
    os.waitpid(between, 0)
    with open(told, "rb") as answer:
        return answer.read()


def _fork_again(request: Mapping[str, Any], requests: socket.socket, tell: int) -> None:
    between = os.getpid()
    if os.fork():
        return
    requests.close()  # or Snakemake would not see that the other end is gone
    while os.getppid() == between:
        time.sleep(0.0001)
    end_in_order()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    os.write(tell, b"%d" % os.getpid())
    os.close(tell)
    _make(**request)


def _make(arguments: Sequence[str], log: str, environment: Mapping[str, str], folder: str) -> None:
    """Makes a run as if its command had been started."""
    from lensbench.runs.run import main as make_run  # at the top, every start of Snakemake would import it

    os.chdir(folder)
    os.environ.clear()
    os.environ.update({**environment, "PWD": folder})  # as a shell sets it
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
    os.dup2(file, sys.stderr.fileno())
    os.close(file)
    sys.argv[1:] = arguments
    sys.orig_argv[3:] = [PROGRAM, *arguments]
    show_as(sys.orig_argv)
    run_program(make_run)


def _exit_after(program: Callable[[], None]) -> NoReturn:
    """Ends this process as Python does after `program`, but without tidying up what another process has loaded."""
    code = 1
    try:
        program()
        code = 0
    except SystemExit as end:
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
        else:
            code = end.code or 0
    except BaseException:
        traceback.print_exc()
    finally:
        with suppress(OSError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def load() -> None:
    """Imports what runs need: those of every kind of agent."""
    from lensbench.agents import known_kinds, load_adapter
    from lensbench.runs import run  # noqa: F401

    for kind in known_kinds():
        if kind != "none":
            load_adapter(kind)
    gc.collect()
    gc.freeze()  # the first collection of each child would touch, and so copy, all of it


def main() -> None:
    """Loads what runs need, and serves the Snakemake that has started this process."""
    die_with_parent(int(os.environ[WORKFLOW]))
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)  # Control-C is for Snakemake and the runs
    load()
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    serve(requests)


if __name__ == "__main__":
    main()
