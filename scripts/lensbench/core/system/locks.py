"""Locks of files. The system lets one go when its file is closed or its process ends, even when it is killed."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from lensbench.core.errors import UserError


def lock(file: IO[Any]) -> None:
    """Waits for the lock of an open file. Raises UserError where the file system has no locks."""
    _flock(file, fcntl.LOCK_EX)


def try_lock(file: IO[Any], kind: int = fcntl.LOCK_EX) -> bool:
    """Locks an open file; False when another process holds it. Raises UserError where there are no locks."""
    try:
        _flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _flock(file: IO[Any], kind: int) -> None:
    try:
        fcntl.flock(file, kind)
    except BlockingIOError:
        raise
    except OSError as error:
        raise UserError(
            f"{Path(file.name).absolute().parent}: its file system has no file locks ({error.strerror}); use a folder"
            " on a local disk, or mount it with locks (Lustre: option flock; NFS: version 4, or with its lock service)"
        ) from None


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Waits for the lock of the file at `path`, and holds it for the block."""
    with path.open("wb") as file:
        lock(file)
        yield


def is_held(path: str) -> bool:
    """Whether a process holds the lock of the file at `path`; none does where there are no locks."""
    try:
        with open(path, encoding="utf-8") as file:
            return not try_lock(file, fcntl.LOCK_SH)
    except (FileNotFoundError, UserError):
        return False
    except OSError:
        return True
