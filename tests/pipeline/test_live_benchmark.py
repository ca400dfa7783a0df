"""A whole benchmark with the real Claude Code, a scripted fake of its model's API, and a real MCP server."""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import warm_snakemake
from fakes.messages_api import Fake, MessagesApi, read_rules, serving
from programs import run_module
from services import lens_over_http

CHECKOUT = Path(__file__).parents[2]
CLAUDE = CHECKOUT / "tools" / "agents" / "node_modules" / ".bin" / "claude"
KEY = "sk-live-test-0123456789abcdef"

pytestmark = [
    pytest.mark.skipif(
        not CLAUDE.exists(), reason="Claude Code is not installed: make agents (needs npm)"
    ),
    pytest.mark.xdist_group("claude"),
]

REPORT = "\n\n## Report\n\n- **Tool calls**: 1\n- **Tools used**: {tool}\n- **Files read**: 0\n- **Files used**: shop/cart.py\n"
RULES: list[dict[str, Any]] = [
    {
        "when": {"turn": 1, "has_tool": "mcp__lens__lens_grep"},
        "reply": {
            "tools": [{"name": "mcp__lens__lens_grep", "input": {"query": "Cart"}}],
            "model": "glm-5",
        },
    },
    {
        "when": {"turn": 1, "has_tool": "Bash"},
        "reply": {
            "tools": [{"name": "Bash", "input": {"command": "ls", "description": "list"}}],
            "model": "glm-5",
        },
    },
    {
        "when": {"turn": 2, "has_tool": "mcp__lens__lens_grep"},
        "reply": {
            "text": "`class Cart` is in shop/cart.py." + REPORT.format(tool="mcp__lens__lens_grep"),
            "model": "glm-5",
        },
    },
    {
        "when": {"turn": 2},
        "reply": {"text": "It is in cart.py." + REPORT.format(tool="Bash"), "model": "glm-5"},
    },
    {"reply": {"text": "ok", "model": "glm-5"}},
]


@pytest.fixture
def api() -> Iterator[Fake]:
    with serving(MessagesApi(), read_rules(RULES)) as fake:
        yield fake


LENS = {
    "command": "${python}",
    "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"],
}


def write_project(folder: Path, api: Fake, server: Any = LENS, **settings: Any) -> None:
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": server}}))
    (folder / "repo" / "shop").mkdir(parents=True)
    (folder / "repo" / "shop" / "cart.py").write_text("class Cart:\n    limit = 10\n")
    (folder / "repo" / "CLAUDE.md").write_text("Always use lens_grep. PLANTED-INSTRUCTION\n")
    task = {
        "id": "shop-tgt-01",
        "category": "Targeted",
        "prompt": "Question 1: where is the cart?",
        "criteria": [
            {"text": "names the file", "all_of": "cart.py"},
            {"text": "names the folder", "all_of": "shop/cart.py", "any_of": "class Cart"},
        ],
    }
    (folder / "tasks.yaml").write_text(yaml.safe_dump({"tasks": [task]}))
    config = {
        "run_id": "live",
        "scenarios": "tasks.yaml",
        "repository": {"path": "repo"},
        "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        "agent": {
            "kind": "claude-code",
            "command": [str(CLAUDE)],
            "version": "2.1.329",
            "model": "sonnet",
            "models": {"sonnet": "glm-5", "opus": "glm-5"},
            "provider": "custom",
            "base_url": api.url,
            "token_env": "LIVE_TEST_KEY",
            "tools": ["Bash", "Read"],
            "mcp_start_s": 60,
        },
        **settings,
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))


def start(folder: Path, *options: str) -> str:
    arguments = [
        "-s",
        str(CHECKOUT / "Snakefile"),
        "--directory",
        str(folder),
        "--cores",
        "4",
        *options,
    ]
    arguments += ["--configfile", str(folder / "config.yaml")]
    code, output = warm_snakemake.run(arguments, CHECKOUT, LIVE_TEST_KEY=KEY)
    assert code == 0, output
    return output


def table(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "bench" / "live" / name).open(newline="") as file:
        return list(csv.DictReader(file))


def records(folder: Path) -> list[dict[str, Any]]:
    return [
        json.loads(path.read_text())
        for path in sorted((folder / "bench/live/attempts").glob("*/1/record.json"))
    ]


def test_both_conditions_over_stdio(tmp_path: Path, api: Fake) -> None:
    server = {**LENS, "args": [*LENS["args"], "--log", "${server_log}"]}
    write_project(tmp_path, api, server)
    said = start(tmp_path)
    assert "claude 2.1.329, as pinned" in said
    assert {row["status"] for row in table(tmp_path, "validity.csv")} == {"valid"}
    assert {row["score"] for row in table(tmp_path, "scores.csv")} == {"1", "0.5"}
    made = records(tmp_path)
    assert len(made) == 2
    for record in made:
        outcome = record["outcome"]
        assert (outcome["models"], outcome["agent_version"]) == (["glm-5"], "2.1.329")
        assert outcome["tokens"]["output"] > 0
        assert ("lens_grep" in str(outcome["calls"])) == bool(outcome["servers"])
    servers = {record["condition"]: record["outcome"]["servers"] for record in made}
    assert servers == {"with": {"lens": "connected"}, "without": {}}
    (pair,) = table(tmp_path, "pairs.csv")
    assert pair["delta"] == "0.5"
    facts = ("offered", "called", "called_without_error", "adopted", "adopted_lens_grep")
    assert {pair[fact] for fact in facts} == {"yes"}
    assert (
        (tmp_path / "bench/live/runs/timing.csv")
        .read_text()
        .startswith("model_mapping,sonnet=glm-5,opus=glm-5\n")
    )
    sent = json.dumps(api.bodies)
    assert "PLANTED-INSTRUCTION" not in sent
    assert "Do the work yourself" in sent
    results = (tmp_path / "bench/live/results.md").read_text()
    assert "Model that answered, by the service's name | glm-5" in results
    assert "Built-in tools, in every condition | Bash, Read" in results
    written = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []
    asked = len(api.bodies)
    assert "Nothing to be done" in start(tmp_path)
    assert len(api.bodies) == asked


