"""Why a run is invalid (protocol, section 6), and what to do about it. Decided from facts, never from a score."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from enum import StrEnum
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from lensbench.agents import as_called
from lensbench.agents.refusals import Action, refusal
from lensbench.core.records import CONNECTED, MAX_TEXT, Attempt, Outcome

if TYPE_CHECKING:
    from lensbench.agents.start import AgentReply  # most stages need only the reasons


class DiscardReason(StrEnum):
    """Why a run is invalid, as in records and tables; what that means, when it is repeated, and what to check."""

    meaning: str
    policy: Literal["again", "later"]
    """`again`: another attempt in this run, with back-off. `later`: the next start repeats the run."""
    look_at: str

    def __new__(
        cls, value: str, meaning: str, policy: Literal["again", "later"], look_at: str
    ) -> DiscardReason:
        member = str.__new__(cls, value)
        member._value_, member.meaning, member.policy, member.look_at = (
            value,
            meaning,
            policy,
            look_at,
        )
        return member

    TIMED_OUT = (
        "timed_out",
        "the attempt ran into its time limit",
        "later",
        "agent.timeout_s; a task that is too large",
    )
    API_ERROR = (
        "api_error",
        "the model's service failed",
        "again",
        "the service's status page; your quota; the key",
    )
    RATE_LIMITED = (
        "rate_limited",
        "the model's service asked for a pause",
        "again",
        "your quota; fewer runs at once",
    )
    CRASHED = (
        "crashed",
        "the agent failed or its output was cut off",
        "again",
        "the run's log; memory; agent version",
    )
    CONTAMINATED = (
        "contaminated",
        "a tool of the treatment was offered or called in another condition, or in one that leaves it out, or its "
        "server was called by its address",
        "later",
        "MCP servers that the agent or the repository configures by itself; sandbox_network",
    )
    MCP_FAILED = (
        "mcp_failed",
        "an MCP server of the condition did not start or crashed",
        "again",
        "the command in the MCP file, by hand; agent.mcp_start_s",
    )
    MCP_NOT_OFFERED = (
        "mcp_not_offered",
        "the server started, but not all its tools reached the agent, or others than in the preflight",
        "again",
        "the server's tools/list; the agent's tool search and permissions; whether it starts servers (docs/tee.md)",
    )
    CALL_DENIED = (
        "call_denied",
        "a call of the treatment's tools was refused by permissions",
        "later",
        "the agent's permission rules for the server's tools",
    )
    SUBAGENTS = (
        "subagents",
        "a sub-agent did part of the work, which is missing in the figures",
        "later",
        "agent.tools; the adapter's list of denied tools",
    )
    MODEL_CHANGED = (
        "model_changed",
        "the answering model changed within the run, or differs from its pair's or from agent.served",
        "later",
        "the gateway's model mapping; an alias that moved",
    )
    OVER_LIMIT = (
        "over_limit",
        "the agent exceeded a resource limit of a run",
        "later",
        "limits in the config; what the agent or a server wrote",
    )
    WORKSPACE_CHANGED = (
        "workspace_changed",
        "files of the repository were changed by the run",
        "later",
        "the prompt; the agent's write permissions",
    )
    PROMPT_MISMATCH = (
        "prompt_mismatch",
        "the prompt differed from that of the pair",
        "later",
        "accepted changes of this run",
    )
    SETTINGS_CHANGED = (
        "settings_changed",
        "the agent's settings or version differed from the plan's or the pair's",
        "later",
        "accepted changes of this run; an agent that updates itself",
    )
    MCP_GONE = (
        "mcp_gone",
        "an MCP server of the condition no longer responded after the run, or listed other tools than in the preflight",
        "later",
        "the server's own log; its memory; its version",
    )
    LOGIN_ENDED = (
        "login_ended",
        "the token of an MCP server ended within the run",
        "again",
        "how long a token of token_command lasts, and how long a run",
    )
    CUT_OFF = (
        "cut_off",
        "the answer was cut off, but not by a limit of the model",
        "again",
        "the stop reason in the record; the service's status page",
    )
    BY_HAND = (
        "by_hand",
        "a person discarded the run",
        "later",
        "the reason given; the delta with these runs counted",
    )
    EMPTY = "empty", "there is no answer", "again", "the transcript"
    HARNESS_FAILED = (
        "harness_failed",
        "lensbench failed or was killed after the agent had ended, before the run was checked",
        "later",
        "the run's log; the detail names the place; report it if it happens again",
    )


REASONS: Mapping[str, DiscardReason] = {reason.value: reason for reason in DiscardReason}


def meaning_of(outcome: Outcome) -> Action | None:
    """What the service means by the outcome's error; None when it is about this request alone, or there is none."""
    if not outcome.error:
        return None
    found = refusal(outcome.error[:MAX_TEXT], outcome.error_status, time.time())
    if found is None:
        return None
    return found.action


