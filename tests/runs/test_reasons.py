import re
from dataclasses import replace
from pathlib import Path

import pytest

from lensbench.core.records import Attempt, Call, Outcome
from lensbench.runs.reasons import REASONS, DiscardReason, Expectation, find_reason, tools_of

WITH, WITHOUT = Expectation(["lens"], []), Expectation([], ["lens"])
PROTOCOL = Path(__file__).parents[2] / "docs" / "protocol.md"
FINE = Attempt(1, "", 900.4, 0.0, 0, False)
TOOL = "mcp__lens__lens_grep"
GOOD = Outcome(
    models=("m",),
    servers={"lens": "connected"},
    tools_offered=("Read", TOOL),
    calls=(Call(TOOL, 1),),
)
BASE = Outcome(models=("m",), servers={}, tools_offered=("Read",), calls=(Call("Read", 1),))


@pytest.mark.parametrize(
    ("attempt", "outcome", "answer", "expected", "reason"),
    [
        (FINE, GOOD, "x", WITH, ("", "")),
        (FINE, BASE, "x", WITHOUT, ("", "")),
        (FINE, Outcome(), "x", WITH, ("", "")),
        (
            replace(FINE, timed_out=True),
            replace(GOOD, error="e"),
            "",
            WITH,
            ("timed_out", "after 900 s"),
        ),
        (
            replace(FINE, exit_code=1),
            replace(GOOD, error="overloaded"),
            "x",
            WITH,
            ("api_error", "overloaded"),
        ),
        (replace(FINE, exit_code=-9), GOOD, "x", WITH, ("crashed", "exit code -9")),
        (FINE, replace(GOOD, finished=False), "x", WITH, ("crashed", "the output is incomplete")),
        (FINE, replace(BASE, tools_offered=(TOOL,)), "x", WITHOUT, ("contaminated", TOOL)),
        (FINE, replace(BASE, calls=(Call(TOOL, 1),)), "x", WITHOUT, ("contaminated", TOOL)),
        (
            FINE,
            replace(GOOD, servers={"lens": "failed"}, server_faults={"lens": "exit code 1"}),
            "x",
            WITH,
            ("mcp_failed", "lens: failed: exit code 1"),
        ),
        (
            FINE,
            replace(GOOD, servers={"lens": "pending"}),
            "x",
            WITH,
            ("mcp_failed", "lens: pending"),
        ),
        (FINE, replace(GOOD, servers={}), "x", WITH, ("mcp_failed", "lens: absent")),
        (
            FINE,
            replace(GOOD, tools_offered=("Read",)),
            "x",
            WITH,
            ("mcp_not_offered", "no tool of lens"),
        ),
        (FINE, GOOD, "x", WITH._replace(tools={TOOL: ""}), ("", "")),
        (FINE, GOOD, "x", WITH._replace(tools={TOOL: ""}, excluded=["mcp__lens__x"]), ("", "")),
        (
            FINE,
            replace(GOOD, tools_offered=(TOOL, "mcp__lens__x_y")),
            "x",
            WITH._replace(tools={TOOL: ""}, excluded=["mcp__lens__x.y"]),
            ("contaminated", "mcp__lens__x_y"),
        ),
        (
            FINE,
            replace(GOOD, tools_offered=None, calls=(Call("mcp__lens__x", 2, 1),)),
            "x",
            WITH._replace(tools={TOOL: ""}, excluded=["mcp__lens__x"]),
            ("contaminated", "mcp__lens__x"),
        ),
        (
            FINE,
            replace(GOOD, tools_offered=None, calls=(Call("mcp__lens__x", 2, 2),)),
            "x",
            WITH._replace(tools={TOOL: ""}, excluded=["mcp__lens__x"]),
            ("", ""),
        ),
        (
            FINE,
            GOOD,
            "x",
            WITH._replace(tools={TOOL: "", "mcp__lens__b": ""}, excluded=["mcp__lens__x"]),
            ("mcp_not_offered", "unlike in the preflight: no mcp__lens__b"),
        ),
        (
            FINE,
            replace(GOOD, tools_offered=("Read", "mcp__lens__a_b")),
            "x",
            WITH._replace(tools={"mcp__lens__a.b": ""}),
            ("", ""),
        ),
        (
            FINE,
            GOOD,
            "x",
            WITH._replace(tools={TOOL: "", "mcp__lens__lens_find": ""}),
            ("mcp_not_offered", "unlike in the preflight: no mcp__lens__lens_find"),
        ),
        (
            FINE,
            replace(GOOD, calls=(Call(TOOL, 1), Call("mcp__lens__added_later", 1))),
            "x",
            WITH._replace(tools={TOOL: ""}),
            ("", ""),
        ),
        (
            FINE,
            GOOD,
            "x",
            WITH._replace(tools={"mcp__lens__old": ""}),
            ("mcp_not_offered", f"unlike in the preflight: no mcp__lens__old, also {TOOL}"),
        ),
        (FINE, replace(GOOD, agent_version="2.1"), "x", WITH._replace(version="2.1"), ("", "")),
        (
            FINE,
            replace(GOOD, agent_version="2.2"),
            "x",
            WITH._replace(version="2.1"),
            ("settings_changed", "version 2.2 of the agent; agent.version is 2.1"),
        ),
        (FINE, replace(GOOD, models=("m", "n", "m")), "x", WITH, ("model_changed", "m and n")),
        (FINE, GOOD, " \n\t", WITH, ("empty", "")),
        (FINE, GOOD, "API Error: 429\n busy", WITH, ("api_error", "API Error: 429 busy")),
        (FINE, GOOD, "The API Error: text is made in x.py", WITH, ("", "")),
    ],
)
def test_the_first_reason_that_facts_give_is_the_reason(
    attempt: Attempt, outcome: Outcome, answer: str, expected: Expectation, reason: tuple[str, str]
) -> None:
    assert find_reason(attempt, outcome, answer, expected) == reason
    assert not reason[0] or reason[0] in REASONS


def test_tools_belong_to_a_server_by_its_whole_name() -> None:
    tools = ["mcp__lens__a", "mcp__lens2__a", "lens", "mcp__lens", "Read"]
    assert tools_of(["lens"], tools) == ["mcp__lens__a"]
    assert tools_of([], tools) == []


def test_the_protocol_lists_all_reasons_and_each_says_what_it_means_and_what_to_do() -> None:
    rows = re.findall(
        r"(?m)^\| `(\w+)` \|.*\| (yes|no)\b[^|]*\|$", PROTOCOL.read_text(encoding="utf-8")
    )
    assert dict(rows) == {
        name: "yes" if reason.policy == "again" else "no" for name, reason in REASONS.items()
    }
    assert set(REASONS) == set(DiscardReason)
    assert all(
        reason.meaning and reason.look_at and reason.policy in ("again", "later")
        for reason in REASONS.values()
    )
