"""Your server in five minutes, with real servers: over stdio by flags, over HTTP by questions on a terminal."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lensbench.plan.reading import load_config
from programs import run_module
from services import lens_over_http
from stock import with_history
from terminal import type_into

TOOLS = ("lens_graph", "lens_graph_neighbors", "lens_grep", "lens_reindex")
STARTING = [sys.executable, "-P", "-m", "lensbench.workflow.setup"]


@pytest.fixture
def stock(tmp_path: Path) -> Path:
    """A folder with a repository to ask about."""
    with_history(tmp_path / "stock")
    return tmp_path


def check(folder: Path, said: str) -> None:
    """Everything is written, tried, and valid."""
    assert "config.mine.yaml, mcp.mine.json, scenarios/mine.yaml are written" in said
    assert re.search(r"ok +with: mine +lens_.*; lens_grep\(query=.*\) answered with [\d,]+ characters", said)
    assert re.search(r"The offline agent's calls: .*lens_grep [1-9]\d*.*\.", said)
    assert "--configfile config.mine.yaml" in said
    assert "nothing to pay (no model is asked)" in said
    config = yaml.safe_load((folder / "config.mine.yaml").read_text())
    assert config["conditions"]["with"]["tools"] == list(TOOLS)
    records = folder / "bench" / "mine-smoke" / "attempts"
    assert len(list(records.glob("*/*/record.json"))) == 4


@pytest.fixture
def served(stock: Path) -> Iterator[str]:
    """The address of a server that runs already."""
    with lens_over_http(stock / "stock") as port:
        yield f"http://127.0.0.1:{port}/mcp"


def test_a_terminal_is_asked_and_a_server_that_runs_already_is_tried(stock: Path, served: str) -> None:
    exit_code, said = type_into([*STARTING, "--agent", "offline"], stock, f"{served}\n\nstock\n")
    assert exit_code == 0, said
    check(stock, said)


def test_a_server_that_does_not_start_is_named_and_fixed_goes_on(stock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flags = ["--name", "mine", "--mcp", "false", "--agent", "offline", "--repo", "stock"]
    ended = run_module("lensbench.workflow.setup", *flags, cwd=stock)
    assert ended.returncode == 1
    assert "FAILED   with: mine" in ended.stdout + ended.stderr
    assert "the trial failed; fix mcp.mine.json or config.mine.yaml" in ended.stderr
    assert "init --name mine" in ended.stderr
    tasks = (stock / "scenarios" / "mine.yaml").read_bytes()
    lens = {"command": "${python}", "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"]}
    (stock / "mcp.mine.json").write_text(json.dumps({"mcpServers": {"mine": lens}}))
    again = run_module("lensbench.workflow.setup", "--name", "mine", cwd=stock)
    assert again.returncode == 0, again.stdout + again.stderr
    check(stock, again.stdout)
    assert (stock / "scenarios" / "mine.yaml").read_bytes() == tasks
    monkeypatch.chdir(stock)
    assert load_config(yaml.safe_load(Path("config.mine.yaml").read_text(encoding="utf-8"))).run_id == "mine"


@pytest.mark.timeout(600)  # three trials
def test_init_writes_what_the_server_lacks_and_goes_on(stock: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A script that imports its sibling, needs a variable, and keeps an index in the project."""
    beside = tmp_path_factory.mktemp("beside")
    fake = Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py"
    (beside / "helper.py").write_bytes(fake.read_bytes())
    needs = "import os, sys\nif not os.environ.get('SHOP_KEY'): sys.exit('SHOP_KEY environment variable is required')\n"
    index = "os.makedirs('.shop', exist_ok=True)\nopen('.shop/index', 'w').close()\n"
    (beside / "server.py").write_text(f"{needs}{index}from helper import main\nmain()\n")
    flags = ["--name", "mine", "--mcp", f"{sys.executable} {beside}/server.py", "--agent", "offline", "--repo", "stock"]
    exit_code, said = type_into(["env", "SHOP_KEY=secret-of-the-shop", *STARTING, *flags], stock, "y\n\n")
    assert exit_code == 0, said
    assert "Write that, and try again? (y or n) [y]: " in said
    config = (stock / "config.mine.yaml").read_text()
    assert "secret-of-the-shop" not in config
    for written in (f'sandbox_visible: ["{beside}"]', 'pass_env: ["SHOP_KEY"]', 'writes: [".shop"]'):
        assert written in config


def test_a_trial_whose_agent_called_no_tool_is_no_success(stock: Path) -> None:
    fake = Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py"
    (stock / "server.py").write_text(fake.read_text(encoding="utf-8").replace('"query"', '"amount"'))
    flags = ["--name", "mine", "--mcp", f"${{python}} {stock}/server.py", "--agent", "offline", "--repo", "stock"]
    ended = run_module("lensbench.workflow.setup", *flags, cwd=stock)
    assert ended.returncode == 1
    said = ended.stdout + ended.stderr
    assert re.search("skipped  with: mine: find  +not called: nothing is known for its argument 'amount'", said)
    assert "The offline agent's calls: none." in said
    assert ended.stderr.endswith("lensbench init --name mine\n")
    assert "no tool of the server was called in 2 of 2 runs" in ended.stderr
    assert (stock / "config.mine.yaml").exists()
