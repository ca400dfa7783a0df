"""The control agent: gives a predefined answer to each prompt, and prints the event stream of docs/agents.md.

    python -I agent.py <words file> <prompt file> <mcp file>

The words file has its sentences by the hash of the prompt and the names of the servers. It starts the MCP servers of
its condition, reports their status, and reports a call of each tool, since a server that nobody calls gets no verdict.
As with real agents, a failed server does not prevent the answer. It imports nothing of lensbench, so that lensbench is
not tested with its own parts.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

SERVER_START_S = 20

REPORT = """
## Report

- **Tool calls**: 0
- **Tools used**: none
- **Files read**: 0
- **Files used**: none
- **Key findings**:
  - none
"""

GREETING = (
    {"method": "initialize", "id": 1, "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "control", "version": "1"}}},
    {"method": "notifications/initialized"},
    {"method": "tools/list", "id": 2, "params": {}},
)  # fmt: skip


def answer(words: Sequence[str]) -> str:
    """A well-formed answer that states these sentences and nothing else."""
    body = "\n".join(f"- {sentence}" for sentence in words) or "There is nothing that I can say about this."
    return f"{body}\n{REPORT}"


def tools_of(entry: Mapping[str, Any]) -> list[str]:
    """The tools that a server lists. Raises OSError, ValueError, KeyError or SubprocessError when it does not work."""
    asked = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in GREETING)
    said = subprocess.run(
        [entry["command"], *entry.get("args", ())],
        input=asked,
        capture_output=True,
        encoding="utf-8",
        timeout=SERVER_START_S,
    )
    if said.returncode:
        raise ValueError(" ".join(said.stderr.split())[-200:] or f"exit code {said.returncode}")
    replies = {reply["id"]: reply["result"] for reply in map(json.loads, said.stdout.rstrip().split("\n"))}
    return [tool["name"] for tool in replies[2]["tools"]]


def start_event(servers: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The first event: the agent, its servers, and their tools."""
    tools, statuses = ["Read"], []
    for name, entry in servers.items():
        try:
            tools += [f"mcp__{name}__{tool}" for tool in tools_of(entry)]
            statuses.append({"name": name, "status": "connected"})
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            statuses.append({"name": name, "status": "failed", "detail": str(error)})
    named = {"type": "start", "agent": "control", "version": "1", "model": "none"}
    return {**named, "tools": tools, "mcp_servers": statuses}


def main() -> None:
    """Answers one prompt."""
    words_file, prompt_file, mcp_file = map(Path, sys.argv[1:])
    servers = json.loads(mcp_file.read_text(encoding="utf-8"))["mcpServers"]
    words = json.loads(words_file.read_text(encoding="utf-8"))[hashlib.sha256(prompt_file.read_bytes()).hexdigest()]
    text = answer(words[",".join(sorted(servers))])
    start = start_event(servers)
    calls: list[dict[str, Any]] = []
    for number, name in enumerate(start["tools"][1:]):
        calls.append({"type": "tool_call", "id": number, "name": name, "input": {}})
        calls.append({"type": "tool_result", "id": number, "is_error": False, "size": 0})
    end = {"type": "end", "turns": 1, "is_error": False}
    print(*map(json.dumps, [start, *calls, {"type": "answer", "text": text}, end]), sep="\n")


if __name__ == "__main__":
    main()
