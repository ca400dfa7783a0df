"""What every adapter promises, asked of every kind of agent: one table, printed by `python tests/agents/test_promises.py`.

A kind that does not show something returns None for it. What one kind alone has is tested in the file of its name.
"""

import json
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

sys.path.extend(str(Path(__file__).parents[each]) for each in (0, 1))

from other_clis import REMOTE, SERVER, STARTED, assignment, started

from lensbench.agents import load_adapter
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Call, Outcome
from lensbench.core.system.redaction import Redactor
from lensbench.runs.reasons import REASONS, Expectation, find_reason, stops

Event = dict[str, Any]
Output = list[Event | str]
GREP, SHELL = "mcp__lens__lens_grep", "web_search"
TOKENS = {"input": 186, "output": 40, "cache_read": 14, "cache_write": 3}
HIDDEN = Redactor(["KEY"], {"KEY": "is there"})
REPORTED = "It is in src/cart.py.\n\n## Report\n- Tool calls: 1"
CLOSED = "MCP error -32000: Connection closed"

pytestmark = pytest.mark.usefixtures("ripgrep")


class ClaudeCode:
    """How Claude Code says it. The methods of all kinds have the same names."""

    def start(self, failed: str = "") -> Output:
        servers = [
            {"name": of, "status": "failed" if of == failed else "connected"}
            for of in ("lens", "lens_two")
        ]
        return [
            {
                "type": "system",
                "subtype": "init",
                "cwd": "/repo",
                "model": "model-a",
                "tools": ["Bash", GREP],
                "mcp_servers": servers,
                "claude_code_version": "2.1.329",
            }
        ]

    def says(self, words: str, number: int = 1, **fields: Any) -> Output:
        used = {"input_tokens": 186, "output_tokens": 40, "cache_read_input_tokens": 14}
        used["cache_creation_input_tokens"] = 3
        message = {
            "id": f"m{number}",
            "model": "model-b",
            "content": [{"type": "text", "text": words}],
            "usage": used,
        }
        return [{"type": "assistant", "message": message, **fields}]

    def calls(self, tool: str, error: str = "", **given: Any) -> Output:
        use = {
            "type": "tool_use",
            "id": "0",
            "name": "Read" if given else tool,
            "input": {"file_path": given.get("path")},
        }
        answer = {
            "type": "tool_result",
            "tool_use_id": "0",
            "content": error or "x",
            "is_error": bool(error),
        }
        said = (("assistant", use), ("user", answer))
        return [{"type": who, "message": {"content": [block]}} for who, block in said]

    def is_denied(self, tool: str) -> Output:
        denied = {
            "type": "system",
            "subtype": "permission_denied",
            "tool_use_id": "0",
            "tool_name": tool,
        }
        return [denied, *self.calls(tool, "denied")]

    def starts_agent(self) -> Output:
        return self.says("I am another.", parent_tool_use_id="t")

    def asks_again(self) -> Output:
        return [{"type": "system", "subtype": "api_retry", "attempt": 1}] * 2

    def ends(self, ended: str = "") -> Output:
        reason = {"length": "max_tokens", "refusal": "refusal"}.get(ended, "end_turn")
        used = {
            "inputTokens": 186,
            "outputTokens": 40,
            "cacheReadInputTokens": 14,
            "cacheCreationInputTokens": 3,
        }
        return [
            {
                "type": "result",
                "result": "It is there.",
                "stop_reason": reason,
                "modelUsage": {"model-a": used},
                "total_cost_usd": 0.5,
                "num_turns": 1,
                "duration_ms": 1500,
            }
        ]

    def fails(self, status: int, words: str) -> Output:
        return [{"type": "result", "is_error": True, "api_error_status": status, "result": words}]


