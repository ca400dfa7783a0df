"""The config: what a user may write, and its defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from lensbench.agents import programs
from lensbench.agents.sandbox import DEFAULT_LIMITS
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.tasks import Many, Regex, Source, Strict, like
from lensbench.plan.names import MECHANICAL, Verdict


def _plain(value: Any) -> Any:
    """What `--config accept_changes=true 'discards={max_rounds: 1}'` means, which reaches us as text."""
    text = value.lower() if isinstance(value, str) else ""
    return json.loads(text) if re.fullmatch(r"true|false|0|[1-9][0-9]{0,9}(\.[0-9]{1,9})?", text) else value


Switch = Annotated[bool, BeforeValidator(_plain)]
Whole = Annotated[int, BeforeValidator(_plain)]
Number = Annotated[float, BeforeValidator(_plain), Field(strict=False)]


def _compiles(pattern: str) -> str:
    return Regex(regex=pattern).regex


def _inside(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not parts or path.startswith("/") or ".." in parts or parts[0] == ".git":
        raise ValueError(f"is {path!r}; write a path inside the workspace, such as .serena/")
    return str(PurePosixPath(path))


ErrorPattern = Annotated[str, AfterValidator(_compiles)]


def _variable(name: str) -> str:
    """The name of an environment variable. A key pasted in its place is refused, and not repeated."""
    is_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|", name)
    if not is_name or re.fullmatch(r"(?=.*[a-z])(?=.*[0-9]).{20,}", name):
        raise ValueError("is not the name of an environment variable; export the key, and write the variable's name")
    return name


Variable = Annotated[str, AfterValidator(_variable)]
_CONDITION = r"[a-z][a-z0-9_]{0,31}"
ConditionName = Annotated[str, like(f"^{_CONDITION}$", "a condition is named with a-z, 0-9 and '_'")]
ContrastName = Annotated[
    str, like(f"^{_CONDITION} against {_CONDITION}$", "write two treatments, such as 'v2 against v1'")
]


_ONE_OR_MANY = BeforeValidator(lambda value: [value] if isinstance(value, str) else value)


DEFAULT_CACHE = ".cache/repositories"
RUN_ID = r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$"
ZAI_MODELS = {"sonnet": "glm-5", "haiku": "glm-5", "opus": "glm-5"}


class Override(Strict):
    """The agent's settings that may be others in one condition; the rest tells which agent it is."""

    tools: Many[str] | None = None
    """Built-in tools."""
    tool_search: bool | None = None
    """Whether it must search for MCP tools."""
    max_turns: Annotated[Whole, Field(ge=1)] | None = None
    """Turns after which it stops."""
    retries: Annotated[Whole, Field(ge=1, le=10)] | None = None
    """Attempts per run."""
    timeout_s: Annotated[Number, Field(gt=0)] | None = None
    """Wall-clock limit of an attempt."""
    mcp_start_s: Annotated[Number, Field(gt=0)] | None = None
    """How long a server may take to start."""


class Condition(Strict):
    """A named arm of the experiment. Everything that is not written here is the same in all conditions."""

    mcp: str | None = None
    """MCP file (`{"mcpServers": ...}`) with the servers that this condition has; none by default."""
    tools: Many[str] = ()
    """The tools that its servers must list, no more and no fewer; not compared when empty."""
    errors: dict[str, Many[ErrorPattern]] = Field(default={})
    """Server -> patterns (RE2) of answers that are errors without being marked as such; instead of the known ones."""
    setup: Many[str] = ()
    """Command that tells a running server of each run's `{workspace}`; outside the timed part."""
    teardown: Many[str] = ()
    """Command that tells the server that the workspace goes away."""
    setup_s: Annotated[Number, Field(gt=0)] = 120
    """How long `setup` and `teardown` may take, each."""
    writes: Many[Annotated[str, AfterValidator(_inside)]] = ()
    """Paths in the workspace where its servers keep an index, such as `.serena/`: no change of the repository."""
    files: dict[str, str] = Field(default={})
    """Path in the workspace -> file with its text, such as `CLAUDE.md: words.md`, for the runs of this condition."""
    skills: str = ""
    """A folder with skills (`<name>/SKILL.md`), put where the agent looks for them."""
    agent: Override = Override()
    """Settings of the agent for this condition only; the results name them."""


