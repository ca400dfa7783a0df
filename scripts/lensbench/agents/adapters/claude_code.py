"""Claude Code, `claude -p`, as the protocol wants it (sections 1 and 5). Read event by event from `stream-json`.

| promise of the protocol | kept by |
|---|---|
| same prompt in both conditions | the argument after `--`, the same bytes |
| nothing but the tool set differs | the same flags and variables; only the MCP file and the lists of allowed and denied tools differ |
| WITH has the treatment's tools | `--mcp-config` waits for its servers (`MCP_*`), `--allowed-tools mcp__<server>`; their schemas are in the first request (`ENABLE_TOOL_SEARCH=false`) unless `agent.tool_search` is on |
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
from functools import partial

from lensbench.agents import ADDRESSES, Assignment, Invocation, Probe, Program, as_written, base_environment, is_stock
from lensbench.agents.adapters._claude_code_stream import is_over, read
from lensbench.agents.adapters._cli import version_of
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings

PROGRAM = Program("claude", "sonnet", "ANTHROPIC_API_KEY", "/@", "CLAUDE.md", ".claude/skills")
HOSTS: tuple[str, ...] = ("api.anthropic.com:443",)
"""Where its own service is."""
COST = "dollars"

__all__ = ["command", "is_over", "probe", "read", "version"]

TIERS = ("sonnet", "haiku", "opus")
PLAN_TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
"""The variable with the token of a subscription, from `claude setup-token`."""
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
CLIENT_RETRIES = 5
"""How often Claude Code repeats a request, in about 20 seconds: a brief failure must not waste paid turns, and its
default of 10 takes three minutes. `CLAUDE_CODE_MAX_RETRIES` in `agent.pass_env` overrides it."""


def command(run: Assignment) -> Invocation:
    """How Claude Code is started for `run`. Raises UserError when the model or a key is missing."""
    settings = run.settings
    if not settings["model"]:
        raise UserError("agent.model is empty; kind 'claude-code' needs a model's name, such as sonnet")
    built_in = [*settings["tools"], *(["ToolSearch"] if settings["tool_search"] else [])]
    built_in += ["Skill"] if run.reads_skills else []
    stock = is_stock(settings)
    tools = [*built_in, *(["Task"] if stock else []), *(f"mcp__{server}" for server in run.servers)]
    denials = [*([] if stock else ["Task"]), *(f"mcp__{server}" for server in run.denied_servers)]
    sources = "project" if run.reads_files else ""
    mcp_file = os.path.join(run.home, "mcp.json")
    argv = (
        *(settings["command"] or [PROGRAM.name]),
        *("-p", "--model", settings["model"]),
        *("--output-format", "stream-json", "--verbose", "--no-session-persistence"),
        *("--setting-sources", sources, "--strict-mcp-config", "--mcp-config", mcp_file),
        *(() if stock else ("--tools", ",".join(built_in))),
        *("--allowed-tools", ",".join(tools)),
        *("--disallowed-tools", ",".join(denials)),
        *("--max-turns", str(settings["max_turns"]), "--", run.prompt),
    )
    return Invocation(argv, _environment(run), {mcp_file: as_written({"mcpServers": run.mcp_servers})})


def _environment(run: Assignment) -> dict[str, str]:
    strict = {
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "ENABLE_TOOL_SEARCH": "true" if run.settings["tool_search"] else "false",
    }
    start_ms = str(round(run.settings["mcp_start_s"] * 1000))
    return {
        "CLAUDE_CODE_MAX_RETRIES": str(CLIENT_RETRIES),
        **base_environment(run),
        **_gateway(run.settings),
        **_models(run.settings),
        "CLAUDE_CONFIG_DIR": os.path.join(run.home, ".claude"),
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        **({} if run.reads_files else {"CLAUDE_CODE_DISABLE_CLAUDE_MDS": "1"}),
        **({} if is_stock(run.settings) else strict),
        "MCP_TIMEOUT": start_ms,
        # Versions before 2.1.329 need both to wait for a server that starts slowly.
        "MCP_CONNECTION_NONBLOCKING": "0",
        "MCP_CONNECT_TIMEOUT_MS": start_ms,
    }


def _gateway(settings: AgentSettings) -> dict[str, str]:
    """Address and token of the provider; nothing without a provider, where `agent.pass_env` brings the key."""
    variables, token_env, provider = settings["pass_env"], settings["token_env"], settings["provider"]
    for name in filter(None, (token_env, *(name for name in variables if name in KEYS))):
        if not os.environ.get(name):
            place = "token_env" if name == token_env else "pass_env"
            raise UserError(f"agent.{place} names {name}, which is not set in the environment; export it")
    if provider and not token_env and not set(KEYS).intersection(variables):
        raise UserError(f"agent.token_env is missing; name the environment variable with the token of {provider!r}")
    address = (settings["base_url"] or ADDRESSES.get(provider, "")) if provider else ""
    if provider and not address:
        raise UserError(f"agent.base_url is missing; provider {provider!r} needs the gateway's address, without /v1")
    gateway = {"ANTHROPIC_BASE_URL": address} if address else {}
    return {**gateway, "ANTHROPIC_AUTH_TOKEN": os.environ[token_env]} if token_env else gateway


def _models(settings: AgentSettings) -> dict[str, str]:
    """The model of each tier. Tiers missing in the mapping get the main model, so that no other model answers."""
    model, provider = settings["model"], settings["provider"]
    models = settings["models"]
    main = models.get(model) or (model if provider and model not in TIERS else None)
    if main is None:
        return {f"ANTHROPIC_DEFAULT_{tier.upper()}_MODEL": models[tier] for tier in TIERS if tier in models}
    tiers = {f"ANTHROPIC_DEFAULT_{tier.upper()}_MODEL": models.get(tier, main) for tier in TIERS}
    return {**tiers, "CLAUDE_CODE_SUBAGENT_MODEL": main}


def probe(settings: AgentSettings) -> Probe | None:
    """A request for one token to the gateway; None when only the program can resolve the model's alias."""
    gateway, models = _gateway(settings), _models(settings)
    model = models.get("CLAUDE_CODE_SUBAGENT_MODEL") or (settings["model"] if settings["model"] not in TIERS else None)
    if "ANTHROPIC_BASE_URL" not in gateway or model is None:
        return None
    keys = {**{name: os.environ.get(name, "") for name in KEYS if name in settings["pass_env"]}, **gateway}
    token, key = keys.get("ANTHROPIC_AUTH_TOKEN"), keys.get("ANTHROPIC_API_KEY")
    headers = {"anthropic-version": "2023-06-01"}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"x-api-key": key} if key else {}
    body = {"model": model, "max_tokens": 1, "messages": [{"role": "user", "content": "."}]}
    return Probe(f"{gateway['ANTHROPIC_BASE_URL'].rstrip('/')}/v1/messages", headers, body)


version = partial(version_of, PROGRAM.name, says="Claude Code")
