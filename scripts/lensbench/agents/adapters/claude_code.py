"""Claude Code, `claude -p`, as the protocol wants it (sections 1 and 5). Read event by event from `stream-json`.

| promise of the protocol | kept by |
|---|---|
| same prompt in both conditions | the argument after `--`, the same bytes |
| nothing but the tool set differs | the same flags and variables; only the MCP file and the lists of allowed and denied tools differ |
| WITH has the treatment's tools | `--mcp-config` waits for its servers (`MCP_*`), `--allowed-tools mcp__<server>`; their schemas are in the first request (`ENABLE_TOOL_SEARCH=false`) unless `agent.tool_search` is on |
| a part of a server's tools | the others by name in `--disallowed-tools` |
| WITHOUT has none of them | an empty MCP file, and `--disallowed-tools mcp__<server>` |
| no sub-agents | `--disallowed-tools Task`, and a short `--tools` list without the tools that can start agents |
| a fresh session | a HOME and a CLAUDE_CONFIG_DIR of its own, `--no-session-persistence`, no automatic memory |
| nothing of the user's or the repository's | `--setting-sources ""`, `--strict-mcp-config`, no CLAUDE.md, no AGENTS.md, a cleared environment |
| it works as root | permissions are given by name; none is skipped |
| the model that served is seen | `message.model` of every answer; what was asked for stands beside it |

The baseline's search tools are those of `agent.tools`: without Grep and Glob there, Claude Code searches with Bash.
"""  # noqa: E501

from __future__ import annotations

import os
import re
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

from lensbench.agents import (
    ADDRESSES,
    Assignment,
    Invocation,
    Program,
    as_called,
    as_written,
    base_environment,
    is_stock,
)
from lensbench.agents.adapters._cli import REFUSAL, counted, ending_of, gateway, inside, version_of
from lensbench.agents.adapters._events import (
    Event,
    Use,
    answer_among,
    has_longer_report,
    least_tokens,
    mapping,
    read_event,
    sequence,
    shown_tokens,
    text,
    tool_uses,
    whole,
    words,
)
from lensbench.core.error_texts import DISCONNECTED, KNOWN_ERRORS, ErrorTexts, useless_servers
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import FAILED, Ending, Outcome

PROGRAM = Program("claude", "sonnet", "ANTHROPIC_API_KEY", "/@", "CLAUDE.md", ".claude/skills")
HOSTS: tuple[str, ...] = ("api.anthropic.com:443",)
COST = "dollars"
FILTERS = True

__all__ = ["command", "is_over", "read", "version"]

TIERS = ("sonnet", "haiku", "opus")
PLAN_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
"""The variable with the token of a subscription, from `claude setup-token`."""
KEY_VARIABLES = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
CLIENT_RETRIES = 5
"""How often Claude Code repeats a request, in about 20 seconds: a brief failure must not waste paid turns, and its
default of 10 takes three minutes. `CLAUDE_CODE_MAX_RETRIES` in `agent.pass_env` overrides it."""


def command(run: Assignment) -> Invocation:
    settings = run.settings
    built_in = [*settings["tools"], *(["ToolSearch"] if settings["tool_search"] else [])]
    built_in += ["Skill"] if run.reads_skills else []
    stock = is_stock(settings)
    tools = [*built_in, *(["Task"] if stock else []), *(f"mcp__{server}" for server in run.servers)]
    denials = [*([] if stock else ["Task"]), *(f"mcp__{server}" for server in run.denied_servers)]
    denials += map(as_called, run.excluded)
    sources = "project" if run.reads_files else ""
    mcp_file = os.path.join(run.home, "mcp.json")
    argv = (
        *(settings["command"] or [PROGRAM.name]),
        "-p",
        "--model",
        settings["model"],
        "--output-format",
        "stream-json",
        "--verbose",
        "--no-session-persistence",
        "--setting-sources",
        sources,
        "--strict-mcp-config",
        "--mcp-config",
        mcp_file,
        *(() if stock else ("--tools", ",".join(built_in))),
        "--allowed-tools",
        ",".join(tools),
        "--disallowed-tools",
        ",".join(denials),
        "--max-turns",
        str(settings["max_turns"]),
        "--",
        run.prompt,
    )
    return Invocation(
        argv, _environment(run), {mcp_file: as_written({"mcpServers": run.mcp_servers})}
    )