SEARCH = ("Bash", "Grep", "Glob")
"""The built-in tools that the rung `only` goes without."""


class Ladder(Strict):
    """A server and the words that come with it, as conditions: see docs/ladder.md."""

    mcp: str
    """The MCP file."""
    words: str = ""
    """A file with the words, for the instruction file that the agent reads."""
    skills: str = ""
    """A folder with skills that come with the server."""
    only: Switch = False
    """A further rung: server and words, without the built-in search tools."""


class Agent(Strict):
    """The agent under test: a command-line program. The same in every condition."""

    kind: Annotated[str, like(r"^[a-z][a-z0-9-]*$", "write the name of an adapter")] = "offline"
    """Which adapter drives it: `offline` (no model, no keys), `command`, or `none` (finished runs only)."""
    command: Many[str] = ()
    """The program and its arguments, for kind `command`; see docs/agents.md for the placeholders."""
    model: str = ""
    """The model to ask for, in the agent's own words."""
    models: dict[str, str] = Field(default={})
    """What the service makes of a model's name, such as `sonnet: glm-5`; it heads timing.csv."""
    served: str = ""
    """The model that must answer, as the service names it, or a pattern with `*`; runs of others are discarded."""
    version: str = ""
    """The version that the program must say it has; unpinned when empty, which the results warn of."""
    provider: Literal["", "zai", "custom"] = ""
    """Which gateway serves the model: the agent's own default, `zai`, or `custom` with `base_url`."""
    base_url: str = ""
    """The gateway's address."""
    token_env: Variable = ""
    """Name of the environment variable that holds the gateway's token."""
    tools: Many[str] = ("Bash", "Read", "Grep", "Glob")
    """Built-in tools that the agent has in every condition, for agents that let one choose."""
    tool_search: bool = False
    """Leave it to the agent to search for MCP tools (deferred tools) instead of showing their schemas."""
    max_turns: Annotated[Whole, Field(ge=1)] = 60
    """Turns after which the agent stops, for agents that count them."""
    retries: Annotated[Whole, Field(ge=1, le=10)] = 3
    """Attempts per run before it is discarded."""
    timeout_s: Annotated[Number, Field(gt=0)] = 900
    """Wall-clock limit of one attempt."""
    mcp_start_s: Annotated[Number, Field(gt=0)] = 15
    """How long an MCP server may take to start before the attempt counts as `mcp_failed`."""
    pass_env: Many[Variable] = ()
    """Names of environment variables that reach the agent. Their values are never written anywhere."""

    @model_validator(mode="before")
    @classmethod
    def _models_of_the_provider(cls, value: Any) -> Any:
        """Z.AI serves one model under all names; what a user writes goes first."""
        if isinstance(value, dict) and value.get("provider") == "zai" and not value.get("models"):
            return {**value, "models": ZAI_MODELS}
        return value

    @property
    def settings(self) -> AgentSettings:
        """All keys, as the frozen plan has them."""
        settings: Any = self.model_dump(mode="json")
        told: AgentSettings = settings
        return told

    @property
    def mapping(self) -> dict[str, str]:
        """The model mapping of timing.csv's header row."""
        return self.models or {self.model or self.kind: self.model or "none"}


class ModelJudge(Strict):
    """A model that judges: an agent without tools, servers and repository."""

    agent: Agent
    """The program that is asked, and its model; the keys are those of `agent`."""
    name: Annotated[str, like(r"^([a-z][a-z0-9-]{0,31})?$", "a judge is named with a-z, 0-9 and '-', at most 32")] = ""
    """What its column is called; made of the agent's kind and model when empty."""
    prompt: str = ""
    """The template of its question; templates/judge.md.j2 when empty."""
    ask_condition: Switch = False
    """Ask it as well which condition each answer comes from: a check of the blinding, one more request per answer."""

    @property
    def shown_name(self) -> str:
        """The name, given or made."""
        made = re.sub(r"[^a-z0-9]+", "-", f"{self.agent.kind}-{self.agent.model}".lower()).strip("-")
        return self.name or made[:32].strip("-")


