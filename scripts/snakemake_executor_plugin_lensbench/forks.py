"""A process that has imported our programs once, and forks a child for each request of one Snakemake: a line of JSON
with command, log, environment and folder. The reply is a line with the child's process id.

A run is forked twice; the process in between exits at once, and Snakemake adopts the orphan. So Snakemake waits for the
run, and the run ends with Snakemake even if this process is gone.
"""

from __future__ import annotations

import gc
import json
import os
import runpy
import signal
import socket
import sys
import time
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from lensbench.core.system.processes import ENDING, end_in_order, held_signals, show_as


def become(
    requests: socket.socket, command: list[str], log: str, env: dict[str, str], folder: str
) -> NoReturn:
    """Runs a program as `python -P -m` would, in a child of this process, which Snakemake adopts as this one exits."""
    code: str | int | None = 1
    try:
        between = os.getpid()
        if os.fork() == 0:
            while os.getppid() == between:
                time.sleep(0.0001)
            end_in_order()
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
            try:
                requests.sendall(b"%d\n" % os.getpid())
            except BrokenPipeError:
                os._exit(1)  # Snakemake is gone
            os.close(
                requests.detach()
            )  # otherwise Snakemake would not notice the end of the process
            os.chdir(folder)
            os.environ.clear()
            os.environ.update({**env, "PWD": folder})  # as a shell sets it
            with open(log, "wb") as file:
                os.dup2(file.fileno(), sys.stderr.fileno())
            sys.argv[1:], sys.orig_argv[2:] = command[1:], ["-m", *command]
            show_as(sys.orig_argv)
            sys.modules.pop(
                command[0], None
            )  # it runs as __main__ now; an import must load a fresh copy
            runpy.run_module(command[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:  # without the clean-up of what the parent has loaded
        with suppress(OSError):
            sys.stderr.write(f"{code}\n" if isinstance(code, str) else "")
            sys.stdout.flush()
        os._exit(1 if isinstance(code, str) else code or 0)


def main() -> None:
    """Serves the Snakemake that started this process, until it has ended."""
    if signal.getsignal(signal.SIGINT) != signal.SIG_IGN:
        signal.signal(signal.SIGINT, lambda *_: None)  # Control-C is for Snakemake and the runs
    requests = socket.socket(fileno=int(sys.argv[1]))
    for line in requests.makefile("rb"):
        command, *rest = json.loads(line)
        if command[0] not in sys.modules:
            with suppress(Exception):  # the child fails in the same way, and reports it
                import_module(command[0]).preload(command[1:])
            gc.collect()
            gc.freeze()  # otherwise the first collection in each child would touch, and so copy, all of it
        with held_signals():
            if os.fork() == 0:
                become(requests, command, *rest)
        os.wait()


if __name__ == "__main__":
    main()
