"""What can happen to a run of Claude Code: what the model's service and the MCP server do, and what must be seen of it.

Each row is tested twice: with the real program (test_claude_code_live.py), and with its output as recorded in streams/
(test_claude_code.py). A row expects some fields of the `Outcome`; text is a pattern that must be found.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lensbench.core.records import Call


@dataclass(frozen=True)
class Row:
    """`rules` are those of the fake service. `loose` takes a promise back, to show what happens without it."""

    rules: Sequence[Mapping[str, Any]]
    expected: Mapping[str, Any]
    exit_code: int | None = 0
    treatment: bool = False
    """The run has the MCP server `lens`; without it, the server's tools are denied."""
    server: Sequence[str] | None = ()
    """Arguments of the MCP server; None: its program does not exist."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    loose: str = ""
    """`permission`: the server's tools are not allowed; `subagents`: the Task tool is not denied."""


def tool(name: str, **arguments: Any) -> dict[str, Any]:
    """A tool call of the fake model."""
    return {"name": name, "input": arguments}


def always(**reply: Any) -> list[dict[str, Any]]:
    """The same reply to every request."""
    return [{"reply": reply}]


BUILT_IN = ("Bash", "Glob", "Grep", "Read")
ANSWER = {"reply": {"text": "It is in src/cart.py."}}
LAST = {"reply": {"text": "It says: {tool_result}"}}
FIND = {"when": {"turn": 1}, "reply": {"text": "Looking.", "tools": [tool("mcp__lens__find", query="cart")]}}
SUBTASK = tool("Agent", description="look", prompt="SUBTASK: look", subagent_type="general-purpose")