class Codex:
    def start(self, failed: str = "") -> Output:
        log = f"Error: required MCP servers failed to initialize: {failed}: connection closed: initialize response"
        return [STARTED, log] if failed else [STARTED, {"type": "thread.started"}]

    def item(self, kind: str, key: Any = 0, event: str = "completed", **fields: Any) -> Event:
        return {"type": f"item.{event}", "item": {"id": f"item_{key}", "type": kind, **fields}}

    def says(self, words: str, number: int = 1) -> Output:
        return [self.item("agent_message", f"m{number}", text=words)]

    def calls(self, tool: str, error: str = "", **given: Any) -> Output:
        names = {"server": "lens", "tool": tool.split("__")[-1]} if "__" in tool else {}
        kind = "mcp_tool_call" if names else tool
        said = {
            "error": {"message": error} if error else None,
            "status": "failed" if error else "completed",
        }
        return [self.item(kind, event="started", **names), self.item(kind, **names, **said)]

    def is_denied(self, tool: str) -> Output:
        return self.calls(tool, "the call requires approval, but the approval policy is never")

    def starts_agent(self) -> Output:
        return [
            self.item("collab_tool_call", 9, tool="spawn_agent"),
            self.item("collab_tool_call", 10, tool="wait"),
        ]

    def asks_again(self) -> Output:
        return [{"type": "error", "message": "Reconnecting... 1/5 (unexpected status 500)"}]

    def ends(self, ended: str = "") -> Output:
        why = {"length": "reason: max_output_tokens", "refusal": "reason: content_filter"}
        used = {
            "input_tokens": 203,
            "cached_input_tokens": 14,
            "cache_write_input_tokens": 3,
            "output_tokens": 40,
        }
        return self.fails(0, why[ended]) if ended else [{"type": "turn.completed", "usage": used}]

    def fails(self, status: int, words: str) -> Output:
        message = (
            f"unexpected status {status} Unauthorized: {words}, url: http://127.0.0.1/v1"
            if status
            else words
        )
        return [{"type": "turn.failed", "error": {"message": message}}]


class Gemini:
    used: Mapping[str, Any] = {
        "total_tokens": 240,
        "input_tokens": 200,
        "output_tokens": 30,
        "cached": 14,
        "input": 186,
    }

    def start(self, failed: str = "") -> Output:
        log = ["MCP issues detected. Run /mcp list for status."] if failed else []
        return [STARTED, {"type": "init", "model": "model-a"}, *log]

    def says(self, words: str, number: int = 1) -> Output:
        return [{"type": "message", "role": "assistant", "content": words, "delta": True}]

    def calls(
        self, tool: str, error: str = "", kind: str = "mcp_tool_error", **given: Any
    ) -> Output:
        name = "read_file" if given else tool.replace("mcp__lens__", "mcp_lens_")
        said = (
            {"status": "error", "error": {"type": kind, "message": error}}
            if error
            else {"status": "success"}
        )
        return [
            {
                "type": "tool_use",
                "tool_name": name,
                "tool_id": "0",
                "parameters": {"file_path": given.get("path")},
            },
            {"type": "tool_result", "tool_id": "0", **said},
        ]

    def is_denied(self, tool: str) -> Output:
        return self.calls(tool, "denied", "policy_violation")

    def starts_agent(self) -> Output:
        return self.calls("invoke_agent")

    def asks_again(self) -> Output:
        return [
            "Attempt 1 failed with status 500. Retrying",
            "Attempt 2 failed: x. Max attempts reached",
        ]

    def ends(self, ended: str = "") -> Output:
        if ended == "length":
            turns = {"type": "FatalTurnLimitedError", "message": "Reached max session turns."}
            return [{"type": "result", "error": turns}]
        blocked = {
            "type": "error",
            "message": "The model response was blocked due to safety settings.",
        }
        stats = {**self.used, "duration_ms": 1500, "models": {"model-b": self.used}}
        return [
            *([blocked] if ended else []),
            {"type": "result", "status": "success", "stats": stats},
        ]

    def fails(self, status: int, words: str) -> Output:
        message = f'[API Error: {{"error":{{"code":{status},"message":"{words}"}}}}]'
        stats = {"models": {"model-a": {}}}
        return [
            {"type": "result", "error": {"type": "unknown", "message": message}, "stats": stats}
        ]


