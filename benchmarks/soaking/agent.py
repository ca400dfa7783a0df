"""A small agent for the soak test: one conversation with the model's service, and the events of docs/events.md.

    agent.py <service's address> <prompt file> <mcp file>

It has no retries: every fault of the service or the MCP server ends the attempt, or is reported.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

SERVER_S = 8
"""Timeout of the MCP server's answers."""


class Daemon:
    """An MCP server over HTTP."""

    def __init__(self, entry: dict[str, Any]) -> None:
        self._url = entry["url"]

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request. Raises OSError when the server is gone."""
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        with urlopen(Request(self._url, body, headers), timeout=SERVER_S) as answer:
            result: dict[str, Any] = json.load(answer)["result"]
        return result


class Server:
    """An MCP server over stdio."""

    def __init__(self, entry: dict[str, Any]) -> None:
        command = [entry["command"], *entry["args"]]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8"
        )

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """The result of a request. Raises OSError when the server is gone or does not answer."""
        assert self._process.stdin
        assert self._process.stdout
        print(
            json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}),
            file=self._process.stdin,
        )
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], SERVER_S)
        line = self._process.stdout.readline() if ready else ""
        if not line:
            raise OSError("Connection closed" if ready else "no answer")
        result: dict[str, Any] = json.loads(line)["result"]
        return result


def ask_model(address: str, messages: list[dict[str, Any]], tools: list[str]) -> dict[str, Any]:
    """The model's message, read from a stream. Raises OSError or ValueError when it is incomplete."""
    body = {
        "model": "glm-5",
        "stream": True,
        "messages": messages,
        "tools": [{"name": name} for name in tools],
    }
    message: dict[str, Any] = {}
    with urlopen(Request(f"{address}/v1/messages", json.dumps(body).encode())) as answer:
        for line in answer:
            if not line.startswith(b"data: "):
                continue
            event = json.loads(line[6:])
            match event["type"]:
                case "message_start":
                    message = event["message"]
                case "content_block_start":
                    message["content"].append(event["content_block"])
                case "content_block_delta" if event["delta"]["type"] == "text_delta":
                    message["content"][-1]["text"] += event["delta"]["text"]
                case "content_block_delta":
                    message["content"][-1]["input"] = json.loads(event["delta"]["partial_json"])
                case "message_delta":
                    message["stop_reason"] = event["delta"]["stop_reason"]
                case "message_stop":
                    return message
    raise ValueError("the stream ended in the middle")


def say(**event: Any) -> None:
    """Prints an event."""
    print(json.dumps(event), flush=True)


def converse(
    address: str, prompt: str, servers: dict[str, Server | Daemon], tools: list[str]
) -> str:
    """The reason of the end; prints the answer, tool calls and the model's name as they arrive."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": f"{os.getcwd()}\n{prompt}"}]
    while True:
        message = ask_model(address, messages, tools)
        block = message["content"][0] if message["content"] else {"type": "text", "text": ""}
        if block["type"] == "text":
            say(**START, model=message["model"])
            say(type="answer", text=block["text"])
            return ENDED.get(message["stop_reason"], message["stop_reason"])
        name = block["name"]
        say(type="tool_call", id=block["id"], name=name, input=block["input"])
        _, server, tool = name.split("__")
        try:
            result = servers[server].ask("tools/call", name=tool, arguments=block["input"])
        except OSError as error:
            failed = {"name": server, "status": "failed", "detail": str(error)}
            START["mcp_servers"] = [
                failed if each["name"] == server else each for each in START["mcp_servers"]
            ]
            result = {"isError": True, "content": [{"type": "text", "text": str(error)}]}
        say(type="tool_result", id=block["id"], is_error=result["isError"])
        said = {"type": "tool_result", "tool_use_id": block["id"], "content": result["content"]}
        messages += [{"role": "assistant", "content": [block]}, {"role": "user", "content": [said]}]


ENDED = {"end_turn": "finished", "max_tokens": "limit"}
START: dict[str, Any] = {"type": "start", "agent": "soak", "version": "1"}
"""Printed at the end: the model, and whether the server was still running."""


def main(address: str, prompt_file: str, mcp_file: str) -> None:
    """Answers the prompt, and leaves a process running."""
    subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL, start_new_session=True)
    servers: dict[str, Server | Daemon] = {}
    statuses = []
    tools = []
    for name, entry in json.loads(Path(mcp_file).read_text(encoding="utf-8"))["mcpServers"].items():
        try:
            server: Server | Daemon = Daemon(entry) if "url" in entry else Server(entry)
            server.ask("initialize", protocolVersion="2025-06-18")
            tools += [f"mcp__{name}__{tool['name']}" for tool in server.ask("tools/list")["tools"]]
            servers[name] = server
            statuses.append({"name": name, "status": "connected"})
        except OSError as error:
            statuses.append({"name": name, "status": "failed", "detail": str(error)})
    START.update(tools=tools, mcp_servers=statuses)
    try:
        ended = converse(address, Path(prompt_file).read_text(encoding="utf-8"), servers, tools)
        say(type="end", turns=1, is_error=False, ended=ended)
    except (OSError, ValueError) as error:
        say(**START)
        say(type="end", turns=1, is_error=True, error=str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
