"""Calls to a server by its address, past its tools, in the transcripts of several kinds of agents."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.agents.reach import Host, hosts_in
from lensbench.runs.foreign_servers import direct_calls, foreign_hosts

ROWS = yaml.safe_load(Path(__file__).with_name("direct_calls.yaml").read_text(encoding="utf-8"))


LOCAL = hosts_in(["http://127.0.0.1:7341/mcp"])
REMOTE = hosts_in(["https://lens.example.com/mcp"])


def events(tool: str, **given: Any) -> list[str]:
    return [json.dumps({"type": "tool_call", "id": 1, "name": tool, "input": given})]


CLIENTS = [
    "curl",
    "wget",
    "nc",
    "ncat",
    "netcat",
    "telnet",
    "socat",
    "xh",
    "httpie",
    "urllib",
    "urllib3",
    "urlopen",
    "requests",
    "httpx",
    "aiohttp",
    "websocket",
    "websockets",
    "http.client",
    "httplib",
    "socket",
    "createConnection",
    "streamablehttp_client",
    "sse_client",
    "fetch",
    "webfetch",
    "web_fetch",
    "browser",
    "navigate",
    "lwp",
    "faraday",
    "axios",
    "invoke-webrequest",
    "mcp-remote",
]


def shell(command: str) -> list[str]:
    return events("Bash", command=command)


@pytest.mark.parametrize(
    "command",
    [
        "curl -s http://127.0.0.1:7341/mcp -d '{}'",
        "curl localhost:7341/mcp",
        "wget -qO- http://[::1]:7341/",
        "curl http://host.docker.internal:7341",
        "curl http://0.0.0.0:7341",
        "curl http://127.1:7341",
        "curl http://$(hostname):7341/mcp",
        "curl http://2130706433:7341",
        "nc localhost 7341",
        "exec 3<>/dev/tcp/127.0.0.1/7341",
        "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", 7341))'",
        "python call.py http://localhost:7341/mcp",
        "node -e 'fetch(`http://localhost:${7341}/mcp`)'",
        "PORT=7341; curl http://localhost:$PORT/mcp",
        "cd /repo && curl localhost:7341",
        *(f"{name} localhost:7341" for name in CLIENTS),
    ],
)
def test_a_command_that_goes_to_the_server_is_found_by_any_of_its_names(command: str) -> None:
    assert len(direct_calls(shell(command), LOCAL)) == 1


@pytest.mark.parametrize(
    "command",
    [
        "grep -rn 'localhost:7341' .",
        "rg 'curl http://127.0.0.1:7341' docs",
        "cat config.yaml; sed -n 7341p big.txt",
        "python -c 'print(text[:7341])'",
        "curl http://localhost:73410/",
        "curl http://127.0.0.1:8000/",
        "git fetch origin && git log",
        "curl https://lens.example.com.evil.org/",
        "ls",
    ],
)
def test_a_search_for_the_address_and_other_addresses_are_none(command: str) -> None:
    assert direct_calls(shell(command), [*LOCAL, *REMOTE]) == []


def test_a_server_elsewhere_is_known_by_its_name_and_a_script_that_calls_it_is_found() -> None:
    assert direct_calls(shell("curl https://LENS.example.com/mcp"), REMOTE)
    assert direct_calls(events("WebFetch", url="https://lens.example.com/mcp", prompt="x"), REMOTE)
    for common in ("http://localhost/mcp", "https://localhost/mcp"):
        assert not direct_calls(
            shell("curl -m 80 -r 443 http://other.example.com/"), hosts_in([common])
        )
    assert not direct_calls(events("Grep", pattern="lens.example.com"), REMOTE)
    assert direct_calls(events("Bash", command="ls; curl localhost:7341", timeout=5000), LOCAL)
    assert not direct_calls(events("WebFetch", url="https://other.example.com/"), REMOTE)
    script = "import urllib.request\nurllib.request.urlopen('http://localhost:7341/mcp')\n"
    assert direct_calls(events("Write", file_path="x.py", content=script), LOCAL)


@pytest.mark.parametrize("event", ROWS, ids=["claude-code", "codex", "gemini", "opencode"])
def test_all_kinds_of_agents_are_read(event: dict[str, Any]) -> None:
    assert len(direct_calls([json.dumps(event)], LOCAL)) == 1


def test_the_servers_of_other_conditions_alone_are_foreign(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENS_PORT", "7341")
    entries = {
        "a": {
            "lens": {"type": "http", "url": "http://localhost:${LENS_PORT}/mcp"},
            "both": {"url": "http://both:1/"},
        },
        "b": {
            "other": {"command": "npx", "args": ["mcp-remote", "https://b.example.com"]},
            "x": {"url": "http://both:1"},
        },
    }
    for name, servers in entries.items():
        (tmp_path / f"{name}.json").write_text(json.dumps({"mcpServers": servers}))
    conditions: dict[str, Any] = {name: {"mcp": str(tmp_path / f"{name}.json")} for name in entries}
    plan = {"conditions": {"without": {"mcp": None}, **conditions}}
    assert foreign_hosts(plan, "a") == [Host("b.example.com", 443)]
    assert (foreign_hosts(plan, "b"), len(foreign_hosts(plan, "without"))) == (
        [Host("localhost", 7341)],
        3,
    )