class Opencode:
    def start(self, failed: str = "") -> Output:
        gone = f'level=WARN message="server unavailable" key={failed} type=local status=failed'
        return [STARTED, *([gone] if failed else [])]

    def part(self, kind: str, number: int = 1, **fields: Any) -> Event:
        return {"type": kind, "part": {"messageID": f"m{number}", **fields}}

    def says(self, words: str, number: int = 1) -> Output:
        return [self.part("step_start", number), self.part("text", number, text=words)]

    def calls(self, tool: str, error: str = "", **given: Any) -> Output:
        state = (
            {"status": "error", "error": error} if error else {"status": "completed", "output": "x"}
        )
        name = "read" if given else tool.replace("mcp__lens__", "lens_")
        called = self.part(
            "tool_use",
            callID="0",
            tool=name,
            state={**state, "input": {"filePath": given.get("path")}},
        )
        return [
            called,
            *(
                ['level=WARN message="MCP connection closed" server=lens']
                if error == CLOSED
                else []
            ),
        ]

    def is_denied(self, tool: str) -> Output:
        return self.calls(tool, "The user rejected permission to use this specific tool call.")

    def starts_agent(self) -> Output:
        return self.calls("task")

    def asks_again(self) -> Output:
        return []

    def ends(self, ended: str = "") -> Output:
        used = {"input": 186, "output": 30, "reasoning": 10, "cache": {"read": 14, "write": 3}}
        reason = {"length": "length", "refusal": "content-filter"}.get(ended, "stop")
        return [self.part("step_finish", 2, reason=reason, tokens=used, cost=0.5)]

    def fails(self, status: int, words: str) -> Output:
        return [
            {
                "type": "error",
                "error": {"name": "APIError", "data": {"message": words, "statusCode": status}},
            }
        ]


class CommandEvents:
    def start(self, failed: str = "") -> Output:
        servers: list[Event] = [
            {"name": "lens", "status": "connected"},
            {"name": "lens_two", "status": "connected"},
        ]
        if failed:
            servers[0] |= {"status": "failed", "detail": "connection closed"}
        tools = ["Bash", GREP]
        return [
            {
                "type": "start",
                "version": "2.0",
                "model": "model-b",
                "tools": tools,
                "mcp_servers": servers,
            }
        ]

    def says(self, words: str, number: int = 1) -> Output:
        return [{"type": "answer", "text": words}]

    def calls(self, tool: str, error: str = "", **given: Any) -> Output:
        return [
            {"type": "tool_call", "id": 0, "name": "Read" if given else tool},
            {"type": "tool_result", "id": 0, "is_error": bool(error), "text": error, **given},
        ]

    def is_denied(self, tool: str) -> Output:
        return self.calls(tool, "denied")

    def starts_agent(self) -> Output:
        return []

    asks_again = starts_agent

    def ends(self, ended: str = "") -> Output:
        ended = {"length": "limit", "refusal": "refusal"}.get(ended, "finished")
        return [{"type": "end", "ended": ended, "tokens": TOKENS, "cost_usd": 0.5, "turns": 1}]

    def fails(self, status: int, words: str) -> Output:
        return [{"type": "end", "is_error": True, "error": words, "status": status}]


KINDS: dict[str, Any] = {
    "claude-code": ClaudeCode(),
    "codex": Codex(),
    "gemini": Gemini(),
    "opencode": Opencode(),
    "command-events": CommandEvents(),
}
BOTH = dict.fromkeys(("lens", "lens_two"), "connected")
LOST = {**BOTH, "lens": "failed"}


def looked(kind: Any) -> Output:
    """A start, a text, and three calls; two of them fail."""
    made = [*kind.calls(GREP), *kind.calls(GREP, "it is broken"), *kind.calls(SHELL, "exit 2")]
    return [*kind.start(), *kind.says("I look."), *made]


def answered(kind: Any) -> Output:
    return [*looked(kind), *kind.says("It is there.", 2), *kind.ends()]


class Promise(NamedTuple):
    what: str
    output: Callable[[Any], Output]
    fields: str
    """Those of the outcome."""
    shown: tuple[Any, ...]
    but: Mapping[str, tuple[Any, ...]] = {}
    """What other kinds show; None is "not shown"."""


