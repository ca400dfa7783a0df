"""Names and records of runs. Imported by every run, so it imports little."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, NamedTuple, get_args

SCHEMA = 2


class RunId(NamedTuple):
    """One task in one condition in one trial (1-based)."""

    task: str
    """The id of the task."""
    condition: str
    """The name of the condition."""
    trial: int = 1
    """From 1."""

    @property
    def stem(self) -> str:
        """The common name of the run's files: `<task>-<condition>`, in `t2/` for trial 2 and so on."""
        return f"{trial_folder(self.trial)}{self.task}-{self.condition}"


def run_of_stem(stem: str) -> RunId:
    """The run of a stem; conditions have no `-` in their names."""
    trial, _, name = stem.rpartition("/")
    task, _, condition = name.rpartition("-")
    return RunId(task, condition, int(trial[1:] or 1))


def trial_folder(trial: int) -> str:
    """ "" for the first trial (the protocol's names), else `t<trial>/`."""
    return "" if trial == 1 else f"t{trial}/"


@dataclass(frozen=True)
class Call:
    """The number of calls of a tool, and how many of them failed."""

    name: str
    """The tool, as the agent names it."""
    count: int
    """Number of calls."""
    errors: int = 0
    """Number of calls that failed."""


@dataclass(frozen=True)
class TapCall(Call):
    """The calls of a tool as the tee saw them."""

    ms: float = 0.0
    """Milliseconds that the server took for all results together."""
    tokens: int = 0
    """The estimated tokens of all results together."""


@dataclass(frozen=True)
class Tap:
    """What the tee saw of a server (docs/tee.md)."""

    offered: tuple[str, ...] | None = None
    """The tools that it listed; None when the agent did not ask for them, or got no answer."""
    calls: tuple[TapCall, ...] = ()
    """The calls that it answered, by tool."""
    has_failed: bool = False
    """It ended without having answered the agent's first request."""


Ending = Literal["", "finished", "limit", "refusal", "compaction", "unknown"]
"""`limit`: of output, context or turns; `compaction`: finished after the context was compacted; `unknown`: a stop
reason other than those of a finished answer."""
ENDINGS: tuple[Ending, ...] = get_args(Ending)[1:]


@dataclass(frozen=True)
class Outcome:
    """The content of an agent's output. None means "not shown by this agent", which differs from zero or empty."""

    answer: str = ""
    finished: bool = True
    """Whether the output is complete."""
    error: str = ""
    """The error that the agent reported."""
    error_status: int | None = None
    """The HTTP status behind `error`."""
    resets_at: float | None = None
    """When the used-up window of the agent's plan resets, in seconds since 1970; 0 when unknown, None when none is."""
    agent_version: str | None = None
    """Version of the agent's program; None when it is not shown."""
    models: tuple[str, ...] | None = None
    """Models that answered, by the names of the service."""
    servers: dict[str, str] | None = None
    """MCP server -> `connected`, `failed`, or another word of the agent such as `pending`, at the agent's start."""
    tools_offered: tuple[str, ...] | None = None
    """Names of the tools that the model could call; None when they are not shown."""
    calls: tuple[Call, ...] | None = None
    """Calls of tools by name; None when they are not shown."""
    files_read: tuple[str, ...] | None = None
    """Paths relative to the workspace."""
    tokens: dict[str, int] | None = None
    """`input`, `output`, `cache_read`, `cache_write`: totals of all requests of the run."""
    tokens_at_least: bool = False
    """`tokens` is a lower bound: the stream ends before its totals, so the run cannot count."""
    cache_write_1h: int | None = None
    """The part of `cache_write` that the service keeps for an hour, for twice the price of input."""
    tokens_first: dict[str, int] | None = None
    """The same of its first request, which shows what the service's cache held before."""
    tokens_subagents: dict[str, int] | None = None
    """The part of `tokens` that sub-agents used, at least."""
    cost_usd: float | None = None
    """Cost of the attempt in US dollars; None when it is unknown."""
    cost_is_guess: bool = False
    """The cost is an estimate: by an agent that does not know the model's price, or from the tokens by `cost_basis`."""
    cost_basis: str = ""
    """The model and the price behind an estimate from tokens, with its source; empty for what the agent says."""
    turns: int | None = None
    """Number of the model's turns; None when they are not shown."""
    gave_up: str = ""
    """The agent reached its own or the model's limit (turns, length, refusal): a failed answer, which counts."""
    ending: Ending = ""
    """How the answer ended; "" when the agent does not show it."""
    stop_reason: str = ""
    """The same in the words of the service or the agent."""
    longer_report: bool | None = None
    """Before the answer, the model wrote a longer text with a report; None when only the answer is shown."""
    models_asked: tuple[str, ...] | None = None
    """Requested models; `models` are those that answered."""
    denied_calls: tuple[str, ...] | None = None
    """Tools whose calls were refused by permissions."""
    tools_deferred: tuple[str, ...] | None = None
    """Tools that the agent had to search for: the model got their names without their schemas."""
    api_retries: int | None = None
    """Requests that the agent repeated itself; above 0 the duration is not comparable."""
    subagents: int | None = None
    """Sub-agents that were started."""
    server_faults: dict[str, str] = field(default_factory=dict)
    """MCP server -> what speaks against it, where that is shown."""

    @property
    def hides_work(self) -> bool:
        """True when calls, tokens and cost of its sub-agents are not shown."""
        return bool(self.subagents) and self.tokens_subagents is None


