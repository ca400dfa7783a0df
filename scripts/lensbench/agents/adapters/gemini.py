"""Gemini CLI, `gemini -o stream-json`. Its settings are a file in the run's HOME.

| promise of the protocol | kept by |
|---|---|
| same prompt in both conditions | `--prompt=`, the same bytes |
| WITH has the treatment's tools | `mcpServers` with `trust`, without which they are not even listed, and `mcp_<server>_*` in `tools.core` |
| a part of a server's tools | the others in `excludeTools` of the server |
| a server that does not start is seen | the program goes on without it; its complaint on the standard error marks all servers of the run as failed |
| WITHOUT has none of them | no server; `mcp.allowed` lists the run's servers only, `mcp.excluded` those of other conditions |
| only the declared tools, no sub-agents | `tools.core` is the whole list; `experimental.enableAgents` is off |
| a fresh session | HOME is the run's own, and with it settings, memory and history |
| nothing of the user's | that HOME; no `.env` file, extensions, skills or hooks |
| nothing of the repository's | in part: without `--skip-trust` the program ends (exit code 55), and with it a GEMINI.md and `.gemini/settings.json` of the repository are read, in both conditions alike |
| a limit of turns | `model.maxSessionTurns` |
| the model that served is seen | `stats.models` of the last event; the models with which the program watches itself stand with what was asked for |

`agent.tools` may have the protocol's names (Bash, Read, Grep, Glob, Edit, Write) or the program's own.
`agent.base_url` is the address of a Gemini API, without /v1beta. Without a provider, `agent.pass_env: [GEMINI_API_KEY]`.
"""  # noqa: E501

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from lensbench.agents import Assignment, Invocation, Program, as_written, base_environment, is_stock
from lensbench.agents.adapters._cli import (
    REFUSAL,
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
    Use,
    answer_among,
    has_longer_report,
    least_usage,
    mapping,
    number,
    shown_tokens,
    text,
    tool_uses,
    words,
)
from lensbench.core.error_texts import DISCONNECTED, KNOWN_ERRORS, ErrorTexts
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import Outcome

PROGRAM = Program("gemini", "gemini-2.5-pro", "GEMINI_API_KEY", "/@", "GEMINI.md", ".gemini/skills")
HOSTS: tuple[str, ...] = ("generativelanguage.googleapis.com:443",)
COST = "tokens"
FILTERS = True

GEMINI_TOOLS = {
    "Bash": "run_shell_command",
    "Read": "read_file",
    "Grep": "grep_search",
    "Glob": "glob",
    "Edit": "replace",
    "Write": "write_file",
}
"""The protocol's names of built-in tools -> Gemini CLI's."""
CLIENT_TRIES = 4
"""How often a request is sent: Gemini's default of 10 can take minutes."""

LOOP_TURNS = 30
"""Turns after which Gemini CLI 0.61 asks a model of its own whether the agent repeats itself."""
MOST_HELP = 0.25
"""The part of a run's tokens that this can take: it is asked every 5 to 15 turns, about the last 20."""
_FAILED = "MCP issues detected"
_BLOCKED = "The model response was blocked due to safety settings."
_STOPPED = {
    "Loop detected, stopping execution": "loop",
    "Maximum session turns exceeded": "turns",
    _BLOCKED: REFUSAL,
}
"""Complaint with which the program ends a run that it then calls a success -> the limit."""
_STATUS = re.compile(r"(?m)^[ \t]*(?:status|code): (\d{3})\b")
_ATTEMPT = re.compile(r"(?m)^Attempt \d+ failed with status (\d{3})")


def command(run: Assignment) -> Invocation:
    settings = run.settings
    base_url, token = gateway(settings)
    file = os.path.join(run.home, ".gemini", "settings.json")
    argv = (
        *(settings["command"] or [PROGRAM.name]),
        "--output-format",
        "stream-json",
        "--skip-trust",
        "--approval-mode",
        "yolo",
        "--model",
        settings["model"],
        f"--prompt={run.prompt}",
    )
    service = {"GOOGLE_GEMINI_BASE_URL": base_url, "GEMINI_API_KEY": token} if base_url else {}
    files = {file: as_written(_settings(run))}
    return Invocation(announced(run, argv), {**base_environment(run), **service}, files)