PROMISES = [
    Promise(
        "the last words are the answer",
        answered,
        "answer finished error ending gave_up",
        ("It is there.", True, "", "finished", ""),
    ),
    Promise(
        "calls and failed calls by tool, under the names of records",
        answered,
        "calls",
        ((Call(GREP, 2, 1), Call(SHELL, 1, 1)),),
    ),
    Promise(
        "the servers", answered, "servers", (BOTH,), dict.fromkeys(("gemini", "opencode"), (None,))
    ),
    Promise(
        "the tools that were offered",
        answered,
        "tools_offered",
        (("Bash", GREP),),
        dict.fromkeys(("codex", "gemini", "opencode"), (None,)),
    ),
    Promise(
        "the model that was asked for",
        answered,
        "models_asked",
        (("model-a",),),
        {"command-events": (None,)},
    ),
    Promise(
        "the model that served",
        answered,
        "models",
        (("model-b",),),
        dict.fromkeys(("codex", "opencode"), (None,)),
    ),
    Promise(
        "tokens, cached ones apart, those of reasoning as output",
        answered,
        "tokens",
        (TOKENS,),
        {"gemini": ({**TOKENS, "cache_write": 0},)},
    ),
    Promise(
        "the cost, in dollars",
        answered,
        "cost_usd",
        (0.5,),
        dict.fromkeys(("codex", "gemini"), (None,)),
    ),
    Promise("the turns", answered, "turns", (1,), dict.fromkeys(("codex", "gemini"), (None,))),
    Promise(
        "the tokens of the first request",
        lambda kind: [*kind.start(), *kind.says("I", 1), *kind.says("It", 2), *kind.ends()],
        "tokens_first",
        (TOKENS,),
        dict.fromkeys(("codex", "gemini", "command-events"), (None,)),
    ),
    Promise("no agent below it", answered, "subagents", (0,), {"command-events": (None,)}),
    Promise(
        "agents below it",
        lambda kind: [*kind.start(), *kind.starts_agent(), *kind.ends()],
        "subagents",
        (1,),
        {"command-events": (None,)},
    ),
    Promise(
        "requests that it repeated",
        lambda kind: [*kind.start(), *kind.asks_again(), *kind.ends()],
        "api_retries",
        (1,),
        dict.fromkeys(("opencode", "command-events"), (None,)),
    ),
    Promise(
        "calls that permissions refused",
        lambda kind: [*kind.start(), *kind.is_denied(GREP), *kind.ends()],
        "denied_calls calls",
        ((GREP,), (Call(GREP, 1, 1),)),
        {"command-events": (None, (Call(GREP, 1, 1),))},
    ),
    Promise(
        "files of the workspace that it could read",
        lambda kind: [
            *kind.start(),
            *(
                event
                for path in ("src/a.py", "src/../b.py", "/repo/b.py", "/etc/passwd", "../x", "")
                for event in kind.calls("Read", path=path)
            ),
            *kind.calls("Read", "gone", path="c.py"),
            *kind.ends(),
        ],
        "files_read",
        (("b.py", "src/a.py"),),
        {
            "codex": (None,),
            "command-events": (("../x", "/etc/passwd", "/repo/b.py", "src/../b.py", "src/a.py"),),
        },
    ),
    Promise(
        "a server that does not start",
        lambda kind: [*kind.start("lens"), *kind.ends()],
        "servers server_faults",
        (LOST, {}),
        {
            "codex": (LOST, {"lens": "lens: connection closed: initialize response"}),
            "gemini": (dict.fromkeys(BOTH, "failed"), dict.fromkeys(BOTH, "MCP issues detected")),
            "opencode": (LOST, {"lens": "failed"}),
            "command-events": (LOST, {"lens": "connection closed"}),
        },
    ),
    Promise(
        "a server that breaks off in a call",
        lambda kind: [*kind.start(), *kind.calls(GREP, CLOSED), *kind.ends()],
        "servers server_faults",
        (LOST, {"lens": CLOSED}),
        {
            "gemini": (LOST, {"lens": "Connection closed"}),
            "opencode": (LOST, {"lens": "MCP connection closed"}),
            "command-events": (BOTH, {}),
        },
    ),
    Promise(
        "a refused key, with its status",
        lambda kind: [*kind.start(), *kind.fails(401, "bad key")],
        "answer error error_status ending",
        ("", "bad key", 401, "unknown"),
        {
            "codex": (
                "",
                "unexpected status 401 Unauthorized: bad key, url: http://127.0.0.1/v1",
                401,
                "unknown",
            ),
            "gemini": (
                "",
                '[API Error: {"error":{"code":401,"message":"bad key"}}]',
                401,
                "unknown",
            ),
        },
    ),
    Promise(
        "an answer at a limit, with what was said",
        lambda kind: [*looked(kind), *kind.says("It", 2), *kind.ends("length")],
        "answer gave_up ending error",
        ("It", "length", "limit", ""),
        {
            "claude-code": ("It", "length: It is there.", "limit", ""),
            "codex": ("It", "length: reason: max_output_tokens", "limit", ""),
            "gemini": ("It", "turns: Reached max session turns.", "limit", ""),
            "command-events": ("It", "limit", "limit", ""),
        },
    ),
    Promise(
        "a refusal of the model",
        lambda kind: [*looked(kind), *kind.ends("refusal")],
        "ending error",
        ("refusal", ""),
    ),
    Promise(
        "an output that was cut off is not finished",
        lambda kind: [*looked(kind), '{"type": "resu'],
        "finished error tokens_at_least ending servers",
        (False, "", True, "unknown", BOTH),
        dict.fromkeys(("gemini", "opencode"), (False, "", True, "unknown", None)),
    ),
    Promise(
        "an output that was cut off has at least a token for 4 bytes that the model wrote",
        lambda kind: [*kind.start(), *kind.says("word " * 400)],
        "tokens",
        ({"input": 0, "output": 500, "cache_read": 0, "cache_write": 0},),
        {"claude-code": ({**TOKENS, "output": 500},)},
    ),
    Promise(
        "an answer and a call, and nothing more: the answer counts",
        lambda kind: [
            *kind.start(),
            *kind.says(REPORTED, 1),
            *kind.calls(SHELL),
            *kind.says("", 2),
            *kind.ends(),
        ],
        "answer ending",
        (REPORTED, "finished"),
        {"claude-code": ("It is there.", "finished")},
    ),
    Promise(
        "a longer text with a report before the answer is seen",
        lambda kind: [
            *kind.start(),
            *kind.says(REPORTED, 1),
            *kind.calls(SHELL),
            *kind.says("It is there.", 2),
            *kind.ends(),
        ],
        "answer longer_report",
        ("It is there.", True),
    ),
    Promise(
        "a secret in the output is hidden, and nothing else",
        lambda kind: [
            HIDDEN(json.dumps(event)) if isinstance(event, dict) else event
            for event in answered(kind)
        ],
        "answer finished calls",
        ("It [redacted: KEY].", True, (Call(GREP, 2, 1), Call(SHELL, 1, 1))),
    ),
    Promise(
        "no output shows nothing",
        lambda kind: [],
        "finished calls tokens servers models turns",
        (False, *(None,) * 5),
    ),
    Promise(
        "an end without its start is not finished",
        lambda kind: [*kind.says("It", 2), *kind.ends()],
        "finished servers calls",
        (False, None, ()),
        {"command-events": (True, None, None)},
    ),
]


