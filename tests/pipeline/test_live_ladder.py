"""A whole benchmark of each real CLI with all that a ladder offers: words, a skill, two servers with launchers of their
own, a change that hidden tests judge. Everything lies below /tmp. What a CLI or a launcher does by itself discards no
run."""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import warm_snakemake
from agents.live_agents import CLIS, KEY, Cli
from changes.calculator import FIXED, SANDBOX, make_tree, patch_of, task_value
from fakes.messages_api import Facts, Fake, read_rules, serving
from lensbench.core.system.places import PACKAGE, ROOT

pytestmark = [
    pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap"),
    pytest.mark.slow,
    pytest.mark.timeout(900),
]
FAKE_SERVER = Path(__file__).parents[1] / "fakes" / "stdio_mcp_server.py"
WORDS = "THE-WORDS: use the server to find code."
SKILL = "---\nname: finding\ndescription: THE-SKILL, how code is found here\n---\nAsk it first.\n"
OLD = "    return one - other"
RIGHT = "    return one + other"
WRONG = "    return one - other - 0"
TEXTS = {
    "claude-code": ("Edit", {"file_path": "/repo/calculator.py", "old_string": OLD}, "new_string"),
    "gemini": (
        "replace",
        {"file_path": "calculator.py", "old_string": OLD, "instruction": "mend add"},
        "new_string",
    ),
    "opencode": ("edit", {"filePath": "/repo/calculator.py", "oldString": OLD}, "newString"),
}
"""What programs with a tool for editing call it, what they give it, and where the new text stands."""
READS = {
    "claude-code": {"name": "Read", "input": {"file_path": "/repo/calculator.py"}},
    "gemini": {"name": "read_file", "input": {"file_path": "calculator.py"}},
    "opencode": {"name": "read", "input": {"filePath": "/repo/calculator.py"}},
}
"""Those that edit only what they have read."""
IDS = r"[0-9a-f]{8,}[0-9a-f-]*|ses_\w+|\(Available: [^)]*\)"
"""Ids, and the list of skills with which Gemini describes its tool for them."""
RESOURCES = {"list_mcp_resources", "read_mcp_resource", "list_mcp_resource_templates"}
"""The tools with which Codex and opencode read what a server has besides tools."""
NOTES = ("metadata", "client_metadata")
"""What a program tells its service of itself, such as whether git has answered already; no model sees it."""
each_cli = pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])


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
    instructions = '"instructions": "Prefer find.",'  # around which Gemini would put a frame
    server.write_text(FAKE_SERVER.read_text().replace(instructions, ""))
    return {
        "lens": {"command": str(script), "args": ["--root", "${workspace}"]},
        "fake": {"command": f"{folder}/two/bin/python", "args": [str(server)]},
    }


def edit(cli: Cli, new: str) -> dict[str, Any]:
    """The call that puts `new` in the place of the wrong line."""
    if cli.kind in TEXTS:
        name, given, place = TEXTS[cli.kind]
        return {"name": name, "input": {**given, place: new}}
    patch = f"*** Begin Patch\n*** Update File: calculator.py\n@@\n-{OLD}\n+{new}\n*** End Patch"
    return {"name": "exec_command", "input": {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}}


def script(cli: Cli, unaided: str) -> Sequence[Mapping[str, Any]]:
    """With the servers the agent asks both, and mends the line; without them it puts `unaided` there."""
    grep = {"name": f"{cli.prefix}lens_grep", "input": {"query": "add"}}
    find = {"name": f"{cli.prefix}find".replace("lens", "fake"), "input": {"query": "add"}}
    look = READS.get(cli.kind) or {"name": "exec_command", "input": {"cmd": "cat calculator.py"}}
    return [
        {"when": {"turn": 1, "has_tool": grep["name"]}, "reply": {"tools": [grep]}},
        {"when": {"turn": 2, "has_tool": grep["name"]}, "reply": {"tools": [find]}},
        {"when": {"turn": 3, "has_tool": grep["name"]}, "reply": {"tools": [look]}},
        {"when": {"turn": 4, "has_tool": grep["name"]}, "reply": {"tools": [edit(cli, RIGHT)]}},
        {"when": {"turn": 1}, "reply": {"tools": [look]}},
        {"when": {"turn": 2}, "reply": {"tools": [edit(cli, unaided)]}},
        {"reply": {"text": "I have changed `add` in calculator.py."}},
    ]


def write_project(project: Path, cli: Cli, url: str, **settings: Any) -> None:
    tree = make_tree(project / "repo")
    change = task_value(patch_of(tree, {"calculator.py": FIXED}, project))
    (project / "tasks.yaml").write_text(yaml.safe_dump({"name": "ladder", "tasks": [change]}))
    (project / "mcp.json").write_text(json.dumps({"mcpServers": write_servers(project)}))
    (project / "words.md").write_text(f"{WORDS}\n")
    (project / "skills" / "finding").mkdir(parents=True)
    (project / "skills" / "finding" / "SKILL.md").write_text(SKILL)
    agent = {
        "kind": cli.kind,
        "command": cli.argv,
        "model": "model-a",
        "provider": "custom",
        "base_url": url + cli.path,
        "token_env": "LIVE_TEST_KEY",
        "mcp_start_s": 60,
        "retries": 1,
        "version": cli.version,
        **settings,
    }
    config = {
        "run_id": "live",
        "scenarios": "tasks.yaml",
        "agent": agent,
        "ladder": {"mcp": "mcp.json", "words": "words.md", "skills": "skills"},
    }
    (project / "config.yaml").write_text(yaml.safe_dump(config))


