"""Any program that speaks the Agent Client Protocol, such as `gemini --acp`: `acp_client` asks it, in the sandbox.

| promise of the protocol | kept by |
|---|---|
| same prompt in both conditions | one text block of `session/prompt`, the same bytes |
| MCP servers WITH, none WITHOUT | `mcpServers` of `session/new`; an agent that drops them is seen by the tee |
| only the declared tools | `agent.tools` answer questions for permission; an agent that does not ask is not limited |
| a fresh session | HOME and TMPDIR are new and empty, the environment is cleared but for `agent.pass_env` |
| tool calls | by kind (`read`, `execute`), as the protocol has no names; those of servers by the tee |
| version, tokens, cost, stop reason | `agentInfo`, `usage`, `usage_update`, `stopReason`, as far as it shows them |
| the model that served | not shown |

`agent.command` is the program with its arguments; `agent.model`, if given, is chosen in the session.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lensbench.agents import Assignment, Invocation, acp_client, base_environment
from lensbench.agents.adapters._events import Event
from lensbench.agents.adapters.offline import read_events as read

__all__ = ["TEE", "command", "is_over", "read"]

TEE = True


def command(run: Assignment) -> Invocation:
    settings_file = os.path.join(run.home, "acp.json")
    settings = {
        "prompt_file": run.prompt_file,
        "workspace": run.workspace,
        "servers": [_server(name, entry) for name, entry in run.mcp_servers.items()],
        "model": run.settings["model"],
        "tools": [*run.settings["tools"]],
        "timeout_s": run.settings["timeout_s"],
    }
    program, *arguments = run.settings["command"]
    program = shutil.which(program) or program  # by its file, which the sandbox then shows
    client = (sys.executable, "-IS", str(Path(acp_client.__file__)), settings_file)
    files = {settings_file: json.dumps(settings)}
    return Invocation((*client, program, *arguments), base_environment(run), files)


def is_over(event: Event) -> bool | None:
    """After a cancelled prompt the client stays until the time limit."""
    return (event["type"] == "end" and event.get("ended") != "cancelled") or None


def _server(name: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """The entry of a server in the protocol's form. Gemini CLI passes it no PYTHONPATH: the program `env` sets it."""
    if "url" in entry:
        headers = [{"name": key, "value": value} for key, value in entry.get("headers", {}).items()]
        return {"type": "http", "name": name, "url": entry["url"], "headers": headers}
    variables = [f"{key}={value}" for key, value in entry.get("env", {}).items()]
    command = [entry["command"], *entry.get("args", ())]
    return {"name": name, "command": "env", "args": [*variables, *command], "env": []}
