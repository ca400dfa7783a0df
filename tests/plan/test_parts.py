"""A part of a server's tools: in a config, in the plan, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from test_ablation import config as ablation

from lensbench.core.conditions import (
    brings,
    comparisons,
    display_name,
    filtered_out,
    left_out,
)
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.plan.freeze import changes, make_plan
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios

pytest_plugins = ["test_ablation"]
LISTING = ["mcp__lens__find", "mcp__lens__read", "mcp__other__find", "mcp__other__a__b"]


def plan_of(lean: dict[str, Any], kind: str = "codex", **more: Any) -> Plan:
    given = {
        "run_id": "r",
        "scenarios": "tasks.yaml",
        "conditions": {
            "without": {},
            "all": {"mcp": "mcp.json"},
            "lean": lean,
        },
        "agent": {"kind": kind, "model": "m"},
        **more,
    }
    return make_plan(load_config(given), read_scenarios(["tasks.yaml"], None), [])


def lean(**tools: list[str]) -> dict[str, Any]:
    return {"mcp": "mcp.json", "tools": tools}


@pytest.mark.parametrize(
    ("tools", "excluded"),
    [
        ({"only": ["find"]}, ["mcp__lens__read", "mcp__other__a__b"]),
        ({"only": ["mcp__lens__find", "a__b"]}, ["mcp__lens__read", "mcp__other__find"]),
        ({"without": ["find"]}, ["mcp__lens__find", "mcp__other__find"]),
        ({"without": ["mcp__other__find", "b"]}, ["mcp__other__find"]),
    ],
)
def test_a_filter_names_tools_with_or_without_their_server(
    tools: dict[str, list[str]], excluded: list[str]
) -> None:
    assert filtered_out(tools, LISTING) == excluded


@pytest.mark.usefixtures("in_use")
def test_a_part_is_in_the_plan_and_a_comparison_like_any_other() -> None:
    plan = plan_of(lean(only=["find"]))
    assert plan["conditions"]["lean"]["tools"] == {"only": ["find"]}
    assert "tools" not in plan["conditions"]["all"]
    assert "tools only find" in brings(plan["conditions"]["lean"])
    assert [*comparisons(plan)] == ["all", "lean", "lean against all"]
    assert display_name(plan, "lean") == "lean"
    other = plan_of(lean(only=["read"]))
    assert other["settings_sha256"] != plan["settings_sha256"]
    assert changes(plan, other) == ["conditions.lean.tools.only: was ['find'], is ['read']"]


@pytest.mark.usefixtures("in_use")
def test_what_is_left_out_is_so_beside_a_baseline_that_has_it() -> None:
    plan = plan_of(lean(without=["read"]))
    assert left_out(plan, "lean") == []
    assert display_name(plan, "lean") == "lean"
    plan = {**plan, "baseline": "all"}
    assert left_out(plan, "lean") == ["read"]
    assert display_name(plan, "lean") == "without read"


@pytest.mark.usefixtures("in_use")
@pytest.mark.parametrize(
    ("condition", "more", "said"),
    [
        (lean(), {}, "conditions.lean.tools names tools by one of its keys"),
        (lean(only=["a"], without=["b"]), {}, "write {only: [a]} or {without: [b]}"),
        ({"tools": {"only": ["a"]}}, {}, "conditions.lean.tools is a part of no server"),
        (
            lean(only=["a"]),
            {"preflight": {"servers": False}},
            "conditions.lean.tools needs the servers' tool lists; remove preflight.servers: false",
        ),
        (
            lean(only=["a"]),
            {"agent": {"kind": "acp", "command": ["x"]}},
            "conditions.lean.tools is not possible for agent.kind 'acp', which has no filter; kinds with one:"
            " claude-code, codex, gemini, offline, opencode",
        ),
        (
            lean(only=["a"]),
            {"agent": {"kind": "command", "command": ["x"]}},
            "agent.kind 'command', which has no filter",
        ),
    ],
)
def test_a_part_that_cannot_be_had_is_refused(
    condition: dict[str, Any], more: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=r"(?s).") as error:
        plan_of(condition, **more)
    assert said in str(error.value)
    assert str(error.value).count("\n") == 0


@pytest.mark.usefixtures("in_use")
def test_an_ablation_of_tools_leaves_out_one_at_a_time() -> None:
    tools = ["find", "read", "map"]
    made = ablation({"mcp": "mcp.json", "skills": "skills", "tools": tools})
    assert [*made.conditions] == ["all", "none", "without_find", "without_read", "without_map"]
    conditions = make_plan(made, read_scenarios(["tasks.yaml"], None), [])["conditions"]
    assert conditions["none"]["servers"] == []
    assert conditions["none"]["files"] == conditions["all"]["files"]
    assert conditions["without_map"]["tools"] == {"without": ["map"]}
    assert conditions["without_map"]["servers"] == conditions["all"]["servers"]
    plan = {**make_plan(made, read_scenarios(["tasks.yaml"], None), [])}
    assert [*comparisons(plan)] == ["none", "without_find", "without_read", "without_map"]  # type: ignore[arg-type]
    grouped = ablation({"mcp": "mcp.json", "tools": tools, "groups": {"two": ["find", "read"]}})
    assert grouped.conditions["without_two"].filter == {"without": ["find", "read"]}


@pytest.mark.usefixtures("in_use")
def test_more_than_six_tools_are_refused_with_the_number_of_runs(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ablate has 7 tools, which makes 9 runs of every task; 6"):
        ablation({"mcp": "mcp.json", "tools": [f"t{n}" for n in range(7)]})


WORDS = "lens: {tools: {find: Finds it.}}\n"


@pytest.mark.usefixtures("in_use")
def test_other_words_are_kept_in_the_plan_and_half_of_the_tasks_is_held_out() -> None:
    Path("words.yaml").write_text(WORDS, encoding="utf-8")
    described = {"mcp": "mcp.json", "describe": "words.yaml"}
    gate = {"holdout": 0.5}
    plan = plan_of(described, baseline="all", gate=gate, sandbox="none")
    digest = plan["conditions"]["lean"]["describe"]
    assert json.loads(plan["texts"][digest])["lens"]["tools"] == {"find": "Finds it."}
    assert f"other words ({digest[:12]})" in brings(plan["conditions"]["lean"])
    assert plan["gate"]["holdout"] == 0.5
    assert "words.yaml" in plan["sandbox"]["hidden"]
    assert "holdout" not in plan_of(described)["gate"]
    Path("words.yaml").write_text(WORDS.replace("it", "all"), encoding="utf-8")
    assert changes(plan, plan_of(described, baseline="all", gate=gate, sandbox="none")) != []


@pytest.mark.usefixtures("in_use")
@pytest.mark.parametrize(
    ("words", "more", "said"),
    [
        (
            "lens: {tool: {find: x}}\n",
            {},
            "words.yaml has no words for servers; write <server>: {inst",
        ),
        (
            "[]\n",
            {},
            "words.yaml has no words for servers",
        ),
        (
            "{}\n",
            {},
            "words.yaml has no words for servers",
        ),
        (
            "a: &x b\n",
            {},
            "conditions.lean.describe: words.yaml:1 ",
        ),
        ("lenz: {instructions: x}\n", {}, "words for 'lenz', which is no server of the condition"),
        (
            WORDS,
            {"agent": {"kind": "codex", "model": "m", "tee": False}},
            "remove agent.tee: false",
        ),
        (
            WORDS,
            {"gate": {"holdout": 0.5, "looks": 2}},
            "gate.holdout needs all tasks; remove gate.looks",
        ),
        (WORDS, {"gate": {"holdout": 0.5}, "baseline": "lean"}, "write describe in treatments"),
        (
            None,
            {},
            "words.yaml cannot be read: No such file",
        ),
    ],
)
def test_words_that_cannot_be_put_in_are_refused(
    words: str | None, more: dict[str, Any], said: str
) -> None:
    if words is not None:
        Path("words.yaml").write_text(words, encoding="utf-8")
    with pytest.raises(UserError, match=r"(?s).") as error:
        plan_of({"mcp": "mcp.json", "describe": "words.yaml"}, **more)
    assert said in str(error.value)
