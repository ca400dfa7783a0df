"""What is keyed by ids that agents and gateways choose: equal and missing ids lose no call, no token and no text."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.agents import load_adapter
from lensbench.core.records import Call, Outcome

ROWS = yaml.safe_load(Path(__file__).with_name("threads.yaml").read_text(encoding="utf-8"))


Events = list[dict[str, Any]]
IDS = {"own": ("a", "b"), "equal": ("a", "a"), "missing": ("", "")}


def read(kind: str, events: Events) -> Outcome:
    lines: Iterable[str] = [json.dumps(_without_empty_ids(event)) for event in events]
    outcome = load_adapter(kind).read(lines)
    assert isinstance(outcome, Outcome)
    return outcome


def _without_empty_ids(value: Any) -> Any:
    """A missing id is a key that is not there."""
    if isinstance(value, list):
        return [_without_empty_ids(item) for item in value]
    if not isinstance(value, dict):
        return value
    kept = dict[str, Any]()
    for key, item in value.items():
        if item == "" and key.lower().endswith("id"):
            continue
        kept[key] = _without_empty_ids(item)
    return kept


def counts(outcome: Outcome) -> dict[str, tuple[int, int]]:
    """Calls and failed calls by tool."""
    calls: Iterable[Call] = outcome.calls or ()
    return {call.name: (call.count, call.errors) for call in calls}


def codex_call(event: str, key: str, tool: str, query: str) -> dict[str, Any]:
    item = {
        "id": key,
        "type": "mcp_tool_call",
        "server": "lens",
        "tool": tool,
        "arguments": {"query": query},
        "status": "in_progress",
    }
    if event == "completed":
        item |= {"status": "completed", "result": {"content": [{"type": "text", "text": query}]}}
    return {"type": f"item.{event}", "item": item}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("queries", [("x", "y"), ("x", "x")])
@pytest.mark.parametrize(
    "order",
    [
        ("started 0", "completed 0", "started 1", "completed 1"),
        ("started 0", "started 1", "completed 0", "completed 1"),
        ("started 0", "started 1", "completed 1", "completed 0"),
    ],
)
def test_codex_counts_every_call(ids: str, queries: tuple[str, str], order: list[str]) -> None:
    events: Events = [{"type": "thread.started", "thread_id": "t"}]
    for step in order:
        event, place = step.split()
        call = int(place)
        events.append(codex_call(event, IDS[ids][call], "grep", queries[call]))
    events.append({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 1}})
    assert counts(read("codex", events)) == {"mcp__lens__grep": (2, 0)}


def test_codex_may_complete_an_item_with_other_arguments() -> None:
    events: Events = [
        {"type": "thread.started", "thread_id": "t"},
        codex_call("started", "a", "grep", "x"),
        codex_call("completed", "a", "grep", "y"),
        {"type": "turn.completed", "usage": {}},
    ]
    assert counts(read("codex", events)) == {"mcp__lens__grep": (1, 0)}


def test_codex_shows_the_same_item_in_several_states_as_one_call() -> None:
    events: Events = [
        {"type": "thread.started", "thread_id": "t"},
        codex_call("started", "a", "grep", "x"),
        codex_call("updated", "a", "grep", "x"),
        codex_call("completed", "a", "grep", "x"),
        codex_call("completed", "a", "grep", "x"),
        {"type": "item.started", "item": {"id": "w", "type": "web_search", "query": ""}},
        {"type": "item.completed", "item": {"id": "w", "type": "web_search", "query": "x"}},
        {"type": "turn.completed", "usage": {}},
    ]
    assert counts(read("codex", events)) == {"mcp__lens__grep": (1, 0), "web_search": (1, 0)}


@pytest.mark.parametrize(("threads", "totals", "wanted"), ROWS)
def test_codex_adds_up_threads_and_takes_the_last_total_of_each(
    threads: list[str], totals: list[list[list[int]]], wanted: list[int]
) -> None:
    events: Events = []
    for thread, turns in zip(threads, totals, strict=True):
        events.append({"type": "thread.started", "thread_id": thread})
        for given, written in turns:
            usage = {"input_tokens": given, "output_tokens": written}
            events.append({"type": "turn.completed", "usage": usage})
    tokens = read("codex", events).tokens
    assert tokens == {"input": wanted[0], "output": wanted[1], "cache_read": 0, "cache_write": 0}


def claude_message(key: str, blocks: Events, parent: str = "", **more: Any) -> dict[str, Any]:
    usage = {"input_tokens": more.get("given", 0), "output_tokens": 1}
    message = {"id": key, "model": "m", "role": "assistant", "usage": usage, "content": blocks}
    return {"type": "assistant", "parent_tool_use_id": parent or None, "message": message}


def claude_results(*keys: str, parent: str = "") -> dict[str, Any]:
    blocks = [{"type": "tool_result", "tool_use_id": key, "content": "ok"} for key in keys]
    message = {"role": "user", "content": blocks}
    return {"type": "user", "parent_tool_use_id": parent or None, "message": message}


def claude_call(key: str, query: str, name: str = "Grep") -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": {"query": query}}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("queries", [("x", "y"), ("x", "x")])
@pytest.mark.parametrize("is_parallel", [False, True])
def test_claude_code_counts_every_call_and_every_request(
    ids: str, queries: tuple[str, str], is_parallel: bool
) -> None:
    first, second = IDS[ids]
    calls = [claude_call(first, queries[0]), claude_call(second, queries[1])]
    init = {"type": "system", "subtype": "init", "model": "m", "tools": ["Grep"]}
    if is_parallel:
        work = [claude_message("m1", calls, given=10), claude_results(first, second)]
    else:
        work = [
            claude_message(first, calls[:1], given=10),
            claude_results(first),
            claude_message(second, calls[1:], given=30),
            claude_results(second),
        ]
    outcome = read("claude-code", [init, *work])
    assert counts(outcome) == {"Grep": (2, 0)}
    assert outcome.tokens is not None
    assert outcome.tokens["input"] == (10 if is_parallel else 40)


def test_a_call_of_a_sub_agent_without_an_id_is_not_taken_for_the_call_that_started_it() -> None:
    events = [
        {"type": "system", "subtype": "init", "model": "m"},
        claude_message("m1", [claude_call("p", "look", "Task")]),
        claude_message("m2", [claude_call("", "x")], "p"),
        claude_results("", parent="p"),
        claude_results("p"),
    ]
    events[3]["message"]["content"][0] |= {"is_error": True, "content": "no such file"}
    assert counts(read("claude-code", events)) == {"Task": (1, 0), "Grep": (1, 1)}


@pytest.mark.parametrize("ids", IDS)
@pytest.mark.parametrize("queries", [("x", "y"), ("x", "x")])
@pytest.mark.parametrize("is_parallel", [False, True])
def test_gemini_counts_every_call(ids: str, queries: tuple[str, str], is_parallel: bool) -> None:
    first, second = IDS[ids]
    calls: Events = [
        {
            "type": "tool_use",
            "tool_name": "grep",
            "tool_id": key,
            "parameters": {"q": query},
        }
        for key, query in zip((first, second), queries, strict=True)
    ]
    results: Events = [
        {"type": "tool_result", "tool_id": key, "status": "success", "output": "ok"}
        for key in (first, second)
    ]
    work = [calls[0], results[0], calls[1], results[1]]
    if is_parallel:
        work = [*calls, *results]
    events = [{"type": "init", "model": "m"}, *work, {"type": "result", "stats": {}}]
    assert counts(read("gemini", events)) == {"grep": (2, 0)}


@pytest.mark.parametrize("ids", IDS)
def test_opencode_takes_the_text_of_the_last_message_and_every_call_and_step(ids: str) -> None:
    events: Events = [{"type": "lensbench.started", "model": "m", "servers": []}]
    for key, said, reason in zip(
        IDS[ids], ("A guess.", "b.py"), ("tool-calls", "stop"), strict=True
    ):
        tokens = {"input": 10, "output": 2, "reasoning": 0, "cache": {"read": 0, "write": 0}}
        state = {"status": "completed", "input": {"pattern": "x"}, "output": "ok"}
        common = {"messageID": key, "sessionID": "s"}
        events += [
            {"type": "step_start", "part": {**common}},
            {"type": "text", "part": {**common, "text": said}},
            {"type": "tool_use", "part": {**common, "callID": key, "tool": "grep", "state": state}},
            {"type": "step_finish", "part": {**common, "reason": reason, "tokens": tokens}},
        ]
    outcome = read("opencode", events)
    assert counts(outcome) == {"grep": (2, 0)}
    assert outcome.tokens == {"input": 20, "output": 4, "cache_read": 0, "cache_write": 0}
    assert outcome.turns == 2
    assert outcome.answer == "b.py"
