"""How runs end, as their streams show it: what was cut off, what is no finished answer, and what servers did."""

import json
from pathlib import Path
from typing import Any

import pytest
from endings_table import BY_NAME, STREAMS, table
from live_agents import CLIS, ending_of

from lensbench.agents import load_adapter
from lensbench.agents.adapters import claude_code, codex, command_events, gemini, offline, opencode
from lensbench.agents.adapters._events import Event, read_event
from lensbench.agents.adapters.claude_code import read
from lensbench.agents.prices import is_same_model, unexpected
from lensbench.agents.start import AgentReply
from lensbench.core.error_texts import ErrorTexts
from lensbench.core.records import Attempt, Call, Outcome
from lensbench.core.system.processes import Ended
from lensbench.runs.reasons import Expectation, find_reason

FOLDERS = [Path(__file__).parent / name for name in ("streams", "endings")]


def lines_of(name: str) -> list[str]:
    """A stream that Claude Code 2.1.329 printed."""
    folder = next(folder for folder in FOLDERS if (folder / f"{name}.jsonl").exists())
    return (folder / f"{name}.jsonl").read_text().splitlines()


def reason_of(outcome: Outcome, *servers: str, served: str = "") -> str:
    attempt = Attempt(1, "", 1.0, 0.0, 1 if served else 0, False)
    return find_reason(attempt, outcome, outcome.answer, Expectation(servers, (), served=served))[0]


@pytest.mark.parametrize(
    ("name", "ending", "answer", "reason"),
    [
        ("stop-max-tokens", "limit", "receivers_for in", ""),
        ("stop-context-limit", "limit", "receivers_for in", ""),
        ("max-turns", "limit", "", ""),
        ("stop-refusal", "refusal", "I cannot help with that.", ""),
        ("stop-network-error", "unknown", "receivers_for in", "cut_off"),
        ("stop-pause-turn", "unknown", "Let me look", "cut_off"),
        ("without", "finished", "", ""),
        ("500", "unknown", "", "api_error"),
    ],
)
def test_the_text_that_there_is_stays_and_the_ending_is_seen(
    name: str, ending: str, answer: str, reason: str
) -> None:
    outcome = read(lines_of(name))
    assert outcome.ending == ending
    assert outcome.answer.startswith(answer)
    assert reason_of(outcome) == reason


@pytest.mark.parametrize(
    ("adapter", "event", "is_over"),
    [
        (claude_code, {"type": "result"}, True),
        (claude_code, {"type": "assistant"}, False),
        (claude_code, {"type": "system", "subtype": "init"}, False),
        (claude_code, {"type": "system"}, None),
        (codex, {"type": "turn.completed"}, True),
        (codex, {"type": "turn.failed"}, True),
        (codex, {"type": "turn.started"}, False),
        (codex, {"type": "item.completed"}, None),
        (gemini, {"type": "result"}, True),
        (gemini, {"type": "message"}, None),
        (opencode, {"type": "step_finish", "part": {"reason": "stop"}}, True),
        (opencode, {"type": "step_finish", "part": {"reason": "tool-calls"}}, False),
        (opencode, {"type": "step_start"}, False),
        (opencode, {"type": "text"}, False),
        (offline, {"type": "end"}, True),
        (command_events, {"type": "end"}, True),
        (offline, {"type": "answer"}, None),
    ],
)
def test_each_adapter_names_the_event_that_ends_an_answer(
    adapter: Any, event: Event, is_over: bool | None
) -> None:
    assert adapter.is_over(event) is is_over


