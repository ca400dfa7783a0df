"""The adapter of Gemini CLI: what is written for it, and what its stream shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from other_clis import assignment, started, stream, ticking

from lensbench.agents.adapters import gemini
from lensbench.core.records import Call

BEGIN = {"type": "init", "session_id": "s", "model": "model-a"}
USED = {"total_tokens": 250, "input_tokens": 200, "output_tokens": 40, "cached": 14, "input": 186}
STATS = {**USED, "duration_ms": 1500, "tool_calls": 1, "models": {"model-b": USED}}
END = {"type": "result", "status": "success", "stats": STATS}
NOTHING = {"total_tokens": 0, "models": {"model-a": {"total_tokens": 0}}}


def said(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def call(number: int, tool: str, **parameters: Any) -> dict[str, Any]:
    return {"type": "tool_use", "tool_name": tool, "tool_id": f"c{number}", "parameters": parameters}


def result(number: int, kind: str = "", message: str = "") -> dict[str, Any]:
    error = {"error": {"type": kind, "message": message}} if kind else {}
    return {"type": "tool_result", "tool_id": f"c{number}", "status": "error" if kind else "success", **error}


def ended(kind: str, message: str) -> dict[str, Any]:
    return {"type": "result", "status": "error", "error": {"type": kind, "message": message}, "stats": NOTHING}


def test_the_answer_is_what_was_said_after_the_last_call() -> None:
    calls = [call(1, "mcp_lens_lens_grep"), result(1)]
    outcome = gemini.read(stream(BEGIN, said("I look."), *calls, said("It is "), said("there."), END))
    assert (outcome.answer, outcome.finished, outcome.agent_s) == ("It is there.", True, 1.5)
    assert outcome.tokens == {"input": 186, "output": 50, "cache_read": 14, "cache_write": 0}


def test_the_model_that_served_stands_beside_the_one_that_was_asked_for() -> None:
    outcome = gemini.read(stream(BEGIN, END))
    assert (outcome.models_asked, outcome.models) == (("model-a",), ("model-b",))


@pytest.mark.parametrize(("calls", "other", "tokens", "served"), [
    (45, "gemini-3-flash-preview", 250, {"model-a"}), (29, "gemini-2.5-flash", 1200, {"model-a"}),
    (28, "gemini-2.5-flash", 250, {"model-a", "gemini-2.5-flash"}),
    (45, "gemini-2.5-flash", 4000, {"model-a", "gemini-2.5-flash"}), (45, "model-b", 250, {"model-a", "model-b"}),
])  # fmt: skip
def test_a_model_that_only_watches_a_long_run_did_not_answer(
    calls: int, other: str, tokens: int, served: set[str]
) -> None:
    models = {"model-a": {"total_tokens": 5750}, other: {"total_tokens": tokens}}
    outcome = gemini.read(stream(BEGIN, {**END, "stats": {"tool_calls": calls, "models": models}}))
    assert set(outcome.models or ()) == served
    assert set(outcome.models_asked or ()) == {"model-a"} | ({other} - served)


def test_a_model_without_tokens_did_not_serve() -> None:
    assert gemini.read(stream(BEGIN, ended("unknown", "boom"))).models is None


def test_calls_have_the_names_that_all_records_have() -> None:
    names = ("mcp_lens_lens_grep", "mcp_lens_two_find", "mcp_other_x", "run_shell_command")
    entries = [entry for n, name in enumerate(names) for entry in (call(n, name), result(n))]
    assert [one.name for one in gemini.read(stream(BEGIN, *entries, END)).calls or ()] == [
        "mcp__lens__lens_grep", "mcp__lens_two__find", "mcp__other__x", "run_shell_command",
    ]  # fmt: skip


def test_only_files_of_the_workspace_that_could_be_read_were_read() -> None:
    paths = ("a.py", "/repo/b/c.py", "/etc/passwd", "../x", "gone.py")
    entries = [call(n, "read_file", file_path=path) for n, path in enumerate(paths)]
    results = [result(n) for n in range(4)] + [result(4, "file_not_found", "File not found")]
    outcome = gemini.read(stream(BEGIN, *entries, *results, END))
    assert outcome.files_read == ("a.py", "b/c.py")
    assert outcome.calls == (Call("read_file", 5, 1),)


def test_a_refused_key_has_its_status() -> None:
    words = '[API Error: {"error":{"code":401,"message":"bad key"}}]'
    outcome = gemini.read(stream(BEGIN, ended("unknown", words), "Attempt 1 failed: x. Max attempts reached"))
    assert (outcome.error, outcome.error_status, outcome.api_retries, outcome.finished) == (words, 401, 0, True)


def test_too_many_turns_are_a_failed_answer_and_no_error() -> None:
    outcome = gemini.read(stream(BEGIN, said("I think"), ended("FatalTurnLimitedError", "Reached max session turns.")))
    assert (outcome.error, outcome.gave_up, outcome.answer) == ("", "turns: Reached max session turns.", "I think")


def test_an_empty_answer_is_empty_and_no_error() -> None:
    complaint = {"type": "error", "severity": "error", "message": "The model returned an empty response"}
    outcome = gemini.read(stream(BEGIN, complaint, {**END, "status": "error"}))
    assert (outcome.answer, outcome.error, outcome.finished) == ("", "", True)


def test_a_complaint_about_servers_is_held_against_all_of_them() -> None:
    outcome = gemini.read(stream(BEGIN, END, "MCP issues detected. Run /mcp list for status."))
    assert outcome.servers == dict.fromkeys(("lens", "lens_two"), "failed: MCP issues detected")
    assert gemini.read(stream(BEGIN, END)).servers is None


def test_a_server_that_breaks_off_in_a_call_has_failed() -> None:
    why = result(1, "mcp_tool_error", "MCP error -32000: Connection closed")
    outcome = gemini.read(stream(BEGIN, call(1, "mcp_lens_crash"), why, END))
    assert outcome.servers == {"lens": "failed: Connection closed", "lens_two": "connected"}


def test_a_call_against_the_policy_is_denied() -> None:
    outcome = gemini.read(stream(BEGIN, call(1, "write_file"), result(1, "policy_violation", "denied"), END))
    assert outcome.denied_calls == ("write_file",)


def test_a_stream_that_was_cut_off_is_not_finished() -> None:
    outcome = gemini.read(stream(BEGIN, call(1, "glob"), '{"type": "resu'))
    assert (outcome.finished, outcome.tokens, outcome.calls) == (False, None, (Call("glob", 1, 0),))


def test_the_first_word_is_timed() -> None:
    assert gemini.read(stream(BEGIN, said("a"), END), ticking()).first_token_s == 2


@given(st.lists(st.text() | st.sampled_from(['{"type": "result", "stats": 1, "error": 2}', '{"type": "tool_use"}'])))
def test_no_output_breaks_the_reading_or_ends_a_run_that_did_not_start(lines: list[str]) -> None:
    outcome = gemini.read(lines)
    assert (outcome.finished, outcome.answer) == (False, "")


def settings_of(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "home" / ".gemini" / "settings.json").read_text())
    return value


def test_with_has_its_servers_trusted_and_their_tools_in_the_list(tmp_path: Path) -> None:
    run = assignment(tmp_path, treatment=True, kind="gemini")
    assert started(gemini, run).argv[-1] == "--prompt=Where is  it?\n- x"
    written = settings_of(tmp_path)
    assert written["mcpServers"] == {
        "lens": {"command": "env", "args": ['A=b "c"', "lens", "--x"], "timeout": 5000, "trust": True},
        "far": {"httpUrl": "http://127.0.0.1:4111/mcp", "headers": {"X-A": "b"}, "timeout": 60000, "trust": True},
    }
    assert written["tools"]["core"] == ["run_shell_command", "read_file", "mcp_lens_*", "mcp_far_*"]


def test_without_has_no_server_and_those_of_others_are_excluded(tmp_path: Path) -> None:
    started(gemini, assignment(tmp_path, treatment=False, kind="gemini"))
    written = settings_of(tmp_path)
    assert (written["mcpServers"], written["mcp"]) == ({}, {"allowed": [], "excluded": ["lens", "far"]})
    assert written["tools"]["core"] == ["run_shell_command", "read_file"]


def test_a_gateway_gets_its_token_by_the_environment_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret-value")
    gateway = {"kind": "gemini", "provider": "custom", "base_url": "http://127.0.0.1:1", "token_env": "MY_KEY"}
    invocation = started(gemini, assignment(tmp_path, treatment=False, **gateway))
    assert invocation.env["GOOGLE_GEMINI_BASE_URL"] == "http://127.0.0.1:1"
    assert invocation.env["GEMINI_API_KEY"] == "secret-value"
    assert "secret-value" not in f"{invocation.argv}{settings_of(tmp_path)}"
