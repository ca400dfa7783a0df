"""How an attempt can end, and what becomes of it with each kind of agent.

The real programs are tried with rows of it (test_endings_live.py), what they printed in every row is read anew
(test_endings.py), and docs/reference/endings.md has the same table (`table`).
"""

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from live_agents import CLIS, SERVER

CALL = {"times": 1, "reply": {"text": "I look.", "tools": ["shell"]}}
SILENT_CALL = {"times": 1, "reply": {"tools": ["shell"]}}
ANSWER = {"reply": {"text": "It is in src/cart.py."}}
REPORT = "It is in src/cart.py, line 1.\n\n## Report\n- Tool calls: 1\n- Files used: src/cart.py"
ANSWERED_CALL = {"times": 1, "reply": {"text": REPORT, "tools": ["shell"]}}
MISSING = {"command": "no-such-program"}
UNLISTED = {**SERVER, "args": [*SERVER["args"], "--lists", "0"]}
SOON = {"retry-after-ms": "10"}
STAYS = ("/bin/sh", "-c", '"$0" "$@"; exec sleep 60')
"""A launcher that does not end with the program."""


class Row(NamedTuple):
    """Something that happens to a run."""

    what: str
    rules: Sequence[Mapping[str, Any]]
    """Those of the service's fake."""
    becomes: str
    """What becomes of the run: how its answer ended, or what is done about it and the reason."""
    but: Mapping[str, str] = {}
    """The same for kinds of agents that differ."""
    server: Mapping[str, Any] | None = None
    settings: Mapping[str, Any] = {}
    launcher: Sequence[str] = ()
    timeout_s: float = 150

    def outcome(self, kind: str) -> str:
        return self.but.get(kind, self.becomes)


def first(**reply: Any) -> list[dict[str, Any]]:
    """The same reply to every request."""
    return [{"reply": reply}]


def later(**reply: Any) -> list[dict[str, Any]]:
    """The same reply to every request after a call."""
    return [CALL, {"reply": reply}]


REMARKED = [ANSWERED_CALL, {"reply": {"text": "Done, see above."}}]

ROWS = [
    Row("an answer", [CALL, ANSWER], "finished"),
    Row("an empty answer", [SILENT_CALL, {"reply": {"text": ""}}], "again empty"),
    Row("a text and a call, then an empty text", later(text=""), "finished"),
    Row("a text and a call, then no content", later(), "finished"),
    Row("an answer with a report and a call, then a remark", REMARKED, "finished"),
    Row(
        "the same call again and again",
        first(tools=["shell"]),
        "limit",
        {"codex": "later timed_out", "opencode": "later timed_out"},
        settings={"max_turns": 12},
        timeout_s=40,
    ),
    Row(
        "the model refuses",
        later(text="I cannot.", stop_reason="refusal"),
        "refusal",
        {"gemini": "finished"},
    ),
    Row("the answer is blocked before its first word", later(stop_reason="refusal"), "refusal"),
    Row(
        "the output limit ends the answer",
        later(text="It is", stop_reason="limit"),
        "limit",
        {"gemini": "finished"},
    ),
    Row("the first request gets 400", first(status=400), "stop api_error"),
    Row("a later one gets 400", later(status=400), "again api_error"),
    Row("401", first(status=401), "stop api_error"),
    Row("402", later(status=402), "stop api_error"),
    Row("403", later(status=403), "stop api_error"),
    Row("the first request gets 404", first(status=404), "stop api_error"),
    Row("413", later(status=413), "again api_error"),
    Row(
        "413 once",
        [CALL, {"times": 1, "reply": {"status": 413}}, ANSWER],
        "again api_error",
        {"codex": "finished", "opencode": "compaction"},
    ),
    Row("429", later(status=429, headers=SOON), "pause rate_limited"),
    Row("500", later(status=500, headers=SOON), "pause api_error"),
    Row("503", later(status=503, headers=SOON), "pause api_error"),
    Row(
        "the connection breaks once within an answer",
        [CALL, {"times": 1, "reply": {"text": "It", "breaks": "drop"}}, ANSWER],
        "finished",
    ),
    Row("it breaks within every answer", later(text="It", breaks="drop"), "again api_error"),
    Row("it breaks before every answer", later(breaks="reset"), "again api_error"),
    Row(
        "the model's address does not answer",
        [],
        "stop api_error",
        {"gemini": "again api_error"},
        settings={"base_url": "http://127.0.0.1:9"},
    ),
    Row(
        "another model answers",
        [CALL, {"reply": {"text": "It is.", "model": "model-b"}}],
        "later model_changed",
        {"codex": "finished", "opencode": "finished"},
    ),
    Row(
        "a server of the condition does not start",
        [CALL, ANSWER],
        "again mcp_failed",
        server=MISSING,
    ),
    Row(
        "it starts, and no tool of it is offered",
        [CALL, ANSWER],
        "again mcp_not_offered",
        {"codex": "finished", "gemini": "again mcp_failed", "opencode": "finished"},
        server=UNLISTED,
    ),
    Row("the program stays after its answer", [CALL, ANSWER], "finished", launcher=STAYS),
    Row("the time limit", later(text="It", breaks="stall"), "later timed_out", timeout_s=20),
]
BY_NAME = {row.what: row for row in ROWS}
QUICK = {"429", "a server of the condition does not start"}
"""Rows that the real programs show on every start of the tests: in both, settings of ours decide what they do."""
STREAMS = Path(__file__).parent / "endings"
"""What each program printed in every row, in `<kind>.json`."""

NAMES = {
    "claude-code": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
}
WORDS = {
    "finished": "counts",
    "compaction": "counts",
    "limit": "failed",
    "refusal": "failed",
    "pause": "pause",
    "stop": "stops",
    "again": "again",
    "later": "discarded",
}


def table() -> str:
    """The table for people, in Markdown."""
    heads = ["what happens", *(f"{NAMES[kind]} {cli.version}" for kind, cli in CLIS.items())]
    becomes = [(row.what, [row.outcome(kind) for kind in CLIS]) for row in ROWS]
    rows = [
        [what, *(WORDS.get(each) or WORDS[each.split()[0]] for each in found)]
        for what, found in becomes
    ]
    lines = itertools.chain([heads, ["---"] * len(heads)], rows)
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


if __name__ == "__main__":
    print(table(), end="")