def read(kind: str, output: Iterable[Event | str]) -> Outcome:
    """What the adapter reads of an output."""
    lines = [line if isinstance(line, str) else json.dumps(line) for line in output]
    return load_adapter(kind).read(f"{line}\n" for line in lines)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("promise", PROMISES, ids=lambda promise: promise.what)
def test_every_kind_of_agent_keeps_it_or_shows_nothing(promise: Promise, kind: str) -> None:
    outcome = read(kind, promise.output(KINDS[kind]))
    assert tuple(getattr(outcome, name) for name in promise.fields.split()) == promise.but.get(
        kind, promise.shown
    )


@pytest.mark.parametrize("kind", ["claude-code", "codex", "gemini", "opencode"])
def test_an_output_without_any_one_of_its_first_lines_is_incomplete(kind: str) -> None:
    start = KINDS[kind].start()
    end = [*KINDS[kind].says("so", 2), *KINDS[kind].ends()]
    assert read(kind, [*start, *end]).finished
    for missing in range(len(start)):
        outcome = read(kind, [*start[:missing], *start[missing + 1 :], *end])
        assert not outcome.finished
        reason, _ = find_reason(
            Attempt(1, "", 1.0, 0.0, 0, False), outcome, "x", Expectation(("lens",), ())
        )
        assert reason in ("crashed", "mcp_failed")