def stops(outcome: Outcome) -> bool:
    """True when further attempts of any run would fail in the same way: a first request that gets 400 or 404 has the
    settings that all runs share; a later one, or one that is too large (413), may be refused for its content."""
    is_first = not outcome.calls and not any((outcome.tokens or {}).values())
    return meaning_of(outcome) == Action.STOP or (is_first and outcome.error_status in (400, 404))


class Expectation(NamedTuple):
    """The tools and the model that a run must have according to the plan."""

    servers: Sequence[str]
    """MCP servers of its condition."""
    denied_servers: Sequence[str]
    """MCP servers of other conditions only."""
    tool_search: bool = False
    """True when the agent must search for MCP tools: they are in its deferred list. Otherwise that must be empty."""
    served: str = ""
    """The model that must answer: its name, or a pattern with `*`."""
    version: str = ""
    """The version that the agent must report, if it reports one."""
    tools: Mapping[str, str] = MappingProxyType({})
    """The tools that its servers listed in the preflight -> their schemas' hashes; empty without one."""
    is_stock: bool = False
    """The agent may search for tools and start sub-agents as it likes."""
    excluded: Sequence[str] = ()
    """The tools of its servers that its filter leaves out; `tools` has none of them."""


def tools_of(servers: Sequence[str], tools: Sequence[str]) -> list[str]:
    """Those of `tools` that belong to one of `servers` (`mcp__<server>__<tool>`)."""
    return [
        tool for tool in tools if any(tool.startswith(f"mcp__{server}__") for server in servers)
    ]


def find_reason(
    attempt: Attempt, outcome: Outcome, answer: str, expectation: Expectation
) -> tuple[str, str]:
    """The first reason why this attempt is invalid, and its detail; two empty strings when it is valid. What an agent
    does not report (None) is no reason."""
    if attempt.timed_out:
        return DiscardReason.TIMED_OUT, f"after {attempt.duration_s:.0f} s"
    if not stops(outcome) and (failure := _server_reason(outcome, expectation)):
        return failure
    if outcome.error:
        return (
            DiscardReason.RATE_LIMITED if outcome.error_status == 429 else DiscardReason.API_ERROR,
            outcome.error,
        )
    good = (
        0,
        None,
        1 if outcome.ending == "compaction" else 0,
    )  # None: it stayed after its end; 1: see opencode
    if attempt.exit_code not in good and not outcome.gave_up:
        return DiscardReason.CRASHED, f"exit code {attempt.exit_code}"
    if not outcome.finished:
        return DiscardReason.CRASHED, "the output is incomplete"
    if outcome.ending == "unknown":
        return DiscardReason.CUT_OFF, f"stop reason {outcome.stop_reason or 'not shown'}"
    return (
        _tools_reason(outcome, expectation)
        or _content_reason(outcome, answer, expectation)
        or ("", "")
    )


def reason_of(reply: AgentReply, expectation: Expectation) -> tuple[str, str]:
    """The same for a single start of an agent outside of a run."""
    end = reply.ended
    attempt = Attempt(1, reply.started_at, end.duration_s, 0.0, end.exit_code, end.timed_out)
    return find_reason(attempt, reply.seen, reply.answer, expectation)


