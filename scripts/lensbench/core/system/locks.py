"""Locked files: a lock is held by a living process, and released even when it is killed."""

from __future__ import annotations

import fcntl


def is_held(path: str) -> bool:
    """True when a living process holds the lock."""
    try:
        with open(path, encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            return False
    except FileNotFoundError:
        return False
    except OSError:
        return True
