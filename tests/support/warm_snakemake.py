"""Starts Snakemake as a fork of a process that has imported it: imports are half of the time of a small start.

As with `python -m snakemake`, each start is a process of its own session, with its own environment, folder and output,
and none of lensbench is imported in advance.
"""

import atexit
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

IMPORTED = (
    "snakemake.cli",
    "snakemake.report.html_reporter",
    "snakemake.profiles",
    "snakemake.storage",
    "snakemake_executor_plugin_cluster_generic",
    "smart_open",
    "yte",
    "pandas",  # which Snakemake imports where it is installed
    "pydantic",
    "numpy",
    "markdown_it",
    "psutil",
    "re2",
    "jinja2",
)
"""What a start imports of other packages, sooner or later."""
ROOM = " " * 4000
"""Space for the command line that `ps` shows."""


class Started:
    """A started Snakemake, with the methods of `subprocess.Popen` that tests use."""

    def __init__(self, output: int, status: int) -> None:
        self.returncode: int | None = None
        self._output = output
        self._status = open(status, encoding="utf-8")  # noqa: SIM115 (it is closed with the process)
        self.pid = int(self._status.readline())

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not select.select([self._status], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("snakemake", timeout or 0)
            self.returncode = int(self._status.readline())
            self._status.close()
        return self.returncode

    def poll(self) -> int | None:
        with suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def communicate(self, timeout: float = 900) -> tuple[str, None]:
        until = time.monotonic() + timeout
        output = b""
        while select.select([self._output], [], [], max(until - time.monotonic(), 0))[0]:
            if not (part := os.read(self._output, 1 << 16)):
                os.close(self._output)
                self.wait(max(until - time.monotonic(), 0))
                return output.decode(), None
            output += part
        raise subprocess.TimeoutExpired("snakemake", timeout, output)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def start(
    arguments: Sequence[str], folder: Path, environment: Mapping[str, str], mark: str
) -> Started:
    """Starts Snakemake; `ps` shows `mark` after its arguments."""
    request = json.dumps([list(arguments), str(folder), dict(environment), mark]).encode()
    (output, output_end), (status, status_end) = os.pipe(), os.pipe()
    try:
        socket.send_fds(_server(), [request], [output_end, status_end])
    except OSError:  # a test has ended all processes that it did not start
        _server.cache_clear()
        socket.send_fds(_server(), [request], [output_end, status_end])
    for end in (output_end, status_end):
        os.close(end)
    return Started(output, status)


def run(arguments: Sequence[str], folder: Path, **variables: str) -> tuple[int | None, str]:
    """Runs Snakemake with further variables in its environment; its exit code and output."""
    started = start(arguments, folder, {**os.environ, **variables}, mark="")
    output, _ = started.communicate()
    return started.returncode, output


@lru_cache
def _server() -> socket.socket:
    ours, theirs = socket.socketpair(type=socket.SOCK_SEQPACKET)
    with theirs:
        command = [sys.executable, __file__, str(theirs.fileno()), ROOM]
        process = subprocess.Popen(
            command, pass_fds=[theirs.fileno()], start_new_session=True, stdin=subprocess.DEVNULL
        )
    atexit.register(process.kill)
    return ours


def serve(requests: socket.socket) -> list[Any]:
    """Forks for each request, until the other end is closed; returns in the fork that is to become Snakemake."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # those in between are not waited for
    while True:
        message, ends, _, _ = socket.recv_fds(requests, 1 << 20, 2)
        if not message:
            sys.exit()
        if os.fork() == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            requests.close()
            output, status = ends
            pid = os.fork()
            if pid == 0:
                os.close(status)
                for stream in (1, 2):
                    os.dup2(output, stream)
                os.close(output)
                request: list[Any] = json.loads(message)
                return request
            os.close(output)
            os.write(status, b"%d\n" % pid)
            os.write(status, b"%d\n" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
            os._exit(0)
        for end in ends:
            os.close(end)


def main() -> None:
    requests = socket.socket(fileno=int(sys.argv[1]))
    for name in IMPORTED:
        import_module(name)
    from lensbench.core.system.processes import show_as

    for name in [name for name in sys.modules if name.partition(".")[0] == "lensbench"]:
        del sys.modules[name]
    gc.collect()
    gc.freeze()
    arguments, folder, environment, mark = serve(requests)
    os.setsid()
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    show_as([sys.executable, "-m", "snakemake", *arguments, mark])
    sys.argv[1:] = arguments
    sys.orig_argv[1:] = ["-m", "snakemake", *arguments]
    sys.path[0:1] = [folder, *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
