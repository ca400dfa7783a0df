"""opencode, `opencode run --format json`. Its configuration is a file of the run's own.

| promise of the protocol | kept by |
|---|---|
| same prompt in both conditions | the words after `--`, cut at single spaces: the program joins its arguments by spaces, and puts one with a space inside into quotation marks |
| WITH has the treatment's tools | `mcp.<server>`, and `<server>_*` in the list of tools |
| a part of a server's tools | `<server>_<tool>` is off for the others |
| a server that does not start is seen | the program goes on without it; its log on the standard error (`--print-logs`) names it |
| WITHOUT has none of them | no server; those of other conditions stand there with `enabled: false`, and their tools are off |
| only the declared tools, no sub-agents | `tools`: `*` is off, those of `agent.tools` are on |
| a fresh session | HOME and the XDG folders in it are the run's own |
| nothing of the user's or the repository's | that HOME, `--pure`, OPENCODE_DISABLE_{PROJECT_CONFIG, CLAUDE_CODE, EXTERNAL_SKILLS, DEFAULT_PLUGINS} |
| no other address than the model's | OPENCODE_DISABLE_{AUTOUPDATE, MODELS_FETCH, LSP_DOWNLOAD}; npm is offline, with which it would fetch a package of its own into every fresh HOME |
| no other model | `small_model` is the model itself, and `--title` saves the request for a title |
| a limit of turns | in part: after `steps` the model is told to end, and not stopped; the wall clock ends it |
| the model that served is seen | not shown by this program; what was asked for stands in the record |

`agent.tools` may have the protocol's names (Bash, Read, Grep, Glob, Edit, Write) or the program's own. Grep and Glob need
`rg` on PATH. `agent.base_url` is the address of a Messages API, without /v1. Without a provider, `agent.model` is
`<provider>/<model>` as opencode has it, and `agent.pass_env` brings the key.
"""  # noqa: E501

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from lensbench.agents import (
    ADDRESSES,
    Assignment,
    Invocation,
    Program,
    as_called,
    base_environment,
    is_stock,
)
from lensbench.agents.adapters._cli import (
    REFUSAL,
    TOKEN_VARIABLE,
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
    least_tokens,
    mapping,
    number,
    shown_tokens,
    text,
    words,
)
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import Outcome

PROGRAM = Program(
    "opencode",
    "anthropic/claude-sonnet-4-5",
    "ANTHROPIC_API_KEY",
    "",
    "AGENTS.md",
    ".opencode/skills",
    (".opencode/.gitignore",),
)
FILTERS = True
CONTEXT, OUTPUT = 200_000, 32_000
"""Token limits for a gateway's model: the program knows only those of its own providers' models."""

_OFF = (
    "PROJECT_CONFIG",
    "AUTOUPDATE",
    "MODELS_FETCH",
    "LSP_DOWNLOAD",
    "DEFAULT_PLUGINS",
    "CLAUDE_CODE",
    "EXTERNAL_SKILLS",
)
_UNAVAILABLE = re.compile(r'message="server unavailable" key=(\S+) (?:type=\S+ )?status=(\S+)')
_ENDS = {"stop": "", "length": "length", "content-filter": REFUSAL}
"""The reason for which an answer ends -> `Outcome.gave_up`."""
_REFUSAL = "ContentFilterError"
"""The error with which the program ends after a refusal of the model."""
_CLOSED = re.compile(r'message="(MCP connection closed)" server=(\S+)')


def command(run: Assignment) -> Invocation:
    settings = run.settings
    service = gateway(settings, ADDRESSES)
    if {"grep", "glob"} & {tool.lower() for tool in settings["tools"]} and not shutil.which("rg"):
        raise UserError(
            "agent.tools has Grep or Glob, for which opencode needs ripgrep: put rg on PATH, or remove these tools"
        )
    model = f"gateway/{settings['model']}" if service.base_url else settings["model"]
    file = os.path.join(run.home, "opencode.json")
    argv = (
        *(settings["command"] or [PROGRAM.name]),
        "run",
        "--pure",
        "--format",
        "json",
        "--print-logs",
        "--log-level",
        "WARN",
        "--title",
        "run",
        "--model",
        model,
        "--",
        *run.prompt.split(" "),
    )
    off = [name for name in _OFF if not (run.reads_files and name == "PROJECT_CONFIG")]
    switches = {f"OPENCODE_DISABLE_{name}": "1" for name in off} | {"npm_config_offline": "true"}
    token = {TOKEN_VARIABLE: service.token} if service.token else {}
    env = {**base_environment(run), **switches, **token, "OPENCODE_CONFIG": file}
    # `{env:X}` and `{file:X}` are no references in an MCP file; the program replaces them before it reads JSON
    text = re.sub(
        r"\{(?=env:|file:)", r"\\u007b", json.dumps(_config(run, service.base_url, model), indent=1)
    )
    return Invocation(announced(run, argv), env, {file: text})


