"""Writing files so that a reader never sees half of one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from lensbench.errors import UserError


def keep_from_others() -> None:
    """From here on nobody else can write what this process makes, whatever the umask that it was started with."""
    os.umask(os.umask(0o002) | 0o002)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Writes `content` to a temporary name beside `path` and renames it; makes missing folders.

    Half characters, which JSON from agents can hold, become question marks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content.encode(errors="replace") if isinstance(content, str) else content)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, value: Any) -> None:
    """Writes `value` as JSON with sorted keys: the same value gives the same bytes."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path, needed: bool = False) -> dict[str, Any]:
    """What a stage left; nothing where it has not run, unless it is `needed`. Raises UserError if it is unreadable."""
    try:
        value: dict[str, Any] = json.loads(path.read_text()) if needed or path.exists() else {}
    except (OSError, ValueError) as error:
        raise UserError(f"{path}: cannot be read ({error}); delete it, and the next start rebuilds it") from None
    return value


def plain(value: Any) -> Any:
    """The data for JSON; numbers have at most six decimals."""
    if is_dataclass(value) and not isinstance(value, type):
        return plain(asdict(value))
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return plain(value._asdict())
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return round(float(value), 6) if isinstance(value, (float, Fraction)) else value