@pytest.mark.parametrize("kind", CLIS)
def test_what_a_real_program_printed_is_read_as_documented(kind: str) -> None:
    recorded = json.loads((STREAMS / f"{kind}.json").read_text())
    assert recorded["version"] == CLIS[kind].version, (
        "record it again with RECORD_STREAMS=1 (test_endings_live.py)"
    )
    adapter = load_adapter(kind)
    found = {}
    for what, shown in recorded["rows"].items():
        outcome = adapter.read(f"{line}\n" for line in shown["output"])
        said = AgentReply(outcome, outcome.answer, "", "", Ended(*shown["end"]), "own", "")
        servers, denied = (("lens",), ()) if BY_NAME[what].server else ((), ("lens",))
        found[what] = ending_of(said, Expectation(servers, denied))
    assert found == {what: row.outcome(kind) for what, row in BY_NAME.items()}
    printed = map(read_event, recorded["rows"]["the program stays after its answer"]["output"])
    assert [over for event in printed if event and (over := adapter.is_over(event)) is not None][-1]


def test_the_docs_have_the_table_that_the_real_programs_are_tried_with() -> None:
    assert table() in (Path(__file__).parents[2] / "docs" / "reference" / "endings.md").read_text()


def test_the_status_of_an_error_is_read_where_an_older_client_only_words_it() -> None:
    for name, status in {"429-long": 429, "401": 401, "500": 500, "refusal": None}.items():
        assert (
            read([line.replace("api_error_status", "x") for line in lines_of(name)]).error_status
            == status
        )


def test_a_compacted_context_is_a_separate_kind_of_ending() -> None:
    lines = lines_of("without")
    boundary = json.dumps({"type": "system", "subtype": "compact_boundary"})
    assert read([*lines[:-1], boundary, lines[-1]]).ending == "compaction"


@pytest.mark.parametrize(
    "name", ["http-server-died-refused", "http-server-killed-reset", "http-server-502"]
)
def test_a_call_whose_http_server_was_gone_discards_the_run(name: str) -> None:
    assert reason_of(read(lines_of(name)), "lens") == "mcp_failed"


def test_an_unmarked_error_is_a_failed_call_and_the_config_s_patterns_replace_the_known_texts() -> (
    None
):
    outcome = read(lines_of("error-without-iserror"))
    assert outcome.calls == (Call("mcp__lens__lens_grep", 1, 1),)
    assert outcome.servers == {"lens": "failed"}
    assert outcome.server_faults["lens"].startswith('{ "error": "Repo not registered"')
    assert reason_of(outcome, "lens") == "mcp_failed"
    lines = lines_of("error-without-iserror")
    assert reason_of(read(lines, errors=ErrorTexts({"lens": ["quota exceeded"]})), "lens") == ""
    assert reason_of(read(lines, errors=ErrorTexts({"lens": ['"error":']})), "lens") == "mcp_failed"


@pytest.mark.parametrize(
    ("answer", "is_error"),
    [
        ("the project isn't indexed", True),
        ("it isn\u2019t yet registered", True),
        ("Repo not registered", True),
        ("cart.py:3 init registered its hooks", False),
        ("src/unit indexed by name", False),
        ("knot registered", False),
    ],
)
def test_a_server_that_does_not_know_the_workspace_says_not(answer: str, is_error: bool) -> None:
    assert bool(ErrorTexts().found("mcp__lens__grep", answer)) is is_error


def test_one_error_text_among_good_answers_discards_nothing() -> None:
    calls = [
        {"type": "tool_call", "id": number, "name": "mcp__lens__lens_grep"} for number in (1, 2)
    ]
    results = [
        {
            "type": "tool_result",
            "id": 1,
            "is_error": False,
            "text": "Repo not registered: /elsewhere",
        },
        {"type": "tool_result", "id": 2, "is_error": False, "text": "src/shop.py"},
    ]
    start = {
        "type": "start",
        "mcp_servers": [{"name": "lens", "status": "connected"}],
        "tools": ["mcp__lens__lens_grep"],
    }
    ends = [{"type": "answer", "text": "so"}, {"type": "end"}]
    outcome = offline.read(map(json.dumps, [start, *calls, *results, *ends]))
    assert outcome.calls == (Call("mcp__lens__lens_grep", 2, 1),)
    assert reason_of(outcome, "lens") == ""
    assert (
        reason_of(offline.read(map(json.dumps, [start, *calls, *results[:1], *ends])), "lens")
        == "mcp_failed"
    )


