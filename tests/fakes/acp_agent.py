"""An agent that speaks the Agent Client Protocol as a test's script says: `acp_agent.py '<json>'`.

The script is a list: an update, a question for permission (`ask`: its kind), a request (`request`), a message to a server
(`server`), a wait for the client (`wait`), or how the prompt ends (`stop`, `error`, `exit`). `heard.jsonl` in HOME has what the client sent.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

HEARD = Path(os.environ["HOME"], "heard.jsonl")
OPTIONS = [
    {"optionId": f"id-{kind}", "name": kind, "kind": kind}
    for kind in ("allow_always", "allow_once", "reject_once")
]


def send(**message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def receive() -> dict[str, Any]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    with open(HEARD, "a", encoding="utf-8") as file:
        file.write(line)
    message: dict[str, Any] = json.loads(line)
    return message


def talk_to_servers(entries: list[dict[str, Any]], messages: list[dict[str, Any]]) -> None:
    for entry in entries:
        env = os.environ | {one["name"]: one["value"] for one in entry["env"]}
        command = [entry["command"], *entry["args"]]
        pipe = subprocess.PIPE
        with subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, text=True) as server:
            for message in messages:
                print(json.dumps(message), file=server.stdin, flush=True)
                server.stdout.readline()  # type: ignore[union-attr]
            server.stdin.close()  # type: ignore[union-attr]


def act(step: dict[str, Any], key: Any, servers: list[dict[str, Any]]) -> None:
    match step:
        case {"ask": kind}:
            call = {"toolCallId": "t", "kind": kind}
            params = {"sessionId": "s", "toolCall": call, "options": OPTIONS}
            send(id="p", method="session/request_permission", params=params)
            receive()
        case {"request": method}:
            send(id="r", method=method, params={"path": "/etc/passwd"})
            receive()
        case {"server": messages}:
            talk_to_servers(servers, messages)
        case {"print": text}:
            print(text, flush=True)
        case {"stop": reason, **more}:
            send(id=key, result={"stopReason": reason, **more})
        case {"error": error}:
            send(id=key, error=error)
        case {"exit": code}:
            os._exit(code)
        case {"wait": _}:
            receive()
        case _:
            send(method="session/update", params={"sessionId": "s", "update": step})


def main(script: list[dict[str, Any]], session: dict[str, Any]) -> None:
    servers: list[dict[str, Any]] = []
    while True:
        message = receive()
        key = message.get("id")
        params = message.get("params", {})
        match message.get("method"):
            case "initialize":
                about = {"name": "fake", "version": "1.2.3"}
                send(id=key, result={"protocolVersion": 1, "agentInfo": about})
            case "session/new":
                servers = params["mcpServers"]
                send(
                    id=key,
                    **({"error": session["error"]} if "error" in session else {"result": session}),
                )
            case "session/prompt":
                for step in script:
                    act(step, key, servers)
            case _ if "method" in message and key is not None:
                send(id=key, result={})


if __name__ == "__main__":
    main(*map(json.loads, sys.argv[1:3]))
