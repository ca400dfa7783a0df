from __future__ import annotations

from dataclasses import replace

import pytest

from lensbench.core.records import Attempt, Call, Outcome
from lensbench.runs.reasons import REASONS, Expectation, find_reason, tools_of

WITH, WITHOUT = Expectation(["lens"], []), Expectation([], ["lens"])
FINE = Attempt(1, "", 900.4, 0.0, 0, False)
TOOL = "mcp__lens__lens_grep"
GOOD = Outcome(models=("m",), servers={"lens": "connected"}, tools_offered=("Read", TOOL), calls=(Call(TOOL, 1),))
BASE = Outcome(models=("m",), servers={}, tools_offered=("Read",), calls=(Call("Read", 1),))


@pytest.mark.parametrize(
    ("attempt", "outcome", "answer", "expected", "reason"),
    [
        (FINE, GOOD, "x", WITH, ("", "")),
        (FINE, BASE, "x", WITHOUT, ("", "")),
        (FINE, Outcome(), "x", WITH, ("", "")),
        (replace(FINE, timed_out=True), replace(GOOD, error="e"), "", WITH, ("timed_out", "after 900 s")),
        (replace(FINE, exit_code=1), replace(GOOD, error="overloaded"), "x", WITH, ("api_error", "overloaded")),
        (replace(FINE, exit_code=-9), GOOD, "x", WITH, ("crashed", "exit code -9")),
        (FINE, replace(GOOD, finished=False), "x", WITH, ("crashed", "the output is incomplete")),
        (FINE, replace(BASE, tools_offered=(TOOL,)), "x", WITHOUT, ("contaminated", TOOL)),
        (FINE, replace(BASE, calls=(Call(TOOL, 1),)), "x", WITHOUT, ("contaminated", TOOL)),
        (
            FINE,
            replace(GOOD, servers={"lens": "failed: exit code 1"}),
            "x",
            WITH,
            ("mcp_failed", "lens: failed: exit code 1"),
        ),
        (FINE, replace(GOOD, servers={"lens": "pending"}), "x", WITH, ("mcp_failed", "lens: pending")),
        (FINE, replace(GOOD, servers={}), "x", WITH, ("mcp_failed", "lens: absent")),
        (FINE, replace(GOOD, tools_offered=("Read",)), "x", WITH, ("mcp_not_offered", "no tool of lens")),
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


def test_every_reason_says_what_it_means_and_what_to_do() -> None:
    assert all(reason.meaning and reason.look_at and reason.policy in ("again", "later") for reason in REASONS.values())
