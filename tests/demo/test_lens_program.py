"""The program: started by real clients over stdio and HTTP, its log, its refusals."""

import http.client
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from lens_client import ask_stdio

from lensbench_demo.lens.__main__ import main
from programs import refusal, run_module
from services import lens_over_http
from stock import write

FILES = {
    "a.py": "import b\n\n\ndef alpha(): ...\n",
    "b.py": "",
    "mcp.py": "raise SystemExit('shadowed')\n",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("root"), FILES)


@pytest.fixture(scope="module")
def port(root: Path) -> Iterator[int]:
    with lens_over_http(root) as served:
        yield served


@pytest.mark.slow
def test_over_stdio_the_tools_have_the_names_parameters_and_bounds_of_lens(
    root: Path, tmp_path: Path
) -> None:
    log = tmp_path / "logs" / "calls.jsonl"
    calls = [
        ("lens_grep", {"query": "alpha"}),
        ("lens_grep", {"query": "alpha", "limit": 99}),
        ("lens_graph_neighbors", {"path": "b.py", "repoPath": str(root)}),
        ("lens_nothing", {}),
        ("lens_reindex", {"force": True}),
    ]
    tools, answers = ask_stdio(["--log", str(log)], calls, cwd=root)
    properties = {tool.name: tool.input_schema["properties"] for tool in tools}
    assert {name: set(schema) for name, schema in properties.items()} == {
        "lens_grep": {"repoPath", "query", "limit"},
        "lens_graph": {"repoPath", "dir"},
        "lens_graph_neighbors": {"repoPath", "path"},
        "lens_reindex": {"repoPath", "force"},
    }
    assert {
        name: properties["lens_grep"]["limit"][name] for name in ("minimum", "maximum", "default")
    } == {
        "minimum": 1,
        "maximum": 50,
        "default": 20,
    }
    assert [tool.input_schema.get("required", []) for tool in tools] == [
        ["query"],
        [],
        ["path"],
        [],
    ]
    assert all(tool.output_schema is None and len(tool.description or "") > 100 for tool in tools)
    assert [answer.is_error for answer in answers] == [False, True, False, True, False]

    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [(line["tool"], line["arguments"]) for line in lines] == calls
    assert [line["is_error"] for line in lines] == [answer.is_error for answer in answers]
    assert [line["size"] for line in lines if line["tool"] != "lens_nothing"] == [
        len(answer.text)
        for answer, line in zip(answers, lines, strict=True)
        if line["tool"] != "lens_nothing"
    ]
    assert all(line["time"].endswith("+00:00") and line["duration_s"] >= 0 for line in lines)


ASKED: dict[str, object] = {
    '{"jsonrpc": "2.0", "id": 1, "method": "ping"}': {"id": 1, "result": {}},
    '{"jsonrpc": "2.0", "id": "a", "method": "resources/list"}': {"id": "a", "error": -32601},
    '{"jsonrpc": "2.0", "id": 2, "method": "initialize", "params": {}}': {"id": 2, "error": -32602},
    '{"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": []}': {"id": 3, "error": -32602},
    '{"jsonrpc": "2.0", "method": "notifications/initialized"}': None,
    '{"jsonrpc": "2.0", "id": 4, "result": {}}': None,
    "not JSON": {"id": None, "error": -32700},
    "[" * 9_000: {"id": None, "error": -32700},
    "[]": {"id": None, "error": -32600},
}


def test_every_message_has_the_reply_that_the_protocol_wants(root: Path) -> None:
    done = run_module("lensbench_demo.lens", "--root", root, given="\n".join(ASKED))
    replies = [json.loads(line) for line in done.stdout.splitlines()]
    expected = [reply for reply in ASKED.values() if reply]
    for reply in replies:
        assert reply.pop("jsonrpc") == "2.0"
        if "error" in reply:
            reply["error"] = reply["error"]["code"]
    assert (done.returncode, replies) == (0, expected)


@pytest.mark.parametrize("version", ["2025-06-18", "2024-11-05", "1999-01-01"])
def test_it_speaks_the_clients_version_or_else_its_newest(root: Path, version: str) -> None:
    request = {"jsonrpc": "2.0", "id": 1, "method": "initialize"}
    asked = json.dumps({**request, "params": {"protocolVersion": version}})
    done = run_module("lensbench_demo.lens", "--root", root, given=asked)
    spoken = json.loads(done.stdout)["result"]["protocolVersion"]
    assert spoken == ("2025-11-25" if version.startswith("1") else version)


def test_over_stdio_it_starts_without_the_sdk(root: Path) -> None:
    """Each run of the demo starts it, and the import would be more than the rest of a run."""
    done = run_module("lensbench_demo.lens", "--root", root, given="", PYTHONVERBOSE="1")
    assert "import 'lensbench_demo.lens.stdio'" in done.stderr
    assert "import 'mcp" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("header", ["Host", "Origin"])
def test_a_foreign_host_or_origin_is_turned_away(port: int, header: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    value = "evil.example" if header == "Host" else "http://evil.example"
    connection.request("POST", "/mcp", body="{}", headers={**headers, header: value})
    assert connection.getresponse().status in (403, 421)
    connection.close()


def test_a_port_in_use_is_one_sentence(port: int, root: Path) -> None:
    said = refusal(main, "--root", root, "--transport", "http", "--port", port)
    assert said.startswith(f"--port {port} on 127.0.0.1 cannot be used")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--transport", "http", "--port", "99999"], "--port 99999"),
        (["--root", "/no/such/folder"], "--root /no/such/folder is not a folder"),
        (["--log", "/proc/no/log"], "--log /proc/no/log cannot be written"),
    ],
)
def test_a_mistake_at_the_start_is_one_sentence(arguments: list[str], message: str) -> None:
    assert refusal(main, *arguments).startswith(message)


def test_help_names_every_option() -> None:
    done = run_module("lensbench_demo.lens", "--help")
    assert done.returncode == 0
    assert all(option in done.stdout for option in ("--root", "--transport", "--port", "--log"))
