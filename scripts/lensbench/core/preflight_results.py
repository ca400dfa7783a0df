"""Results of the preflight, one row per check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from lensbench.core.run_folder import RunFolder
from lensbench.core.system.terminal import printable

Outcome = Literal["ok", "warning", "failed", "skipped"]
BYTES_A_TOKEN = 4
"""Tokens of texts are estimated, since each model counts its own."""
LONG_RESULT = 100_000
"""Characters, about 25,000 tokens, above which Claude Code gives its model the name of a file instead."""


@dataclass(frozen=True)
class Check:
    """A check: its name, outcome, and details."""

    name: str
    outcome: Outcome
    detail: str


def table(checks: Sequence[Check]) -> Iterator[str]:
    """The rows as aligned lines of text."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        mark = check.outcome.upper() if check.outcome == "failed" else check.outcome
        yield printable(f"  {mark:8} {check.name:{width}}  {check.detail}")


def read_listed_tools(folder: Path) -> list[str]:
    """The tools that the MCP servers listed in the last preflight; empty without one."""
    return sorted(
        {str(name) for names in read_kept(folder, "tools").values() if isinstance(names, list) for name in names}
    )


def read_tools_of(folder: Path, condition: str) -> tuple[str, ...]:
    """The same for the servers of one condition."""
    names = read_kept(folder, "tools").get(condition)
    return tuple(map(str, names)) if isinstance(names, list) else ()


def read_tool_descriptions(folder: Path) -> dict[str, str]:
    """Tool -> its description, from the last preflight; empty without one."""
    return {name: text for name, text in read_kept(folder, "descriptions").items() if isinstance(text, str)}


def read_checks(folder: Path) -> list[Check]:
    """The checks of the last preflight; empty without one."""
    try:
        return [Check(**row) for row in json.loads(RunFolder(folder).preflight.read_text(encoding="utf-8"))["checks"]]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def read_kept(folder: Path, key: str) -> dict[str, object]:
    """The mapping under a key of the last preflight's results; empty without one."""
    try:
        value = json.loads(RunFolder(folder).preflight.read_text(encoding="utf-8"))[key]
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    return value if isinstance(value, dict) else {}