ROWS = {
    "without": Row([ANSWER], {
        "answer": "^It is in src/cart.py.$", "finished": True, "error": "^$", "gave_up": "^$",
        "agent_version": r"^2\.1\.\d+$",
        "tools_offered": BUILT_IN, "servers": {}, "calls": (), "api_retries": 0, "subagents": 0,
        "tokens": {"input": 100, "output": 20, "cache_read": 7, "cache_write": 3}, "cost_is_guess": False, "turns": 1,
        "tokens_first": {"input": 100, "output": 1, "cache_read": 7, "cache_write": 3},
        "models": ("claude-sonnet-5-5",), "models_asked": ("claude-sonnet-5-5",), "tools_deferred": (),
    }),
    "with": Row([
        {"when": {"turn": 1}, "reply": {"tools": [
            tool("mcp__lens__find", query="cart"), tool("mcp__lens__find", query="fail"),
            tool("Read", file_path="src/cart.py"), tool("Read", file_path="gone.py"),
            tool("Bash", command="n=1; echo ${n} > note; python3 -c 'print(3)'; rm note", description="x")]}},
        LAST,
    ], {
        "answer": "^It says: 3$", "servers": {"lens": "connected"}, "files_read": ("src/cart.py",), "denied_calls": (),
        "calls": (Call("Bash", 1), Call("Read", 2, 1), Call("mcp__lens__find", 2, 1)), "tools_deferred": (),
        "tools_offered": ("Bash", "Glob", "Grep", "Read", "mcp__lens__crash", "mcp__lens__find"),
    }, treatment=True),
    "tool-search": Row([
        {"when": {"turn": 1}, "reply": {"tools": [tool("ToolSearch", query="select:mcp__lens__find", max_results=5)]}},
        {"when": {"turn": 2}, "reply": {"tools": [tool("mcp__lens__find", query="cart")]}},
        LAST,
    ], {
        "answer": "found cart in", "tools_deferred": ("mcp__lens__crash", "mcp__lens__find"),
        "calls": (Call("ToolSearch", 1), Call("mcp__lens__find", 1)),
    }, treatment=True, settings={"tool_search": True}),
    # The MCP server.
    "server-slow": Row([FIND, LAST], {"servers": {"lens": "connected"}, "calls": (Call("mcp__lens__find", 1),)},
                       treatment=True, server=("--start-s", "2.5")),
    "server-too-slow": Row([FIND, LAST], {"servers": {"lens": "failed"}, "calls": (Call("mcp__lens__find", 1, 1),)},
                           treatment=True, server=("--start-s", "9"), settings={"mcp_start_s": 1}),
    "server-missing": Row([FIND, LAST], {"servers": {"lens": "failed"}, "tools_offered": BUILT_IN},
                          treatment=True, server=None),
    "server-breaks": Row([{"when": {"turn": 1}, "reply": {"tools": [tool("mcp__lens__crash", query="x")]}}, LAST],
                         {"servers": {"lens": "failed: Connection closed"}, "calls": (Call("mcp__lens__crash", 1, 1),)},
                         treatment=True),
    "tool-not-there": Row([FIND, LAST], {"calls": (Call("mcp__lens__find", 1, 1),), "servers": {},
                                         "tools_offered": BUILT_IN}),
    "call-denied": Row([FIND, LAST], {"denied_calls": ("mcp__lens__find",), "calls": (Call("mcp__lens__find", 1, 1),)},
                       treatment=True, loose="permission"),
    # The model.
    "other-model": Row([
        {"when": {"turn": 1}, "reply": {"tools": [tool("Bash", command="true", description="x")]}},
        {"reply": {"text": "Done.", "model": "glm-4.7"}},
    ], {"models": ("glm-4.7", "glm-5"), "models_asked": ("glm-5",), "cost_is_guess": True},
        settings={"models": {"sonnet": "glm-5"}}),
    "subagent": Row([{"when": {"text": "SUBTASK: look", "turn": 1}, "reply": {"text": "It is there."}},
                     {"when": {"turn": 1}, "reply": {"tools": [SUBTASK]}}, ANSWER],
                    {"subagents": 1}, loose="subagents"),
    "stock": Row([  # five requests: two of the sub-agent, three of the agent, which is called back when it is done
        {"when": {"text": "SUBTASK: look", "turn": 1}, "reply": {"tools": [tool("mcp__lens__find", query="cart")],
                                                                 "model": "claude-haiku-5"}},
        {"when": {"text": "SUBTASK: look", "lacks_tool": "Agent"}, "reply": {"text": "There.", "model": "claude-haiku-5"}},
        {"when": {"turn": 1}, "reply": {"tools": [SUBTASK]}}, ANSWER,
    ], {
        "subagents": 1, "calls": (Call("Agent", 1), Call("mcp__lens__find", 1)), "models": ("claude-sonnet-5-5",),
        "tokens": {"input": 500, "output": 100, "cache_read": 35, "cache_write": 15}, "servers": {"lens": "connected"},
        "tokens_subagents": {"input": 200, "output": 2, "cache_read": 14, "cache_write": 6},
    }, treatment=True, settings={"profile": "stock"}),
    "subagent-denied": Row([{"when": {"turn": 1}, "reply": {"tools": [SUBTASK]}}, LAST],
                           {"subagents": 0, "calls": (Call("Agent", 1, 1),)}),
    "empty": Row(always(text=""), {"answer": "^$", "finished": True, "error": "^$", "gave_up": "^$", "turns": 2}),
    "no-content": Row(always(), {"answer": "^$", "finished": True, "error": "^$", "gave_up": "^$", "models": ()}),
    "max-turns": Row(always(tools=[tool("Bash", command="true", description="x")]),
                     {"gave_up": r"^turns: .*\(2\)", "answer": "^$", "error": "^$", "finished": True},
                     exit_code=1, settings={"max_turns": 2}),
    "too-long-answer": Row(always(text="half", stop_reason="max_tokens"),
                           {"gave_up": "^length: ", "error": "^$"}, exit_code=1),
    "refusal": Row(always(text="I cannot.", stop_reason="refusal"),
                   {"gave_up": "^refusal: ", "error": "^$"}, exit_code=1),
    "too-long-prompt": Row(always(status=400, error="prompt is too long: 250000 tokens > 200000 maximum"),
                           {"gave_up": "^prompt too long: ", "error": "^$", "error_status": None}, exit_code=1),
    # The service.
    "400": Row(always(status=400, error="odd field"), {"error": "odd field", "error_status": 400}, exit_code=1),
    "400-credit": Row(always(status=400, error="Your credit balance is too low to access the Anthropic API."),
                      {"error": "Credit balance is too low", "error_status": 400}, exit_code=1),
    "401": Row(always(status=401, error="bad key"),
               {"error": "401 bad key", "error_status": 401, "answer": "^$"}, exit_code=1),
    "403": Row(always(status=403), {"error": "403", "error_status": 403}, exit_code=1),
    "404": Row(always(status=404), {"error": "issue with the selected model", "error_status": 404}, exit_code=1),
    "413": Row(always(status=413), {"error": "Request too large", "error_status": 413}, exit_code=1),
    "429-short": Row([{"times": 1, "reply": {"status": 429, "headers": {"retry-after": "1"}}}, ANSWER],
                     {"answer": "cart.py", "api_retries": 1, "error": "^$"}),
    "429-long": Row(always(status=429, headers={"retry-after": "120"}),
                    {"error": "429", "error_status": 429, "api_retries": 0}, exit_code=1),
    "500": Row(always(status=500), {"error": "500", "error_status": 500, "api_retries": 1}, exit_code=1),
    "502": Row(always(status=502), {"error": "502", "error_status": 502, "api_retries": 1}, exit_code=1),
    "529": Row(always(status=529),
               {"error": "529", "error_status": 529, "api_retries": 1, "answer": "^$"}, exit_code=1),
    "reset": Row(always(breaks="reset"), {"error": "ECONNRESET", "error_status": None, "api_retries": 1}, exit_code=1),
    "refused": Row([], {"error": "ECONNREFUSED", "error_status": None}, exit_code=1,
                   settings={"base_url": "http://127.0.0.1:9"}),
    "no-key": Row([], {"error": "Not logged in", "error_status": None}, exit_code=1,
                  settings={"provider": "", "base_url": "", "token_env": ""}),
    "html": Row(always(raw="<html>busy</html>"), {"error": "^API Error: ", "error_status": None}, exit_code=1),
    "error-event": Row([{"when": {"stream": True}, "reply": {"text": "It", "breaks": "error_event"}}, ANSWER],
                       {"answer": "cart.py", "error": "^$"}),
    "drop": Row([{"times": 1, "reply": {"text": "It", "breaks": "drop"}}, ANSWER],
                {"answer": "cart.py", "api_retries": 1, "error": "^$"}),
    "stall": Row(always(text="It", breaks="stall"), {"finished": False, "answer": "^$", "error": "^$", "gave_up": "^$"},
                 exit_code=None, settings={"timeout_s": 4}),
}  # fmt: skip

QUICK = {
    "without", "with", "tool-search", "server-breaks", "call-denied", "subagent", "subagent-denied", "max-turns", "stock",
}  # fmt: skip
"""Rows that the real program shows on every start of the tests, beside those of endings_table.py; `ALL_ROWS=1` runs all."""