def test_one_question_in_both_conditions_over_http(
    tmp_path: Path, api: Fake, lens_daemon: str
) -> None:
    write_project(tmp_path, api, {"type": "http", "url": lens_daemon})
    words = ("where is the cart?", "--repo", "repo")
    done = run_module("lensbench_demo.ask", *words, cwd=tmp_path, LIVE_TEST_KEY=KEY, COLUMNS="120")
    assert done.returncode == 0, done.stdout + done.stderr
    said = [" ".join(line.split()) for line in done.stdout.splitlines()]
    for line in (
        "tools Bash 1 mcp__lens__lens_grep 1",
        "tokens out 40 40",
        "model glm-5 glm-5",
    ):
        assert line in said, done.stdout
    written = [path for path in tmp_path.rglob("*") if path.is_file() and not path.is_symlink()]
    assert [path for path in written if KEY.encode() in path.read_bytes()] == []


def test_a_stock_agent_works_with_its_own_defaults_and_the_results_say_so(
    tmp_path: Path, api: Fake
) -> None:
    write_project(tmp_path, api)
    (tmp_path / "repo" / "shop" / "CLAUDE.md").write_text("Use lens.")
    (tmp_path / "repo" / "CLAUDE.md").write_text("HOUSE-RULES")
    config = yaml.safe_load((tmp_path / "config.yaml").read_text())
    config["agent"]["profile"] = "stock"
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    start(tmp_path)
    assert {row["status"] for row in table(tmp_path, "validity.csv")} == {"valid"}
    first = [
        body
        for body in api.bodies
        if "Question 1:" in str(body) and "'assistant'" not in str(body["messages"])
    ]
    assert len(first) == 2
    for body in first:
        assert {"Agent", "ToolSearch"} <= {tool["name"] for tool in body["tools"]}
        assert "HOUSE-RULES" in str(body)
        assert "## Report" not in str(body)
    assert ", profile stock |" in (tmp_path / "bench/live/results.md").read_text()
    removed = json.loads((tmp_path / "bench/live/repositories.json").read_text())["repo"]["removed"]
    assert removed == ["shop/CLAUDE.md"]


@pytest.fixture
def lens_daemon(tmp_path: Path) -> Iterator[str]:
    """The embedded LENS over HTTP, serving a checkout of the same files."""
    (tmp_path / "served" / "shop").mkdir(parents=True)
    (tmp_path / "served" / "shop" / "cart.py").write_text("class Cart:\n    limit = 10\n")
    with lens_over_http(tmp_path / "served") as port:
        yield f"http://127.0.0.1:{port}/mcp"


def test_a_refused_key_stops_the_start_before_any_run(tmp_path: Path) -> None:
    with serving(
        MessagesApi(), read_rules([{"reply": {"status": 401, "error": "no such key"}}])
    ) as api:
        write_project(tmp_path, api)
        with pytest.raises(AssertionError) as failed:
            start(tmp_path)
        said = str(failed.value)
        assert list((tmp_path / "bench" / "live").glob("runs/*.md")) == []
        assert "FAILED" in said
        assert "401" in said
        assert len(api.bodies) == 1
        assert KEY not in said


def test_a_launcher_whose_key_the_sandbox_hides_is_refused_before_any_run(
    tmp_path: Path, api: Fake
) -> None:
    """It is a script of the user's, which knows the key and the address."""
    own = tmp_path / "own"
    (own / "bin").mkdir(parents=True)
    key = own / "key"
    script = own / "bin" / "zlm"
    key.write_text(KEY)
    script.write_text(
        f'#!/bin/sh\nexport ANTHROPIC_BASE_URL={api.url}\nexport ANTHROPIC_AUTH_TOKEN="$(cat {key})"\n'
        f'exec {CLAUDE.resolve()} "$@"\n'
    )
    script.chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()
    agent = {
        "kind": "claude-code",
        "command": [str(script)],
        "model": "sonnet",
        "models": {"sonnet": "glm-5"},
        "tools": ["Bash", "Read"],
        "mcp_start_s": 60,
    }
    sandbox = {
        "sandbox_hosts": [api.url.removeprefix("http://")],
        "sandbox_visible": [str(CLAUDE.resolve().parent)],
    }
    write_project(project, api, agent=agent, **sandbox)
    with pytest.raises(AssertionError) as said:
        start(tmp_path / "project")
    told = " ".join(str(said.value).split())
    assert "the agent gave no answer to a short question" in told
    assert "it needs to sandbox_visible" in told
    assert list((tmp_path / "project" / "bench" / "live").glob("runs/*.md")) == []
