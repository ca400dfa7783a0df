"""MCP servers with a known worth, and an agent that believes them; both import little, as they start a thousand times.

    python -IS planted.py serve MEMBER                              the server, over stdio
    python -IS planted.py ask SEED PROMPT_FILE WORKSPACE MCP_FILE   the agent: it prints the events of docs/events.md

A task asks for five facts, each a file. Two are in the workspace, and nobody knows the last one. The agent asks each
server once, believes nearly all that it is told, and states nearly all that it believes. It pays for each tool that is
listed, as for those of a model's request.
"""

import json
import subprocess
import sys
from random import Random

FACTS = ("class", "test", "cause", "caller", "history")
READ = FACTS[:2]
TELLS = {
    "needed": {"cause": "cause"},
    "misleading": {"class": "wrong", "test": "wrong"},
    "idle": {"weather": "fine"},
    "twin": {"caller": "caller"},
    "other-twin": {"caller": "caller"},
}
"""Member -> what its server says of each fact: the beginning of a file's name."""
TOOLS = {"idle": 30}
"""How many tools a server lists, of 90 tokens each; the others list one."""
TOOL = {
    "description": "Tells about a task. " + "It is fast. " * 22,
    "inputSchema": {
        "type": "object",
        "properties": {"task": {"type": "string"}},
    },
}
BELIEVED = 0.95
NOISE = 0.2
"""The standard deviation of the logarithm of a run's cost."""
PRICE = 3e-6
REQUEST = 4000
"""Tokens of a request without servers."""


def result(member: str, method: str, params: dict) -> dict:
    """What a server answers to a request."""
    if method == "initialize":
        version = params["protocolVersion"]
        return {
            "protocolVersion": version,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": member, "version": "1"},
        }
    if method == "tools/list":
        tools = []
        for number in range(TOOLS.get(member, 1)):
            tools.append({**TOOL, "name": f"tell_{number}"})
        return {"tools": tools}
    if method != "tools/call":
        return {}
    task = params["arguments"]["task"]
    text = "\n".join(f"{fact}: src/{said}_{task}.py" for fact, said in TELLS[member].items())
    return {"content": [{"type": "text", "text": text}]}


def serve(member: str) -> None:
    for line in sys.stdin:
        request = json.loads(line)
        if "id" in request:
            said = result(member, request["method"], request.get("params", {}))
            reply = {"jsonrpc": "2.0", "id": request["id"], "result": said}
            print(json.dumps(reply), flush=True)


class Client:
    """A server that the agent has started."""

    def __init__(self, entry: dict) -> None:
        command = [entry["command"], *entry["args"]]
        self.process = subprocess.Popen(command, stdin=-1, stdout=-1, encoding="utf-8")
        self.request("initialize", protocolVersion="2025-06-18")

    def request(self, method: str, **params: object) -> dict:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        print(json.dumps(message), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())["result"]


def say(kind: str, **event: object) -> None:
    print(json.dumps({"type": kind, **event}), flush=True)


def facts_in(text: str) -> dict:
    return dict(line.split(": ") for line in text.splitlines())


def ask(seed: str, prompt_file: str, workspace: str, mcp_file: str) -> None:
    with open(prompt_file, encoding="utf-8") as file:
        task = file.read().split()[1].strip(":")
    servers = {}
    with open(mcp_file, encoding="utf-8") as file:
        for name, entry in json.load(file)["mcpServers"].items():
            servers[name] = Client(entry)
    chance = Random(f"{seed} {task} {[*servers]}")
    offered = ["Read"]
    tokens = REQUEST
    for name, server in servers.items():
        tools = server.request("tools/list")["tools"]
        tokens += len(json.dumps(tools)) // 4
        offered += [f"mcp__{name}__{tool['name']}" for tool in tools]
    states = [{"name": name, "status": "connected"} for name in servers]
    say(
        "start",
        agent="planted",
        version="1",
        model="m",
        tools=offered,
        mcp_servers=states,
    )
    path = f"src/{task}.py"
    say("tool_call", id=1, name="Read", input={"path": path})
    with open(f"{workspace}/{path}", encoding="utf-8") as file:
        known = facts_in(file.read())
    say("tool_result", id=1, is_error=False, size=60, path=path)
    for name, server in servers.items():
        say("tool_call", id=name, name=f"mcp__{name}__tell_0", input={"task": task})
        told = server.request("tools/call", name="tell_0", arguments={"task": task})
        text = told["content"][0]["text"]
        say("tool_result", id=name, is_error=False, size=len(text), text=text)
        for fact, said in facts_in(text).items():
            if fact not in known or chance.random() < BELIEVED:
                known[fact] = said
        server.process.kill()
    stated = [fact for fact in FACTS if fact in known and chance.random() < BELIEVED]
    say("answer", text="\n".join(f"The {fact} is in {known[fact]}." for fact in stated))
    cost = tokens * PRICE * chance.lognormvariate(0, NOISE)
    say(
        "end",
        is_error=False,
        cost_usd=round(cost, 6),
        tokens={"input": tokens, "output": 100},
    )


if __name__ == "__main__":
    {"serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
