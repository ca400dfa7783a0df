"""Change tasks with the real agent programs: each edits with a tool of its own, and hidden tests judge what it left."""

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

import warm_snakemake
from changes.calculator import FIXED, SANDBOX, make_tree, patch_of, task_value
from fakes.gemini_api import GeminiApi
from fakes.messages_api import Api, MessagesApi, read_rules, serving
from fakes.responses_api import ResponsesApi
from lensbench.core.system.places import ROOT

PROGRAMS = ROOT / "tools" / "agents" / "node_modules" / ".bin"
KEY = "sk-live-test-0123456789abcdef"
OLD, RIGHT, WRONG = "    return one - other", "    return one + other", "    return one - other - 0"
SERVER = {"command": "${python}", "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"]}


@dataclass(frozen=True)
class Cli:
    """A program and what its own tools are called: for reading, for editing, and those of the server."""

    kind: str
    program: str
    api: type[Api]
    path: str
    lens: str
    edit_name: str
    read: Mapping[str, Any] | None

    def edit(self, new: str) -> dict[str, Any]:
        """The call that puts `new` in the place of the wrong line."""
        texts = {
            "claude-code": {"file_path": "/repo/calculator.py", "old_string": OLD, "new_string": new},
            "gemini": {"file_path": "calculator.py", "old_string": OLD, "new_string": new, "instruction": "mend add"},
            "opencode": {"filePath": "/repo/calculator.py", "oldString": OLD, "newString": new},
        }
        patch = f"*** Begin Patch\n*** Update File: calculator.py\n@@\n-{OLD}\n+{new}\n*** End Patch"
        shell = {"name": "exec_command", "input": {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}}
        return {"name": self.edit_name, "input": texts[self.kind]} if self.kind in texts else shell


CLIS = [
    Cli("claude-code", "claude", MessagesApi, "", "mcp__lens__", "Edit", {"name": "Read", "input": {"file_path": "/repo/calculator.py"}}),
    Cli("codex", "codex", ResponsesApi, "/v1", "mcp__lens__", "", None),
    Cli("gemini", "gemini", GeminiApi, "", "mcp_lens_", "replace", {"name": "read_file", "input": {"file_path": "calculator.py"}}),
    Cli("opencode", "opencode", MessagesApi, "", "lens_", "edit", {"name": "read", "input": {"filePath": "/repo/calculator.py"}}),
]  # fmt: skip

pytestmark = [pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap"), pytest.mark.xdist_group("claude")]


def script(cli: Cli) -> Sequence[Mapping[str, Any]]:
    """With the server the agent asks it and mends the line; without it the agent changes the line and mends nothing."""
    grep = {"name": f"{cli.lens}lens_grep", "input": {"query": "add"}}
    look = cli.read or {"name": "exec_command", "input": {"cmd": "cat calculator.py"}}
    return [
        {"when": {"turn": 1, "has_tool": grep["name"]}, "reply": {"tools": [grep, look] if cli.read else [grep]}},
        {"when": {"turn": 1}, "reply": {"tools": [look]}},
        {"when": {"turn": 2, "has_tool": grep["name"]}, "reply": {"tools": [cli.edit(RIGHT)]}},
        {"when": {"turn": 2}, "reply": {"tools": [cli.edit(WRONG)]}},
        {"reply": {"text": "I have changed `add` in calculator.py."}},
    ]


@pytest.mark.parametrize(
    "cli",
    [
        pytest.param(
            cli, id=cli.kind,
            marks=pytest.mark.skipif(
                not (PROGRAMS / cli.program).exists() or not shutil.which("node"),
                reason=f"{cli.program} or Node is not installed; `make agents` installs the program where npm is there",
            ),
        ) for cli in CLIS
    ],
)  # fmt: skip
def test_a_real_agent_makes_a_change_and_tests_judge_it(cli: Cli, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "project" / "repo")
    task = task_value(patch_of(tree, {"calculator.py": FIXED}, tmp_path))
    project = tree.parent
    (project / "tasks.yaml").write_text(yaml.safe_dump({"name": "changes", "tasks": [task]}))
    (project / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": SERVER}}))
    with serving(cli.api(), read_rules(script(cli))) as fake:
        agent = {
            "kind": cli.kind, "command": [str(PROGRAMS / cli.program)], "model": "model-a", "provider": "custom",
            "base_url": fake.url + cli.path, "token_env": "LIVE_TEST_KEY", "tools": ["Bash", "Read"], "mcp_start_s": 60,
            "retries": 1,
        }  # fmt: skip
        (project / "config.yaml").write_text(yaml.safe_dump({
            "run_id": "live", "scenarios": "tasks.yaml", "agent": agent,
            "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
        }))  # fmt: skip
        arguments = ["--cores", "2", "--snakefile", str(ROOT / "Snakefile"), "--configfile", "config.yaml"]
        code, output = warm_snakemake.run(arguments, project, LIVE_TEST_KEY=KEY)
        facts = [fake.api.facts(each["path"], body) for each, body in zip(fake.requests, fake.bodies, strict=True)]
    assert code == 0, output
    bench = project / "bench" / "live"
    results = json.loads((bench / "results.json").read_text())
    assert {run["condition"]: run["score"] for run in results["runs"]} == {"without": 0.0, "with": 1.0}
    assert f"+{RIGHT}" in (bench / "attempts/mend-add-with/1/patch.diff").read_text()
    assert f"+{WRONG}" in (bench / "attempts/mend-add-without/1/patch.diff").read_text()
    if cli.kind == "claude-code":  # both conditions were sent the frozen prompt, byte for byte
        prompt = (bench / "prompts" / "mend-add.md").read_text(encoding="utf-8").strip()
        assert prompt.startswith("Sums come out wrong. Mend that.\n\n---\n\nHow to work: make the change in the files")
        sent = [fact.text for fact in facts if fact and fact.turn == 1 and "Mend that." in fact.text]
        assert len(sent) >= 2
        assert all(json.dumps(prompt, ensure_ascii=False)[1:-1] in text for text in sent)
    offered = [set(fact.tools) for fact in facts if fact and fact.turn == 1 and fact.tools]
    assert not cli.edit_name or all(cli.edit_name in tools for tools in offered)
    assert {any(tool.startswith(cli.lens) for tool in tools) for tools in offered} == {True, False}
