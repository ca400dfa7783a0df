"""The control agent: gives a predefined answer to each prompt, and prints the event stream of docs/events.md.

    python -I agent.py <words file> <prompt file> <mcp file>

The words file has its sentences by the hash of the prompt and the names of the servers. Without one ("") the agent
looks around: it states what it finds outside its workspace, and applies the patches that it finds there.
It starts the MCP servers of its condition, reports their status, and reports a call of each tool, since a server that
nobody calls gets no verdict. As with real agents, a failed server does not prevent the answer. It imports nothing of
lensbench, so that lensbench is not tested with its own parts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, takewhile
from pathlib import Path
from typing import Any

SERVER_START_S = 20
LOOK_S, LOOK_BYTES, LOOK_LINES = 20, 1 << 20, 2000
NOT_FILES = ("/proc", "/sys", "/dev")
LIKELY = (".yaml", ".yml", ".json", ".jsonl", ".diff", ".patch", ".md")

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
    {
        "method": "initialize",
        "id": 1,
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "control", "version": "1"},
        },
    },
    {"method": "notifications/initialized"},
    {"method": "tools/list", "id": 2, "params": {}},
)


def answer(words: Sequence[str]) -> str:
    """A well-formed answer that states these sentences and nothing else."""
    body = (
        "\n".join(f"- {sentence}" for sentence in words)
        or "There is nothing that I can say about this."
    )
    return f"{body}\n{REPORT}"


def files_outside() -> Iterator[Path]:
    """The files outside the workspace: those of kinds that hold tasks first, and the system's last."""
    exceptions = (os.getcwd(), *NOT_FILES)
    tops = sorted(os.listdir("/"), key=lambda name: name in ("usr", "lib", "etc"))
    for is_likely in (True, False):
        for folder, names, files in chain.from_iterable(os.walk(f"/{top}") for top in tops):
            names[:] = [name for name in names if os.path.join(folder, name) not in exceptions]
            if folder not in exceptions:
                yield from (
                    Path(folder, name) for name in files if name.endswith(LIKELY) == is_likely
                )


def texts_outside() -> Iterator[str]:
    """Texts of files outside the workspace, while its CPU time lasts."""
    until = time.process_time() + LOOK_S
    for path in takewhile(lambda _: time.process_time() < until, files_outside()):
        try:
            if path.is_file() and path.stat().st_size <= LOOK_BYTES:
                yield path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue


def look_around(prompt: str) -> list[str]:
    """The lines beside a sentence or a name of the prompt; applies patches of files in the workspace."""
    question = prompt.split("\n", 1)[0]
    pattern = re.compile(
        "|".join(map(re.escape, {question, *re.findall(r"\b\w+[._]\w+", question)}))
    )
    near: list[str] = []
    for text in texts_outside():
        text = text.replace("\\n", "\n").replace(
            '\\"', '"'
        )  # a patch in JSON or in a quoted YAML string
        for patch in re.split(r"(?m)(?=^[ \"]*--- a/)", text)[1:]:
            name = re.search(r"\+\+\+ b/(\S+)", patch)
            if name and Path(name[1]).is_file() and "do not change" not in prompt:
                subprocess.run(
                    ["git", "apply", "-"],
                    input=patch[patch.index("---") :],
                    encoding="utf-8",
                    check=False,
                )
        lines = text.split("\n")
        for number, line in enumerate(lines):
            if pattern.search(line):
                near += lines[max(0, number - 20) : number + 20]
    return list(dict.fromkeys(line.strip() for line in near))[:LOOK_LINES]


def tools_of(entry: Mapping[str, Any]) -> list[str]:
    """The tools that a server lists. Raises OSError, ValueError, KeyError or SubprocessError when it does not work."""
    requests = "".join(json.dumps({"jsonrpc": "2.0", **message}) + "\n" for message in GREETING)
    process = subprocess.run(
        [entry["command"], *entry.get("args", ())],
        input=requests,
        capture_output=True,
        encoding="utf-8",
        timeout=SERVER_START_S,
    )
    if process.returncode:
        raise ValueError(
            " ".join(process.stderr.split())[-200:] or f"exit code {process.returncode}"
        )
    replies = {
        reply["id"]: reply["result"]
        for reply in map(json.loads, process.stdout.rstrip().split("\n"))
    }
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
    agent = {"type": "start", "agent": "control", "version": "1", "model": "none"}
    return {**agent, "tools": tools, "mcp_servers": statuses}


def main() -> None:
    """Answers one prompt."""
    prompt_file, mcp_file = map(Path, sys.argv[2:])
    servers = json.loads(mcp_file.read_text(encoding="utf-8"))["mcpServers"]
    if sys.argv[1]:
        words = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
        text = answer(
            words[hashlib.sha256(prompt_file.read_bytes()).hexdigest()][",".join(sorted(servers))]
        )
    else:
        text = answer(look_around(prompt_file.read_text(encoding="utf-8")))
    start = start_event(servers)
    calls: list[dict[str, Any]] = []
    for number, name in enumerate(start["tools"][1:]):
        calls.append({"type": "tool_call", "id": number, "name": name, "input": {}})
        calls.append({"type": "tool_result", "id": number, "is_error": False, "size": 0})
    end = {"type": "end", "turns": 1, "is_error": False}
    print(*map(json.dumps, [start, *calls, {"type": "answer", "text": text}, end]), sep="\n")


if __name__ == "__main__":
    main()
