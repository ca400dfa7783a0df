"""Codex, `codex exec --json`. Its configuration is a file of the run's own; nothing else is read.

| promise of the protocol | kept by |
|---|---|
| same prompt in both conditions | the argument after `--`, the same bytes |
| WITH has the treatment's tools | `[mcp_servers.*]` with `required = true`: a server that does not start ends the program; its calls are approved (`default_tools_approval_mode`), else they are refused in silence |
| a part of a server's tools | the others in `disabled_tools` of the server |
| WITHOUT has none of them | no server; those of other conditions stand there with `enabled = false` |
| no sub-agents | `multi_agent` and `goals` are off |
| a fresh session | CODEX_HOME in the run's HOME, `--ephemeral`, no history |
| nothing of the user's or the repository's | that CODEX_HOME; the repository is not trusted, so its `.codex` is not read; no AGENTS.md, no skills, plug-ins, apps or hooks |
| only the declared tools | not kept: `agent.tools` cannot be chosen; Codex has a shell, and the web search is off |
| a limit of turns | not kept: Codex has none; the wall clock ends it |
| it works as root, and in a sandbox of ours | its own sandbox is off, which could not be built inside another one |
| the model that served is seen | not shown by this program; what was asked for stands in the record |

`agent.base_url` is the address of a Responses API, with /v1. Without a provider, `agent.pass_env: [CODEX_API_KEY]`.
"""  # noqa: E501

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from lensbench.agents import Assignment, Invocation, Program, base_environment, is_stock
from lensbench.agents.adapters._cli import (
    TOKEN_VARIABLE,
    ParsedStream,
    Settings,
    announced,
    ending_of,
    gateway,
    observe,
    tried,
    version_of,
)
from lensbench.agents.adapters._events import (
    Event,
    answer_among,
    has_longer_report,
    least_usage,
    mapping,
    number,
    shown_tokens,
    text,
    words,
)
from lensbench.core.error_texts import DISCONNECTED, KNOWN_ERRORS, ErrorTexts
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import Outcome

PROGRAM = Program("codex", "gpt-5", "CODEX_API_KEY", words="AGENTS.md", skills=".agents/skills")
HOSTS: tuple[str, ...] = ("api.openai.com:443",)
COST = "tokens"
FILTERS = True

UNSTEADY = re.compile(r',\\"workspaces\\":\{\\"[^{}]*\{[^{}]*(?:\{[^{}]*\}[^{}]*)?\}\}')
"""Of its requests, beside ids and times: the state of the workspace's git, which it sends once it knows it. The model
does not see it."""

OFF = (
    "multi_agent",
    "goals",
    "hooks",
    "skill_search",
    "sleep_tool",
    "apps",
    "plugins",
    "remote_plugin",
    "image_generation",
    "browser_use",
    "computer_use",
    "unbounded_connection_retries",
)
"""Features that start agents, bring tools of their own, read what others configured, or wait for ever for an address
that does not answer. A stock agent has the first five."""

_GAVE_UP = {
    "prompt too long": re.compile(r"(?i)context window|context length|ran out of room"),
    "length": re.compile(r"reason: max_output_tokens"),
    "refusal": re.compile(r"reason: content_filter"),
}
"""Why the model gave up -> the error of a turn that ended so: a failed answer."""
_CALLS = ("mcp_tool_call", "command_execution", "file_change", "web_search", "collab_tool_call")
_BASE = {
    "approval_policy": "never",
    "sandbox_mode": "danger-full-access",
    "web_search": "disabled",
    "project_doc_max_bytes": 0,
    "check_for_update_on_startup": False,
    "analytics": {"enabled": False},
    "history": {"persistence": "none"},
    "skills": {"include_instructions": False, "bundled": {"enabled": False}},
    "shell_environment_policy": {"exclude": [TOKEN_VARIABLE, "CODEX_API_KEY", "OPENAI_API_KEY"]},
}


