"""The adapter of Gemini CLI: what is written for it, and what its stream shows."""

import json
from pathlib import Path
from typing import Any

import pytest
from other_clis import assignment, started, stream

from lensbench.agents.adapters import gemini

BEGIN = {"type": "init", "session_id": "s", "model": "model-a"}
USED = {"total_tokens": 250, "input_tokens": 200, "output_tokens": 40, "cached": 14, "input": 186}
STATS = {**USED, "duration_ms": 1500, "tool_calls": 1, "models": {"model-b": USED}}
END = {"type": "result", "status": "success", "stats": STATS}
NOTHING = {"total_tokens": 0, "models": {"model-a": {"total_tokens": 0}}}


def call(number: int, tool: str, **parameters: Any) -> dict[str, Any]:
    return {
        "type": "tool_use",
        "tool_name": tool,
        "tool_id": f"c{number}",
        "parameters": parameters,
    }


def result(number: int, kind: str = "", message: str = "") -> dict[str, Any]:
    error = {"error": {"type": kind, "message": message}} if kind else {}
    return {
        "type": "tool_result",
        "tool_id": f"c{number}",
        "status": "error" if kind else "success",
        **error,
    }


@pytest.mark.parametrize(
    ("calls", "other", "tokens", "served"),
    [
        (45, "gemini-3-flash-preview", 250, {"model-a"}),
        (29, "gemini-2.5-flash", 1200, {"model-a"}),
        (28, "gemini-2.5-flash", 250, {"model-a", "gemini-2.5-flash"}),
        (45, "gemini-2.5-flash", 4000, {"model-a", "gemini-2.5-flash"}),
        (45, "model-b", 250, {"model-a", "model-b"}),
    ],
)
def test_a_model_that_only_watches_a_run_did_not_answer(
    calls: int, other: str, tokens: int, served: set[str]
) -> None:
    models = {"model-a": {"total_tokens": 5750}, other: {"total_tokens": tokens}}
    outcome = gemini.read(stream(BEGIN, {**END, "stats": {"tool_calls": calls, "models": models}}))
    assert set(outcome.models or ()) == served
    assert set(outcome.models_asked or ()) == {"model-a"} | ({other} - served)


@pytest.mark.parametrize(
    ("end", "is_least"),
    [(END, False), ({**END, "stats": {}}, True), ({"type": "error"}, True)],
    ids=["counted", "not counted", "cut off"],
)
def test_tokens_are_the_least_where_the_program_counted_none(
    end: dict[str, Any], is_least: bool
) -> None:
    assert gemini.read(stream(BEGIN, end)).tokens_at_least == is_least


def test_models_without_tokens_did_not_serve_calls_have_our_names_and_an_empty_answer_is_no_error() -> (
    None
):
    failed = {
        "type": "result",
        "status": "error",
        "error": {"type": "unknown", "message": "boom"},
        "stats": NOTHING,
    }
    assert gemini.read(stream(BEGIN, failed)).models is None
    names = ("mcp_lens_lens_grep", "mcp_lens_two_find", "mcp_other_x", "run_shell_command")
    entries = [entry for n, name in enumerate(names) for entry in (call(n, name), result(n))]
    assert [one.name for one in gemini.read(stream(BEGIN, *entries, END)).calls or ()] == [
        "mcp__lens__lens_grep",
        "mcp__lens_two__find",
        "mcp__other__x",
        "run_shell_command",
    ]
    complaint = {
        "type": "error",
        "severity": "error",
        "message": "The model returned an empty response",
    }
    outcome = gemini.read(stream(BEGIN, complaint, {**END, "status": "error"}))
    assert (outcome.answer, outcome.error, outcome.finished) == ("", "", True)


def settings_of(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "home" / ".gemini" / "settings.json").read_text())
    return value


def test_with_has_its_servers_and_tools_trusted_and_without_those_of_others_are_excluded(
    tmp_path: Path,
) -> None:
    run = assignment(tmp_path, treatment=True, kind="gemini")
    assert started(gemini, run).argv[-1] == "--prompt=Where is  it?\n- x"
    written = settings_of(tmp_path)
    assert written["mcpServers"] == {
        "lens": {
            "command": "env",
            "args": ['A=b "c"', "lens", "--x"],
            "timeout": 5000,
            "trust": True,
        },
        "far": {
            "httpUrl": "http://127.0.0.1:4111/mcp",
            "headers": {"X-A": "b"},
            "timeout": 60000,
            "trust": True,
        },
    }
    assert written["tools"]["core"] == ["run_shell_command", "read_file", "mcp_lens_*", "mcp_far_*"]
    started(gemini, assignment(tmp_path, treatment=False, kind="gemini"))
    written = settings_of(tmp_path)
    assert (written["mcpServers"], written["mcp"]) == (
        {},
        {"allowed": [], "excluded": ["lens", "far"]},
    )
    off = {key: {"enabled": False} for key in ("hooksConfig", "skills", "telemetry")}
    off |= {"privacy": {"usageStatisticsEnabled": False}, "experimental": {"enableAgents": False}}
    assert off.items() <= written.items()
    assert (written["admin"]["extensions"], written["advanced"]) == (
        {"enabled": False},
        {"ignoreLocalEnv": True},
    )
    assert written["tools"]["core"] == ["run_shell_command", "read_file"]