CONNECTED, FAILED = "connected", "failed"
"""States of an MCP server at the agent's start."""


def completed(outcome: Outcome, taps: dict[str, Tap] | None) -> Outcome:
    """The outcome with what the tee saw of the servers' tools where the agent does not show its own. A server that
    was not asked for its tools offered none."""
    if not taps:
        return outcome
    offered: list[str] = []
    calls = [*(outcome.calls or ())]
    servers: dict[str, str] = {}
    faults: dict[str, str] = {}
    shown = [call.name for call in calls]
    for name, tap in taps.items():
        offered += tap.offered or ()
        is_shown = any(tool.startswith(f"mcp__{name}__") for tool in shown)
        if not is_shown:
            calls += tap.calls
        servers[name] = CONNECTED
        if tap.has_failed:
            servers[name] = FAILED
            faults[name] = "it ended before it answered initialize"
    outcome = replace(outcome, calls=tuple(calls))
    if outcome.tools_offered is None:
        outcome = replace(outcome, tools_offered=tuple(offered))
    if outcome.servers is None and faults:
        outcome = replace(outcome, servers=servers, server_faults=faults)
    return outcome


MAX_NAMES = 2000
MAX_NAME = 300
MAX_TEXT = 4000
"""Limits of a record: names of tools, files and models, characters of each, and characters of an error."""
OTHERS = "(others)"


MAX_ANSWER = 1_000_000
"""Bytes of an answer that are kept and scored; longer ones are files that an agent filled."""


def cut_answer(answer: bytes) -> bytes:
    """The beginning of an answer that is longer than MAX_ANSWER, up to a whole character; else the answer."""
    if len(answer) <= MAX_ANSWER:
        return answer
    return answer[:MAX_ANSWER].decode(errors="ignore").encode()


def bounded(outcome: Outcome) -> Outcome:
    """The outcome with names cut to the limits of a record; calls of further tools are counted together."""
    cut: dict[str, Any] = {}
    for field_ in fields(outcome):
        value = getattr(outcome, field_.name)
        if field_.name == "calls":
            cut["calls"] = None if value is None else _bounded_calls(value)
        elif isinstance(value, str) and field_.name != "answer":
            cut[field_.name] = value[:MAX_TEXT]
        elif isinstance(value, tuple):
            cut[field_.name] = tuple(str(name)[:MAX_NAME] for name in value[:MAX_NAMES])
        elif isinstance(value, dict):
            short = list(value.items())[:MAX_NAMES]
            cut[field_.name] = {
                key[:MAX_NAME]: item[:MAX_NAME] if isinstance(item, str) else item
                for key, item in short
            }
    return replace(outcome, **cut)


