"""Tries what a run needs of a machine before anything is paid for."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import psutil

from lensbench.core.errors import UserError
from lensbench.core.system.locks import lock

SIZE = 1_000_000
"""Bytes that a trial writes: the longest answer."""


def try_folder(folder: Path) -> None:
    """Writes, locks, renames and removes a file in `folder`. Raises UserError, with the remedy, where one fails."""
    try:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".trial-", delete=False) as file:
            path = Path(file.name)
            try:
                file.write(bytes(SIZE))
                file.flush()
                lock(file)
                os.replace(path, path.with_suffix(".renamed"))
            finally:
                path.unlink(missing_ok=True)
                path.with_suffix(".renamed").unlink(missing_ok=True)
    except OSError as error:
        raise UserError(
            f"{folder.absolute()}: a file cannot be written and renamed there ({error.strerror}); make room and give"
            " yourself the right to write, or use another folder"
        ) from None


def try_processes() -> None:
    """Reads the state of this process. Raises UserError where the system hides it: agents could not be ended."""
    try:
        psutil.Process().children()
    except (psutil.Error, OSError) as error:
        raise UserError(
            f"/proc: the machine's processes cannot be read ({error}), so no agent could be ended; mount /proc"
        ) from None


def try_machine(folder: Path) -> None:
    """Tries the run folder, the folder of temporary files and the processes. Raises UserError where one fails."""
    try_processes()
    for place in (folder, Path(tempfile.gettempdir())):
        try_folder(place)