@pytest.mark.parametrize("kind", KINDS)
def test_calls_whose_ids_a_gateway_repeats_are_all_counted(kind: str) -> None:
    tools = [("web_search", ""), (GREP, "x"), ("web_search", ""), ("command_execution", "x")]
    calls = [event for tool in tools for event in KINDS[kind].calls(*tool)]
    assert read(kind, [*KINDS[kind].start(), *calls]).calls == (
        Call("command_execution", 1, 1),
        Call(GREP, 1, 1),
        Call("web_search", 2),
    )


@pytest.mark.parametrize("kind", KINDS)
@given(
    st.lists(
        st.text()
        | st.sampled_from(
            [
                "null",
                "[1]",
                "[" * 100_000,
                '{"type": 1}',
                '{"type": "item.completed", "item": 3}',
                '{"type": "turn.failed"}',
                '{"type": "result", "stats": 1, "error": 2}',
                '{"type": "tool_use"}',
                '{"type": "error", "error": {"name": "x"}}',
                '{"type": "tool_use", "part": {"state": 1}}',
                '{"type": "start", "tools": 3}',
            ]
        )
    )
)
def test_no_output_breaks_the_reading_or_ends_a_run_that_did_not_start(
    kind: str, lines: list[str]
) -> None:
    outcome = read(kind, lines)
    assert (outcome.finished, outcome.answer) == (False, "")


def becomes(kind: str, *output: Event | str, exit_code: int = 1) -> str:
    """What becomes of a run of the baseline with this output (docs/reference/endings.md)."""
    outcome = read(kind, output)
    attempt = Attempt(1, "", 1.0, 0.0, exit_code, False)
    reason, _ = find_reason(attempt, outcome, outcome.answer, Expectation((), ("lens",)))
    return (
        f"{'stop' if stops(outcome) else REASONS[reason].policy} {reason}"
        if reason
        else outcome.ending
    )


@pytest.mark.parametrize("kind", KINDS)
def test_an_ending_becomes_the_same_for_every_kind_of_agent(kind: str) -> None:
    says = KINDS[kind]
    shows = {"mcp_servers": [], "tools": []} if kind in ("claude-code", "command-events") else {}
    asked = [{**says.start()[0], **shows}, *says.start()[1:], *says.calls(SHELL)]
    answer = [*says.says("so", 2), *says.ends()]
    assert becomes(kind, *asked, *answer, exit_code=0) == "finished"
    assert becomes(kind, *asked, *answer, exit_code=-9) == "again crashed"
    assert becomes(kind, *asked, *says.says("so", 2), *says.ends("length"), exit_code=0) == "limit"
    assert becomes(kind, *asked, exit_code=0) == "again crashed"
    assert becomes(kind, *asked, *says.calls(GREP), *answer, exit_code=0) == "later contaminated"
    assert (
        becomes(kind, *asked, *says.calls(GREP, "no such tool"), *answer, exit_code=0) == "finished"
    )


