"""An HTTP MCP server that is gone is seen before the agent starts and after it ended, whatever the agent shows."""

# ruff: noqa: F811 (`bench` is a fixture)

import json
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from test_runs import FAKES, bench, plan  # noqa: F401

from lensbench.core.records import Record, RunId, from_json
from lensbench.core.store import run_files
from programs import run_module
from services import free_port, listening

RUN = RunId("anna", "with")
ENDS = ({"type": "answer", "text": "fine"}, {"type": "end", "turns": 1, "is_error": False})
SERVER = """
import sys
from mcp.server import MCPServer

server = MCPServer("fake")


@server.tool()
def search(query: str) -> str:
    "Searches the files for a query."
    return sys.argv[2].replace("QUERY", query)


server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
"""


@pytest.fixture
def port() -> int:
    return free_port()


def planned(bench: Path, port: int, shell: str) -> Path:
    Path("mcp.json").write_text(
        json.dumps({"mcpServers": {"fake": {"url": f"http://127.0.0.1:{port}/mcp"}}}),
        encoding="utf-8",
    )
    return plan(bench, shell, retries=1)


def list_tools(folder: Path) -> None:
    """Writes what the preflight found that the fake over stdio lists."""
    schema = (
        '{"properties": {"query": {"type": "string"}}, "required": ["query"], "type": "object"}'
    )
    listed = dict.fromkeys(
        ("mcp__fake__find", "mcp__fake__crash"), sha256(schema.encode()).hexdigest()
    )
    (folder / "preflight.json").write_text(
        json.dumps({"tools": {"with": listed}}), encoding="utf-8"
    )


def make(folder: Path) -> None:
    """Makes the run in a process of its own, which ends whatever it started."""
    done = run_module(
        "lensbench.runs.run", "--folder", folder, "--task", "anna", "--condition", "with"
    )
    assert done.returncode == 0, done.stderr


def record(folder: Path) -> Record:
    return from_json(run_files(folder, RUN).record.read_text())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "shell", "reason", "detail"),
    [
        ("shop.py: QUERY", "echo fine", "", ""),
        ("shop.py: QUERY", "kill -9 {}; echo fine", "mcp_gone", "fake: "),
        ("Repo not registered", "echo fine", "mcp_gone", "does not know the workspace"),
    ],
    ids=["it answers", "it died", "it forgot the workspace"],
)
def test_a_server_that_does_not_answer_after_a_run_discards_its_answer(
    bench: Path, port: int, answer: str, shell: str, reason: str, detail: str
) -> None:
    with listening([sys.executable, "-c", SERVER, str(port), answer], port) as server:
        folder = planned(bench, port, shell.format(server.pid))
        make(folder)
        made = record(folder).attempt
        assert (made.reason, detail in made.detail, server.poll() is None) == (
            reason,
            True,
            "kill" not in shell,
        )
    assert run_files(bench, RUN).answer.read_bytes() == b"fine\n"


@pytest.mark.slow
def test_no_agent_is_started_for_a_server_that_is_gone_already(bench: Path, port: int) -> None:
    folder = planned(bench, port, "touch ../../../started; echo fine")
    make(folder)
    assert (record(folder).attempt.reason, record(folder).attempt.duration_s) == ("mcp_failed", 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "repository", "missing"),
    [
        ([], "first", ""),
        (["--lists", "1"], "first", "mcp__fake__crash"),
        (["--require", "other"], "first", "mcp__fake__find"),
        (["--lists", "1"], "other", "mcp__fake__crash"),
        (["--require", "other"], "other", ""),
        (["--require", "other"], "named", "mcp__fake__find"),
    ],
)
def test_a_run_must_have_the_tools_of_the_preflight_whether_its_agent_shows_none_or_their_names(
    bench: Path, options: list[str], repository: str, missing: str
) -> None:
    """In another repository than the preflight's, a schema may be another one."""
    entry = {"command": sys.executable, "args": [str(FAKES / "stdio_mcp_server.py"), *options]}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": entry}}), encoding="utf-8")
    if repository == "named":
        tools = ["mcp__fake__find", "mcp__fake__crash"]
        start = {
            "type": "start",
            "tools": tools,
            "mcp_servers": [{"name": "fake", "status": "connected"}],
        }
        Path("events").write_text("\n".join(map(json.dumps, [start, *ENDS])), encoding="utf-8")
        folder = plan(bench, f"cat {Path('events').absolute()}", retries=1, kind="command-events")
    else:
        folder = plan(bench, "echo fine", retries=1)
    list_tools(folder)
    frozen = json.loads((folder / "plan.json").read_text())
    if repository == "other":
        tasks = {"first": {**frozen["tasks"]["anna"], "repository": "other"}, **frozen["tasks"]}
        (folder / "plan.json").write_text(json.dumps({**frozen, "order": [*tasks], "tasks": tasks}))
    make(folder)
    made = record(folder).attempt
    told = f"fake: tools unlike in the preflight: {missing}"
    assert (made.reason, made.detail) == (("mcp_gone", told) if missing else ("", ""))


@pytest.mark.slow
def test_a_server_is_asked_after_a_run_while_its_index_is_there(bench: Path) -> None:
    """codegraph's schema has another argument where there is no index."""
    fake = f"exec {sys.executable} {FAKES / 'stdio_mcp_server.py'}"
    shell = f'test -e "$0/.index" && {fake}; {fake} --require other'
    entry = {"command": "/bin/sh", "args": ["-c", shell, "${workspace}"]}
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": entry}}), encoding="utf-8")
    index = {"setup": ["/bin/sh", "-c", 'mkdir "$0/.index"', "{workspace}"], "writes": [".index"]}
    folder = plan(
        bench,
        "echo fine",
        retries=1,
        conditions={"without": {}, "with": {"mcp": "mcp.json", **index}},
    )
    list_tools(folder)
    make(folder)
    made = record(folder)
    assert (made.attempt.reason, made.attempt.detail) == ("", "")
    assert made.tree_after == made.tree_before


STOPPED = """
import concurrent.futures, os, signal, sys
from lensbench.agents.mcp.client import Servers, read_entry
from lensbench.core.system.processes import end_in_order

wait = concurrent.futures.Future.result


def result(self, *limit):
    concurrent.futures.Future.result = wait
    os.kill(os.getpid(), signal.SIGTERM)  # while the thread of the client starts
    return wait(self, *limit)


concurrent.futures.Future.result = result
end_in_order()
with Servers({"fake": read_entry({"url": sys.argv[1]})}, os.getcwd(), 20):
    print("started all the same")
"""


def test_a_signal_while_the_client_starts_ends_the_program(port: int) -> None:
    command = [sys.executable, "-c", STOPPED, f"http://127.0.0.1:{port}/mcp"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (143, ""), done.stderr