@pytest.mark.parametrize(
    ("ended", "ending", "reason"),
    [
        ("limit", "limit", ""),
        ("refusal", "refusal", ""),
        ("compaction", "compaction", ""),
        ("gone", "unknown", "cut_off"),
    ],
)
def test_a_users_program_may_report_how_it_ended(ended: str, ending: str, reason: str) -> None:
    events = [
        {"type": "start"},
        {"type": "answer", "text": "half"},
        {"type": "end", "ended": ended},
    ]
    outcome = command_events.read(map(json.dumps, events))
    assert (outcome.ending, reason_of(outcome)) == (ending, reason)


def test_a_full_context_of_codex_is_a_limit_and_no_failure_of_the_service() -> None:
    full = {
        "type": "turn.failed",
        "error": {"message": "Codex ran out of room in the model's context window."},
    }
    said = {"type": "item.completed", "item": {"id": "1", "type": "agent_message", "text": "half"}}
    outcome = codex.read(map(json.dumps, [{"type": "thread.started"}, said, full]))
    assert (outcome.ending, outcome.answer, outcome.error) == ("limit", "half", "")


def claude_call(tool: str, is_error: bool) -> list[dict[str, Any]]:
    use = {"type": "tool_use", "id": "call_0", "name": tool, "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "call_0", "content": "x", "is_error": is_error}
    return [
        {"type": "assistant", "message": {"content": [use]}},
        {"type": "user", "message": {"content": [answer]}},
    ]


def test_a_sub_agent_s_call_with_the_id_of_an_open_call_has_its_own_result() -> None:
    outer = claude_call("Agent", False)
    inner = claude_call("Bash", True)
    events = [outer[0], *({**event, "parent_tool_use_id": "call_0"} for event in inner), outer[1]]
    assert read(map(json.dumps, events)).calls == (Call("Agent", 1), Call("Bash", 1, 1))


@pytest.mark.parametrize(
    "before",
    [
        "\ufeff",
        "\x1b]0;claude\x07",
        "\x1b]2;a b\x1b\\",
        "\x1b[?2004h",
        "\x1b[2K\r",
        "\x1bc",
        "\x1b(B\x1b[?25l\ufeff",
        "\0",
    ],
)
def test_what_a_launcher_prints_before_an_event_does_not_hide_it(before: str) -> None:
    failed, *rest = lines_of("server-missing")
    assert reason_of(read([before + failed, *rest]), "lens") == "mcp_failed"
    assert reason_of(read(["cc: " + failed, *rest]), "lens") == "crashed"


@pytest.mark.parametrize(
    ("served", "reason"), [("", ""), ("glm-5", ""), ("glm-*", ""), ("glm-6", "model_changed")]
)
def test_another_model_than_agent_served_discards_the_run(served: str, reason: str) -> None:
    outcome = read(lines_of("stop-max-tokens"))
    assert outcome.models == ("glm-5",)
    assert reason_of(outcome, served=served) == reason


def test_a_served_name_is_compared_with_what_was_asked_for_and_the_mapping() -> None:
    agent = {"model": "sonnet", "models": {"sonnet": "glm-5"}}
    assert unexpected(Outcome(models=("glm-5",)), agent) == []
    assert unexpected(Outcome(models=("glm-4.5-air",)), agent) == ["glm-4.5-air"]
    assert unexpected(Outcome(models=("glm-4.5-air",)), {**agent, "served": "glm-4.5-air"}) == []
    assert unexpected(Outcome(models=("glm-5",), models_asked=("glm-5",)), {}) == []
    assert [unexpected(Outcome(models=("glm-5",)), {"model": name}) for name in ("", "opus")] == [
        [],
        ["glm-5"],
    ]
    assert is_same_model("claude-sonnet-5", "claude-sonnet-5-20260101")
    assert not is_same_model("glm-5", "glm-5-air")
