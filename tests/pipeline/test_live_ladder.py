"""A whole benchmark of each real CLI with all that a ladder offers: words, a skill, two servers with launchers of their
own, a change. Everything lies below /tmp. What a CLI or a launcher does by itself discards no run."""

import csv
import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from test_live_changes import READS, RIGHT, edit

import warm_snakemake
from agents.live_agents import CLIS, KEY, Cli
from changes.calculator import FIXED, SANDBOX, make_tree, patch_of, task_value
from fakes.messages_api import read_rules, serving
from lensbench.core.system.places import PACKAGE, ROOT

pytestmark = [
    pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap"),
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("claude"),
]
FAKE_SERVER = Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py"
SKILL = "---\nname: finding\ndescription: How code is found here\n---\nAsk lens_grep first.\n"


def write_servers(folder: Path) -> Mapping[str, Any]:
    """Two servers with launchers of their own: a script of a virtual environment, and the Python of another one."""
    for name in ("one", "two"):
        command = [sys.executable, "-m", "venv", "--without-pip", str(folder / name)]
        subprocess.run(command, check=True)
    packages = next((folder / "one").glob("lib/python*/site-packages"))
    (packages / "lens.pth").write_text(f"{PACKAGE.parent}\n{Path(yaml.__file__).parents[1]}\n")
    script = folder / "one" / "bin" / "lens"
    script.write_text(
        f"#!{folder}/one/bin/python\nimport runpy\nrunpy.run_module('lensbench_demo.lens', run_name='__main__')\n"
    )
    script.chmod(0o755)
    server = folder / "two" / "server.py"
    server.write_text(FAKE_SERVER.read_text())
    return {
        "lens": {"command": str(script), "args": ["--root", "${workspace}"]},
        "fake": {"command": f"{folder}/two/bin/python", "args": [str(server)]},
    }


def script(cli: Cli) -> Sequence[Mapping[str, Any]]:
    """An agent that asks both servers where it has them, reads, and edits."""
    grep = {"name": f"{cli.prefix}lens_grep", "input": {"query": "add"}}
    find = {"name": f"{cli.prefix}find".replace("lens", "fake"), "input": {"query": "add"}}
    look = READS.get(cli.kind) or {"name": "exec_command", "input": {"cmd": "cat calculator.py"}}
    return [
        {"when": {"turn": 1, "has_tool": grep["name"]}, "reply": {"tools": [grep]}},
        {"when": {"turn": 2, "has_tool": grep["name"]}, "reply": {"tools": [find]}},
        {"when": {"turn": 3, "has_tool": grep["name"]}, "reply": {"tools": [look]}},
        {"when": {"turn": 4, "has_tool": grep["name"]}, "reply": {"tools": [edit(cli, RIGHT)]}},
        {"when": {"turn": 1}, "reply": {"tools": [look]}},
        {"when": {"turn": 2}, "reply": {"tools": [edit(cli, RIGHT)]}},
        {"reply": {"text": "I have changed `add` in calculator.py."}},
    ]


def write_project(project: Path, cli: Cli, profile: str, url: str) -> None:
    tree = make_tree(project / "repo")
    change = task_value(patch_of(tree, {"calculator.py": FIXED}, project))
    (project / "tasks.yaml").write_text(yaml.safe_dump({"name": "ladder", "tasks": [change]}))
    (project / "mcp.json").write_text(json.dumps({"mcpServers": write_servers(project)}))
    (project / "words.md").write_text("Use the server's tools to find code.\n")
    (project / "skills" / "finding").mkdir(parents=True)
    (project / "skills" / "finding" / "SKILL.md").write_text(SKILL)
    agent = {
        "kind": cli.kind,
        "profile": profile,
        "command": cli.argv,
        "model": "model-a",
        "provider": "custom",
        "base_url": url + cli.path,
        "token_env": "LIVE_TEST_KEY",
        "mcp_start_s": 60,
        "retries": 1,
        "version": cli.version,
    }
    if profile == "strict":
        agent["tools"] = ["Bash", "Read"]
    config = {
        "run_id": "live",
        "scenarios": "tasks.yaml",
        "agent": agent,
        "ladder": {"mcp": "mcp.json", "words": "words.md", "skills": "skills"},
    }
    (project / "config.yaml").write_text(yaml.safe_dump(config))


@pytest.mark.parametrize("profile", ["strict", "stock"])
@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_a_benchmark_with_all_that_a_ladder_offers_discards_nothing(
    cli: Cli, profile: str, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with serving(cli.api(), read_rules(script(cli))) as fake:
        write_project(project, cli, profile, fake.url)
        arguments = ["--cores", "2", "--snakefile", str(ROOT / "Snakefile")]
        arguments += ["--configfile", "config.yaml"]
        code, output = warm_snakemake.run(arguments, project, LIVE_TEST_KEY=KEY)
    assert code == 0, output
    with (project / "bench/live/validity.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert [(row["task"], row["condition"], row["detail"]) for row in rows if row["reason"]] == []
    assert {(row["status"], row["discards"]) for row in rows} == {("valid", "none")}
    with (project / "bench/live/scores.csv").open(newline="", encoding="utf-8") as file:
        assert {row["score"] for row in csv.DictReader(file)} == {"1"}
