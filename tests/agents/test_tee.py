"""The tee: what passes through it, what it notes, and what becomes of runs whose agent leaves a server out."""

import gzip
import hashlib
import http.client
import http.server
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from live_agents import CLIS, KEY, LENS, Cli, one_search
from live_agents import ask as start_cli
from other_clis import assignment
from test_sandbox import AUTO, bubblewrap, make_place

from lensbench.agents.sandbox import NO_SANDBOX, find_sandbox
from lensbench.agents.start import AgentReply, start_agent
from lensbench.agents.taps import forwarder, read_taps
from lensbench.agents.tee import before
from lensbench.core.records import Tap
from lensbench.core.system.redaction import Redactor
from lensbench.runs.first_requests import steady
from lensbench.runs.reasons import Expectation, reason_of

FAKES = Path(__file__).parents[1] / "fakes"
SERVER = [sys.executable, "-I", str(FAKES / "stdio_mcp_server.py")]
GREET = {"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}
LIST: dict[str, Any] = {"id": 1, "method": "tools/list"}


def call(key: int, tool: str = "find", query: str = "cart") -> dict[str, Any]:
    return {
        "id": key,
        "method": "tools/call",
        "params": {"name": tool, "arguments": {"query": query}},
    }


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps({"jsonrpc": "2.0", **one}).encode() + b"\n" for one in messages)


def through(tmp_path: Path, command: list[str], given: bytes) -> subprocess.CompletedProcess[bytes]:
    argv = before(command, str(tmp_path / "taps.jsonl"), "lens")
    return subprocess.run(argv, input=given, capture_output=True, timeout=120)


def rows(tmp_path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (tmp_path / "taps.jsonl").read_text().splitlines()]


def tap_of(tmp_path: Path) -> Tap:
    return read_taps((tmp_path / "taps.jsonl").read_text(), ["lens"])["lens"]


FLOOD = 'import sys; [sys.stdout.write(\'{"method":"notifications/x"}\\n\') for _ in range(200000)]'
LARGE = (
    "import json,sys; sys.stdin.readline();"
    "print(json.dumps({'id': 1, 'result': {'content': [{'type': 'text', 'text': 'x' * 10**7}]}}))"
)
HALF = "import sys; sys.stdout.write('{\"id\": 1'); sys.stdout.flush(); sys.stderr.write('bye')"


@pytest.mark.parametrize(
    "command",
    [
        ["cat"],
        ["true"],
        ["sh", "-c", "head -c 1000; exec >&-; sleep 0.2; exit 5"],
        ["sh", "-c", "kill -SEGV $$"],
        [sys.executable, "-c", FLOOD],
        [sys.executable, "-c", LARGE],
        [sys.executable, "-c", HALF],
        SERVER,
        [
            "sh",
            "-c",
            "trap '' PIPE; env | sort; ulimit -a; ps -o ppid= -p $$ >/dev/null; echo $0 >&2",
        ],
        [
            sys.executable,
            "-c",
            "import signal; print(open('/proc/self/status').read().split('SigIgn')[1][:20])",
        ],
    ],
)
@pytest.mark.parametrize("given", ["messages", "rubbish"])
def test_output_errors_and_exit_code_are_those_without_it(
    tmp_path: Path, command: list[str], given: str
) -> None:
    sent = lines(GREET, LIST, call(2), call(3, query="fail"))
    if given == "rubbish":
        sent = os.urandom(3_000_000) + b"\n[[[\n{}\n[1, null]\n" + b"[" * 100_000 + b"\n"
    bare = subprocess.run(command, input=sent, capture_output=True, timeout=120)
    teed = through(tmp_path, command, sent)
    assert (teed.returncode, teed.stderr) == (bare.returncode, bare.stderr)
    assert hashlib.sha256(teed.stdout).digest() == hashlib.sha256(bare.stdout).digest()
    assert len((tmp_path / "taps.jsonl").read_bytes()) < 4_000_000


def test_messages_pass_where_nothing_can_be_noted() -> None:
    sent = lines(GREET, LIST)
    done = subprocess.run(before(["cat"], "/dev/full", "lens"), input=sent, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, sent, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL, signal.SIGUSR1])
