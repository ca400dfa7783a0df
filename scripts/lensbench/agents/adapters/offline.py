"""The agent without a language model, `python -P -m lensbench_demo.offline`: no network, no key, no model.

| promise of the protocol | kept by |
|---|---|
| nothing but the tool set differs | the same arguments in every condition; only the content of `--mcp-config` differs |
| WITHOUT has none of the treatment's tools | an empty `mcpServers` file; the agent looks for servers nowhere else |
| a fresh session | HOME is the run's own; the agent keeps nothing and reads nothing but prompt, workspace and servers |
| a server that does not start is seen | the `start` event names every server as connected or failed, with the reason |
| tool calls are machine-derived | `tool_call` and `tool_result` events |
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import lensbench
from lensbench.agents import Assignment, Invocation, base_environment
from lensbench.agents.adapters._cli import counted
from lensbench.agents.adapters._events import (
    Event,
    answer_among,
    has_longer_report,
    least_usage,
    mapping,
    read_event,
    sequence,
    text,
    tool_uses,
    whole,
)
from lensbench.agents.prices import KINDS
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts, useless_servers
from lensbench.core.records import ENDINGS, Call, Ending, Outcome

HOSTS: tuple[str, ...] = ()
"""No model is asked."""

ARGV = (sys.executable, "-P", "-m", "lensbench_demo.offline")


def command(run: Assignment) -> Invocation:
    argv = (
        *ARGV,
        *("--prompt-file", run.prompt_file),
        *("--workspace", run.workspace),
        *("--mcp-config", run.mcp_file),
        *("--seed", str(run.seed)),
        *("--mcp-start-s", str(run.settings["mcp_start_s"])),
    )
    package = str(Path(lensbench.__file__).parent.parent)
    return Invocation(argv, {**base_environment(run), "PYTHONPATH": package})


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome in the events; a stream without the `start` that names the servers is incomplete."""
    outcome = read_events(lines, errors=errors)
    return outcome if outcome.servers is not None else replace(outcome, finished=False)


def read_events(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome of any program with such events; a stream without `end` is unfinished."""
    events = [event for line in lines if (event := read_event(line)) is not None]
    if not events:
        return Outcome(finished=False)
    by_type: dict[str, list[Event]] = {}
    for event in events:
        by_type.setdefault(event["type"], []).append(event)
    start = by_type.get("start", [{}])[0]
    end = by_type.get("end", [{}])[-1]
    is_error = end.get("is_error") is True
    calls, useless = _calls(events, errors)
    servers = _servers(start)
    if servers:
        servers |= {name: f"failed: {why}" for name, why in useless.items() if name in servers}
    reason = text(end.get("ended")) or "finished"
    ending: Ending = next(
        (kind for kind in ENDINGS if kind == reason and end and not is_error), "unknown"
    )
    texts = [text(event.get("text")) for event in by_type.get("answer", [])]
    answer = answer_among(texts, texts[-1]) if texts else ""
    written = [event.get("text") for event in by_type.get("answer", [])]
    written += [event.get("input") for event in by_type.get("tool_call", [])]
    return Outcome(
        answer=answer,
        finished="end" in by_type,
        error=(text(end.get("error")) or "the agent reports a failure") if is_error else "",
        error_status=whole(end.get("status")) if is_error else None,
        agent_version=text(start.get("version")) or None,
        models=(text(start.get("model")),) if text(start.get("model")) else None,
        servers=servers,
        tools_offered=tuple(filter(None, map(text, sequence(start.get("tools")))))
        if "tools" in start
        else None,
        calls=calls if calls or "start" in by_type else None,
        files_read=_files_read(by_type),
        tokens=_tokens(end.get("tokens")) if end else least_usage(written),
        tokens_at_least=not end,
        cost_usd=cost
        if type(cost := end.get("cost_usd", -1)) in (int, float) and cost >= 0
        else None,
        turns=whole(end.get("turns")),
        gave_up=ending if ending in ("limit", "refusal") else "",
        ending=ending,
        stop_reason=text(end.get("ended"))[:100],
        longer_report=has_longer_report(texts, answer) if len(texts) > 1 else None,
    )


def _tokens(counts: object) -> dict[str, int] | None:
    """Tokens by kind; None when a number is unusable, or input or output is missing."""
    entries = {"cache_read": 0, "cache_write": 0, **mapping(counts)}
    tokens: dict[str, int] = {
        kind: n for kind in KINDS if (n := whole(entries.get(kind))) is not None and n >= 0
    }
    return tokens if len(tokens) == len(KINDS) else None


def _servers(start: Event) -> dict[str, str] | None:
    if not isinstance(start.get("mcp_servers"), list):
        return None
    servers = {}
    for entry in map(mapping, start["mcp_servers"]):
        if text(entry.get("name")):
            status, detail = text(entry.get("status")), text(entry.get("detail"))
            servers[text(entry["name"])] = (
                f"{status}: {detail}" if status == "failed" and detail else status
            )
    return servers


def _calls(events: list[Event], errors: ErrorTexts) -> tuple[tuple[Call, ...], dict[str, str]]:
    """Calls by tool, and the servers that answered no call."""
    uses = tool_uses(
        (
            repr(event.get("id")),
            text(event.get("name")) if event["type"] == "tool_call" else None,
            event,
        )
        for event in events
        if event["type"] == "tool_result"
        or (event["type"] == "tool_call" and text(event.get("name")))
    )
    calls = [
        (
            use.name,
            errors.found(use.name, text(use.result.get("text"))),
            use.result.get("is_error") is True,
        )
        for use in uses
    ]
    answers = [call for call, use in zip(calls, uses, strict=True) if use.result]
    return counted((name, is_error or bool(why)) for name, why, is_error in calls), useless_servers(
        answers
    )


def _files_read(by_type: dict[str, list[Event]]) -> tuple[str, ...] | None:
    if "start" not in by_type:
        return None
    good = [event for event in by_type.get("tool_result", []) if event.get("is_error") is not True]
    return tuple(sorted({text(event.get("path")) for event in good} - {""}))


def is_over(event: Event) -> bool | None:
    return True if event["type"] == "end" else None