def _environment(run: Assignment) -> dict[str, str]:
    strict = {
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "ENABLE_TOOL_SEARCH": "true" if run.settings["tool_search"] else "false",
    }
    base_url, token = gateway(run.settings, ADDRESSES, KEY_VARIABLES)
    start_ms = str(round(run.settings["mcp_start_s"] * 1000))
    return {
        "CLAUDE_CODE_MAX_RETRIES": "0" if run.is_trial else str(CLIENT_RETRIES),
        **base_environment(run),
        **({"ANTHROPIC_BASE_URL": base_url} if base_url else {}),
        **({"ANTHROPIC_AUTH_TOKEN": token} if token else {}),
        **_models(run.settings),
        "CLAUDE_CONFIG_DIR": os.path.join(run.home, ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **({} if run.reads_files else {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}),
        **({"CLAUDE_CODE_FORWARD_SUBAGENT_TEXT": "1"} if is_stock(run.settings) else strict),
        "MCP_TIMEOUT": start_ms,
        # Versions before 2.1.329 need both to wait for a server that starts slowly.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": start_ms,
    }


def _models(settings: AgentSettings) -> dict[str, str]:
    """The model of each tier. Tiers missing in the mapping get the main model, so that no other model answers."""
    model = settings["model"]
    provider = settings["provider"]
    models = settings["models"]
    main = models.get(model) or (model if provider and model not in TIERS else None)
    if main is None:
        return {
            f"ANTHROPIC_DEFAULT_{tier.upper()}_MODEL": models[tier]
            for tier in TIERS
            if tier in models
        }
    tiers = {f"ANTHROPIC_DEFAULT_{tier.upper()}_MODEL": models.get(tier, main) for tier in TIERS}
    return {**tiers, "CLAUDE_CODE_SUBAGENT_MODEL": main}


version = partial(version_of, PROGRAM.name, says="Claude Code")


LIMITS = {
    "model_context_window_exceeded": "prompt too long",
    "length": "length",
    "content_filter": REFUSAL,
    "sensitive": REFUSAL,
    "error_max_turns": "turns",
    "error_max_budget_usd": "budget",
    "prompt_too_long": "prompt too long",
    "max_output_tokens": "length",
    "max_tokens": "length",
    "refusal": REFUSAL,
}
"""Subtype of a result -> the limit that it reached: a failed answer, not a failure of the service."""

_KINDS = ("input", "output", "cache_read", "cache_write")
_OF_A_MODEL = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
_OF_A_MESSAGE = (
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
)
_OF_A_REQUEST = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_SYNTHETIC = "<synthetic>"
"""The model of messages that the client itself created, for an error."""
_STATUS = re.compile(r"API Error: (?:Request rejected \()?([45]\d\d)\b")
"""The status in an error of clients that do not name it (`api_error_status`)."""
_FINISHED = ("end_turn", "stop_sequence", "stop", "")
"""Stop reasons of a complete answer; older clients show none."""


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome in the events; a stream without its start or a `result` is incomplete."""
    stream = Stream([event for line in lines if (event := read_event(line)) is not None], errors)
    if not stream.events:
        return Outcome(finished=False)
    result = stream.result
    usage = stream.usage
    error = stream.error
    limit = stream.limit
    answer = stream.answer if limit or not (error or result.get("is_error")) else ""
    first = next((message for message in stream.messages if not message.parent), None)
    cost = result.get("total_cost_usd")
    is_priced = isinstance(cost, int | float) and (stream.tokens is not None or not stream.messages)
    status = whole(result.get("api_error_status")) or next(map(int, _STATUS.findall(error)), None)
    return Outcome(
        answer=answer,
        finished=bool(stream.start and stream.results),
        error=error,
        error_status=status if error else None,
        resets_at=stream.resets_at if error else None,
        agent_version=text(stream.start.get("claude_code_version")) or None,
        models=stream.models,
        servers=stream.servers,
        server_faults=stream.server_faults,
        tools_offered=stream.tools,
        calls=counted((call.name, call.failed) for call in stream.calls),
        files_read=stream.files_read,
        tokens=stream.tokens,
        tokens_at_least=stream.is_cut,
        cache_write_1h=stream.cache_write_1h,
        tokens_first=_shown([first.usage]) if first else None,
        tokens_subagents=stream.tokens_subagents,
        cost_usd=cost if is_priced else None,
        cost_is_guess=not all(_is_priced(model, entry) for model, entry in usage.items()),
        turns=sum(turns)
        if (turns := [n for leg in stream.results if (n := whole(leg.get("num_turns")))])
        else None,
        gave_up=": ".join(filter(None, (limit, stream.reason))) if limit else "",
        ending=stream.ending,
        stop_reason=text(result.get("stop_reason"))[:100],
        longer_report=has_longer_report(stream.texts, answer),
        models_asked=tuple(sorted({text(stream.start.get("model")), *usage} - {""})) or None,
        denied_calls=tuple(sorted({name for _, name in stream.denials})),
        tools_deferred=stream.tools_deferred,
        api_retries=stream.retries,
        subagents=stream.subagents,
    )


class ToolCall(NamedTuple):
    """A tool call."""

    name: str
    block: Event
    unmarked: str
    """The answer, when it is an error that is not marked as one."""
    failed: bool
    """Permissions refuse calls, too."""
    why: str


@dataclass
class _Message:
    """A message of a model."""

    parent: str
    """The call that started the sub-agent which wrote it; "" for the run's own."""
    id: str
    place: int = 0
    """Where its last event stands."""
    usage: Event = field(default_factory=dict)
    blocks: list[Event] = field(default_factory=list)
    has_results: bool = False
    """Calls of it have been answered."""

    def goes_on(self, content: Event) -> bool:
        """True when `content` is another piece of it. Some gateways give all messages the same id; and the results of
        first calls may come before the message's last calls."""
        if text(content.get("id")) != self.id:
            return False
        usage = mapping(content.get("usage"))
        blocks = sequence(content.get("content"))
        is_same_request = all(usage.get(name) == self.usage.get(name) for name in _OF_A_REQUEST)
        has_only_calls = all(mapping(block).get("type") == "tool_use" for block in blocks)
        return not self.has_results or (is_same_request and has_only_calls)

    @property
    def written(self) -> list[object]:
        """Its texts, thinking and inputs of tools."""
        return [block.get(key) for block in self.blocks for key in ("text", "thinking", "input")]


class Stream:
    """The events of a run. Sub-agents add further `init` and `result` events: the first init and the last result belong
    to the run, and the usage in the last result includes all of them."""

    def __init__(self, events: list[Event], errors: ErrorTexts = KNOWN_ERRORS) -> None:
        self.events = events
        self._errors = errors
        self.results = [event for event in events if event["type"] == "result"]
        self.result: Event = self.results[-1] if self.results else {}
        self.start: Event = next(iter(self._system("init")), {})

    def _system(self, subtype: str) -> list[Event]:
        return [
            event
            for event in self.events
            if event["type"] == "system" and event.get("subtype") == subtype
        ]

    @cached_property
    def calls(self) -> list[ToolCall]:
        """Including failed calls of tools that do not exist."""
        uses = tool_uses(entry for event in self.events for entry in _uses(event))
        return [self._made(use, words(use.result.get("content"))) for use in uses]

    def _made(self, use: Use, output: str) -> ToolCall:
        is_marked = bool(use.result.get("is_error"))
        error = self._errors.found(use.name, output) if use.result and not is_marked else ""
        is_failure = (
            is_marked
            or bool(error)
            or (not use.result and (text(use.call.get("id")), use.name) in self.denials)
        )
        return ToolCall(use.name, use.call, error, is_failure, output if is_marked else error)

    @cached_property
    def denials(self) -> set[tuple[str, str]]:
        entries = [*self._system("permission_denied")]
        entries += [
            mapping(entry)
            for result in self.results
            for entry in sequence(result.get("permission_denials"))
        ]
        return {(text(entry.get("tool_use_id")), text(entry.get("tool_name"))) for entry in entries}

    @property
    def files_read(self) -> tuple[str, ...]:
        """Files of the workspace that Read was called for without an error."""
        inputs = (
            mapping(call.block.get("input"))
            for call in self.calls
            if call.name == "Read" and not call.failed
        )
        return inside(
            text(self.start.get("cwd")) or "/", (text(entry.get("file_path")) for entry in inputs)
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The models named in the agent's own answers, without the client's texts, and without those of sub-agents."""
        own = (
            event
            for event in self.events
            if event["type"] == "assistant" and not event.get("parent_tool_use_id")
        )
        return tuple(
            sorted(
                {text(mapping(event.get("message")).get("model")) for event in own}
                - {"", _SYNTHETIC}
            )
        )

    @property
    def tools(self) -> tuple[str, ...] | None:
        return (
            tuple(map(text, self.start["tools"]))
            if isinstance(self.start.get("tools"), list)
            else None
        )

    @property
    def tools_deferred(self) -> tuple[str, ...] | None:
        """With tool search, the model gets only the names of MCP tools, although the start event lists them."""
        if self.tools is None:
            return None
        return (
            tuple(tool for tool in self.tools if tool.startswith("mcp__"))
            if "ToolSearch" in self.tools
            else ()
        )

    @property
    def servers(self) -> dict[str, str] | None:
        """The states of MCP servers from the start event; one that crashed during a call has failed."""
        if not isinstance(self.start.get("mcp_servers"), list):
            return None
        entries = list(map(mapping, self.start["mcp_servers"]))
        states = {text(entry.get("name")): text(entry.get("status")) for entry in entries}
        failed = self.server_faults.keys() & states.keys()
        return states | dict.fromkeys(failed, FAILED)

    @cached_property
    def server_faults(self) -> dict[str, str]:
        """Why MCP servers failed: those that crashed during a call, and those that answered none."""
        crashes = {}
        for call in self.calls:
            if DISCONNECTED.search(call.why) and call.name.startswith("mcp__"):
                crashes[call.name.split("__")[1]] = call.why[:200]
        calls = [(call.name, call.unmarked, call.failed) for call in self.calls]
        return crashes | useless_servers(calls)

    @property
    def limit(self) -> str:
        """The name of the limit at which the agent stopped; "" when it reached none."""
        for key in ("subtype", "terminal_reason", "api_error", "stop_reason"):
            name = LIMITS.get(text(self.result.get(key)))
            if name:
                return name
        return ""

    @property
    def reason(self) -> str:
        """What the last result says, or its errors."""
        errors = " ".join(map(text, sequence(self.result.get("errors"))))
        return (words(self.result.get("result")) or words(errors))[:500]

    @property
    def error(self) -> str:
        """The failure, unless the agent stopped at a limit. An error of the service looks like an answer: its text is
        the `result`, with the `subtype` success."""
        if self.limit:
            return ""
        if self.result.get("is_error"):
            subtype = text(self.result.get("subtype"))
            return self.reason or subtype or "the agent reports a failure"
        messages = (
            mapping(event.get("message")) for event in self.events if event["type"] == "assistant"
        )
        own = [
            words(message.get("content"))
            for message in messages
            if message.get("model") == _SYNTHETIC
        ]
        return own[-1] or "the client answered by itself" if own else ""

    @property
    def resets_at(self) -> float | None:
        """When the window resets for which a request was rejected."""
        info = [
            mapping(event.get("rate_limit_info"))
            for event in self.events
            if event["type"] == "rate_limit_event"
        ]
        return (
            float(whole(info[-1].get("resetsAt")) or 0)
            if info and info[-1].get("status") == "rejected"
            else None
        )

    @property
    def ending(self) -> Ending:
        """How the run ended. An unknown stop reason does not count as finished."""
        is_good = bool(self.results) and not self.error
        is_finished = is_good and text(self.result.get("stop_reason")) in _FINISHED
        return ending_of(self.limit, is_finished, bool(self._system("compact_boundary")))

    @cached_property
    def texts(self) -> list[str]:
        """The texts of the run's own model between its calls' results, without what it took back; the last may be
        empty."""
        texts = [""]
        for event in self.events:
            message = mapping(event.get("message"))
            if event.get("parent_tool_use_id") or message.get("model") == _SYNTHETIC:
                continue
            if event["type"] == "user" and event.get("refused_message_id"):
                texts[-1] = ""
            elif event["type"] == "user" and _blocks(message, "tool_result"):
                texts.append("")
            elif event["type"] == "assistant":
                texts[-1] += "".join(text(block.get("text")) for block in _blocks(message, "text"))
        return texts

    @property
    def answer(self) -> str:
        """The result, or the available part of an answer that was cut off by a limit."""
        if not self.results:
            return ""
        last = self.texts[-1] if self.limit else text(self.result.get("result"))
        return answer_among(self.texts, last)

    @property
    def usage(self) -> dict[str, Event]:
        return {
            model: mapping(entry) for model, entry in mapping(self.result.get("modelUsage")).items()
        }

    @cached_property
    def messages(self) -> list[_Message]:
        """What the models wrote. A message comes in several events of the same id."""
        messages: list[_Message] = []
        newest: dict[str, _Message] = {}
        for place, event in enumerate(self.events):
            parent = text(event.get("parent_tool_use_id"))
            content = mapping(event.get("message"))
            if event["type"] == "user" and parent in newest:
                newest[parent].has_results = True
            elif event["type"] == "assistant" and content.get("model") != _SYNTHETIC:
                message = newest.get(parent)
                if message is None or not message.goes_on(content):
                    message = _Message(parent, text(content.get("id")))
                    newest[parent] = message
                    messages.append(message)
                message.place, message.usage = place, mapping(content.get("usage"))
                message.blocks += map(mapping, sequence(content.get("content")))
        return messages

    @property
    def unreported(self) -> list[_Message]:
        """The messages after the last result, whose tokens no total has."""
        last = max(
            (n for n, event in enumerate(self.events) if event["type"] == "result"), default=-1
        )
        return [message for message in self.messages if message.place > last]

    @property
    def is_cut(self) -> bool:
        """True when messages, or all of the run, have no total."""
        return not self.results or bool(self.unreported)

    @cached_property
    def tokens(self) -> dict[str, int] | None:
        """The totals of the last result, and at least those of messages that it does not have."""
        written = [part for message in self.messages for part in message.written]
        rest = _least(self.unreported)
        if self.usage:
            total = shown_tokens(_tokens(self.usage.values()), written)
            return _sum([total, rest]) if total else None
        legs = [mapping(result.get("usage")) for result in self.results]
        own = _tokens(legs, _OF_A_MESSAGE)
        if any(own.values()):
            return _sum([own, rest, _least(self.of_subagents)])
        counts = _least(self.messages)
        return counts if any(counts.values()) else None

    @property
    def cache_write_1h(self) -> int | None:
        """Of the tokens written into the cache, those that stay for an hour; older versions show them by message."""
        totals = [entry.get("cacheCreationEphemeral1hInputTokens") for entry in self.usage.values()]
        shown = [mapping(message.usage.get("cache_creation")) for message in self.messages]
        counts = [whole(total) for total in totals if whole(total) is not None] or [
            whole(part.get("ephemeral_1h_input_tokens")) for part in shown
        ]
        known = [count for count in counts if count is not None]
        return sum(known) if known else None

    @property
    def of_subagents(self) -> list[_Message]:
        return [message for message in self.messages if message.parent]

    @property
    def tokens_subagents(self) -> dict[str, int] | None:
        """The tokens of sub-agents, which are in the totals by model, but not in the usage of a result. Events show
        messages when they begin, with an output of one token."""
        if len(self.shown_subagents) != self.subagents or not self.of_subagents:
            return None
        least = _least(self.of_subagents)
        own = _tokens((mapping(result.get("usage")) for result in self.results), _OF_A_MESSAGE)
        if not self.usage or not any(own.values()):
            return least
        total = _tokens(self.usage.values())
        return {kind: max(total[kind] - own[kind], least[kind]) for kind in _KINDS}

    @property
    def retries(self) -> int:
        """The number of repeated requests; one that is announced several times in a long wait counts once."""
        count = 0
        before = None
        for event in self.events:
            if event["type"] == "assistant":
                before = None
            elif event.get("subtype") == "api_retry":
                attempt = event.get("attempt")
                if attempt != before:
                    count += 1
                before = attempt
        return count

    @property
    def subagents(self) -> int:
        """The number of started sub-agents, by the client's count and their messages: long calls have events, too."""
        counts = (
            whole(mapping(result.get("subagent_stats")).get("spawned")) or 0
            for result in self.results
        )
        return max(*counts, len(self.shown_subagents), len(self.results) - 1, 0)

    @property
    def shown_subagents(self) -> set[str]:
        """Older clients omit the sub-agents of sub-agents."""
        return {
            text(one.get("parent_tool_use_id")) for one in self.events if one["type"] == "assistant"
        } - {""}


def _tokens(usage: Iterable[Event], names: Sequence[str] = _OF_A_MODEL) -> dict[str, int]:
    entries = list(usage)
    counts = (sum(whole(entry.get(name)) or 0 for entry in entries) for name in names)
    return dict(zip(_KINDS, counts, strict=True))


def _least(messages: Iterable[_Message]) -> dict[str, int]:
    """The tokens of messages, at least: their events have the usage of the first moment, with hardly any output."""
    counts = dict.fromkeys(_KINDS, 0)
    for message in messages:
        shown = _tokens([message.usage], _OF_A_MESSAGE)
        shown["output"] = max(shown["output"], least_tokens(message.written))
        counts = _sum([counts, shown])
    return counts


def _sum(parts: Sequence[dict[str, int]]) -> dict[str, int]:
    return {kind: sum(part[kind] for part in parts) for kind in _KINDS}


def _shown(usage: Iterable[Event]) -> dict[str, int] | None:
    """The tokens of these messages: at least those, since the last event of one may be missing."""
    counts = _tokens(usage, _OF_A_MESSAGE)
    return counts if any(counts.values()) else None


def _is_priced(model: str, usage: Event) -> bool:
    """True when the client knows the model's price; older versions do not tell, and know only their own models."""
    return usage["costBasis"] == "list" if "costBasis" in usage else model.startswith("claude")


def _uses(event: Event) -> Iterator[tuple[Hashable, str | None, Event]]:
    """The tool calls and results of a message; those of a sub-agent have ids of their own."""
    message = mapping(event.get("message"))
    parent = text(event.get("parent_tool_use_id"))
    kind, key = (
        ("tool_use", "id") if event["type"] == "assistant" else ("tool_result", "tool_use_id")
    )
    for block in _blocks(message, kind) if event["type"] in ("assistant", "user") else ():
        name = text(block.get("name")) if kind == "tool_use" else None
        yield (parent, text(block.get(key))), name, block


def _blocks(message: Event, kind: str) -> list[Event]:
    return [
        block
        for block in map(mapping, sequence(message.get("content")))
        if block.get("type") == kind
    ]


def is_over(event: Event) -> bool | None:
    """A `result` ends the answer, unless a sub-agent's result lets the agent go on."""
    if event["type"] == "system":
        return False if event.get("subtype") == "init" else None
    return {"result": True, "assistant": False, "user": False}.get(event["type"])
