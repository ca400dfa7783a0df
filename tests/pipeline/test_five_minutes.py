"""Your server in five minutes, with real servers: over stdio by flags, over HTTP by questions on a terminal."""

import json
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from programs import run_module
from services import lens_over_http
from stock import with_history
from terminal import type_into

TOOLS = ("lens_graph", "lens_graph_neighbors", "lens_grep", "lens_reindex")
FAKE = Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py"
ANSWER = {
    "sessionUpdate": "agent_message_chunk",
    "content": {"type": "text", "text": "It is in src/cart.py."},
}
STARTING = [sys.executable, "-P", "-m", "lensbench_demo.setup"]


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    """A folder with a repository to ask about."""
    with_history(tmp_path / "stock")
    return tmp_path


def check(folder: Path, said: str) -> None:
    """Everything is written, tried, and valid."""
    assert "config.mine.yaml, mcp.mine.json, scenarios/mine.yaml are written" in said
    assert re.search(
        r"ok +with: mine +lens_.*; lens_grep\(query=.*\) answered with [\d,]+ characters", said
    )
    assert re.search(r"The offline agent's calls: .*lens_grep [1-9]\d*.*\.", said)
    assert re.search(
        r"\n\d+ tasks, \d+ runs, 4 at a time: about 1 min and nothing to pay \(no model is asked\)\.\r?\n"
        r"That is a trial\. A verdict about a gain of 10 points needs about 35 tasks:\r?\n"
        r"  .*lensbench generate --count 35 --output scenarios/mine\.yaml\r?\n"
        r"35 tasks, 70 runs, ",
        said,
    )
    assert "--configfile config.mine.yaml" in said
    config = yaml.safe_load((folder / "config.mine.yaml").read_text())
    assert config["conditions"]["with"]["tools"] == list(TOOLS)
    records = folder / "bench" / "mine-smoke" / "attempts"
    assert len(list(records.glob("*/*/record.json"))) == 4


@pytest.fixture
def served(stock: Path) -> Iterator[str]:
    """The address of a server that runs already."""
    with lens_over_http(stock / "stock") as port:
        yield f"http://127.0.0.1:{port}/mcp"


def test_a_terminal_is_asked_and_a_server_that_runs_already_is_tried(
    stock: Path, served: str
) -> None:
    exit_code, said = type_into([*STARTING, "--agent", "offline"], stock, f"{served}\n\nstock\n")
    assert exit_code == 0, said
    check(stock, said)


def test_a_config_for_an_agent_by_acp_runs(stock: Path) -> None:
    said = [{"id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18"}}]
    script = [{"server": [*said, {"id": 1, "method": "tools/list"}]}, ANSWER, {"stop": "end_turn"}]
    agent = [sys.executable, "-I", str(FAKE.with_name("acp_agent.py")), json.dumps(script)]
    server = f"${{python}} -I {FAKE}"
    flags = ["--yes", "--fix", "--name", "mine", "--mcp", server, "--repo", "stock"]
    flags += [
        "--count",
        "2",
        "--agent",
        "acp",
        "--command",
        shlex.join([*agent, '{"sessionId": "s"}']),
    ]
    ended = run_module("lensbench_demo.setup", *flags, cwd=stock)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    task = yaml.safe_load((stock / "scenarios" / "mine.yaml").read_text())["tasks"][0]["id"]
    run = ["run", "--cores", "2", "--configfile", "config.mine.yaml", "--only", task]
    ended = run_module("lensbench", *run, cwd=stock)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    records = [
        json.loads(path.read_text())
        for path in (stock / "bench" / "mine" / "attempts").glob("*/*/record.json")
    ]
    reasons = {record["condition"]: record["attempt"]["reason"] for record in records}
    assert reasons == {"with": "", "without": ""}


@pytest.fixture
def lacking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a server that imports its sibling, needs a variable, and keeps an index in the project."""
    folder = tmp_path_factory.mktemp("beside")
    (folder / "helper.py").write_bytes(FAKE.read_bytes())
    needs = "import os, sys\nif not os.environ.get('SHOP_KEY'): sys.exit('SHOP_KEY environment variable is required')\n"
    index = "os.makedirs('.shop', exist_ok=True)\nopen('.shop/index', 'w').close()\n"
    (folder / "server.py").write_text(f"{needs}{index}from helper import main\nmain()\n")
    return folder


@pytest.mark.timeout(600)  # three trials
def test_a_server_that_fails_or_is_not_called_is_named_and_what_it_lacks_is_written(
    stock: Path, lacking: Path
) -> None:
    flags = ["--name", "mine", "--mcp", "false", "--agent", "offline", "--repo", "stock"]
    ended = run_module("lensbench_demo.setup", *flags, cwd=stock)
    assert ended.returncode == 2
    assert "FAILED   with: mine" in ended.stdout + ended.stderr
    assert "the trial failed; fix mcp.mine.json or config.mine.yaml" in ended.stderr
    assert "init --name mine" in ended.stderr
    tasks = (stock / "scenarios" / "mine.yaml").read_bytes()

    def write_entry(program: str) -> None:
        entry = {"command": "${python}", "args": [program]}
        (stock / "mcp.mine.json").write_text(json.dumps({"mcpServers": {"mine": entry}}))

    (stock / "server.py").write_text(
        FAKE.read_text(encoding="utf-8").replace('"query"', '"amount"')
    )
    write_entry(f"{stock}/server.py")
    ended = run_module("lensbench_demo.setup", "--name", "mine", cwd=stock)
    assert ended.returncode == 1
    assert re.search(
        "skipped  with: mine: find  +not called: nothing is known for its argument 'amount'",
        ended.stdout,
    )
    assert "The offline agent's calls: none." in ended.stdout + ended.stderr
    assert ended.stderr.endswith("lensbench init --name mine\n")
    assert "no tool of the server was called in 2 of 2 runs" in ended.stderr
    assert re.search(
        r"lensbench run --cores 4 --configfile config\.mine\.yaml --only [\w-]+\n1 task, 2 runs, ",
        ended.stderr,
    )
    assert "Not proven: that a model calls them" in ended.stdout
    config = stock / "config.mine.yaml"  # which has the tools of that server now
    config.write_text(re.sub(r"tools: \[[^]]*crash[^]]*\]", "tools: []", config.read_text()))
    write_entry(f"{lacking}/server.py")
    exit_code, said = type_into(
        ["env", "SHOP_KEY=secret-of-the-shop", *STARTING, "--name", "mine"], stock, "y\n\n"
    )
    assert exit_code == 0, said
    assert "Write that, and try again? (y or n) [y]: " in said
    assert "secret-of-the-shop" not in config.read_text()
    for written in (
        f'sandbox_visible: ["{lacking}"]',
        'pass_env: ["SHOP_KEY"]',
        'writes: [".shop"]',
    ):
        assert written in config.read_text()
    assert (stock / "scenarios" / "mine.yaml").read_bytes() == tasks