def command(run: Assignment) -> Invocation:
    settings = run.settings
    base_url, token = gateway(settings)
    base: Settings = dict(_BASE)
    if run.reads_files:
        del base["project_doc_max_bytes"]
    if run.reads_skills:
        base["skills"] = {"bundled": {"enabled": False}}
    off = {"command": "false", "enabled": False}
    servers: dict[str, Settings] = dict.fromkeys(run.denied_servers, off)
    for name, entry in run.mcp_servers.items():
        servers[name] = _server(entry, settings)
        if excluded := run.excluded_of(name):
            servers[name]["disabled_tools"] = excluded
    config: Settings = {**base, "model": settings["model"], "mcp_servers": servers}
    if base_url:
        provider = {
            "name": "gateway",
            "base_url": base_url,
            "env_key": TOKEN_VARIABLE,
            "wire_api": "responses",
        }
        config |= {"model_provider": "gateway", "model_providers": {"gateway": provider}}
    home = os.path.join(run.home, ".codex")
    toml = "".join(f"{key} = {_toml(value)}\n" for key, value in config.items())
    argv = (
        *(settings["command"] or [PROGRAM.name]),
        "exec",
        "--json",
        "--strict-config",
        "--ephemeral",
        "--skip-git-repo-check",
        *(
            part
            for feature in (OFF[5:] if is_stock(settings) else OFF)
            for part in ("--disable", feature)
        ),
        "--",
        run.prompt,
    )
    env = {
        **base_environment(run),
        "CODEX_HOME": home,
        **({TOKEN_VARIABLE: token} if token else {}),
    }
    return Invocation(announced(run, argv), env, {os.path.join(home, "config.toml"): toml})


def _server(entry: Mapping[str, Any], settings: AgentSettings) -> Settings:
    names = {
        "command": "command",
        "args": "args",
        "env": "env",
        "url": "url",
        "headers": "http_headers",
    }
    limit = {"tool_timeout_sec": entry["timeout"] / 1000} if "timeout" in entry else {}
    return {
        **{names[key]: value for key, value in entry.items() if key in names},
        **limit,
        "startup_timeout_sec": settings["mcp_start_s"],
        "required": True,
        "default_tools_approval_mode": "approve",
    }


def _toml(value: Any) -> str:
    """A value of TOML on one line. JSON's texts, numbers and switches are TOML's, but for the DEL character."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(key)} = {_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


version = partial(version_of, PROGRAM.name)


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome in the events; a stream without the end of its turn was cut off and is unfinished."""
    output = observe(lines)
    items = _items(output)
    calls = [item for item in items if item["type"] in _CALLS]
    ends = output.of("turn.completed")
    failures = output.of("turn.failed")
    error = (
        text(mapping(failures[-1].get("error")).get("message")) or "the turn failed"
        if failures
        else ""
    )
    gave_up = next((name for name, why in _GAVE_UP.items() if why.search(error)), "")
    results = (
        (
            _name(item),
            words(mapping(item.get("result")).get("content")),
            item.get("status") == "failed",
        )
        for item in calls
    )
    counts, useless = tried(results, errors)
    faults = _faults(output, useless)
    starts = output.of("thread.started")
    texts = [text(item.get("text")) for item in items if item["type"] == "agent_message"]
    has_answer = bool(gave_up or (ends and not failures))
    answer = answer_among(texts, texts[-1]) if texts and has_answer else ""
    written = [part for item in items for part in _written(item)]
    is_cut = not ends and not gave_up
    tokens = shown_tokens(_tokens(output), written) if ends else None
    denials = {
        _name(item)
        for item in calls
        if "requires approval" in text(mapping(item.get("error")).get("message"))
    }
    return Outcome(
        answer=answer,
        finished=bool(output.started and starts and (ends or failures)),
        error="" if gave_up else error,
        error_status=None if gave_up else _status(error),
        servers=output.states(faults) if starts else output.states_if_failed(faults),
        server_faults=faults,
        calls=counts if output.events else None,
        tokens=least_usage(written) if is_cut else tokens,
        tokens_at_least=is_cut,
        gave_up=f"{gave_up}: {error}" if gave_up else "",
        ending=ending_of(gave_up, bool(ends) and not failures),
        longer_report=has_longer_report(texts, answer),
        models_asked=output.models_asked,
        denied_calls=tuple(sorted(denials)) if output.events else None,
        api_retries=sum(
            text(event.get("message")).startswith("Reconnecting") for event in output.of("error")
        ),
        subagents=sum(
            item.get("tool") == "spawn_agent"
            for item in calls
            if item["type"] == "collab_tool_call"
        ),
    )


