"""The log of tool calls: one JSON object per line, including refused calls."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError

MAX_ARGUMENT_CHARS = 1_000
MAX_ARGUMENTS = 20


@dataclass(frozen=True)
class CallLog:
    """A file to append lines to; each line is one write, so that several servers can share the file."""

    path: Path

    def __post_init__(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._append(b"")
        except OSError as error:
            raise UserError(f"--log {self.path} cannot be written: {error.strerror}.") from None

    def write(self, tool: str, arguments: Any, start: float, size: int, *, is_error: bool) -> None:
        """Appends one call: `start` is its `time.monotonic()`, `size` the number of characters in its answer."""
        duration = time.monotonic() - start
        line = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "tool": tool,
            "arguments": _shortened(arguments),
            "duration_s": round(duration, 4),
            "size": size,
            "is_error": is_error,
        }
        self._append(json.dumps(line).encode() + b"\n")

    def _append(self, content: bytes) -> None:
        handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(handle, content)
        finally:
            os.close(handle)


def _shortened(arguments: Any) -> Any:
    """The arguments with long values cut, so that one call cannot fill the disk."""
    if not isinstance(arguments, dict):
        return {}
    shortened = {}
    for name, value in list(arguments.items())[:MAX_ARGUMENTS]:
        text = json.dumps(value)
        is_short = len(text) <= MAX_ARGUMENT_CHARS
        shortened[str(name)[:100]] = value if is_short else text[:MAX_ARGUMENT_CHARS]
    return shortened