def _server_reason(outcome: Outcome, expectation: Expectation) -> tuple[str, str] | None:
    """A failed server is checked first, because some agents end with an error because of it."""
    if outcome.servers is None:
        return None
    for server in expectation.servers:
        state = outcome.servers.get(server, "absent")
        if state != CONNECTED:
            fault = outcome.server_faults.get(server, "")
            detail = ": ".join(filter(None, (server, state, fault)))
            return DiscardReason.MCP_FAILED, detail
    return None


def _tools_reason(outcome: Outcome, expectation: Expectation) -> tuple[str, str] | None:
    names = [
        call.name for call in outcome.calls or () if call.count > call.errors
    ]  # a made-up tool name calls nothing
    seen = [*(outcome.tools_offered or ()), *names]
    foreign = tools_of(expectation.denied_servers, seen)
    foreign += {*map(as_called, expectation.excluded)} & {*map(as_called, seen)}
    if foreign:
        return DiscardReason.CONTAMINATED, ", ".join(sorted(set(foreign)))
    if outcome.tools_offered is not None:
        for server in expectation.servers:
            listing, offer = (
                tools_of([server], [*tools]) for tools in (expectation.tools, outcome.tools_offered)
            )
            if not offer:
                return DiscardReason.MCP_NOT_OFFERED, f"no tool of {server}"
            if differences := _differences(listing, offer):
                return DiscardReason.MCP_NOT_OFFERED, f"unlike in the preflight: {differences}"
            if outcome.tools_deferred is not None and not expectation.is_stock:
                is_deferred = bool(tools_of([server], outcome.tools_deferred))
                if is_deferred != expectation.tool_search:
                    how = "deferred" if is_deferred else "not deferred"
                    return DiscardReason.MCP_NOT_OFFERED, f"the tools of {server} were {how}"
    denials = tools_of(expectation.servers, outcome.denied_calls or ())
    if denials:
        return DiscardReason.CALL_DENIED, ", ".join(denials)
    if expectation.is_stock:
        return None
    if not outcome.subagents:
        return None
    return DiscardReason.SUBAGENTS, str(outcome.subagents)


def _differences(listing: Sequence[str], offer: Sequence[str]) -> str:
    """How the tools that a run offered differ from those that the preflight listed, if it listed any."""
    before, now = ({*map(as_called, tools)} for tools in (listing, offer))
    differences = [
        *(f"no {tool}" for tool in sorted(before - now)),
        *(f"also {tool}" for tool in sorted(now - before)),
    ]
    if not listing:
        return ""
    return ", ".join(differences)


def _content_reason(
    outcome: Outcome, answer: str, expectation: Expectation
) -> tuple[str, str] | None:
    pattern = expectation.served
    version = outcome.agent_version
    if outcome.models is not None and len(set(outcome.models)) > 1:
        return DiscardReason.MODEL_CHANGED, " and ".join(sorted(set(outcome.models)))
    if pattern and (
        others := [model for model in outcome.models or () if not fnmatchcase(model, pattern)]
    ):
        return (
            DiscardReason.MODEL_CHANGED,
            f"{', '.join(others)} answered; agent.served is {pattern}",
        )
    if expectation.version and version and version != expectation.version:
        return (
            DiscardReason.SETTINGS_CHANGED,
            f"version {version} of the agent; agent.version is {expectation.version}",
        )
    if outcome.gave_up:
        return None
    return answer_reason(answer)


def answer_reason(answer: str) -> tuple[str, str] | None:
    """Why a text is not an answer, and the detail; None when it may be one. The only check of imported runs."""
    if not answer.strip():
        return DiscardReason.EMPTY, ""
    if answer.lstrip().startswith("API Error:"):
        return DiscardReason.API_ERROR, " ".join(answer.split())[:200]
    return None
