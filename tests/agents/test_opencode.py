"""The adapter of opencode: what is written for it, and what its stream shows."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from other_clis import assignment, started, stream

from lensbench.agents.adapters import opencode
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt
from lensbench.runs.reasons import Expectation, find_reason

TOKENS = {
    "total": 130,
    "input": 100,
    "output": 20,
    "reasoning": 5,
    "cache": {"write": 3, "read": 7},
}

pytestmark = pytest.mark.usefixtures("ripgrep")


def part(kind: str, message: int, **fields: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "timestamp": 1,
        "sessionID": "s",
        "part": {"messageID": f"m{message}", **fields},
    }


def step(message: int, reason: str, cost: float = 0) -> dict[str, Any]:
    return part("step_finish", message, reason=reason, tokens=TOKENS, cost=cost)


def call(tool: str, error: str = "", **given: Any) -> dict[str, Any]:
    state = {"status": "error", "error": error} if error else {"status": "completed", "output": "x"}
    return part("tool_use", 1, tool=tool, state={**state, "input": given})


LOOKED = (
    part("step_start", 1),
    part("text", 1, text="I look."),
    call("lens_lens_grep"),
    step(1, "tool-calls"),
)
ANSWERED = (part("step_start", 2), part("text", 2, text="It is there."), step(2, "stop"))


def test_after_a_step_without_text_the_answer_is_the_text_before_it() -> None:
    outcome = opencode.read(stream(*LOOKED, part("step_start", 2), step(2, "stop")))
    assert (outcome.answer, outcome.finished, outcome.error) == ("I look.", True, "")


OVERFLOW = {
    "type": "error",
    "error": {"name": "ContextOverflowError", "data": {"message": "Request too large"}},
}
SUMMARY = (part("step_start", 3), part("text", 3, text="Summary"), step(3, "stop"))
CONTINUE = part("text", 4, text="Continue.", synthetic=True, metadata={"compaction_continue": True})


@pytest.mark.parametrize(
    ("events", "exit_code", "expected"),
    [
        ((*LOOKED, OVERFLOW, *SUMMARY, CONTINUE, *ANSWERED), 1, ("", "compaction", "It is there.")),
        ((*LOOKED, OVERFLOW, *SUMMARY, *ANSWERED), 1, ("", "compaction", "It is there.")),
        ((*LOOKED, *SUMMARY, CONTINUE, *ANSWERED), 0, ("", "compaction", "It is there.")),
        (
            (*LOOKED, OVERFLOW, *SUMMARY, CONTINUE, *ANSWERED),
            -9,
            ("crashed", "compaction", "It is there."),
        ),
        ((*LOOKED, *ANSWERED), 1, ("crashed", "finished", "It is there.")),
        ((*LOOKED, OVERFLOW, *SUMMARY), 1, ("api_error", "unknown", "")),
        ((*LOOKED, OVERFLOW, *SUMMARY, CONTINUE, *LOOKED), 1, ("api_error", "unknown", "")),
        (
            (*LOOKED, OVERFLOW, *SUMMARY, CONTINUE, *ANSWERED, OVERFLOW),
            1,
            ("api_error", "unknown", ""),
        ),
        ((*LOOKED, *SUMMARY, CONTINUE), 0, ("crashed", "unknown", "")),
    ],
)
def test_an_error_counts_without_end(
    events: tuple[Any, ...], exit_code: int, expected: tuple[str, str, str]
) -> None:
    outcome = opencode.read(stream(*events))
    reason, _ = find_reason(
        Attempt(1, "", 1.0, 0.0, exit_code, False), outcome, outcome.answer, Expectation((), ())
    )
    assert (reason, outcome.ending, outcome.answer) == expected


def test_names_of_tools_are_split_at_the_server_that_is_known() -> None:
    names = ("lens_two_find", "other_x", "bash", "no_server")
    assert [one.name for one in opencode.read(stream(*map(call, names))).calls or ()] == [
        "bash",
        "mcp__lens_two__find",
        "mcp__other__x",
        "no_server",
    ]


def config(folder: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((folder / "home" / "opencode.json").read_text())
    return value


def test_with_has_its_servers_and_only_the_declared_tools_and_without_those_of_others_are_off(
    tmp_path: Path,
) -> None:
    invocation = started(opencode, assignment(tmp_path, treatment=True, kind="opencode"))
    written = config(tmp_path)
    assert written["mcp"] == {
        "lens": {
            "type": "local",
            "command": ["lens", "--x"],
            "environment": {"A": 'b "c"'},
            "enabled": True,
            "timeout": 20000,
        },
        "far": {
            "type": "remote",
            "url": "http://127.0.0.1:4111/mcp",
            "headers": {"X-A": "b"},
            "enabled": True,
            "timeout": 20000,
        },
    }
    assert written["tools"] == {
        "*": False,
        "bash": True,
        "read": True,
        "lens_*": True,
        "far_*": True,
    }
    assert invocation.argv[invocation.argv.index("--") + 1 :] == ("Where", "is", "", "it?\n-", "x")
    started(opencode, assignment(tmp_path, treatment=False, kind="opencode", max_turns=7))
    written = config(tmp_path)
    assert (written["agent"], written["share"], written["autoupdate"]) == (
        {"build": {"steps": 7}},
        "disabled",
        False,
    )
    assert [server["enabled"] for server in written["mcp"].values()] == [False, False]
    assert written["tools"] == {
        "*": False,
        "bash": True,
        "read": True,
        "lens_*": False,
        "far_*": False,
    }


def test_a_gateway_serves_all_with_a_token_from_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-value")
    settings = {"kind": "opencode", "provider": "zai", "model": "glm-5", "token_env": "MY_KEY"}
    invocation = started(opencode, assignment(tmp_path, treatment=False, **settings))
    written = config(tmp_path)
    assert written["model"] == written["small_model"] == "gateway/glm-5"
    assert (
        written["provider"]["gateway"]["options"]["baseURL"] == "https://api.z.ai/api/anthropic/v1"
    )
    assert invocation.env[opencode.TOKEN_VARIABLE] == "secret-value"
    assert "secret-value" not in f"{invocation.argv}{written}"


def test_a_search_tool_without_its_program_is_a_named_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    with pytest.raises(UserError, match="put rg on PATH"):
        started(
            opencode, assignment(tmp_path, treatment=False, kind="opencode", tools=("Bash", "Grep"))
        )
