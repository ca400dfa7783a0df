"""Reads the steps of an agent from its transcript, for people who want to understand a run.

One parser handles the streams of all kinds of agents; unknown events are ignored.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from lensbench.agents.adapters._events import (
    Event,
    mapping,
    number,
    read_event,
    sequence,
    text,
    tool_uses,
)
from lensbench.core.preflight_results import BYTES_A_TOKEN

StepKind = Literal["says", "thinks", "call", "error", "end"]


@dataclass
class Step:
    """A step of a run: text of the agent, a tool call with its result, an error, or the end."""

    kind: StepKind
    title: str = ""
    """The tool of a call; the figures of the end."""
    given: str = ""
    """The text; the arguments of a call."""
    got: str = ""
    failed: bool = False
    size: int = 0  # bytes of the result, where the stream says so
    is_whole: bool = True
    """`got` is what the model got: no display of it, no piece, and no output that may have been cut after it."""
    is_cut: bool = False
    """The model got a part of the result, or a note in its place."""
    at_s: float | None = None
    """Seconds since the first event with a time."""
    model_s: float | None = None
    """Seconds from the event before until the model had written it."""
    tool_s: float | None = None
    """Seconds from the event before until its result was there: calls at the same time share them."""
    request: int | None = None
    """The tokens of the request that the model answered with this step, where the stream shows them."""

    @property
    def line(self) -> str:
        return f"{self.title} {' '.join(self.given.split())}"[:200]

    @property
    def seconds(self) -> float | None:
        """The seconds of the model and of the tool; None where the stream shows no times."""
        if self.model_s is None and self.tool_s is None:
            return None
        return (self.model_s or 0.0) + (self.tool_s or 0.0)

    @property
    def result_tokens(self) -> float | None:
        """The tokens of the result, estimated from its bytes; None where it is not shown what the model got."""
        if not self.size and not self.is_whole:
            return None
        return (self.size or len(self.got.encode(errors="replace"))) / BYTES_A_TOKEN


_CUT = re.compile(
    r"exceeds maximum allowed tokens|Output too large \(|\[\d+ (?:lines|characters) truncated\]"
)
"""What Claude Code writes into a result that it cut."""
_UNCUT = 10_000
"""The bytes of a result that Codex gives its model whole. It shows all of a longer one, and cuts it for the model."""


def read_timeline(lines: Iterable[str]) -> list[Step]:
    """The steps in a transcript, in order; each call has its result."""
    steps: list[Step] = []
    entries: list[tuple[Hashable, str | None, Event]] = []
    begun: set[Hashable] = set()
    began: float | None = None
    before: float | None = None
    unfinished = 0  # the first step whose request has not shown its tokens yet
    for line in lines:
        event = read_event(line)
        if event is None:
            continue
        moment = _moment(event.get("timestamp"))
        if began is None:
            began = before = moment
        if event["type"] == "step_finish":
            for step in steps[unfinished:]:
                step.request = _of_step(mapping(mapping(event.get("part")).get("tokens")))
            unfinished = len(steps)
        for key, step in _steps(event):
            if step.kind != "call" and not (step.given or step.title):
                continue
            step.request = _of_message(event)
            if moment is not None and before is not None:
                _share_seconds(step, max(moment - before, 0.0))
                before = max(moment, before)
            step.at_s = (
                round(moment - began, 1) if moment is not None and began is not None else None
            )
            if step.kind != "call":
                _add(steps, step, bool(event.get("delta")))
                continue
            is_done = event["type"] == "item.completed" or "part" in event
            is_call = bool(step.title) and not (is_done and key in begun)
            if is_call:
                steps.append(step)
                entries.append((key, step.title, {"input": step.given, "step": step}))
                if not is_done or mapping(event.get("item")).get("id"):
                    begun.add(key)
            if is_done or not is_call:
                entries.append((key, None, {"step": step}))
    uses = tool_uses(entries)
    for use in uses:
        call: Step = use.call["step"]
        result: Step = use.result["step"] if use.result else Step("call", is_whole=False)
        call.got = result.got
        call.failed = result.failed
        call.size = result.size
        call.tool_s = result.tool_s
        call.is_whole = result.is_whole
        call.is_cut = result.is_cut
    kept = {id(use.call["step"]) for use in uses}
    return [step for step in steps if step.kind != "call" or id(step) in kept]


def _share_seconds(step: Step, passed: float) -> None:
    """Gives the seconds before an event to the tool, if it is a result; of a call that is shown when it is complete,
    the tool has those that the stream says, and the model the rest."""
    is_result = step.kind == "call" and not step.title
    of_tool = passed if is_result else min(step.tool_s or 0.0, passed)
    if is_result or step.tool_s is not None:
        step.tool_s = round(of_tool, 3)
    if not is_result:
        step.model_s = round(passed - of_tool, 3)


def own_calls(transcript: Iterable[str]) -> list[Step]:
    """The calls of the agent's own tools, not of MCP servers."""
    return [
        step
        for step in read_timeline(transcript)
        if step.kind == "call" and not step.title.startswith("mcp__")
    ]