def test_a_signal_reaches_the_server_which_has_the_process_id(tmp_path: Path, number: int) -> None:
    ends = (
        "import os,signal,sys,time\n"
        "for n in (signal.SIGTERM, signal.SIGINT): signal.signal(n, lambda n, f: (print('got', n), sys.exit(9)))\n"
        "print(os.getpid(), flush=True); time.sleep(60)"
    )
    found = []
    for argv in (
        [sys.executable, "-c", ends],
        before([sys.executable, "-c", ends], str(tmp_path / "t"), "lens"),
    ):
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert process.stdout is not None
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(number)
        found.append((process.stdout.read(), process.wait(30)))
    assert found[0] == found[1]


def test_a_program_that_is_not_there_is_named_on_standard_error(tmp_path: Path) -> None:
    done = through(tmp_path, ["no-such-program"], b"")
    assert (done.returncode, done.stdout) == (127, b"")
    assert done.stderr == b"no-such-program: No such file or directory\n"


def test_the_verb_passes_messages_and_explains_itself(tmp_path: Path) -> None:
    verb = [sys.executable, "-P", "-m", "lensbench", "tee"]
    done = subprocess.run([*verb, "--", "cat"], input=b"{}\n", capture_output=True, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"{}\n", b"")
    assert {row["server"] for row in rows(tmp_path)} == {"cat"}
    assert subprocess.run([*verb, "--help"], capture_output=True).stdout.startswith(b"usage: lens")
    for wrong in ([], ["--"], ["--to", "--", "cat"], ["--too", "x", "--", "cat"]):
        done = subprocess.run([*verb, *wrong], capture_output=True, cwd=tmp_path)
        assert done.returncode == 2
        assert b"`lensbench tee --help` shows the options" in done.stderr
    done = subprocess.run([*verb, "--to", "/no/x", "--", "cat"], capture_output=True)
    assert done.stderr == b"/no/x: No such file or directory; name another file with --to\n"


def test_other_words_change_two_answers_and_nothing_else(tmp_path: Path) -> None:
    words = {"lens": {"instructions": "Call it.", "tools": {"find": "Finds é.", "none": "x"}}}
    (tmp_path / "words.json").write_text(json.dumps(words))
    sent = lines(GREET, LIST, call(2), call(3, query="fail")) + b"[[[\n"
    bare = subprocess.run(SERVER, input=lines(GREET, LIST, call(2)), capture_output=True).stdout
    found = []
    for name in ("lens", "other"):
        argv = before(["cat"], str(tmp_path / "t"), name, str(tmp_path / "words.json"))
        done = subprocess.run(argv, input=bare + sent + b"half", capture_output=True, timeout=60)
        found.append(done.stdout)
    assert found[1] == bare + sent + b"half"
    old, new = (out.split(b"\n") for out in (found[1], found[0]))
    assert [place for place in range(len(old)) if old[place] != new[place]] == [0, 1]
    greeting, listing = (json.loads(line)["result"] for line in new[:2])
    assert greeting == {**json.loads(old[0])["result"], "instructions": "Call it."}
    tools = json.loads(old[1])["result"]["tools"]
    assert listing == {"tools": [{**tools[0], "description": "Finds é."}, tools[1]]}


