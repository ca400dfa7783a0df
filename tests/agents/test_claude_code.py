"""The adapter of Claude Code: its command line, and its output as recorded from the real program."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from claude_code_rows import ROWS, Row, unmet
from hypothesis import given
from hypothesis import strategies as st

from lensbench.agents import Assignment, Invocation
from lensbench.agents.adapters.claude_code import command, read, version
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Call, Outcome
from lensbench.plan.config import Agent
from lensbench.runs.reasons import REASONS, Expectation, find_reason, stops

STREAMS = Path(__file__).parent / "streams"


def stream(name: str) -> list[str]:
    return (STREAMS / f"{name}.jsonl").read_text().splitlines()


def invocation(treated: bool = False, is_trial: bool = False, **settings: Any) -> Invocation:
    agent = Agent(**{"kind": "claude-code", "model": "sonnet", **settings}).model_dump(mode="json")
    return command(
        Assignment(
            prompt="--where is it?",
            prompt_file="",
            workspace="/run/repo",
            home="/run/home",
            mcp_file="/run/mcp.json",
            mcp_servers={},
            answer_file="",
            servers=("lens",) if treated else (),
            denied_servers=() if treated else ("lens",),
            settings=agent,
            seed=1,
            is_trial=is_trial,
        )
    )


def option(found: Invocation, name: str) -> str:
    return found.argv[found.argv.index(name) + 1]


def result(**fields: Any) -> str:
    return json.dumps(
        {"type": "result", "subtype": "success", "is_error": False, "result": "Yes.", **fields}
    )


def said(text: str = "Yes.", **fields: Any) -> str:
    message = {"model": "m", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "assistant", "message": message, **fields})


# The command line.


def test_the_prompt_is_the_last_argument_the_declared_tools_are_all_and_a_launcher_gets_the_flags() -> (
    None
):
    assert invocation().argv[-2:] == ("--", "--where is it?")
    found = invocation(tools=("Read", "Bash"))
    assert (option(found, "--tools"), option(found, "--allowed-tools")) == (
        "Read,Bash",
        "Read,Bash",
    )
    assert option(found, "--mcp-config") == "/run/home/mcp.json"
    assert "--strict-mcp-config" in found.argv
    assert option(found, "--setting-sources") == ""
    assert not any("skip-permissions" in part for part in found.argv)
    assert invocation(command=("cc", "zlm"), max_turns=7).argv[:3] == ("cc", "zlm", "-p")
    assert option(invocation(max_turns=7), "--max-turns") == "7"
    assert invocation().argv[0] == "claude"


def test_the_environment_is_fresh_and_waits_for_slow_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_MODEL", "another")
    monkeypatch.setenv("ENABLE_TOOL_SEARCH", "auto")
    env = invocation(mcp_start_s=90.5, pass_env=("ENABLE_TOOL_SEARCH",)).env
    assert "ANTHROPIC_MODEL" not in env
    assert (env["HOME"], env["CLAUDE_CONFIG_DIR"]) == ("/run/home", "/run/home/.claude")
    assert env["MCP_TIMEOUT"] == env["MCP_CONNECT_TIMEOUT_MS"] == "90500"
    assert (env["ENABLE_TOOL_SEARCH"], env["MCP_CONNECTION_NONBLOCKING"]) == ("false", "0")
    off = (
        "DISABLE_AUTO_MEMORY",
        "DISABLE_CLAUDE_MDS",
        "DISABLE_BACKGROUND_TASKS",
        "DISABLE_NONESSENTIAL_TRAFFIC",
    )
    assert [env[f"CLAUDE_CODE_{name}"] for name in off] == ["1"] * 4
    assert env["DISABLE_AUTOUPDATER"] == "1"


def test_with_tool_search_the_search_tool_is_among_the_tools() -> None:
    found = invocation(True, tool_search=True)
    assert found.env["ENABLE_TOOL_SEARCH"] == "true"
    assert option(found, "--tools") == "Bash,Read,Grep,Glob,ToolSearch"


def test_the_client_s_own_retries_are_few_can_be_changed_and_none_in_a_trial(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert invocation().env["CLAUDE_CODE_MAX_RETRIES"] == "5"
    monkeypatch.setenv("CLAUDE_CODE_MAX_RETRIES", "0")
    assert invocation(pass_env=("CLAUDE_CODE_MAX_RETRIES",)).env["CLAUDE_CODE_MAX_RETRIES"] == "0"
    assert [
        invocation(is_trial=trial).env["CLAUDE_CODE_MAX_RETRIES"] for trial in (True, False)
    ] == ["0", "5"]


def test_zai_serves_glm_in_every_tier_unless_another_address_takes_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_ZAI_KEY", "secret")
    env = invocation(provider="zai", token_env="MY_ZAI_KEY").env
    assert env["ANTHROPIC_BASE_URL"] == "https://api.z.ai/api/anthropic"
    assert env["ANTHROPIC_AUTH_TOKEN"] == "secret"
    assert "MY_ZAI_KEY" not in env
    assert {env[f"ANTHROPIC_DEFAULT_{tier}_MODEL"] for tier in ("SONNET", "HAIKU", "OPUS")} == {
        "glm-5"
    }
    assert env["CLAUDE_CODE_SUBAGENT_MODEL"] == "glm-5"
    monkeypatch.setenv("KEY", "secret")
    own = {"provider": "zai", "base_url": "http://gateway", "token_env": "KEY"}
    assert invocation(**own).env["ANTHROPIC_BASE_URL"] == "http://gateway"


def test_a_tier_without_a_mapping_gets_the_main_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", "secret")
    gateway: dict[str, Any] = {
        "provider": "custom",
        "base_url": "http://gateway",
        "token_env": "KEY",
    }
    mapped = invocation(**gateway, models={"sonnet": "big", "haiku": "small"}).env
    assert [mapped[f"ANTHROPIC_DEFAULT_{of}_MODEL"] for of in ("SONNET", "HAIKU", "OPUS")] == [
        "big",
        "small",
        "big",
    ]
    assert mapped["ANTHROPIC_BASE_URL"] == "http://gateway"
    assert invocation(**gateway, model="own").env["ANTHROPIC_DEFAULT_HAIKU_MODEL"] == "own"
    assert not [name for name in invocation().env if name.startswith("ANTHROPIC")]


def test_without_a_provider_the_keys_are_those_that_are_passed_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    assert "ANTHROPIC_API_KEY" not in invocation().env
    env = invocation(pass_env=("ANTHROPIC_API_KEY",)).env
    assert env["ANTHROPIC_API_KEY"] == "secret"
    assert "ANTHROPIC_BASE_URL" not in env


def test_a_mapping_without_the_main_model_names_its_tiers_only() -> None:
    env = invocation(model="opus", models={"haiku": "small"}).env
    assert {name: env[name] for name in env if "MODEL" in name} == {
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": "small"
    }


def test_the_answer_at_a_limit_is_what_was_said_after_the_last_call() -> None:
    use = {"type": "tool_use", "id": "1", "name": "Read", "input": {}}
    call = {"type": "assistant", "message": {"model": "m", "content": [use]}}
    answered = {
        "type": "user",
        "message": {"content": [{"type": "tool_result", "tool_use_id": "1", "content": "x"}]},
    }
    lines = [
        said("I look."),
        json.dumps(call),
        json.dumps(answered),
        said("It "),
        said("is"),
        said("no", parent_tool_use_id="t"),
    ]
    assert read([*lines, result(stop_reason="max_tokens")]).answer == "It is"
    outcome = read([*lines, result(stop_reason="model_context_window_exceeded")])
    assert outcome.gave_up.startswith("prompt too long")
    assert outcome.stop_reason == "model_context_window_exceeded"


@pytest.mark.parametrize(
    ("given_settings", "message"),
    [
        (
            {"pass_env": ("ANTHROPIC_API_KEY",)},
            "agent.pass_env names ANTHROPIC_API_KEY, which is not set",
        ),
        ({"provider": "zai"}, "agent.token_env is missing"),
    ],
)
def test_what_lacks_is_named(
    given_settings: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    with pytest.raises(UserError, match=re.escape(message)):
        invocation(**given_settings)


def test_the_version_is_the_one_that_the_program_itself_reports(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\necho '2.1.329 (Claude Code)'\n")
    program.chmod(0o755)
    assert version({"command": [str(program)]}) == "2.1.329"
    for other in ("echo broken; exit 1", "echo 'cc (Debian 12.2.0-14) 12.2.0'"):  # cc is a compiler
        program.write_text(f"#!/bin/sh\n{other}\n")
        assert version({"command": [str(program), "zlm"]}) is None
    assert version({"command": [str(tmp_path / "gone")]}) is None


# Its output.


@pytest.mark.parametrize("name", ROWS)
def test_the_recorded_stream_shows_the_row(name: str) -> None:
    assert unmet(ROWS[name], read(stream(name))) == []


def test_every_row_is_recorded_and_one_that_is_not_met_is_seen() -> None:
    assert {path.stem for path in STREAMS.glob("*.jsonl")} == set(ROWS)
    other = Row([], {"answer": "^It", "turns": 1})
    assert unmet(other, Outcome(answer="No", turns=1)) == ["answer: expected '^It', found 'No'"]
    assert unmet(other, Outcome(answer="It", turns=2)) == ["turns: expected 1, found 2"]


@pytest.mark.parametrize("name", ["with", "without", "tool-search", "subagent"])
def test_a_stream_that_ends_anywhere_before_its_result_is_not_finished(name: str) -> None:
    lines = stream(name)
    total = read(lines).tokens or {}
    for length in range(len(lines)):
        outcome = read([*lines[:length], lines[length][: len(lines[length]) // 2]])
        assert not outcome.finished
        assert outcome.answer == ""
        shown = outcome.tokens or {}  # the fake service counts 20 tokens of output for any text
        assert all(count <= total[kind] for kind, count in shown.items() if kind != "output")


PLAIN: st.SearchStrategy[Any] = st.sampled_from([None, True, 7, "text", [], {}])
JSON = (
    PLAIN
    | st.lists(PLAIN, max_size=2)
    | st.dictionaries(st.sampled_from(["content", "spawned"]), PLAIN, max_size=2)
)
FIELDS = sorted({key for name in ROWS for line in stream(name) for key in json.loads(line)})
TYPES = st.sampled_from(["system", "assistant", "user", "result", "new"])
SUBTYPES = st.sampled_from(["init", "api_retry", "permission_denied", "success", "new"])


@given(
    st.lists(
        st.tuples(TYPES, SUBTYPES, st.dictionaries(st.sampled_from(FIELDS), JSON, max_size=6)),
        max_size=5,
    )
)
def test_no_event_of_a_version_to_come_makes_it_fail(
    events: list[tuple[str, str, dict[str, Any]]],
) -> None:
    lines = [
        json.dumps({**fields, "type": kind, "subtype": subtype}) for kind, subtype, fields in events
    ]
    assert isinstance(read(lines), Outcome)


def test_lines_of_two_megabytes_are_read_and_a_call_that_comes_twice_counts_once() -> None:
    text = "x" * 2_000_000
    assert read([said(text), result(result=text)]).answer == text
    block = {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}
    line = json.dumps({"type": "assistant", "message": {"model": "m", "content": [block]}})
    assert read([line, line, result()]).calls == (Call("Bash", 1),)


def test_the_last_of_several_results_tells_the_answer_and_the_usage_of_all() -> None:
    used = {"m": {"inputTokens": 5, "outputTokens": 2}, "n": {"inputTokens": 1}}
    outcome = read([said(), result(result="Wait."), said(), result(modelUsage=used)])
    assert outcome.answer == "Yes."
    assert outcome.tokens == {"input": 6, "output": 2, "cache_read": 0, "cache_write": 0}
    assert outcome.subagents == 1


def test_answers_of_a_sub_agent_show_it_and_a_call_of_half_a_minute_is_none() -> None:
    assert (
        read([said(parent_tool_use_id="t1"), said(parent_tool_use_id="t1"), result()]).subagents
        == 1
    )
    beat = {
        "type": "tool_progress",
        "tool_use_id": "t1-heartbeat-0",
        "tool_name": "mcp__lens__find",
        "heartbeat": True,
    }
    beat |= {"parent_tool_use_id": "t1", "elapsed_time_seconds": 30}
    assert read([said(), json.dumps(beat), result()]).subagents == 0


def test_a_sub_agent_of_a_sub_agent_whose_calls_an_old_client_omits_makes_the_work_unknown() -> (
    None
):
    shown = said(parent_tool_use_id="t1")
    spent = json.loads(shown)
    spent["message"] |= {"id": "m1", "usage": {"input_tokens": 5}}
    hides = [
        read([json.dumps(spent), result(subagent_stats={"spawned": count})]).hides_work
        for count in (1, 2)
    ]
    assert hides == [False, True]


def test_one_long_wait_is_one_retry_however_often_it_is_announced() -> None:
    def retry(attempt: int) -> str:
        return json.dumps({"type": "system", "subtype": "api_retry", "attempt": attempt})

    assert read([retry(1), retry(1), retry(2), said(), retry(1), said(), result()]).api_retries == 3


def test_an_older_version_that_does_not_say_so_guesses_the_price_of_foreign_models() -> None:
    assert read([result(modelUsage={"glm-5": {}})]).cost_is_guess
    assert not read([result(modelUsage={"claude-sonnet-5": {}})]).cost_is_guess


def test_a_text_that_the_client_made_up_and_an_interrupted_run_are_errors_without_answer() -> None:
    message = {"model": "<synthetic>", "content": [{"type": "text", "text": "API Error: odd"}]}
    outcome = read(
        [json.dumps({"type": "assistant", "message": message}), result(result="API Error: odd")]
    )
    assert (outcome.error, outcome.answer, outcome.models) == ("API Error: odd", "", ())
    line = result(
        subtype="error_during_execution",
        is_error=True,
        result=None,
        terminal_reason="aborted_tools",
    )
    assert read([line]).error == "error_during_execution"


def test_the_recorded_streams_hold_nothing_of_the_machine_they_were_recorded_on() -> None:
    text = "".join(path.read_text() for path in STREAMS.glob("*.jsonl"))
    assert not re.search(r"127\.0\.0\.1:\d{3}|pytest-|dummy-key|/tmp/|/root/", text)


@pytest.mark.parametrize("name", ROWS)
def test_every_row_has_its_outcome(name: str) -> None:
    row = ROWS[name]
    outcome = read(stream(name))
    attempt = Attempt(1, "", 1.0, 0.0, row.exit_code, row.exit_code is None)
    search = bool(row.settings.get("tool_search"))
    expected = (
        Expectation(("lens",), (), search) if row.treatment else Expectation((), ("lens",), search)
    )
    expected = expected._replace(is_stock=row.settings.get("profile") == "stock")
    reason, _ = find_reason(attempt, outcome, outcome.answer, expected)
    found = (
        f"{'stop' if stops(outcome) else REASONS[reason].policy} {reason}" if reason else "valid"
    )
    assert found == row.outcome


def test_tools_that_had_to_be_searched_for_without_leave_were_not_offered() -> None:
    outcome = read(stream("tool-search"))
    attempt = Attempt(1, "", 1.0, 0.0, 0, False)
    assert find_reason(attempt, outcome, "x", Expectation(("lens",), ()))[0] == "mcp_not_offered"
    assert (
        find_reason(attempt, read(stream("with")), "x", Expectation(("lens",), (), True))[0]
        == "mcp_not_offered"
    )