def _status(error: str) -> int | None:
    """The status in an error: in words, or in the body of the refusal, which Codex passes on."""
    if match := re.search(r"(?:unexpected|last) status:? (\d{3})", error):
        return int(match[1])
    try:
        body = mapping(json.loads(error))
    except (ValueError, RecursionError):
        return None
    values = [
        str(level.get(key))
        for level in (body, mapping(body.get("error")))
        for key in ("status", "code")
    ]
    return next((int(value) for value in values if re.fullmatch(r"[45]\d\d", value)), None)


def _items(output: ParsedStream) -> list[Event]:
    """The items in order of their start, each in its last state. Several may have the same id, or none: an item that
    starts is another one, and one that goes on is the oldest with its id and inputs that is not complete."""
    items: list[Event] = []
    going_on: list[int] = []
    for event in output.events:
        kind = event["type"]
        item = mapping(event.get("item"))
        if not kind.startswith("item.") or not text(item.get("type")):
            continue
        same = [place for place in going_on if _same(items[place], item, _INPUTS)]
        same += [place for place in going_on if _same(items[place], item, ("type", "id"))]
        if kind != "item.started" and same:
            items[same[0]] = item
        elif kind == "item.completed" and item.get("id") and item in items:
            continue  # it is there already, in the same state
        else:
            items.append(item)
            going_on.append(len(items) - 1)
            same = going_on[-1:]
        if kind == "item.completed":
            going_on.remove(same[0])
    return items


_INPUTS = ("type", "id", "server", "tool", "arguments", "command")


def _same(one: Event, other: Event, keys: Iterable[str]) -> bool:
    return all(one.get(key) == other.get(key) for key in keys)


def _name(item: Mapping[str, Any]) -> str:
    """The tool of a call; built-in ones are shown by the kind of what they did."""
    if item["type"] == "mcp_tool_call":
        return f"mcp__{text(item.get('server'))}__{text(item.get('tool'))}"
    return text(item["type"])


def _faults(output: ParsedStream, useless: Mapping[str, str]) -> dict[str, str]:
    """Why servers failed. They are required: when a thread starts, all are connected; earlier failures are in the
    log."""
    if output.of("thread.started"):
        crashes = {
            text(item.get("server")): text(mapping(item.get("error")).get("message"))
            .split("\n")[-1]
            .strip()
            for item in _items(output)
            if DISCONNECTED.search(text(mapping(item.get("error")).get("message")))
        }
        return {**useless, **crashes}
    why = re.search(r"required MCP servers failed to initialize: (.*)", output.log)
    if not why:
        return {}
    return {
        name: why[1][:200]
        for name in output.servers
        if re.search(rf"(^|[\s;,]){re.escape(name)}: ", why[1])
    }


def _tokens(output: ParsedStream) -> dict[str, int]:
    """Token counts: the last turn of a thread has the totals of the whole thread. Codex includes the tokens that were
    read from the cache, and those that were written into it, in the input; here they are separate."""
    totals: dict[str, Event] = {}
    ended: list[Event] = []
    thread = ""
    for place, event in enumerate(output.events):
        if event["type"] == "thread.started":
            thread = text(event.get("thread_id")) or f"number {place}"
        elif event["type"] == "turn.completed":
            usage = mapping(event.get("usage"))
            before = totals.get(thread, {})
            if number(usage.get("input_tokens")) < number(before.get("input_tokens")):
                ended.append(before)  # another thread of the same id
            totals[thread] = usage
    counts = dict.fromkeys(("input", "output", "cache_read", "cache_write"), 0)
    for usage in (*ended, *totals.values()):
        read = number(usage.get("cached_input_tokens"))
        written = number(usage.get("cache_write_input_tokens"))
        counts["input"] += max(number(usage.get("input_tokens")) - read - written, 0)
        counts["output"] += number(usage.get("output_tokens"))
        counts["cache_read"] += read
        counts["cache_write"] += written
    return counts


def _written(item: Event) -> list[Any]:
    """What the model wrote in an item: a text, thinking, or the inputs of a tool."""
    keys = ("text", "command", "arguments", "changes", "query", "prompt")
    return [item[key] for key in keys if item.get(key)]


def is_over(event: Event) -> bool | None:
    return {"turn.completed": True, "turn.failed": True, "turn.started": False}.get(event["type"])
