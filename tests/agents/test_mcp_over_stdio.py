"""Servers over stdio, asked by our own client: what they say out of turn, late, or never."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lensbench.agents.mcp import client
from lensbench.agents.mcp.client import Result, ServerEntry, Servers

SERVER = """
import json, os, sys, time

TOOL = {"name": "find", "inputSchema": {"type": "object"}}

def say(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def greet(request):
    asked = request["params"]["protocolVersion"]
    about = {"name": "fake", "version": "7"}
    result = {"protocolVersion": asked, "capabilities": {}, "serverInfo": about, "instructions": "Ask."}
    say(id=request["id"], result=result)

def text(request, words):
    say(id=request["id"], result={"content": [{"type": "text", "text": words}]})

def lists(request):
    say(id=request["id"], result={"tools": [TOOL]})

def calls(request):
    text(request, "found")

OTHERS

for line in sys.stdin:
    request = json.loads(line)
    act = {"initialize": greet, "tools/list": lists, "tools/call": calls}.get(request.get("method"))
    if act:
        act(request)
"""
Serve = Callable[[str], Servers]


@pytest.fixture
def serve(tmp_path: Path) -> Serve:
    """Makes a server which differs from the one above by the given functions."""

    def made(others: str = "", start_s: float = 20.0) -> Servers:
        (tmp_path / "server.py").write_text(SERVER.replace("OTHERS", others), encoding="utf-8")
        entry = ServerEntry((sys.executable, "server.py"))
        return Servers({"fake": entry}, str(tmp_path), start_s)

    return made


def answer(servers: Servers) -> Result:
    return servers.call(servers.tools[0], {"query": "cart"})


def test_a_server_is_connected_with_its_tools_version_and_instructions(serve: Serve) -> None:
    with serve("") as servers:
        status = servers.statuses[0]
        assert (status.connected, status.detail, status.fault) == (True, "", "")
        assert (status.version, status.instructions) == ("7", "Ask.")
        assert [tool.full_name for tool in servers.tools] == ["mcp__fake__find"]
        assert answer(servers) == Result("found", is_error=False)


def test_what_a_server_asks_in_the_middle_of_a_call_is_answered(serve: Serve) -> None:
    asks = """
def calls(request):
    say(id="p", method="ping")
    pong = json.loads(sys.stdin.readline())
    say(id="r", method="roots/list")
    refusal = json.loads(sys.stdin.readline())
    text(request, json.dumps([pong, refusal]))
"""
    with serve(asks) as servers:
        pong, refusal = json.loads(answer(servers).text)
    assert (pong["id"], pong["result"]) == ("p", {})
    assert (refusal["id"], refusal["error"]["code"]) == ("r", -32601)


def test_notifications_and_lines_that_are_no_messages_are_skipped(serve: Serve) -> None:
    chatty = """
def calls(request):
    print("loading 3 models", flush=True)
    say(method="notifications/message", params={"data": "hm"})
    print("[1, 2]", flush=True)
    text(request, "found")
"""
    with serve(chatty) as servers:
        assert answer(servers).text == "found"
        assert "other text than protocol messages" in servers.statuses[0].fault
        assert "'loading 3 models'" in servers.statuses[0].fault


def test_a_late_reply_is_not_taken_for_that_of_the_next_request(serve: Serve) -> None:
    late = """
def calls(request):
    say(id=request["id"] - 1, result={"content": [{"type": "text", "text": "old"}]})
    text(request, "new")
"""
    with serve(late) as servers:
        assert answer(servers).text == "new"


def test_a_server_that_does_not_answer_a_call_is_not_called_again(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "CALL_SECONDS", 0.2)
    with serve("def calls(request): pass") as servers:
        assert answer(servers) == Result("no answer in 0.2 s", is_error=True)
        monkeypatch.setattr(client, "CALL_SECONDS", 60)
        assert answer(servers) == Result("the server did not answer an earlier call", is_error=True)


def test_a_server_that_ends_in_a_call_is_an_error_now_and_later(serve: Serve) -> None:
    with serve("def calls(request): os._exit(3)") as servers:
        assert answer(servers) == Result("the server ended in this call", is_error=True)
        assert answer(servers) == Result("the server ended in this call", is_error=True)


def test_an_error_of_the_server_is_shown_in_its_words(serve: Serve) -> None:
    refuses = """
def calls(request):
    say(id=request["id"], error={"code": -32602, "message": "no such file"})
"""
    with serve(refuses) as servers:
        assert answer(servers) == Result("MCPError: no such file", is_error=True)


@pytest.mark.parametrize(
    ("others", "detail"),
    [
        ("sys.exit('no index here')", "it ended. no index here"),
        ("time.sleep(60)", "not ready in 0.5 s (agent.mcp_start_s)"),
        (
            "def greet(request): say(id=request['id'], result={'protocolVersion': '1'})",
            "its answer is no InitializeResult of MCP: capabilities is missing",
        ),
        (
            "def lists(request): say(id=request['id'], error={'message': 'not now'})",
            "MCPError: not now",
        ),
    ],
    ids=["it ends", "it sleeps", "a greeting without capabilities", "an error for its list"],
)
def test_a_server_that_does_not_start_says_why(serve: Serve, others: str, detail: str) -> None:
    limit = 0.5 if "sleep" in others else 20.0
    with serve(others, limit) as servers:
        assert (servers.statuses[0].connected, servers.statuses[0].detail) == (False, detail)
        assert servers.tools == ()


def test_all_pages_of_a_list_are_read_and_pages_without_an_end_are_a_fault(serve: Serve) -> None:
    pages = """
def lists(request):
    page = int(request["params"].get("cursor") or 0)
    more = {"nextCursor": str(page + 1)} if page < LAST else {}
    tool = {**TOOL, "name": f"find{min(page, 2)}"}
    say(id=request["id"], result={"tools": [tool], **more})
"""
    with serve("LAST = 2" + pages) as servers:
        assert [tool.name for tool in servers.tools] == ["find0", "find1", "find2"]
        assert servers.statuses[0].fault == ""
    with serve("LAST = 10**9" + pages) as servers:
        assert [tool.name for tool in servers.tools] == ["find0", "find1", "find2"]
        assert "never ends" in servers.statuses[0].fault


def test_a_server_ends_with_its_input_and_has_time_to_save(serve: Serve, tmp_path: Path) -> None:
    saves = """
import atexit, pathlib
def save():
    time.sleep(0.3)
    pathlib.Path("saved").write_text("yes")
atexit.register(save)
"""
    with serve(saves):
        pass
    assert (tmp_path / "saved").read_text(encoding="utf-8") == "yes"


def test_a_program_that_is_not_there_is_named(tmp_path: Path) -> None:
    with Servers({"fake": ServerEntry(("no-such-program",))}, str(tmp_path), 5) as servers:
        assert "no-such-program" in servers.statuses[0].detail
