"""The control agent and its MCP server: a predefined answer to each prompt, as the event stream of docs/events.md.

    python -I control_agent.py <words file> <prompt file> <mcp file>
    python -I control_agent.py serve

The words file has its sentences by the hash of the prompt and the names of the servers. Without one ("") the agent
looks around: it states what it finds outside its workspace. It starts the MCP servers of its condition, reports their
status, and reports a call of each tool, since a server that nobody calls gets no verdict. As with real agents, a failed
server does not prevent the answer. It imports nothing of lensbench, so that lensbench is not tested with its own parts.

`serve` is an MCP server over stdio that lists one tool, which does nothing.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

SERVER_START_S = 20
LOOK_S = 20
"""CPU time, in seconds."""
LOOK_BYTES = 1 << 20
"""Of one file."""
LOOK_LINES = 2000
"""Of the answer."""
NOT_FILES = ("proc", "sys", "dev")
LATE = ("usr", "lib", "etc")
"""Folders of the system, which are read last."""
LIKELY = (".yaml", ".yml", ".json", ".jsonl", ".diff", ".patch", ".md")
"""Kinds of files that hold tasks, which are read first."""

REPORT = """
## Report

- **Tool calls**: 0
- **Tools used**: none
- **Files read**: 0
- **Files used**: none
- **Key findings**:
  - none
"""

INFO = {"name": "control", "version": "1"}
GREETING = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": INFO,
}
TOOL = {
    "name": "rest",
    "description": "Does nothing.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True},
}


def files_outside() -> Iterator[Path]:
    """The files outside the workspace, likely kinds first."""
    tops = sorted(set(os.listdir("/")).difference(NOT_FILES), key=lambda name: name in LATE)
    for is_likely in (True, False):
        for top in tops:
            for folder, _, files in os.walk(f"/{top}"):
                if not f"{folder}/".startswith(f"{os.getcwd()}/"):
                    for name in files:
                        if name.endswith(LIKELY) == is_likely:
                            yield Path(folder, name)


def look_around(prompt: str) -> list[str]:
    """The lines beside the question or a name in it, in files outside the workspace, while its CPU time lasts."""
    question = prompt.partition("\n")[0]
    texts = {question, *re.findall(r"\b\w+[._]\w+", question)}
    pattern = re.compile("|".join(map(re.escape, texts)))
    until = time.process_time() + LOOK_S
    near: dict[str, None] = {}
    for path in takewhile(lambda _: time.process_time() < until, files_outside()):
        try:
            if not path.is_file() or path.stat().st_size > LOOK_BYTES:
                continue
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, ValueError):
            continue
        for number, line in enumerate(lines):
            if pattern.search(line):
                first = max(0, number - 20)
                for text in lines[first : number + 20]:
                    near[text.strip()] = None
    return list(near)[:LOOK_LINES]


def tools_of(entry: Mapping[str, Any]) -> list[str]:
    """The tools that a server lists. Raises OSError, ValueError, KeyError or SubprocessError when it does not work."""
    messages: list[dict[str, Any]] = [
        {"method": "initialize", "id": 1, "params": GREETING},
        {"method": "notifications/initialized"},
        {"method": "tools/list", "id": 2, "params": {}},
    ]
    lines = [json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in messages]
    process = subprocess.run(
        [entry["command"], *entry.get("args", ())],
        input="".join(lines),
        capture_output=True,
        encoding="utf-8",
        timeout=SERVER_START_S,
    )
    if process.returncode:
        words = " ".join(process.stderr.split())
        raise ValueError(words[-200:] or f"exit code {process.returncode}")
    last = json.loads(process.stdout.rstrip().rpartition("\n")[2])
    return [tool["name"] for tool in last["result"]["tools"]]


def answer(words_file: str, prompt_file: Path, mcp_file: Path) -> Iterator[dict[str, Any]]:
    """The events of one answer."""
    servers = json.loads(mcp_file.read_text(encoding="utf-8"))["mcpServers"]
    if words_file:
        words = json.loads(Path(words_file).read_text(encoding="utf-8"))
        prompt_hash = hashlib.sha256(prompt_file.read_bytes()).hexdigest()
        sentences = words[prompt_hash][",".join(sorted(servers))]
    else:
        sentences = look_around(prompt_file.read_text(encoding="utf-8"))
    tools: list[str] = []
    statuses = []
    for name, entry in servers.items():
        try:
            tools += [f"mcp__{name}__{tool}" for tool in tools_of(entry)]
            statuses.append({"name": name, "status": "connected"})
        except (OSError, ValueError, KeyError, subprocess.SubprocessError) as error:
            statuses.append({"name": name, "status": "failed", "detail": str(error)})
    yield {
        "type": "start",
        "agent": "control",
        "version": "1",
        "model": "none",
        "tools": ["Read", *tools],
        "mcp_servers": statuses,
    }
    for number, name in enumerate(tools):
        yield {"type": "tool_call", "id": number, "name": name, "input": {}}
        yield {"type": "tool_result", "id": number, "is_error": False, "size": 0}
    body = "\n".join(f"- {sentence}" for sentence in sentences) or "I can say nothing about this."
    yield {"type": "answer", "text": f"{body}\n{REPORT}"}
    yield {"type": "end", "turns": 1, "is_error": False}


def serve() -> None:
    """Serves MCP until standard input ends."""
    results: dict[str, dict[str, Any]] = {
        "ping": {},
        "tools/list": {"tools": [TOOL]},
        "tools/call": {"content": [{"type": "text", "text": "rested"}], "isError": False},
    }
    for line in sys.stdin:
        request = json.loads(line)
        method = request["method"]
        if method == "initialize":
            result = {
                "protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": INFO,
            }
            reply: dict[str, Any] = {"result": result}
        elif method in results:
            reply = {"result": results[method]}
        else:
            reply = {"error": {"code": -32601, "message": "no such method"}}
        if "id" in request:
            print(json.dumps({"jsonrpc": "2.0", "id": request["id"], **reply}), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        for event in answer(sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])):
            print(json.dumps(event))
