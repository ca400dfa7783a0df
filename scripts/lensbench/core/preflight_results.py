"""Results of the preflight, one row per check."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from lensbench.core.errors import printable
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json

CheckOutcome = Literal["ok", "warning", "failed", "skipped"]
BYTES_A_TOKEN = 4
"""Tokens of texts are estimated, since each model counts its own."""
LONG_RESULT = 100_000
"""Characters, about 25,000 tokens, above which Claude Code gives its model the name of a file instead."""


@dataclass(frozen=True)
class Check:
    """A check: its name, outcome, and details."""

    name: str
    outcome: CheckOutcome
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
        values = {
            key: f"{v:g}" if isinstance(v, float) else f"[{', '.join(v)}]"
            for key, v in self.settings.items()
        }
        entry = [f"{new} for {old}" for old, new in self.words.items()]
        entry += [f'"env": {json.dumps(dict(self.env))}'] if self.env else []
        places = {
            "the config": [f"{key}: {value}" for key, value in values.items()],
            self.mcp: entry,
        }
        return " and ".join(
            f"{', '.join(phrases)} in {place}" for place, phrases in places.items() if phrases
        )


@dataclass
class PreflightFindings:
    """preflight.json."""

    checks: list[Check] = field(default_factory=list)
    tools: dict[str, dict[str, str]] = field(default_factory=dict)
    """Condition -> the tools of its servers, by the names that agents use -> the hash of the input schema."""
    excluded: dict[str, list[str]] = field(default_factory=dict)
    """Condition -> the tools that its filter leaves out, by the same names."""
    descriptions: dict[str, str] = field(default_factory=dict)
    """Tool -> the beginning of its description."""
    list_tokens: dict[str, int] = field(default_factory=dict)
    """Condition -> tokens of its tool list and instructions, estimated."""
    versions: dict[str, dict[str, str]] = field(default_factory=dict)
    """Condition -> its servers -> the version that each reports, or those before and after an update."""
    packages: dict[str, str] = field(default_factory=dict)
    """The line of a launcher -> the program that was fetched for it."""
    cures: list[Cure] = field(default_factory=list)
    """What conditions lack whose servers did not start, or wrote an index."""

    @property
    def failed(self) -> bool:
        return any(check.outcome == "failed" for check in self.checks)

    @property
    def listing(self) -> list[str]:
        """The tools of all servers."""
        return sorted({name for tools in self.tools.values() for name in tools})

    @classmethod
    def read(cls, folder: Path) -> PreflightFindings:
        """Those of the last preflight; empty without one."""
        try:
            value: dict[str, Any] = json.loads(
                RunFolder(folder).preflight.read_text(encoding="utf-8")
            )
            value["checks"] = [Check(**row) for row in value.get("checks", ())]
            value["cures"] = [Cure(**row) for row in value.get("cures", ())]
            value["tools"] = {name: dict(tools) for name, tools in value.get("tools", {}).items()}
            return cls(**value)
        except (OSError, ValueError, TypeError, AttributeError):
            return cls()

    def write(self, folder: Path) -> None:
        write_json(RunFolder(folder).preflight, asdict(self))


def table(checks: Sequence[Check]) -> Iterator[str]:
    """The rows as aligned lines of text."""
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        mark = check.outcome.upper() if check.outcome == "failed" else check.outcome
        yield printable(f"  {mark:8} {check.name:{width}}  {check.detail}")