def _settings(run: Assignment) -> Settings:
    servers = {name: _server(entry, run.settings) for name, entry in run.mcp_servers.items()}
    for name, server in servers.items():
        if excluded := run.excluded_of(name):
            server["excludeTools"] = excluded
    built_in = [GEMINI_TOOLS.get(tool, tool) for tool in run.settings["tools"]]
    built_in += ["activate_skill"] if run.reads_skills else []
    return {
        "admin": {"extensions": {"enabled": False}, "skills": {"enabled": run.reads_skills}},
        "advanced": {"ignoreLocalEnv": True},
        **({} if is_stock(run.settings) else {"experimental": {"enableAgents": False}}),
        "general": {
            "enableAutoUpdate": False,
            "enableAutoUpdateNotification": False,
            "maxAttempts": 1 if run.is_trial else CLIENT_TRIES,
        },
        "hooksConfig": {"enabled": False},
        "mcp": {"allowed": [*servers], "excluded": [*run.denied_servers]},
        "mcpServers": servers,
        "model": {"maxSessionTurns": run.settings["max_turns"]},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "skills": {"enabled": run.reads_skills},
        "telemetry": {"enabled": False},
        "tools": {}
        if is_stock(run.settings)
        else {"core": [*built_in, *(f"mcp_{server}_*" for server in servers)]},
    }


def _server(entry: Mapping[str, Any], settings: AgentSettings) -> Settings:
    """The server's entry. One limit applies to start and calls; it is at least 60 s, so that a short start limit does
    not end calls. Some variables in `env`, such as PYTHONPATH, do not reach a server, so the program `env` sets
    them."""
    common = {
        "timeout": entry.get("timeout", max(60_000, round(settings["mcp_start_s"] * 1000))),
        "trust": True,
    }
    if "url" in entry:
        return {"httpUrl": entry["url"], "headers": entry.get("headers", {}), **common}
    variables = [f"{name}={value}" for name, value in entry.get("env", {}).items()]
    argv: list[str] = [
        *(["env", *variables] if variables else []),
        entry["command"],
        *entry.get("args", []),
    ]
    return {"command": argv[0], "args": argv[1:], **common}


version = partial(version_of, PROGRAM.name)


def read(lines: Iterable[str], *, errors: ErrorTexts = KNOWN_ERRORS) -> Outcome:
    """The outcome in the events; a stream without its start or a `result` is incomplete."""
    output = observe(lines)
    result = output.last("result")
    stats = mapping(result.get("stats"))
    failure = mapping(result.get("error"))
    complaint = text(failure.get("message")) or ("the agent reports a failure" if failure else "")
    is_limited = failure.get("type") == "FatalTurnLimitedError"
    notice = text(output.last("error").get("message"))
    texts = _texts(output)
    limit = ""
    if is_limited:
        limit = "turns"
    elif not failure and not (notice == _BLOCKED and texts[-1]):
        limit = _STOPPED.get(notice, "")
    error = "" if limit else complaint
    answer = answer_among(texts, texts[-1]) if result and not error else ""
    uses = tool_uses(
        (
            text(event.get("tool_id")),
            output.tool(text(event.get("tool_name")), "mcp_")
            if event["type"] == "tool_use"
            else None,
            event,
        )
        for event in output.events
        if event["type"] in ("tool_use", "tool_result")
    )
    failures = [
        (use.name, mapping(use.result.get("error")))
        for use in uses
        if use.result and not _is_good(use)
    ]
    calls = (
        (use.name, words(use.result.get("output")), bool(use.result) and not _is_good(use))
        for use in uses
    )
    tool_counts, useless = tried(calls, errors)
    faults = _faults(output, failures, useless)
    models = [text(event.get("model")) for event in output.of("init")[:1]] or [
        *(output.models_asked or ())
    ]
    served = {
        name: number(mapping(usage).get("total_tokens"))
        for name, usage in mapping(stats.get("models")).items()
    }
    counts = {
        name: tokens for name, tokens in served.items() if tokens
    }  # without models that were only requested
    helpers = _helpers(stats, counts, models)
    written = [_written(event) for event in output.events]
    is_cut = not stats and not limit
    tokens = least_usage(written) if is_cut else None
    if stats:
        tokens = shown_tokens(_tokens(stats), written)
    return Outcome(
        answer=answer,
        finished=bool(output.started and output.of("init") and result),
        error=error,
        error_status=_status(error, output.log),
        models=tuple(sorted({*counts} - helpers)) or None,
        servers=output.states_if_failed(faults),
        server_faults=faults,
        calls=tool_counts if output.events else None,
        files_read=output.files(
            text(mapping(use.call.get("parameters")).get("file_path"))
            for use in uses
            if use.name == "read_file" and _is_good(use)
        ),
        tokens=tokens,
        tokens_at_least=is_cut,
        gave_up=f"{limit}: {complaint or notice}" if limit else "",
        ending=ending_of(limit, bool(result) and not failure),
        longer_report=has_longer_report(texts, answer),
        models_asked=tuple(sorted({*models, *helpers})) or None,
        denied_calls=tuple(
            sorted({name for name, why in failures if why.get("type") == "policy_violation"})
        ),
        api_retries=len(
            re.findall(r"^Attempt \d+ failed(?!.*Max attempts)", output.log, re.MULTILINE)
        ),
        subagents=sum(use.name == "invoke_agent" for use in uses),
    )