@pytest.mark.parametrize(
    ("status", "is_first", "words", "expected"),
    [
        (402, False, "pay", "stop api_error"),
        (400, False, "Your credit balance is too low", "stop api_error"),
        (400, False, "The model-x model is not supported with this account.", "stop api_error"),
        (404, False, "model: glm-9 does not exist", "stop api_error"),
        (400, False, "a picture cannot be read", "again api_error"),
        (0, False, "Quota exceeded. Check your plan and billing details.", "stop api_error"),
        (0, False, "Your workspace is out of credits. Add credits to continue.", "stop api_error"),
        *(
            (0, False, words, "stop api_error")
            for words in (
                "connect ECONNREFUSED",
                "EAI_AGAIN x",
                "ENOTFOUND x",
                "Not logged in",
                "Connection failed: x",
                "To use Codex, pay",
                "Cannot connect to API: Unable to connect.",
                "Cannot connect to API: Was there a typo in the url or port?",
            )
        ),
        *(
            (400, False, words, "stop api_error")
            for words in (
                "no such model",
                "unknown model x",
                "model x doesn't exist",
                "invalid model",
                "the model x isn't available",
                "the model is deprecated",
                "API key not valid",
                "API key has expired",
                "insufficient_quota",
                "billing hard limit",
                "your organization is disabled",
            )
        ),
        (0, False, "The model answers: ECONNRESET", "again api_error"),
        (413, True, "too large", "again api_error"),
        (429, True, "slow down", "again rate_limited"),
        (529, False, "overloaded", "again api_error"),
    ],
)
def test_a_refusal_is_told_by_its_status_and_its_words(
    status: int, is_first: bool, words: str, expected: str
) -> None:
    says = KINDS["command-events"]
    output = [
        {"type": "start"},
        *([] if is_first else says.calls(SHELL)),
        *says.fails(status, words),
    ]
    assert becomes("command-events", *output) == expected


# How the programs are started.

GATEWAYS: dict[str, tuple[str, str, Sequence[str]]] = {
    "claude-code": ("ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL", ()),
    "gemini": ("GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL", ()),
    "codex": (
        "LENSBENCH_TOKEN",
        "",
        (
            '"base_url" = "http://127.0.0.1:1/v1", "env_key" = "LENSBENCH_TOKEN", "wire_api" = "responses"',
            'model_provider = "gateway"',
        ),
    ),
    "opencode": (
        "LENSBENCH_TOKEN",
        "",
        (
            '"env": [ "LENSBENCH_TOKEN" ], "options": { "baseURL": "http://127.0.0.1:1/v1/v1" }',
            '"model": "gateway/model-a"',
        ),
    ),
}
"""The variable with a gateway's token, that with its address, and what a file of the program says about both."""


@pytest.mark.parametrize("kind", GATEWAYS)
def test_the_environment_alone_has_the_token(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    token, address, written = GATEWAYS[kind]
    monkeypatch.setenv("MY_KEY", "secret-value")
    gateway = {
        "kind": kind,
        "provider": "custom",
        "base_url": "http://127.0.0.1:1/v1",
        "token_env": "MY_KEY",
    }
    gateway["base_url"] += "" if kind == "claude-code" else "/"
    found = load_adapter(kind).command(assignment(tmp_path, treatment=False, **gateway))
    assert {name for name, value in found.env.items() if "secret-value" in value} == {token}
    assert not address or found.env[address] == "http://127.0.0.1:1/v1"
    text = " ".join("".join(map(str, found.files.values())).split())
    assert all(piece in text for piece in written), text
    assert "secret-value" not in f"{found.argv}{text}"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"model": ""}, "agent.model is empty"),
        ({"token_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY, which is not set"),
        ({"provider": "custom", "token_env": "MY_KEY"}, "agent.base_url is missing"),
        ({"provider": "custom", "base_url": "http://x"}, "agent.token_env is missing"),
    ],
)
@pytest.mark.parametrize("kind", GATEWAYS)
def test_a_setting_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, settings: Event, message: str
) -> None:
    monkeypatch.setenv("MY_KEY", "secret-value")
    with pytest.raises(UserError, match=message):
        load_adapter(kind).command(assignment(tmp_path, treatment=False, kind=kind, **settings))


@pytest.mark.parametrize("kind", GATEWAYS)
def test_nothing_but_the_servers_differs_between_the_conditions(tmp_path: Path, kind: str) -> None:
    treated, baseline = (
        started(load_adapter(kind), assignment(tmp_path, treatment=each, kind=kind))
        for each in (True, False)
    )
    assert (treated.env, treated.env["HOME"]) == (baseline.env, str(tmp_path / "home"))
    skipped = 0 if kind == "claude-code" else 4  # the shell that announces the servers
    different = [
        (a, b)
        for a, b in zip(treated.argv[skipped:], baseline.argv[skipped:], strict=True)
        if a != b
    ]
    named = [("Bash,Read,mcp__lens,mcp__far", "Bash,Read"), ("Task", "Task,mcp__lens,mcp__far")]
    assert different == (named if kind == "claude-code" else [])
    assert re.split("(?: -- |--prompt=)", " ".join(treated.argv))[-1] == "Where is  it?\n- x"
    assert (SERVER["command"], REMOTE["url"]) == ("lens", "http://127.0.0.1:4111/mcp")