def _bounded_calls(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    first = tuple(replace(call, name=call.name[:MAX_NAME]) for call in calls[:MAX_NAMES])
    rest = calls[MAX_NAMES:]
    others = (
        (Call(OTHERS, sum(call.count for call in rest), sum(call.errors for call in rest)),)
        if rest
        else ()
    )
    return first + others


@dataclass(frozen=True)
class Attempt:
    """One start of the agent. `reason` is empty when it succeeded."""

    number: int
    """From 1 in each start of Snakemake; which attempt of its run it is, its folder's name says."""
    started_at: str
    """When the agent started, as UTC in ISO 8601."""
    duration_s: float | None
    """Wall clock; None when it was not measured (imported runs)."""
    waited_s: float
    """Seconds that it waited before, for its partner or for a service; not part of `duration_s`."""
    exit_code: int | None
    """Exit code of the agent; None when it was not observed."""
    timed_out: bool
    """Whether it was stopped after `agent.timeout_s` seconds."""
    reason: str = ""
    """Why the attempt does not count, by the names of the discards; empty when it does."""
    detail: str = ""
    """The same in words, with what was observed."""
    teardown: str = ""
    """Why the condition's teardown failed; the run counts nevertheless."""

    @property
    def day(self) -> str:
        """The day on which it was started; "" when that is unknown."""
        return self.started_at[:10]


@dataclass(frozen=True)
class Record:
    """The measured facts about a run, without a decision whether it counts (that is `validity`)."""

    task: str
    """Name of the task."""
    condition: str
    """Name of the condition."""
    trial: int
    """Number of the repetition, from 1."""
    source: str
    """`run`, or `imported` when only the report shows what happened."""
    attempt: Attempt
    outcome: Outcome = field(default_factory=Outcome)
    """The outcome without the answer, which has its own file."""
    answer_sha256: str = ""
    """SHA-256 of the answer, as 64 hex digits."""
    answer_bytes: int = 0
    """Length of the answer in bytes."""
    answer_cut: int = 0
    """Bytes of the answer that were dropped, because it was longer than a megabyte."""
    prompt_sha256: str = ""
    """SHA-256 of the prompt that the agent got."""
    settings_sha256: str = ""
    """Hash of everything else that is the same for all runs: the agent's settings and the conditions."""
    agent_sha256: str = ""
    """Hash of the agent's settings alone."""
    workspace: str = ""
    """The path of the repository for the agent; paths in its answer start with it."""
    tree_before: str = ""
    """Hash of the workspace's files before the agent started."""
    tree_after: str = ""
    """The same after it ended; another value is `workspace_changed`."""
    patch_sha256: str = ""
    """Hash of the run's patch; empty for tasks that do not ask for a change."""
    revision: str = ""
    """Revision of the repository, such as a commit."""
    arrived_at: str = ""
    """When the run arrived at the start gate."""
    opened_at: str = ""
    """When the start gate let the run begin, as UTC in ISO 8601."""
    lensbench: str = ""
    """Version of lensbench."""
    sandbox: str = ""
    """The sandbox of the agent, such as `bubblewrap 0.8.0`, or `none`; empty when it was not recorded."""
    network: str = ""
    """`own`: the agent could only reach what it needs. Or why it shared the machine's network; empty if unrecorded."""
    taps: dict[str, Tap] | None = None
    """What the tee saw, by server; None without a tee, or without servers."""
    direct_calls: int | None = None
    """Calls to the address of a server that only other conditions have; None when this was not checked: there is no
    such address, it is not reachable, or the agent shows no calls."""
    naming_calls: int | None = None
    """Calls with a word that names the program of a server that only other conditions have: they may have run it, or
    have searched for its name. None when there is no such program, or the agent shows no calls."""
    made_with: dict[str, Any] = field(default_factory=dict)
    """The settings of the `agent` and the `condition`; empty in imported runs."""
    schema: int = SCHEMA
    """Version of this file's format."""

    @property
    def run(self) -> RunId:
        return RunId(self.task, self.condition, self.trial)

    @property
    def seen(self) -> Outcome:
        """The outcome, completed by what the tee saw."""
        return completed(self.outcome, self.taps)


_CHECKSUM = '"checksum": "{}"'
"""The checksum of the record's text with an empty checksum; no key before it in a record has this name."""


def to_json(record: Record) -> str:
    """The text of a record on disk: the same record gives the same bytes."""
    value = {**asdict(record), "checksum": ""}
    del value["outcome"]["answer"]
    return _sealed(json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def sealed_again(text: str) -> str:
    """The text of a record that was changed on purpose, with a checksum that fits. Raises ValueError for others."""
    checksum = json.loads(text)["checksum"]
    return _sealed(text.replace(_CHECKSUM.format(checksum), _CHECKSUM.format(""), 1))


def _sealed(text: str) -> str:
    return text.replace(_CHECKSUM.format(""), _CHECKSUM.format(_digest(text)), 1)


def _digest(text: str) -> str:
    return sha256(text.encode(errors="replace"))


def from_json(text: str) -> Record:
    """The record in a text from `to_json`. Raises ValueError for anything else."""
    try:
        value: dict[str, Any] = json.loads(text)
        checksum = value.pop("checksum")
        if _digest(text.replace(_CHECKSUM.format(checksum), _CHECKSUM.format(""), 1)) != checksum:
            raise ValueError("was changed: its checksum does not match")
        if value["schema"] != SCHEMA:
            raise ValueError(f"has schema {value['schema']!r}; this version reads {SCHEMA}")
        value.pop("server_calls", None)  # records had it before 0.1.0
        outcome: dict[str, Any] = {
            key: tuple(item) if isinstance(item, list) else item
            for key, item in value["outcome"].items()
        }
        if outcome["calls"] is not None:
            outcome["calls"] = tuple(Call(**call) for call in outcome["calls"])
        value["outcome"] = Outcome(**outcome)
        if value.get("taps") is not None:
            value["taps"] = {name: _tap(tap) for name, tap in value["taps"].items()}
        value["attempt"] = Attempt(**value["attempt"])
        return Record(**value)
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"is not a record: {error}") from None


def _tap(value: dict[str, Any]) -> Tap:
    offered = value["offered"]
    calls = tuple(TapCall(**call) for call in value["calls"])
    return Tap(None if offered is None else tuple(offered), calls, value["has_failed"])


def sha256(content: bytes) -> str:
    """The hex digest that identifies prompts, answers and records."""
    return hashlib.sha256(content).hexdigest()
