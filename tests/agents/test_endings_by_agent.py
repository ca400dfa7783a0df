"""What each kind of agent shows of the same calls and the same endings, and what becomes of the run (docs/reference/endings.md)."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lensbench.agents import load_adapter
from lensbench.agents.adapters import claude_code, codex, gemini, offline, opencode
from lensbench.core.records import Attempt, Call, Outcome
from lensbench.runs.reasons import REASONS, Expectation, find_reason, stops


def claude_call(tool: str, is_error: bool) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "call_0", "name": tool, "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "call_0", "content": "x", "is_error": is_error}
    return [{"type": "assistant", "message": {"content": [use]}}, {"type": "user", "message": {"content": [answer]}}]


def gemini_call(tool: str, is_error: bool) -> list[dict[str, Any]]:
    name, status = tool.replace("mcp__lens__", "mcp_lens_"), "error" if is_error else "success"
    return [{"type": "tool_use", "tool_name": name, "tool_id": "call_0", "parameters": {}},
            {"type": "tool_result", "tool_id": "call_0", "status": status}]  # fmt: skip


def codex_call(tool: str, is_error: bool) -> list[dict[str, Any]]:
    kind, name = ("mcp_tool_call", tool.split("__")[-1]) if "__" in tool else (tool, "")
    item = {"id": "call_0", "type": kind, "server": "lens", "tool": name}
    return [{"type": "item.started", "item": item},
            {"type": "item.completed", "item": {**item, "status": "failed" if is_error else "completed"}}]  # fmt: skip


def opencode_call(tool: str, is_error: bool) -> list[dict[str, Any]]:
    state = {"status": "error" if is_error else "completed"}
    return [
        {"type": "tool_use", "part": {"callID": "call_0", "tool": tool.replace("mcp__lens__", "lens_"), "state": state}}
    ]


def offline_call(tool: str, is_error: bool) -> list[dict[str, Any]]:
    return [{"type": "tool_call", "id": 0, "name": tool}, {"type": "tool_result", "id": 0, "is_error": is_error}]


ANNOUNCED = {"type": "lensbench.started", "model": "m", "workspace": "/repo", "servers": [], "denied_servers": ["lens"]}


@pytest.mark.parametrize(("adapter", "call", "start"), [
    (claude_code, claude_call, {"type": "system", "subtype": "init"}), (gemini, gemini_call, ANNOUNCED),
    (codex, codex_call, ANNOUNCED), (opencode, opencode_call, ANNOUNCED), (offline, offline_call, {"type": "start"}),
])  # fmt: skip
def test_calls_whose_ids_a_gateway_repeats_are_all_counted(adapter: Any, call: Any, start: dict[str, Any]) -> None:
    tools = [("web_search", False), ("mcp__lens__lens_grep", True), ("web_search", False), ("command_execution", True)]
    events = [start, *(event for tool in tools for event in call(*tool))]
    assert adapter.read(map(json.dumps, events)).calls == (
        Call("command_execution", 1, 1), Call("mcp__lens__lens_grep", 1, 1), Call("web_search", 2),
    )  # fmt: skip


@pytest.mark.parametrize(("adapter", "start", "events"), [
    (claude_code, {"type": "system", "subtype": "init"}, [{"type": "result", "result": "so"}]),
    (gemini, ANNOUNCED, [{"type": "init"}, {"type": "result"}]),
    (gemini, {"type": "init"}, [ANNOUNCED, {"type": "result"}]),
    (codex, ANNOUNCED, [{"type": "thread.started"}, {"type": "turn.completed"}]),
    (codex, {"type": "thread.started"}, [ANNOUNCED, {"type": "turn.completed"}]),
    (opencode, ANNOUNCED, [{"type": "step_finish", "part": {"reason": "stop"}}]),
])  # fmt: skip
def test_a_stream_without_its_start_is_incomplete(adapter: Any, start: dict[str, Any], events: list[Any]) -> None:
    assert adapter.read(map(json.dumps, [start, *events])).finished
    outcome = adapter.read(map(json.dumps, events))
    assert find_reason(Attempt(1, "", 1.0, 0.0, 0, False), outcome, "x", Expectation(("lens",), ()))[0] in (
        "crashed",
        "mcp_failed",
    )
    assert not outcome.finished


SERVED = {"claude-code": claude_call, "codex": codex_call, "gemini": gemini_call, "opencode": opencode_call,
          "command-events": offline_call}  # fmt: skip
STARTS: dict[str, list[dict[str, Any]]] = {
    "claude-code": [{"type": "system", "subtype": "init", "mcp_servers": [], "tools": []}],
    "codex": [ANNOUNCED, {"type": "thread.started"}], "gemini": [ANNOUNCED, {"type": "init"}], "opencode": [ANNOUNCED],
    "command-events": [{"type": "start"}],
}  # fmt: skip
ENDS: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "claude-code": (
        [{"type": "assistant", "message": {"content": [{"type": "text", "text": "so"}]}}, {"type": "result", "result": "so"}], [{"type": "result", "result": "half", "subtype": "error_max_turns", "is_error": True}],
    ),
    "codex": (
        [{"type": "item.completed", "item": {"id": "9", "type": "agent_message", "text": "so"}}, {"type": "turn.completed"}],
        [{"type": "turn.failed", "error": {"message": "ran out of room in the model's context window"}}],
    ),
    "gemini": (
        [{"type": "message", "role": "assistant", "content": "so"}, {"type": "result", "status": "success"}],
        [{"type": "result", "error": {"type": "FatalTurnLimitedError", "message": "turns"}}],
    ),
    "opencode": (
        [{"type": "text", "part": {"text": "so"}}, {"type": "step_finish", "part": {"reason": "stop"}}],
        [{"type": "step_finish", "part": {"reason": "length"}}],
    ),
    "command-events": ([{"type": "answer", "text": "so"}, {"type": "end"}], [{"type": "end", "ended": "limit"}]),
}  # fmt: skip
"""The end of an answer, and that of a run that reached a limit."""


def becomes(agent: str, *events: dict[str, Any] | str, exit_code: int = 1) -> str:
    """What becomes of a run of the baseline with this output."""
    lines = [event if isinstance(event, str) else json.dumps(event) for event in events]
    outcome: Outcome = load_adapter(agent).read(f"{line}\n" for line in lines)
    reason, _ = find_reason(
        Attempt(1, "", 1.0, 0.0, exit_code, False), outcome, outcome.answer, Expectation((), ("lens",))
    )
    return f"{'stop' if stops(outcome) else REASONS[reason].policy} {reason}" if reason else outcome.ending


@pytest.mark.parametrize(("status", "is_first", "words", "expected"), [
    (402, False, "pay", "stop api_error"), (400, False, "Your credit balance is too low", "stop api_error"),
    (400, False, "The model-x model is not supported with this account.", "stop api_error"),
    (404, False, "model: glm-9 does not exist", "stop api_error"),
    (400, False, "a picture cannot be read", "again api_error"), (413, True, "too large", "again api_error"),
    (429, True, "slow down", "again rate_limited"), (529, False, "overloaded", "again api_error"),
])  # fmt: skip
def test_a_refusal_is_told_by_its_status_and_its_words(status: int, is_first: bool, words: str, expected: str) -> None:
    before = [] if is_first else offline_call("web_search", False)
    refused = {"type": "end", "is_error": True, "error": words, "status": status}
    assert becomes("command-events", {"type": "start"}, *before, refused) == expected


@pytest.mark.parametrize("agent", STARTS)
def test_an_ending_becomes_the_same_for_every_kind_of_agent(agent: str) -> None:
    start, call, (answer, limit) = STARTS[agent], SERVED[agent]("web_search", False), ENDS[agent]
    assert becomes(agent, *start, *call, *answer, exit_code=0) == "finished"
    assert becomes(agent, *start, *call, *answer, exit_code=-9) == "again crashed"
    assert becomes(agent, *start, *call, *answer[:-1], *limit, exit_code=0) == "limit"
    assert becomes(agent, *start, *call, exit_code=0) == "again crashed"
    assert (
        becomes(agent, *start, *SERVED[agent]("mcp__lens__lens_grep", False), *answer, exit_code=0)
        == "later contaminated"
    )
    assert becomes(agent, *start, *SERVED[agent]("mcp__lens__lens_grep", True), *answer, exit_code=0) == "finished"
