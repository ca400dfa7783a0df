"""Change tasks with the real agent programs: each edits with a tool of its own, and hidden tests judge what it left."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml

import warm_snakemake
from agents.live_agents import CLIS, KEY, Cli
from changes.calculator import FIXED, SANDBOX, make_tree, patch_of, task_value
from fakes.messages_api import read_rules, serving
from lensbench.core.system.places import ROOT

OLD, RIGHT, WRONG = "    return one - other", "    return one + other", "    return one - other - 0"
SERVER = {
    "command": "${python}",
    "args": ["-P", "-m", "lensbench_demo.lens", "--root", "${workspace}"],
}


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


def edit(cli: Cli, new: str) -> dict[str, Any]:
    """The call that puts `new` in the place of the wrong line."""
    if cli.kind in TEXTS:
        name, given, place = TEXTS[cli.kind]
        return {"name": name, "input": {**given, place: new}}
    patch = f"*** Begin Patch\n*** Update File: calculator.py\n@@\n-{OLD}\n+{new}\n*** End Patch"
    return {"name": "exec_command", "input": {"cmd": f"apply_patch <<'EOF'\n{patch}\nEOF"}}


pytestmark = [
    pytest.mark.skipif(not SANDBOX.program, reason="no bubblewrap"),
    pytest.mark.xdist_group("claude"),
]


def script(cli: Cli) -> Sequence[Mapping[str, Any]]:
    """With the server the agent asks it and mends the line; without it the agent changes the line and mends nothing."""
    grep = {"name": f"{cli.prefix}lens_grep", "input": {"query": "add"}}
    look = READS.get(cli.kind) or {"name": "exec_command", "input": {"cmd": "cat calculator.py"}}
    return [
        {
            "when": {"turn": 1, "has_tool": grep["name"]},
            "reply": {"tools": [grep, look] if cli.kind in READS else [grep]},
        },
        {"when": {"turn": 1}, "reply": {"tools": [look]}},
        {"when": {"turn": 2, "has_tool": grep["name"]}, "reply": {"tools": [edit(cli, RIGHT)]}},
        {"when": {"turn": 2}, "reply": {"tools": [edit(cli, WRONG)]}},
        {"reply": {"text": "I have changed `add` in calculator.py."}},
    ]


@pytest.mark.parametrize("cli", [cli.param for cli in CLIS.values()])
def test_a_real_agent_makes_a_change_and_tests_judge_it(cli: Cli, tmp_path: Path) -> None:
    tree = make_tree(tmp_path / "project" / "repo")
    task = task_value(patch_of(tree, {"calculator.py": FIXED}, tmp_path))
    project = tree.parent
    (project / "tasks.yaml").write_text(yaml.safe_dump({"name": "changes", "tasks": [task]}))
    (project / "mcp.json").write_text(json.dumps({"mcpServers": {"lens": SERVER}}))
    with serving(cli.api(), read_rules(script(cli))) as fake:
        agent = {
            "kind": cli.kind,
            "command": cli.argv,
            "model": "model-a",
            "provider": "custom",
            "base_url": fake.url + cli.path,
            "token_env": "LIVE_TEST_KEY",
            "tools": ["Bash", "Read"],
            "mcp_start_s": 60,
            "retries": 1,
            "version": cli.version,
        }
        (project / "config.yaml").write_text(
            yaml.safe_dump(
                {
                    "run_id": "live",
                    "scenarios": "tasks.yaml",
                    "agent": agent,
                    "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
                }
            )
        )
        arguments = [
            "--cores",
            "2",
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--configfile",
            "config.yaml",
        ]
        code, output = warm_snakemake.run(arguments, project, LIVE_TEST_KEY=KEY)
        facts = [
            fake.api.facts(each["path"], body)
            for each, body in zip(fake.requests, fake.bodies, strict=True)
        ]
    assert code == 0, output
    assert f"{cli.version}, as pinned" in output
    bench = project / "bench" / "live"
    results = json.loads((bench / "results.json").read_text())
    assert {run["condition"]: run["score"] for run in results["runs"]} == {
        "without": 0.0,
        "with": 1.0,
    }
    assert f"+{RIGHT}" in (bench / "attempts/mend-add-with/1/patch.diff").read_text()
    assert f"+{WRONG}" in (bench / "attempts/mend-add-without/1/patch.diff").read_text()
    if cli.kind == "claude-code":  # both conditions were sent the frozen prompt, byte for byte
        prompt = (bench / "prompts" / "mend-add.md").read_text(encoding="utf-8").strip()
        assert prompt.startswith(
            "Sums come out wrong. Mend that.\n\n---\n\nHow to work: make the change in the files"
        )
        sent = [
            fact.text for fact in facts if fact and fact.turn == 1 and "Mend that." in fact.text
        ]
        assert len(sent) >= 2
        assert all(json.dumps(prompt, ensure_ascii=False)[1:-1] in text for text in sent)
    offered = [set(fact.tools) for fact in facts if fact and fact.turn == 1 and fact.tools]
    assert cli.kind not in TEXTS or all(TEXTS[cli.kind][0] in tools for tools in offered)
    assert {any(tool.startswith(cli.prefix) for tool in tools) for tools in offered} == {
        True,
        False,
    }
