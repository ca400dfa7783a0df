"""What can happen to a run of Claude Code: what the model's service and the MCP server do, and what must be seen of it.

Each row is tested twice: with the real program (test_claude_code_live.py), and with its output as recorded in streams/
(test_claude_code.py). A row expects some fields of the `Outcome`; text is a pattern that must be found.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lensbench.core.records import Call, Outcome


@dataclass(frozen=True)
class Row:
    """`rules` are those of the fake service. `loose` takes a promise back, to show what happens without it."""

    rules: Sequence[Mapping[str, Any]]
    expected: Mapping[str, Any]
    exit_code: int | None = 0
    treatment: bool = False
    """The run has the MCP server `lens`; without it, the server's tools are denied."""
    server: Sequence[str] | None = ()
    """Arguments of the MCP server; None: its program does not exist."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    outcome: str = "valid"
    """What becomes of the run."""
    loose: str = ""
    """`permission`: the server's tools are not allowed; `subagents`: the Task tool is not denied."""


def unmet(row: Row, outcome: Outcome) -> list[str]:
    """The fields of the outcome that are not as the row expects them."""
    found = vars(outcome)
    return [
        f"{name}: expected {value!r}, found {found[name]!r}"
        for name, value in row.expected.items()
        if not (re.search(value, found[name]) if isinstance(value, str) else found[name] == value)
    ]


def row_of(told: Mapping[str, Any]) -> Row:
    """A row as its file has it."""
    seen = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in told["expected"].items()
    }
    if "calls" in seen:
        said = (call.split() for call in seen["calls"])
        seen["calls"] = tuple(Call(name, *map(int, numbers)) for name, *numbers in said)
    return Row(**{**told, "expected": seen})


ANSWER = {"reply": {"text": "It is in src/cart.py."}}
ROWS = {
    name: row_of(told)
    for name, told in yaml.safe_load(
        Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    ).items()
}
QUICK = {
    "without",
    "with",
    "tool-search",
    "server-breaks",
    "call-denied",
    "subagent",
    "subagent-denied",
    "max-turns",
    "stock",
}
"""Rows that the real program shows on every start of the tests, beside those of endings_table.py; `ALL_ROWS=1` runs all."""
