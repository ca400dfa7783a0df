"""The conditions of an ablation: everything, nothing, and everything without one member each."""

import json
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.plan.config import Config
from lensbench.plan.freeze import make_plan
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios

TASK = {
    "id": "a",
    "category": "Debug",
    "prompt": "Where?",
    "repository": {"path": "repo"},
    "criteria": [{"text": "names a.py", "all_of": "a.py"}, {"text": "a line", "all_of": "a.py:1"}],
}


@pytest.fixture
def in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers, two skills and a file that are in use."""
    monkeypatch.chdir(tmp_path)
    servers = {name: {"command": "true", "args": [name]} for name in ("lens", "Git-Hub")}
    Path("mcp.json").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    for name in ("review", "plan"):
        Path("skills", name).mkdir(parents=True)
        Path("skills", name, "SKILL.md").write_text(f"# {name}\n", encoding="utf-8")
    Path("words.md").write_text("Use lens.\n", encoding="utf-8")
    Path("repo").mkdir()
    Path("repo", "a.py").touch()
    twins = {name: {"command": "true"} for name in ("git-hub", "git_hub")}
    Path("twins.json").write_text(json.dumps({"mcpServers": twins}), encoding="utf-8")
    Path("tasks.yaml").write_text(json.dumps({"name": "set", "tasks": [TASK]}), encoding="utf-8")


def config(ablate: dict[str, Any], **more: Any) -> Config:
    given = {"run_id": "r", "scenarios": "tasks.yaml", "ablate": ablate}
    return load_config({**given, "agent": {"kind": "claude-code", "model": "sonnet"}, **more})


EVERYTHING = {"mcp": "mcp.json", "skills": "skills", "files": {"CLAUDE.md": "words.md"}}


@pytest.mark.usefixtures("in_use")
def test_each_member_is_left_out_of_everything_once() -> None:
    made = config(EVERYTHING)
    assert (made.baseline, list(made.conditions)) == (
        "all",
        [
            "all",
            "none",
            "without_lens",
            "without_git_hub",
            "without_plan",
            "without_review",
            "without_claude_md",
        ],
    )
    conditions = make_plan(made, read_scenarios(["tasks.yaml"], None), [])["conditions"]
    skills = [f".claude/skills/{name}/SKILL.md" for name in ("plan", "review")]
    brought = {
        name: [*condition["servers"], *condition.get("files", {})]
        for name, condition in conditions.items()
    }
    assert brought == {
        "all": ["Git-Hub", "lens", *skills, "CLAUDE.md"],
        "none": [],
        "without_lens": ["Git-Hub", *skills, "CLAUDE.md"],
        "without_git_hub": ["lens", *skills, "CLAUDE.md"],
        "without_plan": ["Git-Hub", "lens", skills[1], "CLAUDE.md"],
        "without_review": ["Git-Hub", "lens", skills[0], "CLAUDE.md"],
        "without_claude_md": ["Git-Hub", "lens", *skills],
    }
    assert conditions["none"]["mcp"] is None


@pytest.mark.usefixtures("in_use")
def test_members_of_a_group_are_left_out_together_and_a_written_condition_goes_first() -> None:
    groups = {"words": ["plan", "review", "CLAUDE.md"]}
    made = config({**EVERYTHING, "groups": groups}, conditions={"all": {"writes": [".lens"]}})
    assert list(made.conditions) == [
        "all",
        "none",
        "without_words",
        "without_lens",
        "without_git_hub",
    ]
    assert made.conditions["without_words"].without == tuple(groups["words"])
    assert made.conditions["all"].writes == (".lens",)


@pytest.mark.usefixtures("in_use")
@pytest.mark.parametrize(
    ("ablate", "said"),
    [
        ({"files": {"CLAUDE.md": "words.md"}}, "ablate has CLAUDE.md; name two servers"),
        ({}, "ablate has no member"),
        ({"mcp": "missing.json"}, "conditions.all.mcp: missing.json is not there"),
        (
            {**EVERYTHING, "groups": {"words": ["plam"]}},
            "conditions.without_words.without has 'plam', which it does not have; did you mean 'plan'?",
        ),
        (
            {"mcp": "twins.json"},
            "'git_hub' and 'git-hub' would both be the condition without_git_hub; give one a name in groups",
        ),
        (
            {"mcp": "mcp.json", "files": {f"docs/{n}.md": "words.md" for n in range(7)}},
            "ablate has 9 members, which makes 11 runs of every task; 8 are possible",
        ),
    ],
)
def test_what_cannot_be_left_out_is_said(ablate: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=r"(?s).") as error:
        config(ablate)
    assert said in str(error.value)
