"""The private folder of an attempt, and the removal of those that killed programs left.

A program holds a file lock in its folder until it ends, so a folder whose lock is free is abandoned.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lensbench.core.system.locks import lock, try_lock
from lensbench.core.system.trees import remove_tree

PREFIX = "lb-"
LOCK = ".alive"
TEARDOWN = "teardown.json"
"""A command to run when the folder is removed, as `[seconds, [program, ...]]`: the folder is registered with a
daemon."""


@contextmanager
def private_folder() -> Iterator[str]:
    """A new temporary folder, removed after the block. Abandoned ones are removed first."""
    remove_abandoned(tempfile.gettempdir())
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder,
        open(os.path.join(folder, "lock"), "w", encoding="utf-8") as mine,
    ):
        lock(mine)
        os.rename(
            mine.name, os.path.join(folder, LOCK)
        )  # it must not be visible before it is locked
        yield folder
        with suppress(
            OSError
        ):  # what belongs to another user stays, after an answer that was paid for
            remove_tree(folder)


def remove_abandoned(place: str) -> None:
    """Removes the folders in `place` that killed programs of this user left, and ends the processes in them."""
    for folder in abandoned(place):
        with suppress(OSError):
            _end_processes_in(folder)
            _tear_down(folder)
            remove_tree(folder)


def abandoned(place: str) -> Iterator[str]:
    """The folders in `place` that killed programs of this user left, each locked until the next one."""
    with os.scandir(place) as entries:
        folders = [
            entry.path for entry in entries if entry.name.startswith(PREFIX) and _is_ours(entry)
        ]
    for folder in folders:
        with suppress(OSError), open(os.path.join(folder, LOCK), "r+", encoding="utf-8") as its:
            if try_lock(its):
                yield folder


def _tear_down(folder: str) -> None:
    """Runs the teardown that the killed program could not run. It may fail, since the daemon may be gone as well."""
    try:
        limit_s, argv = json.loads(Path(folder, TEARDOWN).read_text(encoding="utf-8"))
        Path(
            folder, TEARDOWN
        ).unlink()  # only once: a command that ends this process must not end every later start
        subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=True
        )
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, subprocess.SubprocessError) as error:
        print(f"the teardown of a killed run failed: {error}", file=sys.stderr)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return (
            entry.is_dir(follow_symlinks=False)
            and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
        )
    except OSError:
        return False


def _end_processes_in(folder: str) -> None:
    """Ends an agent's children that outlive a killed runner without a sandbox, found by their HOME."""
    import psutil  # slow, and rarely needed

    for number in psutil.pids():
        with suppress(psutil.Error):
            process = psutil.Process(number)
            if process.environ().get("HOME", "").startswith(folder + os.sep):
                process.kill()
