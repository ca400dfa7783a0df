"""The adapter of Codex: what is written for it, and what its stream shows."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from other_clis import assignment, started, stream, ticking

from lensbench.agents.adapters import codex
from lensbench.core.errors import UserError
from lensbench.core.records import Call


def item(kind: str, number: int = 1, event: str = "item.completed", **fields: Any) -> dict[str, Any]:
    return {"type": event, "item": {"id": f"item_{number}", "type": kind, **fields}}


def called(number: int, status: str = "completed", error: str = "", tool: str = "lens_grep") -> dict[str, Any]:
    why = {"message": error} if error else None
    return item("mcp_tool_call", number, server="lens", tool=tool, arguments={}, error=why, status=status)


BEGIN = {"type": "thread.started", "thread_id": "t"}
USAGE = {"input_tokens": 200, "cached_input_tokens": 14, "output_tokens": 40, "reasoning_output_tokens": 10}
END = {"type": "turn.completed", "usage": USAGE}


def test_the_last_message_is_the_answer() -> None:
    said = [item("agent_message", n, text=text) for n, text in enumerate(("I look.", "It is there."))]
    outcome = codex.read(stream(BEGIN, *said, END))
    assert (outcome.answer, outcome.finished, outcome.error) == ("It is there.", True, "")
    assert outcome.tokens == {"input": 186, "output": 40, "cache_read": 14, "cache_write": 0}


def test_calls_have_the_names_that_all_records_have_and_count_once() -> None:
    begun = item("mcp_tool_call", 1, "item.started", server="lens", tool="lens_grep", status="in_progress")
    shell = item("command_execution", 3, command="ls", exit_code=2, status="failed")
    outcome = codex.read(stream(BEGIN, begun, called(1), called(2, "failed", "it is broken"), shell, END))
    assert outcome.calls == (Call("command_execution", 1, 1), Call("mcp__lens__lens_grep", 2, 1))
    assert outcome.servers == {"lens": "connected", "lens_two": "connected"}
    assert outcome.subagents == 0
    assert codex.read(stream(BEGIN, called(1), item("collab_tool_call", 2), END)).subagents == 1


def test_a_call_that_was_not_approved_is_denied() -> None:
    error = "the call requires approval, but the approval policy is never"
    assert codex.read(stream(BEGIN, called(1, "failed", error), END)).denied_calls == ("mcp__lens__lens_grep",)


def test_what_it_does_not_show_is_not_made_up() -> None:
    outcome = codex.read(stream(BEGIN, END))
    assert (outcome.models, outcome.tools_offered, outcome.files_read, outcome.cost_usd, outcome.turns) == (None,) * 5
    assert outcome.models_asked == ("model-a",)


def test_a_refused_key_has_its_status() -> None:
    words = "unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1/v1/responses"
    again = {"type": "error", "message": f"Reconnecting... 1/5 ({words})"}
    outcome = codex.read(stream(BEGIN, again, {"type": "turn.failed", "error": {"message": words}}))
    assert (outcome.error, outcome.error_status, outcome.api_retries, outcome.answer) == (words, 401, 1, "")


def test_servers_are_connected_once_the_thread_began_because_they_are_required() -> None:
    assert codex.read(stream(BEGIN)).servers == {"lens": "connected", "lens_two": "connected"}


def test_a_required_server_that_does_not_start_is_named_by_the_log() -> None:
    line = "Error: required MCP servers failed to initialize: lens: connection closed: initialize response"
    outcome = codex.read(stream(line))
    assert outcome.servers is not None
    assert outcome.servers["lens"].startswith("failed: lens: connection closed")
    assert (outcome.finished, outcome.calls) == (False, None)


def test_a_server_that_breaks_off_in_a_call_has_failed() -> None:
    error = "tool call failed for `lens/crash`\n\nCaused by:\n    Transport closed"
    outcome = codex.read(stream(BEGIN, called(1, "failed", error), END))
    assert outcome.servers == {"lens": "failed: Transport closed", "lens_two": "connected"}


def test_a_stream_that_was_cut_off_is_not_finished() -> None:
    outcome = codex.read(stream(BEGIN, item("agent_message", text="I think"), '{"type": "turn.comp'))
    assert (outcome.finished, outcome.answer) == (False, "")


def test_the_first_word_is_timed() -> None:
    assert codex.read(stream(BEGIN, item("reasoning", text="hm"), END), ticking()).first_token_s == 2


@given(
    st.lists(st.text() | st.sampled_from(["null", '{"type": "item.completed", "item": 3}', '{"type": "turn.failed"}']))
)
def test_no_output_breaks_the_reading_or_ends_a_run_that_did_not_start(lines: list[str]) -> None:
    outcome = codex.read(lines)
    assert (outcome.finished, outcome.answer) == (False, "")


def config(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "home" / ".codex" / "config.toml").read_text())


def test_with_has_its_servers_required_and_approved(tmp_path: Path) -> None:
    invocation = started(codex, assignment(tmp_path, treatment=True))
    common = {"startup_timeout_sec": 20, "required": True, "default_tools_approval_mode": "approve"}
    assert config(tmp_path)["mcp_servers"] == {
        "lens": {"command": "lens", "args": ["--x"], "env": {"A": 'b "c"'}, "tool_timeout_sec": 5, **common},
        "far": {"url": "http://127.0.0.1:4111/mcp", "http_headers": {"X-A": "b"}, **common},
    }
    assert invocation.argv[-2:] == ("--", "Where is  it?\n- x")
    assert invocation.env["CODEX_HOME"] == str(tmp_path / "home" / ".codex")


def test_without_has_no_server_and_those_of_others_are_off(tmp_path: Path) -> None:
    started(codex, assignment(tmp_path, treatment=False))
    assert all(not server["enabled"] for server in config(tmp_path)["mcp_servers"].values())


def test_nothing_but_the_servers_differs_between_the_conditions(tmp_path: Path) -> None:
    configs, ends = [], []
    for treatment in (True, False):
        ends.append(started(codex, assignment(tmp_path, treatment=treatment)).argv[4:])
        configs.append({key: value for key, value in config(tmp_path).items() if key != "mcp_servers"})
    assert configs[0] == configs[1]
    assert ends[0] == ends[1]


def test_a_gateway_gets_its_token_by_the_environment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret-value")
    gateway = {"provider": "custom", "base_url": "http://127.0.0.1:1/v1/", "token_env": "MY_KEY"}
    invocation = started(codex, assignment(tmp_path, treatment=False, **gateway))
    assert config(tmp_path)["model_provider"] == "gateway"
    assert config(tmp_path)["model_providers"]["gateway"] == {
        "name": "gateway", "base_url": "http://127.0.0.1:1/v1", "env_key": codex.TOKEN, "wire_api": "responses",
    }  # fmt: skip
    assert invocation.env[codex.TOKEN] == "secret-value"
    assert "secret-value" not in f"{invocation.argv}{config(tmp_path)}"


@pytest.mark.parametrize(("settings", "message"), [
    ({"model": ""}, "agent.model is empty"), ({"token_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY, which is not set"),
    ({"provider": "zai"}, "agent.base_url is missing"),
    ({"provider": "custom", "base_url": "http://x"}, "agent.token_env is missing"),
])  # fmt: skip
def test_a_setting_that_is_missing_is_named(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=message):
        started(codex, assignment(tmp_path, treatment=False, **settings))


def test_a_program_that_is_not_there_has_no_version() -> None:
    assert codex.version({"command": ["no-such-program"]}) is None