def _of_message(event: Event) -> int | None:
    """The tokens of the request behind a message of Claude Code; None where a sub-agent wrote it."""
    usage = mapping(mapping(event.get("message")).get("usage"))
    kinds = (
        "input_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    )
    if event.get("parent_tool_use_id"):
        return None
    return sum(number(usage.get(kind)) for kind in kinds) or None


def _of_step(tokens: Event) -> int | None:
    """The same of a step of opencode."""
    cache = mapping(tokens.get("cache"))
    counts = (tokens.get("input"), cache.get("read"), cache.get("write"))
    return sum(map(number, counts)) or None


def _add(steps: list[Step], step: Step, goes_on: bool) -> None:
    if goes_on and steps and steps[-1].kind == step.kind:
        steps[-1].given += step.given
        if step.model_s is not None:
            steps[-1].model_s = (steps[-1].model_s or 0.0) + step.model_s
    else:
        steps.append(step)


def _steps(event: Event) -> Iterator[tuple[Hashable, Step]]:
    """The steps of an event; calls and their results have the id of the call, and what is certain beside it."""
    part = mapping(event.get("part"))
    state = mapping(part.get("state"))
    match event["type"]:
        case "assistant" | "user":
            for key, step in _message(mapping(event.get("message"))):
                yield (_id(event.get("parent_tool_use_id")), key), step
        case "tool_call":
            yield (
                _id(event.get("id")),
                Step("call", text(event.get("name")), _shown(event.get("input"))),
            )
        case "tool_result":
            is_bad = event.get("is_error") is True or event.get("status") == "error"
            out = _shown(
                event.get("output")
                or event.get("content")
                or event.get("text")
                or event.get("error")
            )
            size = event.get("size")
            out = out or " ".join(
                filter(None, [text(event.get("path")), f"{size} bytes" if size is not None else ""])
            )
            step = Step("call", got=out, failed=is_bad, size=number(size), is_whole=False)
            yield _id(event.get("id", event.get("tool_id"))), step
        case "tool_use" if part:
            out = _shown(state.get("output") or state.get("error"))
            step = Step("call", text(part.get("tool")), _shown(state.get("input")), out)
            step.failed = state.get("status") == "error"
            step.is_cut = mapping(state.get("metadata")).get("truncated") is True
            start, end = (_moment(mapping(state.get("time")).get(key)) for key in ("start", "end"))
            if start is not None and end is not None:
                step.tool_s = max(end - start, 0.0)
            yield _id(part.get("callID")), step
        case "tool_use":
            parameters = _shown(event.get("parameters"))
            yield _id(event.get("tool_id")), Step("call", text(event.get("tool_name")), parameters)
        case "message" if event.get("role") == "assistant":
            yield "", Step("says", given=text(event.get("content")))
        case "text":
            yield "", Step("says", given=text(part.get("text")))
        case "answer":
            yield "", Step("says", "the answer", text(event.get("text")))
        case "item.started" | "item.completed":
            yield from _item(mapping(event.get("item")), event["type"] == "item.completed")
        case "error" | "turn.failed":
            yield "", Step("error", given=_shown(event.get("message") or event.get("error")))
        case "result" | "end" | "turn.completed":
            yield "", _end(event)


def _message(message: Event) -> Iterator[tuple[str, Step]]:
    """Blocks of Claude Code's messages."""
    for block in map(mapping, sequence(message.get("content"))):
        match block.get("type"):
            case "text" if message.get("role") != "user":
                yield "", Step("says", given=text(block.get("text")))
            case "thinking":
                yield "", Step("thinks", given=text(block.get("thinking")))
            case "tool_use":
                yield (
                    _id(block.get("id")),
                    Step("call", text(block.get("name")), _shown(block.get("input"))),
                )
            case "tool_result":
                output = _shown(block.get("content"))
                step = Step("call", got=output, failed=block.get("is_error") is True)
                step.is_cut = bool(_CUT.search(output))
                yield _id(block.get("tool_use_id")), step


_OF_CODEX = {
    "command_execution": "command",
    "file_change": "changes",
    "web_search": "query",
    "collab_tool_call": "prompt",
}
"""Codex's own calls -> the key of what was given."""


def _item(item: Event, is_done: bool) -> Iterator[tuple[Hashable, Step]]:
    """Items of Codex, which show a call's inputs at its end, too."""
    kind = text(item.get("type"))
    is_error = item.get("status") == "failed" or bool(item.get("error"))
    if kind == "mcp_tool_call":
        name = f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}"
        output = _shown(item.get("error") or mapping(item.get("result")).get("content"))
        given = _shown(item.get("arguments"))
        yield (_id(item.get("id")), name, given), _of_codex(name, given, output, is_error)
    elif kind in _OF_CODEX:
        output = text(item.get("aggregated_output"))
        given = _shown(item.get(_OF_CODEX[kind]))
        name = "shell" if kind == "command_execution" else kind
        yield (_id(item.get("id")), given), _of_codex(name, given, output, is_error)
    elif is_done and kind in ("agent_message", "reasoning", "error"):
        names: dict[str, StepKind] = {
            "agent_message": "says",
            "reasoning": "thinks",
            "error": "error",
        }
        yield "", Step(names[kind], given=text(item.get("text")) or text(item.get("message")))