def _status(error: str, log: str) -> int | None:
    codes = re.findall(r'"code":\s*(\d{3})', error)
    if error.startswith("[API Error") and not codes:
        _, _, request = log.rpartition("Error when talking to Gemini API")
        codes = _STATUS.findall(request)[:1] or _ATTEMPT.findall(request)[-1:]
    return int(codes[0]) if codes else None


def _texts(output: ParsedStream) -> list[str]:
    """The model's texts between its tool calls, joined from the pieces of its messages; the last may be empty."""
    texts = [""]
    for event in output.events:
        if event["type"] in ("tool_use", "tool_result"):
            texts.append("")
        elif event["type"] == "message" and event.get("role") == "assistant":
            texts[-1] += text(event.get("content"))
    return texts


def _written(event: Event) -> Any:
    """What the model wrote in an event: a text or the input of a tool."""
    is_text = event["type"] == "message" and event.get("role") == "assistant"
    return event.get("content") if is_text else event.get("parameters")


def _is_good(use: Use) -> bool:
    return use.result.get("status") == "success"


def _helpers(
    stats: Mapping[str, Any], counts: Mapping[str, int], models: Sequence[str]
) -> set[str]:
    """Gemini's own models that only watched: after LOOP_TURNS turns the program asks them whether it repeats itself.
    They take a small part of the tokens; more is another model that answered."""
    if number(stats.get("tool_calls")) < LOOP_TURNS - 1 or not set(models) & set(counts):
        return set()
    most = sum(counts.values()) * MOST_HELP
    return {
        name
        for name, tokens in counts.items()
        if name not in models and name.startswith("gemini-") and tokens < most
    }


def _faults(
    output: ParsedStream,
    failures: Iterable[tuple[str, Mapping[str, Any]]],
    useless: Mapping[str, str],
) -> dict[str, str]:
    """Why servers failed; at the start the program does not report which one."""
    why = dict.fromkeys(output.servers, _FAILED) if _FAILED in output.log else dict(useless)
    for tool, error in failures:
        match = DISCONNECTED.search(text(error.get("message")))
        if match and tool.startswith("mcp__"):
            why[tool.split("__")[1]] = match[0]
    return why


def _tokens(stats: Mapping[str, Any]) -> dict[str, int]:
    """Token counts: `input` without cached tokens; reasoning tokens are only in the total, and count as output."""
    return {
        "input": number(stats.get("input")),
        "output": number(stats.get("total_tokens")) - number(stats.get("input_tokens")),
        "cache_read": number(stats.get("cached")),
        "cache_write": 0,
    }


def is_over(event: Event) -> bool | None:
    return True if event["type"] == "result" else None
