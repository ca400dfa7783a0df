"""The agent with MCP servers: real ones, and ones that do not start."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from retrieval_shop import SCRIPTS, Ask

from lensbench.agents.mcp.tools import OfferedTool, arguments, role
from lensbench_demo.offline.workspace import Workspace
from services import free_port, listening

SERVER = str(Path(__file__).with_name("search_server.py"))
PROMPT = "What breaks when checkout of the cart in src/shop/cart.py changes?"


def entry(shop: Path, log: Path) -> dict[str, Any]:
    return {
        "command": sys.executable,
        "args": ["-P", SERVER, str(shop), str(log)],
        "env": {"PYTHONUTF8": "1"},
    }


def called(log: Path) -> list[list[str]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]


def left_behind(marker: str) -> list[int]:
    return [
        process.pid for process in psutil.process_iter() if marker in " ".join(_command(process))
    ]


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    except psutil.Error:
        return []


@pytest.mark.slow
def test_tools_of_a_stdio_server_are_found_out_and_used(
    ask: Ask, shop: Path, tmp_path: Path
) -> None:
    log = tmp_path / "calls.log"
    run = ask(PROMPT, shop, {"finder": entry(shop, log)})
    assert run.exit_code == 0
    assert run.events[0]["mcp_servers"] == [{"name": "finder", "status": "connected", "detail": ""}]
    assert "mcp__finder__reindex" in run.events[0]["tools"]
    names = [call[0] for call in called(log)]
    assert {"find_code", "file_neighbors"} <= set(names)
    assert "reindex" not in names
    assert "|" in called(log)[names.index("find_code")][1]
    assert ["file_neighbors", str(shop), "src/shop/cart.py"] in called(log)
    assert "mcp__finder__find_code" in run.answer.split("**Tools used**")[1].splitlines()[0]
    assert "`src/shop/cart.py` is imported by 1 file: `src/shop/cli.py`." in run.answer
    assert all((shop / call["path"]).is_file() for call in run.inputs("Read"))
    assert "passwd" not in run.answer
    assert left_behind(str(log)) == []
    assert ask(PROMPT, shop).answer != run.answer


@pytest.mark.slow
def test_the_file_of_the_question_is_looked_up_and_quoted_messages_are_searched(
    ask: Ask, shop: Path, tmp_path: Path
) -> None:
    log = tmp_path / "calls.log"
    (shop / "src" / "shop" / "zz.py").write_text(
        'def pay():\n    raise ValueError("no coins left")\n', "utf-8"
    )
    question = 'Which files import `src/shop/errors.py`, and where is "no coins left" raised?'
    run = ask(question, shop, {"finder": entry(shop, log)})
    calls = {call[0]: call[-1] for call in called(log)}
    assert calls["file_neighbors"] == "src/shop/errors.py"
    assert calls["find_code"].startswith("src/shop/errors.py|")
    assert calls["project_map"] == "project_map"
    assert len(called(log)) == 3
    assert "`src/shop/errors.py` is imported by 1 file: `src/shop/cli.py`." in run.answer
    assert "`src/shop/zz.py:2`, in `pay`" in run.answer


@pytest.mark.slow
def test_local_http_is_used_past_a_proxy_and_a_call_that_fails_is_an_error_event(
    ask: Ask, shop: Path, tmp_path: Path
) -> None:
    (shop / "src/shop/broken.py").write_text("zzz = 1\n" * 9, encoding="utf-8")
    log = tmp_path / "http.log"
    port = free_port()
    with listening([sys.executable, "-P", SERVER, str(shop), str(log), str(port)], port):
        servers = {"finder": {"type": "http", "url": f"http://127.0.0.1:{port}/mcp"}}
        run = ask("What depends on zzz?", shop, servers)
        assert ask("What depends on zzz?", shop, servers).answer == run.answer
    assert run.events[0]["mcp_servers"][0]["status"] == "connected"
    assert "find_code" in [call[0] for call in called(log)]
    errors = [
        event for event in run.events if event.get("is_error") and event["type"] == "tool_result"
    ]
    assert len(errors) == 1
    assert "src/shop/broken.py" in run.answer


@pytest.mark.slow
def test_servers_that_do_not_start_are_named_as_failed_and_leave_nothing(
    ask: Ask, shop: Path, tmp_path: Path
) -> None:
    marker = f"{tmp_path}/marker"
    stubborn = "import signal, sys, time; signal.signal(15, signal.SIG_IGN); time.sleep(300)"
    servers = {
        "misspelt": {"command": "no-such-command-anywhere"},
        "quits": {"command": "/bin/sh", "args": ["-c", "echo no licence >&2; exit 3"]},
        "silent": {"command": "/bin/sh", "args": ["-c", f"sleep 301 & sleep 300 # {marker}"]},
        "stubborn": {"command": sys.executable, "args": ["-c", stubborn, marker]},
        "babbles": {
            "command": "/bin/sh",
            "args": ["-c", "while echo 'not json'; do sleep 0.01; done"],
        },
        "nowhere": {"type": "http", "url": "http://127.0.0.1:9/mcp"},
        "invalid": {"args": []},
        "odd": 7,
    }
    run = ask(PROMPT, shop, servers, "--mcp-start-s", "1.5")
    assert run.exit_code == 0
    assert run.answer.startswith("No language model answered")
    statuses = {entry["name"]: entry for entry in run.events[0]["mcp_servers"]}
    assert {entry["status"] for entry in statuses.values()} == {"failed"}
    assert all(entry["detail"] for entry in statuses.values())
    assert "no-such-command-anywhere" in statuses["misspelt"]["detail"]
    assert "no licence" in statuses["quits"]["detail"]
    assert "not ready in 1.5 s" in statuses["silent"]["detail"]
    assert run.events[0]["tools"] == ["Glob", "Grep", "Read"]
    assert left_behind(marker) == []


@pytest.mark.slow
def test_an_agent_that_is_told_to_stop_takes_its_servers_along(shop: Path, tmp_path: Path) -> None:
    marker = f"{tmp_path}/marker"
    started = tmp_path / "started"
    (tmp_path / "p").write_text("Cart?", encoding="utf-8")
    script = f"touch {started}; sleep 300 # {marker}"
    config = {"mcpServers": {"silent": {"command": "/bin/sh", "args": ["-c", script]}}}
    (tmp_path / "c").write_text(json.dumps(config), encoding="utf-8")
    argv = [
        sys.executable,
        "-P",
        "-m",
        "lensbench_demo.offline",
        "--prompt-file",
        str(tmp_path / "p"),
    ]
    argv += ["--workspace", str(shop), "--mcp-config", str(tmp_path / "c"), "--mcp-start-s", "100"]
    with subprocess.Popen(
        argv, env={**os.environ, "PYTHONPATH": str(SCRIPTS)}, stdout=subprocess.DEVNULL
    ) as process:
        for _ in range(400):
            if started.exists():
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 143
    assert left_behind(marker) == []


def tool(
    name: str,
    properties: dict[str, Any],
    *required: str,
    description: str = "",
    changes: bool = False,
) -> OfferedTool:
    return OfferedTool(
        "s", name, description, {"properties": properties, "required": list(required)}, changes
    )


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (tool("grep", {"repoPath": TEXT, "query": TEXT}, "repoPath", "query"), "search"),
        (tool("near", {"path": TEXT}, "path"), "neighbourhood"),
        (tool("dependency_graph", {"dir": TEXT}), "overview"),
        (tool("reindex", {"query": TEXT}, "query"), None),
        (tool("write_file", {"path": TEXT}, "path"), None),
        (tool("updateMap", {}), None),
        (tool("remember", {"query": TEXT}, "query", changes=True), None),
        (tool("ast", {"pattern": TEXT, "language": TEXT}, "pattern", "language"), None),
        (tool("by_number", {"query": {"type": "integer"}}, "query"), None),
        (tool("ping", {}), None),
        (OfferedTool("s", "odd", "", {"properties": {}, "required": "query"}, False), None),
    ],
)
def test_a_tool_is_known_by_its_schema(offered: OfferedTool, expected: str | None) -> None:
    assert role(offered) == expected


def test_a_required_root_and_a_limit_are_given_as_a_tool_wants_them() -> None:
    offered = tool("grep", {"root": TEXT, "query": TEXT, "limit": {"maximum": 5}}, "root", "query")
    assert arguments(offered, "cart", "/w") == {"root": "/w", "query": "cart", "limit": 5}


def test_only_files_of_the_workspace_are_taken_from_results(shop: Path) -> None:
    workspace = Workspace(str(shop))
    text = f"see src/shop/cli.py:4, ../../etc/passwd, /etc/passwd, src/../../x and {shop}/src/shop/cart.py."
    assert workspace.named_in(text) == ["src/shop/cli.py", "src/shop/cart.py"]
    assert workspace.named_in("[" * 100_000) == []
    assert workspace.named_in("a.b-" * 100_000) == []