def _of_codex(name: str, given: str, output: str, is_error: bool) -> Step:
    is_whole = len(output.encode(errors="replace")) <= _UNCUT
    return Step("call", name, given, output, is_error, is_whole=is_whole)


def _end(event: Event) -> Step:
    """The end, with the agent's figures; its text was in an earlier event."""
    usage = mapping(event.get("usage")) or mapping(event.get("stats"))
    turns = event.get("num_turns", event.get("turns"))
    cost = event.get("total_cost_usd")
    figures = [
        f"{turns} turns" if isinstance(turns, int) else "",
        *(
            f"{usage[name]} {name.replace('_', ' ')}"
            for name in sorted(usage)
            if isinstance(usage[name], int)
        ),
        f"${cost:.4f}" if isinstance(cost, int | float) else "",
    ]
    is_error = event.get("is_error") is True or event.get("status") == "error"
    wrong = (
        _shown(event.get("error") or event.get("result") or event.get("subtype"))
        if is_error
        else ""
    )
    return Step("end", ", ".join(filter(None, figures)) or "the end", wrong, failed=is_error)


def _id(value: Any) -> str:
    return "" if value is None else str(value)


def _shown(value: Any) -> str:
    """A value for display: strings and text blocks as they are, everything else as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    blocks = [mapping(block).get("text") for block in value] if isinstance(value, list) else []
    if blocks and all(isinstance(block, str) for block in blocks):
        return "\n".join(map(str, blocks))
    return json.dumps(value, ensure_ascii=False, indent=1)


def _moment(value: Any) -> float | None:
    """Seconds, from milliseconds or from a date."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value / 1000
    try:
        return datetime.fromisoformat(value).timestamp() if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