class Judging(Strict):
    """How judges are asked."""

    parallel: Annotated[Whole, Field(ge=1, le=64)] = 4
    """Answers that a model judge reads at the same time; `--cores` limits it too."""
    attempts: Annotated[Whole, Field(ge=1, le=10)] = 3
    """How often a judge is asked before the criterion stays unjudged; later starts ask again."""
    max_answer_chars: Annotated[Whole, Field(ge=1000)] = 60_000
    """What no judge reads any more: the end of a longer answer."""
    human_sample: Annotated[Number, Field(ge=0, le=1)] = 0.1
    """The share of the pairs on the judge sheet, drawn by seed; all of them when people are the only judges."""


class Gate(Strict):
    """The decision that the numbers must allow."""

    effect: Annotated[Number, Field(gt=0, le=100)] = 5
    """The smallest worthwhile effect, in percentage points of the score."""
    alpha: Annotated[Number, Field(gt=0, lt=0.5)] = 0.05
    """The share of benchmarks of a useless server that may seem to show an effect, both directions together."""
    power: Annotated[Number, Field(gt=0.5, lt=1)] = 0.8
    """For the minimum detectable effect, and for how many tasks a decision needs."""
    looks: Annotated[Whole, Field(ge=1, le=10)] = 1
    """In how many waves the runs are made: after each one it is decided whether the next one is needed."""
    over: Literal["tasks", "trials"] = "tasks"
    """What the waves are made of: parts of the task set, or trials (then `looks` is the number of trials)."""
    contrasts: Many[ContrastName] = ()
    """Treatments that get a verdict against each other as well, such as `v2 against v1`."""
    saves: Literal["cost", "tokens", "duration", "turns", "none"] = "cost"
    """What a treatment may save without worse answers, for the verdict SAVES; tokens where an agent reports no cost."""
    margin: Annotated[Number, Field(gt=0, le=100)] = 10
    """For SAVES: by how many percentage points the answers must not be worse."""
    least: Annotated[Number, Field(ge=0, lt=100)] = 10
    """For SAVES: the saving, in percent, that must be exceeded; for COSTS, how much more it must cost."""


class Controls(Strict):
    """Conditions that tell something about the tasks, and are compared with nothing."""

    closed_book: Switch = False
    """Ask every task once more in an empty folder: shows which tasks can be answered without the repository."""


HostName = Annotated[
    str,
    like(r"^(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:[1-9][0-9]{0,4})?$", "write name:port, such as pypi.org:443"),
]


class Limits(Strict):
    """What is scarce beside cores, and what one run may use of the machine in the sandbox."""

    memory_gb: Annotated[Number, Field(ge=0.1)] = DEFAULT_LIMITS["memory_gb"]
    """Memory of a run, in GB (10^9 bytes)."""
    processes: Annotated[Whole, Field(ge=16)] = DEFAULT_LIMITS["processes"]
    """Processes and threads of a run."""
    open_files: Annotated[Whole, Field(ge=64)] = DEFAULT_LIMITS["open_files"]
    """Files that each process may have open."""
    disk_gb: Annotated[Number, Field(gt=0)] = DEFAULT_LIMITS["disk_gb"]
    """What a run may write, in GB."""

    requests_per_minute: dict[str, Annotated[Whole, Field(ge=1)]] = Field(default={})
    """What a model's service takes, by its name: the host of `base_url`, else `provider`, else the agent's kind."""
    agent_requests: Annotated[Whole, Field(ge=1)] | None = None
    """Requests a minute of one agent at work; null: as in the runs so far, 12 before there are any."""
    clients: dict[str, Annotated[Whole, Field(ge=1)]] = Field(default={})
    """Runs that an MCP server bears at a time, by its name in the MCP file."""


class Archive(Strict):
    """What `snakemake archive` writes."""

    allow: Many[str] = ()
    """Findings that may be in the archive although they look like a secret or a name: the ids that it printed."""