def _config(run: Assignment, base_url: str, model: str) -> Settings:
    settings = run.settings
    denials = {
        name: {"type": "local", "command": ["false"], "enabled": False}
        for name in run.denied_servers
    }
    excluded: list[str] = []
    for name in run.servers:
        excluded += (as_called(f"{name}_{tool}") for tool in run.excluded_of(name))
    config = {
        "model": model,
        "small_model": model,
        "share": "disabled",
        "autoupdate": False,
        "tools": {
            **({} if is_stock(settings) else {"*": False}),
            **{tool.lower(): True for tool in settings["tools"]},
            **({"skill": True} if run.reads_skills else {}),
            **{f"{name}_*": False for name in run.denied_servers},
            **{f"{name}_*": True for name in run.servers},
            **dict.fromkeys(excluded, False),
        },
        "agent": {"build": {"steps": settings["max_turns"]}},
        "mcp": {
            **denials,
            **{name: _server(entry, settings) for name, entry in run.mcp_servers.items()},
        },
    }
    return {**config, **(_provider(base_url, settings["model"]) if base_url else {})}


def _provider(base_url: str, model: str) -> Settings:
    return {
        "enabled_providers": ["gateway"],
        "provider": {
            "gateway": {
                "npm": "@ai-sdk/anthropic",  # comes with the program
                "name": "gateway",
                "env": [TOKEN_VARIABLE],
                "options": {"baseURL": f"{base_url}/v1"},
                "models": {model: {"name": model, "limit": {"context": CONTEXT, "output": OUTPUT}}},
            }
        },
    }


def _server(entry: Mapping[str, Any], settings: AgentSettings) -> Settings:
    limit = {"enabled": True, "timeout": round(settings["mcp_start_s"] * 1000)}
    if "url" in entry:
        return {"type": "remote", "url": entry["url"], "headers": entry.get("headers", {}), **limit}
    argv = [entry["command"], *entry.get("args", ())]
    return {"type": "local", "command": argv, "environment": entry.get("env", {}), **limit}