@pytest.mark.parametrize(
    ("kind", "denial"),
    [
        ("claude-code", "--disallowed-tools Task"),
        ("codex", "--disable multi_agent"),
        ("gemini", '"enableAgents": false'),
        ("opencode", '"*": false'),
    ],
)
@pytest.mark.parametrize("profile", ["strict", "stock"])
def test_a_strict_agent_alone_is_denied_sub_agents(
    tmp_path: Path, kind: str, denial: str, profile: str
) -> None:
    run = started(
        load_adapter(kind), assignment(tmp_path, treatment=True, kind=kind, profile=profile)
    )
    assert (denial in " ".join([*run.argv, *map(str, run.files.values())])) == (profile == "strict")


@pytest.mark.parametrize(
    ("kind", "closed"),
    [
        ("claude-code", "CLAUDE_CODE_DISABLE_CLAUDE_MDS 1"),
        ("codex", "project_doc_max_bytes = 0"),
        ("opencode", "OPENCODE_DISABLE_PROJECT_CONFIG 1"),
    ],
)
def test_instructions_of_the_repository_are_closed_unless_asked_for(
    tmp_path: Path, kind: str, closed: str
) -> None:
    strict = assignment(tmp_path, treatment=True, kind=kind)
    runs = [load_adapter(kind).command(replace(strict, reads_files=each)) for each in (False, True)]
    said = [
        {
            *(f"{name} {value}" for name, value in run.env.items()),
            *"".join(map(str, run.files.values())).split("\n"),
        }
        for run in runs
    ]
    assert (said[0] - said[1], said[1] - said[0]) == ({closed}, set())


@pytest.mark.parametrize("kind", [*GATEWAYS, "offline"])
def test_a_filter_names_what_is_left_out_of_the_server_that_has_it(
    tmp_path: Path, kind: str
) -> None:
    run = assignment(tmp_path, treatment=True, kind=kind)
    lean = replace(run, excluded=("mcp__far__look.up",))
    before, after = (load_adapter(kind).command(one) for one in (run, lean))
    texts = ["\n".join([*one.argv, *one.files.values()]) for one in (before, after)]
    named = {
        "claude-code": ",mcp__far__look_up",
        "codex": '"disabled_tools" = ["look.up"]',
        "gemini": '"excludeTools": ["look.up"]',
        "opencode": 'far_look_up": false',
        "offline": "--without-tool=mcp__far__look.up",
    }
    assert [named[kind] in text for text in texts] == [False, True]
    assert texts[1].count("look") == 1


@pytest.mark.parametrize("kind", GATEWAYS)
def test_a_program_that_is_not_there_has_no_version(kind: str) -> None:
    assert load_adapter(kind).version({"command": ["no-such-program"]}) is None


STARTS = {
    "the gateway's token, in the environment alone (`env_key` of Codex)": GATEWAYS,
    "a missing setting is named": GATEWAYS,
    "nothing but the servers differs between the conditions": GATEWAYS,
    "a strict agent is denied sub-agents": GATEWAYS,
    "a strict agent reads no instructions of the repository": ("claude-code", "codex", "opencode"),
}


def table() -> str:
    """The promises, for people; `no` where a kind does not show it."""
    rows = [["promise", *KINDS], ["---"] * (1 + len(KINDS))]
    rows += [
        [
            each.what,
            *("no" if each.but.get(kind, (0,))[0] in (None, BOTH) else "yes" for kind in KINDS),
        ]
        for each in PROMISES
    ]
    rows += [
        [what, *("yes" if kind in kinds else "no" for kind in KINDS)]
        for what, kinds in STARTS.items()
    ]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


if __name__ == "__main__":
    print(table(), end="")