class Discards(Strict):
    """What happens to runs that must not count."""

    max_rounds: Annotated[Whole, Field(ge=0, le=20)] = 3
    """How often a discarded run is repeated by a later start before it is given up."""


class Budget(Strict):
    """What the benchmark may cost. At a limit no new attempt starts, running ones end, and the results say so."""

    max_usd: Annotated[Number, Field(gt=0)] | None = None
    """US dollars, as the agent reports them, else estimated from its tokens (`prices`)."""
    max_runs: Annotated[Whole, Field(ge=1)] | None = None
    """Starts of the agent, further attempts included."""
    max_hours: Annotated[Number, Field(gt=0)] | None = None
    """Hours of agents' work, all attempts added up."""


class Price(Strict):
    """What a model costs, in US dollars per million tokens of each kind."""

    input: Annotated[Number, Field(ge=0)]
    """Tokens that no cache was asked for."""
    cache_read: Annotated[Number, Field(ge=0)]
    """Tokens from the cache."""
    cache_write: Annotated[Number, Field(ge=0)]
    """Tokens that went into the cache."""
    output: Annotated[Number, Field(ge=0)]
    """Tokens of the model, reasoning included."""
    date: str = ""
    """When it was looked up."""
    source: str = ""
    """Where."""


class Preflight(Strict):
    """What is tried at every start that makes runs, before the first of them."""

    servers: Switch = True
    """Start every condition's MCP servers, and call one tool of each."""
    request: Switch = True
    """Ask the model's gateway for one token, for agents that say how."""
    judges: Switch = True
    """Refuse runs of an agent that costs money while no judge can read some of the criteria."""


class StartGate(Strict):
    """The conditions of a task start at the same moment."""

    limit_s: Annotated[Number, Field(ge=0)] = 900
    """How long a run waits for its partner; 0 switches the gate off."""


def _known_judge(name: Any) -> Any:
    if name in ("mechanical", "human"):
        return name
    raise ValueError(f"is {name!r}; write mechanical, human, or {{agent: {{kind: ..., model: ...}}}}")


Judge = Annotated[
    Annotated[Literal["mechanical", "human"], BeforeValidator(_known_judge), Tag("judge name")]
    | Annotated[ModelJudge, Tag("judge model")],
    Discriminator(lambda value: "judge model" if isinstance(value, (dict, ModelJudge)) else "judge name"),
]


