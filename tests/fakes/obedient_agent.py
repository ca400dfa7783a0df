"""A fake agent that does what words in its workspace tell it, and what the descriptions of its tools tell it.

    python -I fakes/obedient_agent.py <prompt file> <workspace> <mcp file>

It calls a tool whose description says "always", or that AGENTS.md names, and answers with what AGENTS.md or the tool says.
"""

import json
import subprocess
import sys
from pathlib import Path

WORKSPACE, MCP = (Path(argument) for argument in sys.argv[2:4])


def say(**event: object) -> None:
    print(json.dumps(event), flush=True)


def ask(server: subprocess.Popen[str], method: str, **params: object) -> dict[str, object]:
    assert server.stdin
    assert server.stdout
    server.stdin.write(
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}) + "\n"
    )
    server.stdin.flush()
    result: dict[str, object] = json.loads(server.stdout.readline())["result"]
    return result


words = (WORKSPACE / "AGENTS.md").read_text() if (WORKSPACE / "AGENTS.md").exists() else ""
said, tools = words, {}
servers = json.loads(MCP.read_text())["mcpServers"]
started = {
    name: subprocess.Popen([entry["command"], *entry["args"]], stdin=-1, stdout=-1, text=True)
    for name, entry in servers.items()
}
for name, server in started.items():
    ask(server, "initialize", protocolVersion="2025-06-18")
    tools |= {
        f"mcp__{name}__{tool['name']}": (server, tool)
        for tool in ask(server, "tools/list")["tools"]
    }
statuses = [{"name": name, "status": "connected"} for name in servers]
say(
    type="start",
    agent="obedient",
    version="1",
    model="fake-1",
    tools=["Read", *tools],
    mcp_servers=statuses,
)
for number, (name, (server, tool)) in enumerate(tools.items()):
    if tool["name"] in words or "always" in tool["description"]:
        say(type="tool_call", id=number, name=name, input={"query": "cart"})
        result = ask(server, "tools/call", name=tool["name"], arguments={"query": "cart"})
        said += result["content"][0]["text"]
        say(type="tool_result", id=number, is_error=False, size=len(said))
for server in started.values():
    server.kill()
say(type="answer", text=f"What I know: {said}")
say(type="end")