def test_a_text_in_a_result_is_no_description(tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text(json.dumps({"lens": {"tools": {"find": "New."}}}))
    tool = {"name": "find", "description": "Old."}
    result = {"content": [], "tools": [tool], "structuredContent": {"tools": [tool]}}
    sent = lines({"id": 1, "result": result}, {"id": 2, "result": {"tools": [tool]}})
    argv = before(["cat"], str(tmp_path / "t"), "lens", str(tmp_path / "words.json"))
    first, second = subprocess.run(argv, input=sent, capture_output=True).stdout.splitlines()
    assert first == sent.splitlines()[0]
    assert json.loads(second)["result"]["tools"][0]["description"] == "New."


def test_a_tool_that_the_agent_leaves_out_was_not_offered(tmp_path: Path) -> None:
    through(tmp_path, SERVER, lines(GREET, LIST, call(2, "crash")))
    notes = (tmp_path / "taps.jsonl").read_text()
    tap = read_taps(notes, ["lens"], excluded=["mcp__lens__crash"])["lens"]
    assert tap.offered == ("mcp__lens__find",)
    assert [one.name for one in tap.calls] == ["mcp__lens__crash"]


def test_the_messages_of_a_session_are_noted(tmp_path: Path) -> None:
    through(tmp_path, SERVER, lines(GREET, LIST, call(2), call(3, query="fail"), call(4, "crash")))
    noted = [(row["direction"], row["method"], row.get("tool", "")) for row in rows(tmp_path)]
    assert noted[0] == ("", "start", "")
    assert noted[-1] == ("", "end", "")
    assert ("from_server", "tools/call", "find") in noted
    failed = [row for row in rows(tmp_path) if row.get("error")]
    assert [(row["tool"], row["error"]) for row in failed] == [
        ("find", "found fail in src/cart.py:3")
    ]
    assert all(row["ms"] >= 0 for row in rows(tmp_path) if row["direction"] == "from_server")
    tap = tap_of(tmp_path)
    assert tap.offered == ("mcp__lens__find", "mcp__lens__crash")
    assert [(one.name, one.count, one.errors) for one in tap.calls] == [
        ("mcp__lens__crash", 1, 1),
        ("mcp__lens__find", 2, 1),
    ]
    assert tap.calls[1].tokens == 12  # 27 and 26 bytes, each alone
    assert not tap.has_failed


@pytest.mark.parametrize(
    ("command", "asked", "offered", "has_failed"),
    [
        (SERVER, [], None, False),
        (SERVER, [GREET], None, False),
        ([*SERVER, "--lists", "0"], [GREET, LIST], (), False),
        (["sh", "-c", "read line; exit 1"], [GREET], None, True),
        (["sh", "-c", "read line; echo rubbish"], [GREET, LIST], None, True),
    ],
)
def test_what_a_server_was_asked_for_and_whether_it_failed(
    tmp_path: Path, command: list[str], asked: list[Any], offered: Any, has_failed: bool
) -> None:
    through(tmp_path, command, lines(*asked))
    assert (tap_of(tmp_path).offered, tap_of(tmp_path).has_failed) == (offered, has_failed)


def test_lines_that_a_server_writes_into_the_notes_do_no_harm() -> None:
    planted = ["", "x", "[]", '{"server": "lens"}', '{"server": ["lens"]}', "[" * 10**5]
    planted += [
        '{"server": "lens", "direction": "from_server", "error": "", "method": "tools/list", "tools": 1}'
    ]
    assert read_taps("\n".join(planted), ["lens"]) == {"lens": Tap()}


def ask(folder: Path, code: str, server: Any, sandbox: Any = None, **settings: Any) -> AgentReply:
    """The start of an agent that is a Python program, which gets the MCP file as its argument."""
    place = make_place(folder, sandbox) if sandbox else make_place(folder, NO_SANDBOX)
    (folder / "session" / "home" / "tmp").mkdir(parents=True)
    servers = {"lens": server} if server else {}
    command = (sys.executable, "-c", code, "{mcp_file}")
    run = assignment(folder, treatment=False, kind="command", command=command, **settings)
    session = f"{place.private}/session"
    changed: Any = {
        "mcp_servers": servers,
        "servers": tuple(servers),
        "mcp_file": place.inside(f"{session}/mcp.json"),
        "workspace": place.inside(f"{place.private}/repo"),
        "home": place.inside(f"{session}/home"),
    }
    (folder / "session" / "mcp.json").write_text(json.dumps({"mcpServers": servers}))
    said = start_agent(replace(run, **changed), place, 60, Redactor(["KEY"], {"KEY": "found cart"}))
    assert json.loads((folder / "session" / "mcp.json").read_text()) == {"mcpServers": servers}
    return said


STDIO_CLIENT = """
import json, subprocess, sys
entry = json.load(open(sys.argv[1]))["mcpServers"].get("lens")
if entry:
    argv = [entry["command"], *entry["args"]]
    server = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for message in MESSAGES:
        print(json.dumps(message), file=server.stdin, flush=True)
        server.stdout.readline()
print("It is in src/cart.py.")
"""
ENTRY = {"command": sys.executable, "args": SERVER[1:]}


def client(*messages: dict[str, Any]) -> str:
    return STDIO_CLIENT.replace("MESSAGES", repr(list(messages)))


@pytest.mark.parametrize("sandbox", [None, pytest.param(AUTO, marks=bubblewrap)])
@pytest.mark.parametrize(
    ("messages", "reason"),
    [
        ((GREET, LIST, call(2)), ("", "")),
        ((GREET,), ("mcp_not_offered", "no tool of lens")),
        ((), ("mcp_not_offered", "no tool of lens")),
    ],
)
def test_an_agent_that_silently_drops_its_server_is_discarded(
    tmp_path: Path, messages: Any, reason: tuple[str, str], sandbox: Any
) -> None:
    said = ask(tmp_path, client(*messages), ENTRY, find_sandbox(sandbox) if sandbox else None)
    assert said.answer == "It is in src/cart.py.\n"
    assert reason_of(said, Expectation(["lens"], [])) == reason
    assert (said.outcome.calls, said.outcome.tools_offered) == (None, None)
    called = [(one.name, one.count, one.errors) for one in said.seen.calls or ()]
    assert called == ([("mcp__lens__find", 1, 0)] if len(messages) == 3 else [])
    assert "found cart" not in said.tap_lines


def test_a_server_that_ends_before_it_answers_is_one_that_failed(tmp_path: Path) -> None:
    said = ask(tmp_path, client(GREET), {"command": "sh", "args": ["-c", "read line; exit 3"]})
    assert reason_of(said, Expectation(["lens"], []))[0] == "mcp_failed"


@pytest.mark.parametrize(("server", "settings"), [(None, {}), (ENTRY, {"tee": False})])
def test_without_a_server_or_a_tee_calls_are_not_shown(
    tmp_path: Path, server: Any, settings: dict[str, Any]
) -> None:
    said = ask(tmp_path, client(), server, **settings)
    assert (said.taps, said.seen.calls, said.seen.tools_offered) == (None, None, None)
    assert reason_of(said, Expectation(["lens"], [])) == ("", "")


@pytest.mark.live
@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_the_first_request_of_a_program_is_the_same_with_it_and_without(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIVE_TEST_KEY", KEY)
    rules = one_search("It is in src/cart.py.")
    first: list[Any] = []
    outcomes = []
    for name, has_tee in (("a", False), ("b", True)):
        ran = start_cli(cli, tmp_path / name, rules, LENS, tee=has_tee)
        body = json.dumps(ran.fake.bodies[0]).replace(str(tmp_path / name), "/run")
        first.append(steady(body, cli.kind))
        outcomes.append(ran.said.outcome)
        assert (ran.said.taps is not None) == has_tee
    if cli.kind == "codex":  # the order of its ids is by chance
        first = [*map(json.loads, first)]
    assert first[0] == first[1]
    assert outcomes[0].calls == outcomes[1].calls
    assert outcomes[0].tokens == outcomes[1].tokens
    assert outcomes[0].tools_offered == outcomes[1].tools_offered


RESULT = {"content": [{"type": "text", "text": "found cart"}]}


def reply(key: int, result: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": key, "result": result}).encode()


def chunked(*parts: bytes) -> bytes:
    return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in (*parts, b""))


JSON, EVENTS = b"content-type: application/json\r\n", b"Content-Type: text/event-stream\r\n"
LARGE_EVENT = (
    b"data: " + reply(2, {"content": [{"type": "text", "text": "y" * 5_000_000}]}) + b"\n\n"
)
TOLD = reply(2, RESULT)
RESPONSES = {
    "json": b"HTTP/1.1 200 OK\r\n%scontent-length: %d\r\n\r\n%s" % (JSON, len(TOLD), TOLD),
    "until the end": b"HTTP/1.1 200 OK\r\n" + JSON + b"\r\n" + TOLD,
    "pieces": b"HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n" % JSON
    + chunked(TOLD[:9], TOLD[9:]),
    "events": b"HTTP/1.1 200 OK\r\n%stransfer-encoding: chunked\r\n\r\n" % EVENTS
    + chunked(b": hello\r\n\r\nid: 1\r\nevent: message\r\nda", b"ta: " + TOLD + b"\r\n\r\n"),
    "a large event": b"HTTP/1.1 200 OK\r\n%s\r\n" % EVENTS + LARGE_EVENT,
    "first a continue": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n%scontent-length: %d\r\n\r\n%s"
    % (JSON, len(TOLD), TOLD),
}


@contextmanager
def raw_server(response: bytes) -> Iterator[tuple[int, list[bytes]]]:
    """A server that answers each connection with these bytes once it got a request's body; its port, and what came."""
    server, got = socket.create_server(("127.0.0.1", 0)), []

    def serve() -> None:
        while True:
            try:
                connection = server.accept()[0]
            except OSError:
                return
            data = b""
            while not data.endswith(b"}"):
                data += connection.recv(1 << 16) or b"}"
            got.append(data)
            connection.sendall(response)
            connection.close()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server.getsockname()[1], got
    finally:
        server.shutdown(socket.SHUT_RDWR)
        server.close()


HTTP_CLIENT = """
import json, socket, sys
from urllib.parse import urlsplit
url = urlsplit(json.load(open(sys.argv[1]))["mcpServers"]["lens"]["url"])
total = b""
for body in BODIES:
    with socket.create_connection((url.hostname, url.port)) as server:
        head = f"POST {url.path}?{url.query} HTTP/1.1\\r\\nHost: {url.netloc}\\r\\nX-Odd:  a\\r\\ncontent-length: {len(body)}\\r\\n\\r\\n"
        server.sendall(head.encode() + body)
        while piece := server.recv(1 << 16):
            total += piece
import hashlib
print(hashlib.sha256(total).hexdigest())
"""


@pytest.mark.parametrize("sandbox", [None, pytest.param(AUTO, marks=bubblewrap)])
@pytest.mark.parametrize("response", RESPONSES.values(), ids=[*RESPONSES])
def test_a_server_with_a_url_gets_and_gives_the_same_bytes(
    tmp_path: Path, response: bytes, sandbox: Any
) -> None:
    body = json.dumps(call(2)).encode()
    code = HTTP_CLIENT.replace("BODIES", repr([body]))
    found = find_sandbox(sandbox) if sandbox else None
    with raw_server(response) as (port, got):
        url = f"http://127.0.0.1:{port}/mcp?key=1"
        bare = ask(tmp_path / "bare", code, {"type": "http", "url": url}, found, tee=False)
        teed = ask(tmp_path / "teed", code, {"type": "http", "url": url}, found)
    assert bare.answer == teed.answer == f"{hashlib.sha256(response).hexdigest()}\n"
    assert got[0] == got[1]
    assert [(one.name, one.count, one.errors) for one in teed.seen.calls or ()] == [
        ("mcp__lens__find", 1, 0)
    ]


WORDED = {"lens": {"instructions": "Call it.", "tools": {"find": "Finds é."}}}
LISTED = reply(1, {"tools": [{"name": "find", "description": "Old."}, {"name": "map"}]})
NEW_LIST = reply(1, {"tools": [{"name": "find", "description": "Finds é."}, {"name": "map"}]})
PING = b": ping\r\n\r\n"
SPLIT_EVENT = b"event: message\nid: 7\ndata: " + LISTED.replace(b", ", b",\ndata:", 1) + b"\n\n"
NEW_EVENT = b"event: message\nid: 7\ndata: " + NEW_LIST + b"\n\n"
CALLED = b"id: 8\rdata: " + TOLD + b"\r\r"
FRAMES: dict[str, tuple[bytes, bytes, bytes]] = {
    "length": (b"%scontent-length: %d\r\n" % (JSON, len(LISTED)), LISTED, NEW_LIST),
    "until the end": (JSON, LISTED, NEW_LIST),
    "chunks": (
        JSON + b"transfer-encoding: chunked\r\n",
        chunked(LISTED[:9], LISTED[9:]),
        NEW_LIST,
    ),
    "a result": (b"%scontent-length: %d\r\n" % (JSON, len(TOLD)), TOLD, TOLD),
    "a batch": (JSON, b"[%s, %s]" % (LISTED, TOLD), b"[%s, %s]" % (NEW_LIST, TOLD)),
    "no json": (JSON, b"[[[", b"[[["),
    "events": (
        EVENTS + b"Transfer-Encoding: chunked\r\n",
        chunked(PING + SPLIT_EVENT[:40], SPLIT_EVENT[40:] + CALLED, b"data: cut"),
        PING + NEW_EVENT + CALLED + b"data: cut",
    ),
    "events until the end": (EVENTS, SPLIT_EVENT + CALLED, NEW_EVENT + CALLED),
    "events of a length": (
        b"%scontent-length: %d\r\n" % (EVENTS, len(SPLIT_EVENT)),
        SPLIT_EVENT,
        NEW_EVENT,
    ),
    "another type": (b"content-type: text/html\r\n", LISTED, LISTED),
}


@pytest.mark.parametrize(("fields", "sent", "got"), FRAMES.values(), ids=[*FRAMES])
def test_other_words_reach_the_agent_of_a_server_with_a_url(
    tmp_path: Path, fields: bytes, sent: bytes, got: bytes
) -> None:
    (tmp_path / "words.json").write_text(json.dumps(WORDED))
    notes = str(tmp_path / "taps.jsonl")
    response = b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n" + sent
    with (
        raw_server(response) as (port, requests),
        forwarder(
            notes, "lens", f"http://127.0.0.1:{port}/mcp", str(tmp_path / "words.json")
        ) as forward,
    ):
        client = http.client.HTTPConnection("127.0.0.1", forward, timeout=30)
        client.request("POST", "/mcp", json.dumps(LIST), {"Accept-Encoding": "gzip, br"})
        answer = client.getresponse()
        assert answer.read() == got
        assert answer.status == 200
    assert b"Accept-Encoding: identity\r\n" in requests[0]
    assert b"Host: 127.0.0.1:%d\r\n" % port in requests[0]


def test_a_connection_serves_several_requests_with_other_words(tmp_path: Path) -> None:
    (tmp_path / "words.json").write_text(json.dumps(WORDED))

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(LISTED)))
            self.end_headers()
            self.wfile.write(LISTED)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}/mcp"
    notes = tmp_path / "taps.jsonl"
    with forwarder(str(notes), "lens", url, str(tmp_path / "words.json")) as port:
        client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        for _ in range(3):
            client.request("POST", "/mcp", json.dumps(LIST))
            assert client.getresponse().read() == NEW_LIST
    server.shutdown()
    offered = read_taps(notes.read_text(), ["lens"])["lens"].offered
    assert offered == ("mcp__lens__find", "mcp__lens__map")