class Config(Strict):
    """Everything that a user can set."""

    run_id: Annotated[str, like(RUN_ID, "use letters, digits and '-' only, at most 64")]
    """Names the run folder, `bench/<run_id>`; `auto`: by date and time, a new one when the experiment is another."""
    scenarios: str | Many[str]
    """The task set, or several: YAML, or Markdown in the protocol's form."""
    repository: Source | None = None
    """The repository of tasks that name none (Markdown sets)."""
    conditions: dict[ConditionName, Condition] = Field(default={})
    """The arms; one of them is the baseline, the others are treatments."""
    ladder: Ladder | None = None
    """Makes the conditions `without`, `server`, `words` and `both` of a server and its words."""
    notes: Annotated[Many[str], _ONE_OR_MANY] = ()
    """What is new in this run, for whoever reads its results; no setting."""
    baseline: str = "without"
    """The condition that the others are compared with."""
    trials: Annotated[Whole, Field(ge=1, le=99)] = 1
    """How often every task is run in every condition."""
    seed: Annotated[Whole, Field(ge=0, lt=2**32)] = 1
    """Fixes the order inside pairs and the agent's seed, where it takes one."""
    agent: Agent = Agent()
    """The agent under test."""
    judges: Many[Judge] = (MECHANICAL,)
    """Who decides whether a criterion is met: `mechanical`, `human`, and any number of `{agent: ...}`."""
    judging: Judging = Judging()
    """How judges are asked."""
    gate: Gate = Gate()
    """The decision that the numbers must allow."""
    controls: Controls = Controls()
    """Conditions that are compared with nothing."""
    discards: Discards = Discards()
    """What happens to runs that must not count."""
    budget: Budget = Budget()
    """What the benchmark may cost."""
    prices: dict[str, Price] = Field(default={})
    """Name of a model, or a pattern with `*` -> its price, before the list prices that lensbench knows; the first
    pattern that matches is used."""
    preflight: Preflight = Preflight()
    """What is tried before the first run."""
    start_gate: StartGate = StartGate()
    """The conditions of a task start at the same moment."""
    sandbox: Literal["auto", "bubblewrap", "none"] = "auto"
    """What keeps agents away from everything but their workspace; `auto`: bubblewrap where it works, else none."""
    sandbox_visible: Many[str] = ()
    """Further folders and files that agents may read in the sandbox."""
    sandbox_network: Literal["auto", "shared"] = "auto"
    """`auto`: in the sandbox agents reach the model's endpoint, the declared servers and `sandbox_hosts`, where the
    machine allows that; `shared`: everything that this machine reaches."""
    sandbox_hosts: Many[HostName] = ()
    """Further hosts that agents and their servers may reach, as `name:port`."""
    cache: str = DEFAULT_CACHE
    """Where fetched repositories are kept."""
    limits: Limits = Limits()
    """What is scarce beside cores."""
    archive: Archive = Archive()
    """What `snakemake archive` writes."""
    fail_on: Annotated[Many[Verdict], _ONE_OR_MANY] = ()
    """Verdicts of the gate with which Snakemake ends with exit code 1, after everything is written."""
    prompt: str = ""
    """What `snakemake eval` asks."""
    repo: str = ""
    """What it asks about (a path; the current folder when empty), or `snakemake scenarios` does (or a git URL)."""
    tasks: Annotated[Whole, Field(ge=1, le=200)] = 12
    """How many tasks `snakemake scenarios` writes."""
    only: Many[str] = ()
    """Make the runs of these tasks only (`lensbench run --only <task>`); no setting of the experiment."""
    accept_changes: Switch = False
    """Go on although the experiment's settings changed after its first valid run; the results will say so."""
    imported: Switch = False
    """The runs were made elsewhere: what breaks our rules is taken with a warning."""
    warnings: Many[str] = ()
    """What was found at the import; it stands in the results. Only with `imported`."""

    @model_validator(mode="before")
    @classmethod
    def _rungs_of_the_ladder(cls, value: Any) -> Any:
        """The conditions that `ladder` means; those that are written go first."""
        given = value.get("ladder") if isinstance(value, dict) else None
        if not isinstance(given, dict) or not isinstance(value.get("conditions", {}), dict):
            return value
        agent = value.get("agent") if isinstance(value.get("agent"), dict) else {}
        program = programs().get(agent.get("kind", ""))
        file = (program.words if program else "") or "AGENTS.md"
        words = {"files": {file: given["words"]}} if given.get("words") else {}
        words |= {"skills": given["skills"]} if given.get("skills") else {}
        server = {"mcp": given.get("mcp")}
        tools = [tool for tool in agent.get("tools", Agent().tools) if tool not in SEARCH]
        only = {"only": {**server, **words, "agent": {"tools": tools}}} if _plain(given.get("only")) is True else {}
        rungs = {"without": {}, "server": server, "words": words, "both": {**server, **words}, **only}
        return {**value, "conditions": {**rungs, **value.get("conditions", {})}}

    @property
    def makes_benchmark(self) -> bool:
        """False when something else was asked for, such as a single question."""
        return not (self.prompt or self.repo)

    @property
    def scenario_files(self) -> tuple[str, ...]:
        """The task sets, as a list."""
        return (self.scenarios,) if isinstance(self.scenarios, str) else self.scenarios

    @property
    def treatments(self) -> tuple[str, ...]:
        """The conditions that are compared with the baseline."""
        return tuple(name for name in self.conditions if name != self.baseline)


def judge_names(judges: Iterable[Any]) -> list[str]:
    """The names of the configured judges, as in verdicts.csv."""
    return [judge.shown_name if isinstance(judge, ModelJudge) else judge for judge in judges]