@dataclass(frozen=True)
class Climbed:
    """A finished ladder: its run folder, what Snakemake printed, and the service that the agents asked."""

    bench: Path
    output: str
    fake: Fake

    def table(self, name: str) -> list[dict[str, str]]:
        with (self.bench / f"{name}.csv").open(newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def first_requests(self) -> list[tuple[Facts, str]]:
        """Of each run what the rules know of its first request, and what a model sees of it."""
        found = []
        for asked, body in zip(self.fake.requests, self.fake.bodies, strict=True):
            facts = self.fake.api.facts(asked["path"], body)
            if facts and facts.turn == 1 and facts.tools and "Mend that." in facts.text:
                seen = {key: value for key, value in body.items() if key not in NOTES}
                found.append((facts, json.dumps(seen)))
        return found


def climb(cli: Cli, folder: Path, unaided: str, **settings: Any) -> Climbed:
    """Runs the ladder, on which no run is discarded."""
    project = folder / "project"
    project.mkdir()
    with serving(cli.api(), read_rules(script(cli, unaided))) as fake:
        write_project(project, cli, fake.url, **settings)
        arguments = ["--cores", "2", "--snakefile", str(ROOT / "Snakefile")]
        arguments += ["--configfile", "config.yaml"]
        code, output = warm_snakemake.run(arguments, project, LIVE_TEST_KEY=KEY)
    assert code == 0, output
    done = Climbed(project / "bench" / "live", output, fake)
    rows = done.table("validity")
    assert len(rows) == 4
    assert [(row["task"], row["condition"], row["detail"]) for row in rows if row["reason"]] == []
    assert {(row["status"], row["discards"]) for row in rows} == {("valid", "none")}
    return done


@each_cli
def test_all_rungs_make_a_change_that_tests_judge_and_differ_in_what_they_state(
    cli: Cli, tmp_path: Path
) -> None:
    done = climb(cli, tmp_path, WRONG, tools=["Bash", "Read"])
    scores = {row["condition"]: row["score"] for row in done.table("scores")}
    assert scores == {"without": "0", "words": "0", "server": "1", "both": "1"}
    assert f"{cli.version}, as pinned" in done.output
    assert "| What both brings | MCP file (" in (done.bench / "results.md").read_text()
    patches = done.bench / "attempts"
    assert f"+{RIGHT}" in (patches / "mend-add-server/1/patch.diff").read_text()
    assert f"+{WRONG}" in (patches / "mend-add-without/1/patch.diff").read_text()
    asked = done.first_requests()
    if cli.kind == "claude-code":  # all conditions were sent the frozen prompt, byte for byte
        prompt = (done.bench / "prompts" / "mend-add.md").read_text(encoding="utf-8").strip()
        assert prompt.startswith(
            "Sums come out wrong. Mend that.\n\n---\n\nHow to work: make the change in the files"
        )
        sent = json.dumps(prompt, ensure_ascii=False)[1:-1]
        assert len(asked) >= 4
        assert all(sent in facts.text for facts, _ in asked)
    for facts, _ in asked:
        assert cli.kind not in TEXTS or TEXTS[cli.kind][0] in facts.tools
    the_first_requests_differ_in_what_the_conditions_state(cli, asked)


def the_first_requests_differ_in_what_the_conditions_state(
    cli: Cli, asked: Sequence[tuple[Facts, str]]
) -> None:
    lines: dict[tuple[bool, bool], set[str]] = {}
    sizes: dict[tuple[bool, bool], int] = {}
    tools: dict[tuple[bool, bool], set[str]] = {}
    for facts, body in asked:
        rung = (any(tool.startswith(cli.prefix) for tool in facts.tools), "THE-WORDS" in body)
        lines[rung] = lines_of(json.loads(body))
        sizes[rung] = len(re.sub(IDS, "", body))
        tools[rung] = {*facts.tools}
    assert len(lines) == 4
    assert sizes[True, True] - sizes[True, False] == sizes[False, True] - sizes[False, False] > 0
    bare = lines[False, False]
    by_words = lines[False, True]
    by_server = lines[True, False]
    assert bare - by_server == set()
    assert lines[True, True] == by_words | by_server
    assert "THE-WORDS" in str(by_words - bare)
    assert any("THE-SKILL" in line for line in by_words - bare)
    assert all("lens" not in line for line in by_words)
    assert any("lens" in line for line in by_server - bare)
    added = tools[True, False] - tools[False, False]
    of_servers = (cli.prefix, cli.prefix.replace("lens", "fake"))
    assert all(tool.startswith(of_servers) for tool in added - RESOURCES)
    assert all("mcp" not in line and "git" not in line for line in by_words - bare)
    other = [line for line in by_words - bare if "skill" not in line.lower()]
    assert len(other) <= 12, "the words, where they and the skill stand, and the marks around them"


def lines_of(value: Any) -> set[str]:
    """The lines of all texts in a request, without what `IDS` finds."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return set().union(*map(lines_of, parts))
    return set(re.sub(IDS, "", str(value)).splitlines())


@each_cli
def test_the_programs_with_their_own_defaults_discard_nothing_on_any_rung(
    cli: Cli, tmp_path: Path
) -> None:
    done = climb(cli, tmp_path, RIGHT, profile="stock")  # Claude Code shows a server's tools later
    assert {row["score"] for row in done.table("scores")} == {"1"}