version = partial(version_of, PROGRAM.name)


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome; a stream whose last step ends in tool calls, or has no end, is unfinished."""
    output = observe(lines)
    parts = [(event["type"], mapping(event.get("part"))) for event in output.events]
    steps = [part for kind, part in parts if kind == "step_finish"]
    bounds = [
        part for kind, part in parts if kind in ("step_start", "step_finish") or _goes_on(part)
    ]
    last = bounds[-1] if bounds else {}
    last_message = sum(kind == "step_start" for kind, _ in parts), text(last.get("messageID"))
    calls = [
        (output.tool(text(part.get("tool")), ""), part, mapping(part.get("state")))
        for kind, part in parts
        if kind == "tool_use"
    ]
    is_recovered = _recovered(output.events)
    last_error = mapping(output.last("error").get("error"))
    failure = {} if is_recovered or last_error.get("name") == _REFUSAL else last_error
    details = mapping(failure.get("data"))
    error = (
        text(details.get("message"))
        or text(failure.get("name"))
        or ("the agent failed" if failure else "")
    )
    reason = text(last.get("reason"))
    gave_up = "" if failure else _ENDS.get(reason, "")
    is_finished = bool(output.started) and (bool(failure) or reason not in ("", "tool-calls"))
    texts = _texts(parts)
    answer = ""
    if is_finished and not error:
        answer = answer_among([*texts.values()], texts.get(last_message, ""))
    is_compacted = is_recovered or any(map(_goes_on, bounds))
    results = (
        (name, words(state.get("output")), state.get("status") != "completed")
        for name, _, state in calls
    )
    counts, useless = tried(results, errors)
    crashes = {name: why for why, name in _CLOSED.findall(output.log)}
    faults = {**useless, **dict(_UNAVAILABLE.findall(output.log)), **crashes}
    usages = [mapping(part.get("tokens")) for part in steps]
    cost = sum(price for part in steps if isinstance(price := part.get("cost"), int | float))
    written = [_written(part) for _, part in parts]
    unfinished_step = _after_last_step(parts)
    is_cut = bool(unfinished_step) or not is_finished
    tokens = _tokens(usages)
    if is_cut:
        tokens["output"] += least_tokens(map(_written, unfinished_step))
    return Outcome(
        answer=answer,
        finished=is_finished,
        error=error,
        error_status=number(details.get("statusCode")) or None,
        servers=output.states_if_failed(faults),
        server_faults=faults,
        calls=counts if parts else None,
        files_read=output.files(
            text(mapping(state.get("input")).get("filePath"))
            for name, _, state in calls
            if name == "read" and state.get("status") == "completed"
        ),
        tokens=shown_tokens(tokens, written) if any(tokens.values()) else None,
        tokens_at_least=is_cut,
        tokens_first=_tokens(usages[:1]) if usages else None,
        cost_usd=cost or None,
        turns=len(steps) if parts else None,
        gave_up=gave_up,
        ending=ending_of(gave_up, not failure and reason == "stop", is_compacted),
        stop_reason=reason,
        longer_report=has_longer_report([*texts.values()], answer),
        models_asked=output.models_asked,
        denied_calls=tuple(
            sorted(
                {
                    name
                    for name, _, state in calls
                    if "rejected permission" in text(state.get("error"))
                }
            )
        ),
        subagents=sum(name == "task" for name, _, _ in calls),
    )


Parts = list[tuple[str, Event]]
"""The kinds and parts of the events."""


def _texts(parts: Parts) -> dict[tuple[int, str], str]:
    """The texts of the session by step and message, none of sub-agents. Ids may be equal or missing."""
    session = next((part.get("sessionID") for _, part in parts if part), None)
    texts: dict[tuple[int, str], str] = {}
    step = 0
    for kind, part in parts:
        step += kind == "step_start"
        if kind == "text" and part.get("sessionID") == session and not _goes_on(part):
            message = step, text(part.get("messageID"))
            texts[message] = texts.get(message, "") + text(part.get("text"))
    return texts


def _after_last_step(parts: Parts) -> list[Event]:
    """What came after the last step that has an end, and so has no tokens yet: texts and calls."""
    ends = [place for place, (kind, _) in enumerate(parts) if kind == "step_finish"]
    rest = parts[ends[-1] + 1 :] if ends else parts
    return [
        part
        for kind, part in rest
        if kind in ("text", "reasoning", "tool_use") and not _goes_on(part)
    ]


def _written(part: Event) -> Any:
    """What the model wrote in a part: a text, thinking or the input of a tool."""
    return text(part.get("text")) or mapping(part.get("state")).get("input")


def _goes_on(part: Event) -> bool:
    """True for the text with which the program goes on after a compaction."""
    return bool(mapping(part.get("metadata")).get("compaction_continue"))


def _recovered(events: list[Event]) -> bool:
    """True when the run went on after its last error, and came to an end. A context that is too large is compacted: the
    first step after that error only sums up, and the answer comes in a later one."""
    at = max(
        (place for place, event in enumerate(events) if event["type"] == "error"),
        default=len(events),
    )
    ends = [event for event in events[at:] if event["type"] == "step_finish"]
    names = [mapping(event.get("error")).get("name") for event in events[at : at + 1]]
    fewest = 2 if "ContextOverflowError" in names else 1
    if len(ends) < fewest:
        return False
    return text(mapping(ends[-1].get("part")).get("reason")) not in ("", "tool-calls")


def _tokens(usages: list[Event]) -> dict[str, int]:
    """Token counts over all steps; reasoning tokens count as output."""
    return {
        "input": sum(number(tokens.get("input")) for tokens in usages),
        "output": sum(
            number(tokens.get("output")) + number(tokens.get("reasoning")) for tokens in usages
        ),
        "cache_read": sum(number(mapping(tokens.get("cache")).get("read")) for tokens in usages),
        "cache_write": sum(number(mapping(tokens.get("cache")).get("write")) for tokens in usages),
    }


def is_over(event: Event) -> bool | None:
    """A step with which an answer ends; after a compaction, a text that lets the agent go on follows. After a step that
    ended otherwise, such as an answer that is a web page, the program may ask again."""
    if event["type"] == "step_finish":
        return text(mapping(event.get("part")).get("reason")) in _ENDS
    return False if event["type"] in ("step_start", "text", "tool_use") else None
