"""A server process that has imported our programs once, and forks a child for each program to run. In a short run and
in most stages, the imports take longer than everything else.

The process belongs to one start of Snakemake on this machine and ends with it. Each program becomes a child of
Snakemake itself: it is forked twice, the process in between exits at once, and Snakemake adopts the orphan. So
Snakemake waits for the program, and the program ends with Snakemake even if this process is gone. Without this process,
commands are started normally.

Requests come through a private pair of sockets: a line of JSON with program, arguments, environment, folder and file
for standard error. The reply is a line with the program's process id, empty when the fork failed.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import re
import runpy
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
from importlib import import_module
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

SHELL_OPTIONS = "set -euo pipefail;"
"""The prefix that Snakemake puts before each command."""
PATIENCE_S = 30.0
"""A fork takes milliseconds; a process that does not reply in this time is abandoned."""
ROOM = " " * 400
"""A long argument that reserves space to overwrite the command line that `ps` shows."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Keeps numpy from starting threads: a process with threads must not fork."""


class Started:
    """A started program, with the methods of `subprocess.Popen` that Snakemake uses."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def wait(self) -> int:
        """Waits for the end; returns the exit code, negative for a signal."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def terminate(self) -> None:
        """Sends SIGTERM."""
        os.kill(self.pid, signal.SIGTERM)

    def kill(self) -> None:
        """Sends SIGKILL."""
        os.kill(self.pid, signal.SIGKILL)


class Preloaded:
    """Snakemake's side of the server process. Creating it makes this Snakemake adopt orphans. `python`: the start of
    the commands with which rules start our programs, up to the program's name."""

    def __init__(self, python: str) -> None:
        self._beginning = f"exec {python} lensbench."
        self._lock = threading.Lock()
        adopt_orphans()
        ours, theirs = socket.socketpair()
        with theirs:
            command = [sys.executable, "-P", "-m", __name__, str(theirs.fileno()), ROOM]
            environment = {**os.environ, **ONE_THREAD}
            self._process = subprocess.Popen(command, env=environment, pass_fds=[theirs.fileno()])
        ours.settimeout(PATIENCE_S)
        self._socket: socket.socket | None = ours
        atexit.register(self.end)

    def start(self, command: str, environment: Mapping[str, str]) -> Started | None:
        """Starts a program of ours from its shell command. None for any other command, or when the process is gone."""
        told = read_command(self._beginning, command)
        return self._ask(**told, environment=dict(environment)) if told else None

    def run(self, program: str, *arguments: str) -> int:
        """Runs a program of ours and waits; returns the exit code, negative for a signal."""
        started = self._ask(program=program, arguments=arguments, log="", environment=dict(os.environ))
        return started.wait() if started else subprocess.call([sys.executable, "-P", "-m", program, *arguments])

    def _ask(self, **told: object) -> Started | None:
        request = json.dumps({**told, "folder": os.getcwd()})
        with self._lock:
            if not self._socket:
                return None
            with suppress(OSError, ValueError):
                self._socket.sendall(f"{request}\n".encode())
                with self._socket.makefile("rb") as answers:
                    return Started(int(answers.readline()))
            self.end()
            return None

    def end(self) -> None:
        """Stops the process. A requested run that was not confirmed may have started; the start gate prevents a second
        start of the same run."""
        if self._socket:
            self._socket.close()
            self._socket = None
            self._process.kill()
            self._process.wait()


def read_command(beginning: str, command: str) -> dict[str, Any]:
    """Program, arguments and file for standard error of a shell command that starts a program of ours with `beginning`;
    nothing when it takes a shell."""
    words, redirected, log = command.removeprefix(SHELL_OPTIONS).strip().rpartition(" 2> ")
    if not (words.startswith(beginning) and redirected):
        return {}
    words = words.removeprefix(beginning).rstrip(" ")
    with suppress(ValueError):
        (name, *arguments), files = shlex.split(words), shlex.split(log)
        given, again = (re.sub(" +", " ", each) for each in (words, shlex.join([name, *arguments])))
        if (given, log, 1) == (again, shlex.join(files), len(files)):  # an empty list leaves a gap
            return {"program": f"lensbench.{name}", "arguments": arguments, "log": files[0]}
    return {}


def serve(requests: socket.socket) -> None:
    """Serves requests, one child process each, until the requesting Snakemake has ended."""
    with requests.makefile("rb") as lines:
        for line in lines:
            request = json.loads(line)
            load(request["program"])
            requests.sendall(_fork(request, requests) + b"\n")


def _fork(request: Mapping[str, Any], requests: socket.socket) -> bytes:
    """Starts a program as a child of Snakemake; returns its process id once it is tied to Snakemake, else nothing."""
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
    requests.close()  # otherwise Snakemake would not notice when the other end closes
    while os.getppid() == between:
        time.sleep(0.0001)
    end_in_order()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    os.write(tell, b"%d" % os.getpid())
    os.close(tell)
    _run(**request)


def _run(program: str, arguments: Sequence[str], log: str, environment: Mapping[str, str], folder: str) -> None:
    """Runs a program in this process as `python -m` would."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update({**environment, "PWD": folder})  # as a shell sets it
    if log:
        file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        os.dup2(file, sys.stderr.fileno())
        os.close(file)
    sys.argv[1:] = arguments
    sys.orig_argv[3:] = [program, *arguments]
    show_as(sys.orig_argv)
    sys.modules.pop(program, None)  # it runs as __main__ now; an import must load a fresh copy
    runpy.run_module(program, run_name="__main__", alter_sys=True)


def _exit_after(program: Callable[[], None]) -> NoReturn:
    """Runs `program` and exits with Python's exit code, but skips the clean-up of what the parent has loaded."""
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


def load(program: str) -> None:
    """Imports a program and its later imports (its `preload`), once."""
    if program in sys.modules:
        return
    with suppress(Exception):  # the child fails in the same way, and reports it
        preload = getattr(import_module(program), "preload", None)
        if preload:
            preload()
    gc.collect()
    gc.freeze()  # otherwise the first collection in each child would touch, and so copy, all of it


def main() -> None:
    """Serves the Snakemake that started this process."""
    die_with_parent(int(os.environ[WORKFLOW]))
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)  # Control-C is for Snakemake and the runs
    requests = socket.socket(fileno=int(sys.argv[1]))
    requests.set_inheritable(False)
    serve(requests)


if __name__ == "__main__":
    main()
