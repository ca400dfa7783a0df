"""Task ids from foreign names."""

from __future__ import annotations

import hashlib
import re

_LONGEST = 64


def task_id(name: str) -> str:
    """`name` as an id; a long name is shortened to its beginning and a few digits of its hash."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"
    if len(plain) <= _LONGEST:
        return plain
    return f"{plain[: _LONGEST - 9].rstrip('-')}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
