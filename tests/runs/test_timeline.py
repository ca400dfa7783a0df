"""What an agent did, step by step, from the streams of all agents."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from lensbench.runs.timeline import Step, read_timeline

Event = dict[str, Any]


def steps(*events: dict[str, Any]) -> list[Step]:
    return read_timeline(map(json.dumps, events))


CALL = {"type": "tool_use", "id": "t1", "name": "Grep", "input": {"pattern": "x"}}
CLAUDE = [
    {"type": "system", "subtype": "init"},
    {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm"}, CALL]},
    },
    {
        "type": "user",
        "message": {
            "role": "user",
            "content": [
                {
                    "type": "tool_result",
                    "tool_use_id": "t1",
                    "is_error": True,
                    "content": [{"type": "text", "text": "no"}],
                }
            ],
        },
    },
    {
        "type": "assistant",
        "message": {"role": "assistant", "content": [{"type": "text", "text": "It is there."}]},
    },
    {
        "type": "result",
        "num_turns": 2,
        "total_cost_usd": 0.25,
        "usage": {"input_tokens": 7},
        "result": "It is there.",
    },
]
EVENTS = [
    {"type": "start", "model": "m"},
    {"type": "tool_call", "id": 1, "name": "Grep", "input": {"pattern": "x"}},
    {"type": "tool_result", "id": 1, "is_error": True, "output": "no"},
    {"type": "answer", "text": "It is there."},
    {"type": "end", "turns": 2},
]
GEMINI = [
    {
        "type": "message",
        "timestamp": "2026-11-20T21:26:34.000Z",
        "role": "user",
        "content": "where?",
    },
    {
        "type": "tool_use",
        "timestamp": "2026-11-20T21:26:35.500Z",
        "tool_name": "Grep",
        "tool_id": "c",
        "parameters": {"pattern": "x"},
    },
    {"type": "tool_result", "tool_id": "c", "status": "error", "error": "no"},
    {"type": "message", "role": "assistant", "content": "It is ", "delta": True},
    {"type": "message", "role": "assistant", "content": "there.", "delta": True},
    {"type": "result", "status": "success", "stats": {"input_tokens": 7}},
]
OPENCODE = [
    {
        "type": "tool_use",
        "timestamp": 5000,
        "part": {
            "callID": "c",
            "tool": "Grep",
            "state": {"status": "error", "input": {"pattern": "x"}, "error": "no"},
        },
    },
    {"type": "text", "timestamp": 6000, "part": {"text": "It is there."}},
]
CODEX = [
    {
        "type": "item.started",
        "item": {
            "id": "i",
            "type": "command_execution",
            "command": "grep x",
            "status": "in_progress",
        },
    },
    {
        "type": "item.completed",
        "item": {
            "id": "i",
            "type": "command_execution",
            "command": "grep x",
            "aggregated_output": "no",
            "status": "failed",
        },
    },
    {
        "type": "item.completed",
        "item": {"id": "j", "type": "agent_message", "text": "It is there."},
    },
    {"type": "turn.completed", "usage": {"input_tokens": 7}},
]


@pytest.mark.parametrize("events", [CLAUDE, EVENTS, GEMINI, OPENCODE, CODEX])
def test_a_call_has_its_result_and_words_stand_after_it(events: Iterable[dict[str, Any]]) -> None:
    read = steps(*events)
    (call,) = [step for step in read if step.kind == "call"]
    assert call.title in ("Grep", "shell")
    assert "x" in call.given
    assert (call.got, call.failed) == ("no", True)
    (words,) = [step for step in read if step.kind == "says"]
    assert words.given == "It is there."
    assert read.index(words) > read.index(call)


def test_the_end_has_the_figures_of_the_agent_and_times_count_from_the_first_event_with_one() -> (
    None
):
    assert steps(*CLAUDE)[-1].title == "2 turns, 7 input tokens, $0.2500"
    assert steps(*CODEX)[-1].title == "7 input tokens"
    assert [step.at_s for step in steps(*OPENCODE)] == [0.0, 1.0]
    assert next(step.at_s for step in steps(*GEMINI) if step.kind == "call") == 1.5
    assert {step.at_s for step in steps(*CODEX)} == {None}


@pytest.mark.parametrize(
    "line",
    [
        "",
        "no json",
        "[]",
        '{"type": 1}',
        '{"type": "assistant", "message": 3}',
        '{"type": "tool_use", "part": {"state": 1}}',
        '{"type": "user", "message": {"content": [1, {"type": "tool_result"}]}}',
        '{"type": "item.completed", "item": []}',
        '{"type": "tool_result", "id": [], "timestamp": "never"}',
        '{"type": "answer", "text": {}}',
    ],
)
def test_what_is_not_understood_is_passed_over(line: str) -> None:
    assert read_timeline([line, json.dumps(EVENTS[3])])[-1].given == "It is there."


def claude(number: int, key: str, query: str) -> tuple[Event, Event]:
    block = {"type": "tool_use", "id": key, "name": "Grep", "input": {"q": query}}
    result = {"type": "tool_result", "tool_use_id": key, "content": f"found {number}"}
    return (
        {"type": "assistant", "message": {"role": "assistant", "content": [block]}},
        {"type": "user", "message": {"role": "user", "content": [result]}},
    )


def gemini(number: int, key: str, query: str) -> tuple[Event, Event]:
    call = {"type": "tool_use", "tool_name": "Grep", "tool_id": key, "parameters": {"q": query}}
    return call, {"type": "tool_result", "tool_id": key, "output": f"found {number}"}


def own_events(number: int, key: str, query: str) -> tuple[Event, Event]:
    call = {"type": "tool_call", "id": key, "name": "Grep", "input": {"q": query}}
    return call, {"type": "tool_result", "id": key, "text": f"found {number}"}


def codex(number: int, key: str, query: str) -> tuple[Event, Event]:
    item = {"id": key, "type": "command_execution", "command": query}
    return (
        {"type": "item.started", "item": item},
        {"type": "item.completed", "item": {**item, "aggregated_output": f"found {number}"}},
    )


def opencode(number: int, key: str, query: str) -> tuple[Event, Event]:
    state = {"status": "completed", "input": {"q": query}, "output": f"found {number}"}
    part = {"callID": key, "tool": "Grep", "state": state}
    return {"type": "step_start", "part": {}}, {"type": "tool_use", "part": part}


@pytest.mark.parametrize("agent", [claude, gemini, own_events, codex, opencode])
@pytest.mark.parametrize("ids", [("a", "b"), ("a", "a"), ("", "")])
@pytest.mark.parametrize("queries", [("x", "y"), ("x", "x")])
@pytest.mark.parametrize("is_parallel", [False, True])
def test_equal_and_missing_ids_lose_no_call_and_no_result(
    agent: Callable[[int, str, str], tuple[Event, Event]],
    ids: tuple[str, str],
    queries: tuple[str, str],
    is_parallel: bool,
) -> None:
    first, second = (agent(n, ids[n], queries[n]) for n in (0, 1))
    events = [*first, *second]
    if is_parallel:
        events = [first[0], second[0], first[1], second[1]]
    calls = [step for step in steps(*events) if step.kind == "call"]
    assert [step.got for step in calls] == ["found 0", "found 1"]
    for step, query in zip(calls, queries, strict=True):
        assert query in step.given


def test_codex_results_in_another_order_belong_to_the_calls_with_their_inputs() -> None:
    (began, ended), (other, other_ended) = codex(0, "a", "x"), codex(1, "a", "y")
    calls = steps(began, other, other_ended, ended)
    assert [(step.given, step.got) for step in calls] == [("x", "found 0"), ("y", "found 1")]


def test_an_event_that_is_shown_twice_is_one_step() -> None:
    began, ended = codex(0, "a", "x")
    assert len(steps(began, ended, ended)) == 1
    assert len(steps(ended, ended)) == 1
    call, result = claude(0, "a", "x")
    assert len(steps(call, call, result)) == 1


def test_a_call_of_a_sub_agent_without_an_id_is_not_taken_for_the_runs_own() -> None:
    (call, result), (own, own_result) = claude(0, "", "x"), claude(1, "", "y")
    inner = [{**event, "parent_tool_use_id": "p"} for event in (call, result)]
    calls = steps(own, inner[0], inner[1], own_result)
    assert [(json.loads(step.given)["q"], step.got) for step in calls] == [
        ("y", "found 1"),
        ("x", "found 0"),
    ]


def test_a_call_with_the_id_of_a_complete_one_is_another_step() -> None:
    assert [
        (step.title, step.got) for step in steps(*CLAUDE[1:3], *CLAUDE[1:3]) if step.kind == "call"
    ] == [("Grep", "no")] * 2


@pytest.mark.parametrize("got", ["no", ""])
def test_the_id_of_a_call_that_said_nothing_hides_no_other_call(got: str) -> None:
    first = {"type": "tool_call", "id": "call_0", "name": "Bash", "input": {"command": "true"}}
    answer = {"type": "tool_result", "id": "call_0", "output": got}
    second = {**first, "input": {"command": "seek index ."}}
    calls = steps(first, answer, second, answer)
    assert [json.loads(step.given)["command"] for step in calls] == ["true", "seek index ."]


def at(second: float) -> str:
    return f"2026-11-20T21:26:{second:06.3f}Z"


def timed_claude() -> list[Event]:
    (call, result), (other, other_result) = claude(0, "a", "x"), claude(1, "b", "y")
    answer = {"type": "assistant", "message": {"content": [{"type": "text", "text": "there"}]}}
    seconds = [1.0, 3.0, 4.0, 8.0, 10.5]
    return [
        {**event, "timestamp": at(second)}
        for event, second in zip((call, other, result, other_result, answer), seconds, strict=True)
    ]


def timed_gemini() -> list[Event]:
    (call, result), (other, other_result) = gemini(0, "a", "x"), gemini(1, "b", "y")
    answer = {"type": "message", "role": "assistant", "content": "the", "delta": True}
    seconds = [1.0, 3.0, 4.0, 8.0, 10.0, 10.5]
    return [
        {**event, "timestamp": at(second)}
        for event, second in zip(
            (call, other, result, other_result, answer, {**answer, "content": "re"}),
            seconds,
            strict=True,
        )
    ]


@pytest.mark.parametrize("events", [timed_claude(), timed_gemini()], ids=["claude", "gemini"])
def test_the_time_of_a_run_is_that_of_the_model_and_of_its_tools(events: list[Event]) -> None:
    first, second, words = steps(*events)
    assert (first.model_s, first.tool_s) == (0.0, 1.0)
    assert (second.model_s, second.tool_s) == (2.0, 4.0)
    assert (words.model_s, words.tool_s) == (2.5, None)
    assert sum(step.seconds or 0 for step in (first, second, words)) == 9.5


def test_a_call_that_is_shown_when_it_is_complete_has_the_seconds_that_the_stream_says() -> None:
    state = {"status": "completed", "input": {}, "output": "", "time": {"start": 3000, "end": 5000}}
    part = {"callID": "c", "tool": "Grep", "state": state}
    text = {"type": "text", "timestamp": 1000, "part": {"text": "I look."}}
    _, call = steps(text, {"type": "tool_use", "timestamp": 5500, "part": part})
    assert (call.model_s, call.tool_s) == (2.5, 2.0)


def test_without_times_no_step_has_seconds() -> None:
    for events in (CODEX, EVENTS, CLAUDE):
        assert {step.seconds for step in steps(*events)} == {None}


def test_the_request_behind_a_step_is_that_of_its_message_and_not_of_a_sub_agents() -> None:
    usage = {"input_tokens": 5, "cache_read_input_tokens": 90, "cache_creation_input_tokens": 5}
    message = {"role": "assistant", "content": [CALL], "usage": usage}
    own = {"type": "assistant", "message": message}
    inner = {**own, "parent_tool_use_id": "p"}
    assert [step.request for step in steps(own, inner)] == [100, None]
    tokens = {"input": 5, "output": 2, "cache": {"read": 90, "write": 5}}
    finish = {"type": "step_finish", "part": {"tokens": tokens}}
    assert [step.request for step in steps(*OPENCODE, finish)] == [100, 100]