def test_of_a_server_that_compresses_its_results_nothing_is_shown(tmp_path: Path) -> None:
    packed = gzip.compress(TOLD)
    head = b"HTTP/1.1 200 OK\r\n%scontent-encoding: gzip\r\ncontent-length: %d\r\n\r\n"
    code = HTTP_CLIENT.replace("BODIES", repr([json.dumps(call(2)).encode()]))
    with raw_server(head % (JSON, len(packed)) + packed) as (port, _):
        said = ask(tmp_path, code, {"url": f"http://127.0.0.1:{port}/mcp"})
    assert (said.seen.calls, said.seen.tools_offered) == (None, None)
    assert reason_of(said, Expectation(["lens"], [])) == ("", "")


def test_a_refused_call_and_a_server_that_is_not_there_are_failed_calls(tmp_path: Path) -> None:
    code = HTTP_CLIENT.replace("BODIES", repr([json.dumps(call(2)).encode()]))
    with raw_server(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n") as (port, _):
        url = f"http://127.0.0.1:{port}/mcp"
        said = ask(tmp_path / "refused", code, {"url": url})
    assert [(one.count, one.errors) for one in said.seen.calls or ()] == [(1, 1)]
    assert "HTTP 401" in said.tap_lines
    gone = ask(tmp_path / "gone", code.replace("total +=", "total ="), {"url": url})
    assert "Connection refused" in gone.tap_lines
