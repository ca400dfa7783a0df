"""What the tests of Codex, Gemini CLI and opencode share: a run's assignment, and streams."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lensbench.agents import Assignment, Invocation
from lensbench.core.system.files import write_atomic
from lensbench.plan.config import Agent

STARTED = {
    "type": "lensbench.started",
    "model": "model-a",
    "workspace": "/repo",
    "servers": ["lens", "lens_two"],
    "denied_servers": ["other"],
}
"""The line that stands before a program's own."""
SERVER = {"command": "lens", "args": ["--x"], "env": {"A": 'b "c"'}, "timeout": 5000}
REMOTE = {"type": "http", "url": "http://127.0.0.1:4111/mcp", "headers": {"X-A": "b"}}


def stream(*entries: dict[str, Any] | str) -> Iterator[str]:
    """An output: events, and lines that are none."""
    return (
        entry + "\n" if isinstance(entry, str) else json.dumps(entry) + "\n"
        for entry in (STARTED, *entries)
    )


def assignment(folder: Path, *, treatment: bool, **settings: Any) -> Assignment:
    """A run with two servers, or the baseline."""
    servers = {"lens": SERVER, "far": REMOTE} if treatment else {}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    agent = Agent(
        **{
            "kind": "codex",
            "model": "model-a",
            "mcp_start_s": 20,
            "tools": ("Bash", "Read"),
            **settings,
        }
    )
    return Assignment(
        prompt="Where is  it?\n- x",
        prompt_file="",
        workspace="/repo",
        home=str(folder / "home"),
        mcp_servers=servers,
        mcp_file=str(folder / "mcp.json"),
        answer_file="",
        servers=tuple(servers),
        denied_servers=() if treatment else ("lens", "far"),
        settings=agent.model_dump(mode="json"),
        seed=1,
    )


def started(adapter: Any, run: Assignment) -> Invocation:
    """How the program is started, with its files written."""
    invocation: Invocation = adapter.command(run)
    for path, content in invocation.files.items():
        write_atomic(Path(path), content)
    return invocation
