"""The private folder of an attempt, and those that a killed program could not remove any more.

A program holds a locked file in its folder for as long as it lives, so a folder whose lock is free was abandoned.
"""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lensbench.core.system.trees import remove_tree

PREFIX = "lb-"
LOCK = ".alive"
TEARDOWN = "teardown.json"
"""A command that has to be run when the folder goes away, as `[seconds, [program, ...]]`: a daemon was told of it."""


@contextmanager
def private_folder() -> Iterator[str]:
    """A new folder in the place for temporary files, gone after the block. Abandoned ones are removed first, and with
    them the processes that were left in them."""
    remove_abandoned(tempfile.gettempdir())
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True) as folder,
        open(os.path.join(folder, "lock"), "w") as mine,
    ):
        fcntl.flock(mine, fcntl.LOCK_EX)
        os.rename(mine.name, os.path.join(folder, LOCK))  # nobody may see it before it is held
        yield folder
        remove_tree(folder)


def remove_abandoned(place: str) -> None:
    """Removes the folders in `place` that killed programs of this user left, and ends what still runs in them."""
    with os.scandir(place) as entries:
        folders = [entry.path for entry in entries if entry.name.startswith(PREFIX) and _is_ours(entry)]
    for folder in folders:
        with suppress(OSError), open(os.path.join(folder, LOCK)) as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _end_processes_in(folder)
            _tear_down(folder)
            remove_tree(folder)


def _tear_down(folder: str) -> None:
    """What the killed program would have done itself. It may fail: the daemon may be gone, too."""
    try:
        limit_s, argv = json.loads(Path(folder, TEARDOWN).read_text())
        Path(folder, TEARDOWN).unlink()  # once: one that ends us must not end every start to come
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=limit_s, check=True)
    except FileNotFoundError:
        return
    except (OSError, ValueError, TypeError, subprocess.SubprocessError) as error:
        print(f"the teardown of a killed run failed: {error}", file=sys.stderr)


def _is_ours(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir(follow_symlinks=False) and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
    except OSError:
        return False


def _end_processes_in(folder: str) -> None:
    """An agent's children outlive a runner that was killed with SIGKILL, unless a sandbox ends them: they are known by
    their HOME."""
    import psutil  # only when there is something to look for

    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get("HOME", "").startswith(folder + os.sep):
                process.kill()
