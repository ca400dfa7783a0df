"""Results of the preflight, one row per check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from lensbench.core.errors import printable
from lensbench.core.run_folder import RunFolder

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


@dataclass(frozen=True)
class Cure:
    """What a condition lacks, by trial: settings of the config, and changes of a server's entry in its MCP file."""

    settings: Mapping[str, Sequence[str] | float]
    """A key of the config, such as `agent.pass_env` -> its value, or what to add to its list."""
    mcp: str = ""
    """The MCP file; empty when nothing in it changes."""
    server: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    """A word of the command line -> the one to write in its place."""
    env: Mapping[str, str] = field(default_factory=dict)
    """Variables to add to the entry."""

    def __str__(self) -> str:
        values = {key: f"{v:g}" if isinstance(v, float) else f"[{', '.join(v)}]" for key, v in self.settings.items()}
        entry = [f"{new} for {old}" for old, new in self.words.items()]
        entry += [f'"env": {json.dumps(dict(self.env))}'] if self.env else []
        places = {"the config": [f"{key}: {value}" for key, value in values.items()], self.mcp: entry}
        return " and ".join(f"{', '.join(phrases)} in {place}" for place, phrases in places.items() if phrases)


def table(checks: Sequence[Check]) -> Iterator[str]:
    """The rows as aligned lines of text."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        mark = check.outcome.upper() if check.outcome == "failed" else check.outcome
        yield printable(f"  {mark:8} {check.name:{width}}  {check.detail}")


def read_listed_tools(folder: Path) -> list[str]:
    """The tools that the MCP servers listed in the last preflight; empty without one."""
    return sorted({name for tools in read_kept(folder, "tools").values() for name in tools})


def read_tools_of(folder: Path, condition: str) -> dict[str, str]:
    """The same for the servers of one condition, each with the hash of its schema."""
    return dict(read_kept(folder, "tools").get(condition, {}))


def read_cures(folder: Path) -> list[Cure]:
    """What conditions lacked in the last preflight; empty without one."""
    return [Cure(**row) for row in _read(folder, "cures") or ()]


def read_kept(folder: Path, key: str) -> dict[str, Any]:
    """The mapping under a key of the last preflight's results; empty without one."""
    value = _read(folder, key)
    return value if isinstance(value, dict) else {}


def _read(folder: Path, key: str) -> Any:
    """The value of a key of the last preflight's results; None without one."""
    try:
        return json.loads(RunFolder(folder).preflight.read_text(encoding="utf-8")).get(key)
    except (OSError, ValueError, AttributeError):
        return None
