"""The agent without a language model, `python -P -m lensbench_demo.offline`: no network, no key, no model.

| promise of the protocol | kept by |
|---|---|
| nothing but the tool set differs | the same arguments in every condition; only the content of `--mcp-config` differs |
| a part of a server's tools | `--without-tool` for each of the others |
| WITHOUT has none of the treatment's tools | an empty `mcpServers` file; the agent looks for servers nowhere else |
| a fresh session | HOME is the run's own; the agent keeps nothing and reads nothing but prompt, workspace and servers |
| a server that does not start is seen | the `start` event names every server as connected or failed, with the reason |
| tool calls are machine-derived | `tool_call` and `tool_result` events |
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
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
from lensbench.agents.prices import TOKEN_KINDS
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts, useless_servers
from lensbench.core.records import ENDINGS, FAILED, Call, Ending, Outcome

FILTERS = True
HOSTS: tuple[str, ...] = ()
"""No model is asked."""

ARGV = (sys.executable, "-P", "-m", "lensbench_demo.offline")


def command(run: Assignment) -> Invocation:
    argv = (
        *ARGV,
        "--prompt-file",
        run.prompt_file,
        "--workspace",
        run.workspace,
        "--mcp-config",
        run.mcp_file,
        "--seed",
        str(run.seed),
        "--mcp-start-s",
        str(run.settings["mcp_start_s"]),
        *(f"--without-tool={tool}" for tool in run.excluded),
    )
    package = str(Path(lensbench.__file__).parent.parent)
    return Invocation(argv, {**base_environment(run), "PYTHONPATH": package})


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome in the events; a stream without the `start` that names the servers is incomplete."""
    outcome = read_events(lines, errors=errors)
    return outcome if outcome.servers is not None else replace(outcome, finished=False)


def read_events(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome of any program with such events; a stream without `end` is unfinished."""
    by_type: dict[str, list[Event]] = {}
    events = []
    for line in lines:
        event = read_event(line)
        if event is not None:
            events.append(event)
            by_type.setdefault(event["type"], []).append(event)
    if not events:
        return Outcome(finished=False)
    start = by_type.get("start", [{}])[0]
    end = by_type.get("end", [{}])[-1]
    error, status = _error(end)
    calls, useless = _calls(events, errors)
    texts = [text(event.get("text")) for event in by_type.get("answer", [])]
    answer = answer_among(texts, texts[-1]) if texts else ""
    model = text(start.get("model"))
    ending = _ending(end, is_error=bool(error))
    states, faults = _servers(start, useless)
    return Outcome(
        answer=answer,
        finished="end" in by_type,
        error=error,
        error_status=status,
        agent_version=text(start.get("version")) or None,
        models=(model,) if model else None,
        servers=states,
        server_faults=faults,
        tools_offered=_offered(start),
        calls=calls if calls or "start" in by_type else None,
        files_read=_files_read(by_type),
        tokens=_tokens(end.get("tokens")) if end else _least_tokens(by_type),
        tokens_at_least=not end,
        cost_usd=_cost(end),
        turns=whole(end.get("turns")),
        gave_up=ending if ending in ("limit", "refusal") else "",
        ending=ending,
        stop_reason=text(end.get("ended"))[:100],
        longer_report=has_longer_report(texts, answer) if len(texts) > 1 else None,
    )


def _error(end: Event) -> tuple[str, int | None]:
    """The failure that the end reports, with its status; "" without one."""
    if end.get("is_error") is not True:
        return "", None
    return text(end.get("error")) or "the agent reports a failure", whole(end.get("status"))


def _ending(end: Event, is_error: bool) -> Ending:
    reason = text(end.get("ended")) or "finished"
    if end and not is_error:
        for kind in ENDINGS:
            if kind == reason:
                return kind
    return "unknown"


def _offered(start: Event) -> tuple[str, ...] | None:
    """The tools that the start names; None when it names none."""
    if "tools" not in start:
        return None
    return tuple(filter(None, map(text, sequence(start["tools"]))))


def _cost(end: Event) -> float | None:
    """US dollars; None when they are missing or unusable."""
    cost = end.get("cost_usd", -1)
    if type(cost) not in (int, float) or cost < 0:
        return None
    return float(cost)


def _least_tokens(by_type: dict[str, list[Event]]) -> dict[str, int] | None:
    """The least that a run without an end has used, by what the agent wrote."""
    written = [event.get("text") for event in by_type.get("answer", [])]
    written += [event.get("input") for event in by_type.get("tool_call", [])]
    return least_usage(written)


def _tokens(counts: object) -> dict[str, int] | None:
    """Tokens by kind; None when a number is unusable, or input or output is missing."""
    entries = {"cache_read": 0, "cache_write": 0, **mapping(counts)}
    tokens: dict[str, int] = {}
    for kind in TOKEN_KINDS:
        count = whole(entries.get(kind))
        if count is None or count < 0:
            return None
        tokens[kind] = count
    return tokens


def _servers(
    start: Event, useless: Mapping[str, str]
) -> tuple[dict[str, str] | None, dict[str, str]]:
    """State by server, and why they failed: the `useless` ones answered no call."""
    if not isinstance(start.get("mcp_servers"), list):
        return None, {}
    states = {}
    faults = {}
    for entry in map(mapping, start["mcp_servers"]):
        name = text(entry.get("name"))
        detail = text(entry.get("detail"))
        if name:
            states[name] = text(entry.get("status"))
        if name and detail:
            faults[name] = detail
    failed = {name: why for name, why in useless.items() if name in states}
    return states | dict.fromkeys(failed, FAILED), faults | failed


def _calls(events: list[Event], errors: ErrorTexts) -> tuple[tuple[Call, ...], dict[str, str]]:
    """Calls by tool, and the servers that answered no call."""
    entries = []
    for event in events:
        name = text(event.get("name")) if event["type"] == "tool_call" else None
        if name or event["type"] == "tool_result":
            entries.append((repr(event.get("id")), name, event))
    counts = []
    answers = []
    for use in tool_uses(entries):
        why = errors.found(use.name, text(use.result.get("text")))
        is_error = use.result.get("is_error") is True
        counts.append((use.name, is_error or bool(why)))
        if use.result:
            answers.append((use.name, why, is_error))
    return counted(counts), useless_servers(answers)


def _files_read(by_type: dict[str, list[Event]]) -> tuple[str, ...] | None:
    if "start" not in by_type:
        return None
    good = [event for event in by_type.get("tool_result", []) if event.get("is_error") is not True]
    return tuple(sorted({text(event.get("path")) for event in good} - {""}))


def is_over(event: Event) -> bool | None:
    return True if event["type"] == "end" else None
