"""Runs `sandbox_start.py outside` in a fork of the run's own process, which is faster than starting Python."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from typing import Any, NoReturn

from lensbench.agents import sandbox_start
from lensbench.core.system.processes import OwnStart


def own_start(argv: Sequence[str], env: Mapping[str, str]) -> OwnStart | None:
    """How a forked process becomes the sandbox of `argv` (`Place.wrap`); None for other programs."""
    if tuple(argv[1:4]) != ("-IS", sandbox_start.__file__, "outside"):
        return None
    settings = sandbox_start.read_settings(argv[4])
    is_watched = not settings["ways"]  # connections need a separate process that forwards them
    become = partial(_become, settings, list(argv[5:]), env, is_watched)
    return OwnStart(become, partial(_watched, settings) if is_watched else lambda process: nullcontext())


def _become(settings: dict[str, Any], argv: list[str], env: Mapping[str, str], is_watched: bool) -> NoReturn:
    """Closes everything but the standard streams, since the run's locks must not be inherited."""
    try:
        for number in map(int, os.listdir("/proc/self/fd")):
            if number > 2:
                with suppress(OSError):  # one of them was that of the list
                    os.close(number)
        sandbox_start.outside(settings, argv, env, is_watched)
    except BaseException as error:  # on any error, this process must not continue as a second run
        print(f"{argv[0]}: {error!r}", file=sys.stderr, flush=True)
    os._exit(1)


@contextmanager
def _watched(settings: dict[str, Any], process: int) -> Iterator[None]:
    """Watches the disk usage while the sandbox lives, and removes its control groups afterwards."""
    has_ended, sandbox = threading.Event(), os.pidfd_open(process)
    disk = settings["limits"]["disk_gb"] * sandbox_start.GB
    looks = threading.Thread(
        target=sandbox_start.watch_disk, args=(sandbox, settings["folder"], disk, has_ended.wait), daemon=True
    )
    looks.start()
    try:
        yield
    finally:
        has_ended.set()
        looks.join()
        os.close(sandbox)
        sandbox_start.remove_groups(group for _, group in sandbox_start.groups_of(process))
