"""The config: what a user may write, and its defaults."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

from lensbench.agents import programs
from lensbench.agents.sandbox import DEFAULT_LIMITS
from lensbench.core.conditions import MAX_CONDITION
from lensbench.core.frozen_plan import GIVEN, MECHANICAL, AgentSettings, ToolFilter, VerdictName
from lensbench.core.names import plain_name
from lensbench.core.tasks import InsidePath, Many, Regex, Source, Strict, like
from lensbench.plan.ablation import EVERYTHING, conditions_of


def _plain(value: Any) -> Any:
    """What `--config accept_changes=true 'discards={max_rounds: 1}'` means, which reaches us as text."""
    if not isinstance(value, str):
        return value
    text = value.lower()
    is_plain = re.fullmatch(r"true|false|0|[1-9][0-9]{0,9}(\.[0-9]{1,9})?", text)
    if is_plain:
        return json.loads(text)
    return value


Switch = Annotated[bool, BeforeValidator(_plain)]
Whole = Annotated[int, BeforeValidator(_plain)]
Number = Annotated[float, BeforeValidator(_plain), Field(strict=False)]


ErrorPattern = Annotated[str, AfterValidator(lambda pattern: Regex(regex=pattern).regex)]


def _variable(name: str) -> str:
    """The name of an environment variable. A key pasted in its place is refused, and not repeated."""
    is_name = re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*|", name)
    if not is_name or re.fullmatch(r"(?=.*[a-z])(?=.*[0-9]).{20,}", name):
        raise ValueError(
            "is not the name of an environment variable; export the key, and write the variable's name"
        )
    return name


Variable = Annotated[str, AfterValidator(_variable)]
_CONDITION = rf"[a-z][a-z0-9_]{{0,{MAX_CONDITION - 1}}}"
ConditionName = Annotated[
    str, like(f"^{_CONDITION}$", "a condition is named with a-z, 0-9 and '_'")
]
ComparisonName = Annotated[
    str,
    like(f"^{_CONDITION} against {_CONDITION}$", "write two treatments, such as 'v2 against v1'"),
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


class PartOfTools(Strict):
    """A part of a server's tools, by the agent's own filter: see docs/parts.md."""

    only: Many[str] = ()
    """The tools that stay, with or without `mcp__<server>__`."""
    without: Many[str] = ()
    """The tools that go; write this or `only`."""

    @model_validator(mode="after")
    def _one_of_them(self) -> PartOfTools:
        if bool(self.only) == bool(self.without):
            raise ValueError("names tools by one of its keys: write {only: [a]} or {without: [b]}")
        return self


_Tools = Annotated[
    Annotated[Many[str], Tag("list of tools")] | Annotated[PartOfTools, Tag("part of tools")],
    Discriminator(
        lambda value: "part of tools" if isinstance(value, (dict, PartOfTools)) else "list of tools"
    ),
]


class Condition(Strict):
    """A condition of the experiment. Everything that is not written here is the same in all conditions."""

    mcp: str | None = None
    """MCP file (`{"mcpServers": ...}`) with the servers that this condition has; none by default."""
    tools: _Tools = ()
    """A list: the tools that its servers must list, no more and no fewer; not compared when empty. `{only: [a]}` or
    `{without: [b]}`: the tools that the agent gets (docs/parts.md)."""
    errors: dict[str, Many[ErrorPattern]] = Field(default={})
    """Server -> patterns (RE2) of results that are errors but not marked as errors; instead of the known ones."""
    setup: Many[str] = ()
    """Command that registers each run's `{workspace}` with a running server, before the timed part."""
    teardown: Many[str] = ()
    """Command that unregisters it, after the timed part."""
    setup_s: Annotated[Number, Field(gt=0)] = 120
    """How long `setup` and `teardown` may take, each."""
    writes: Many[InsidePath] = ()
    """Paths in the workspace where its servers keep an index, such as `.serena/`: no change of the repository."""
    files: dict[str, str] = Field(default={})
    """Path in the workspace -> file with its text, such as `CLAUDE.md: words.md`, for the runs of this condition."""
    skills: str = ""
    """A folder with skills (`<name>/SKILL.md`), put where the agent looks for them."""
    without: Many[str] = ()
    """Servers of `mcp`, skills of `skills` and paths of `files` that this condition goes without."""
    describe: str = ""
    """A file with other descriptions of its servers' tools, and other instructions (docs/words.md)."""
    agent: Override = Override()
    """Settings of the agent for this condition only; the results name them."""

    @property
    def filter(self) -> ToolFilter:
        """The filter of its servers' tools, as in the plan; empty without one."""
        if isinstance(self.tools, tuple):
            return {}
        return self.tools.model_dump(mode="json", exclude_defaults=True)


SEARCH = ("Bash", "Grep", "Glob")
"""The built-in tools that the condition `only` goes without."""


class Ladder(Strict):
    """A server and the words that come with it, as conditions: see docs/ladder.md."""

    mcp: str
    """The MCP file."""
    words: str = ""
    """A file with the words, for the instruction file that the agent reads."""
    skills: str = ""
    """A folder with skills that come with the server."""
    only: Switch = False
    """A further condition: server and words, without the built-in search tools."""


MOST_MEMBERS, MOST_ABLATED_TOOLS = 8, 6
"""Members of an ablation, and of one of tools: each is a run of every task."""


class Ablation(Strict):
    """Servers, skills and files, or tools, as conditions that go without one of them each: see docs/ablation.md."""

    mcp: str | None = None
    """The MCP file with the servers that are in use."""
    skills: str = ""
    """A folder with skills that are in use."""
    files: dict[str, str] = Field(default={})
    """Path in the workspace -> file with its text, as in a condition."""
    tools: Many[str] = ()
    """Tools of these servers. With it, only these are removed; everything else stays."""
    groups: dict[ConditionName, Many[str]] = Field(default={})
    """Members that are removed together, by a name of yours."""


def _of_a_name(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return {
        "mcp": f"mcp.{value}.json",
        "words": f"words.{value}.md",
    }


_NAMED_LADDER = BeforeValidator(_of_a_name, json_schema_input_type=Ladder | str | None)


class Agent(Strict):
    """The agent under test: a command-line program. The same in every condition."""

    kind: str = "offline"
    """Which program answers: its adapter, `command` for any program, or `none` (finished runs are scored)."""
    profile: Literal["strict", "stock"] = "strict"
    """`strict`: the protocol's agent. `stock`: with the program's own defaults, as people use it (docs/ladder.md)."""
    report: Switch = False
    """With profile `stock`: ask for the self-report all the same."""
    command: Many[str] = ()
    """The program and its arguments, for kinds `command` and `acp`; see docs/agents.md for the placeholders."""
    model: str = ""
    """The model to request, by the agent's name for it."""
    models: dict[str, str] = Field(default={})
    """The model that the service uses for a name, such as `sonnet: glm-5`; the first row of timing.csv shows it."""
    served: str = ""
    """The model that must answer, as the service names it, or a pattern with `*`; runs of others are discarded."""
    version: str = ""
    """The version that the program must report; the results warn if it is empty."""
    provider: Literal["", "zai", "custom"] = ""
    """Which gateway serves the model: the agent's own default, `zai`, or `custom` with `base_url`."""
    base_url: str = ""
    """The gateway's address."""
    token_env: Variable = ""
    """Name of the environment variable that holds the gateway's token."""
    tools: Many[str] = ("Bash", "Read", "Grep", "Glob")
    """Built-in tools in every condition, for agents that let you choose."""
    tool_search: bool = False
    """The agent searches for MCP tools (deferred tools) instead of seeing all of them at once."""
    max_turns: Annotated[Whole, Field(ge=1)] = 60
    """Turns after which the agent stops, for agents that count them."""
    retries: Annotated[Whole, Field(ge=1, le=10)] = 3
    """Attempts per run before it is discarded."""
    timeout_s: Annotated[Number, Field(gt=0)] = 900
    """Wall-clock limit of one attempt."""
    mcp_start_s: Annotated[Number, Field(gt=0)] = 15
    """How long an MCP server may take to start before the attempt counts as `mcp_failed`."""
    pass_env: Many[Variable] = ()
    """Names of environment variables to pass to the agent. Their values are never written to any file."""
    tee: Switch | None = None
    """Note the messages between agent and servers (docs/tee.md); by default where the agent does not show its calls."""

    @model_validator(mode="before")
    @classmethod
    def _models_of_the_provider(cls, value: Any) -> Any:
        """Z.AI serves one model under all names; what a user writes goes first."""
        if isinstance(value, dict) and value.get("provider") == "zai" and not value.get("models"):
            return {**value, "models": ZAI_MODELS}
        return value

    @property
    def settings(self) -> AgentSettings:
        """All keys, as the frozen plan has them; those that older plans lack only if they are not the default."""
        settings: Any = self.model_dump(mode="json")
        for key in ("profile", "report", "tee"):
            if getattr(self, key) == type(self).model_fields[key].default:
                del settings[key]
        result: AgentSettings = settings
        return result

    @property
    def mapping(self) -> dict[str, str]:
        """The model mapping of timing.csv's header row."""
        return self.models or {self.model or self.kind: self.model or "none"}


class ModelJudge(Strict):
    """A model that judges: an agent without tools, servers and repository."""

    agent: Agent
    """The program that judges, and its model; the keys are those of `agent`. It is asked `retries` times before a
    criterion stays unjudged; later starts ask again."""
    name: Annotated[
        str,
        like(r"^([a-z][a-z0-9-]{0,31})?$", "a judge is named with a-z, 0-9 and '-', at most 32"),
    ] = ""
    """Its name in tables; empty: made of the agent's kind and model."""
    prompt: str = ""
    """The template of its prompt; empty: templates/judge.md.j2."""

    @property
    def shown_name(self) -> str:
        """The name, given or made."""
        default = plain_name(f"{self.agent.kind}-{self.agent.model}")
        return self.name or default[:32].strip("-")


class Judging(Strict):
    """How judges are asked."""

    human_sample: Annotated[Number, Field(ge=0, le=1)] = 0.1
    """The share of the pairs on the judge sheet, drawn by seed; all of them when people are the only judges."""
    private: Switch = False
    """No model judges: patterns, tests and people decide, and no answer is sent to a model (docs/sent.md)."""


class Gate(Strict):
    """The settings of the verdict."""

    effect: Annotated[Number, Field(gt=0, le=100)] = 5
    """The smallest worthwhile effect, in points of the score."""
    alpha: Annotated[Number, Field(gt=0, lt=0.5)] = 0.05
    """The accepted share of benchmarks that show an effect of a useless server, both directions together."""
    power: Annotated[Number, Field(gt=0.5, lt=1)] = 0.8
    """The power for the minimum detectable effect, and for the number of tasks that a verdict needs."""
    looks: Annotated[Whole, Field(ge=1, le=10)] = 1
    """The number of waves in which runs are made; after a wave, the next one starts only if needed."""
    over: Literal["tasks", "trials"] = "tasks"
    """What a wave consists of: tasks (a part of the set), or trials (then `looks` is the number of trials)."""
    comparisons: Many[ComparisonName] = ()
    """Treatments that get a verdict against each other as well, such as `v2 against v1`."""
    saves: Literal["cost", "tokens", "duration", "turns", "none"] = "cost"
    """What a treatment may save without worse answers, for the verdict SAVES; tokens where an agent reports no cost."""
    margin: Annotated[Number, Field(gt=0, le=100)] = 10
    """For SAVES: by how many points the answers must not be worse."""
    least: Annotated[Number, Field(ge=0, lt=100)] = 10
    """For SAVES: the saving, in percent, that must be exceeded; for COSTS, how much more it must cost."""
    holdout: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """The share of the tasks on which the best words are confirmed; they are chosen on the others (docs/words.md)."""


class Controls(Strict):
    """Further conditions that check the tasks; they are not compared with the others."""

    closed_book: Switch = False
    """Also ask every task in an empty folder: shows which tasks can be answered without the repository."""


HostName = Annotated[
    str,
    like(
        r"^(\[[0-9A-Fa-f:]+\]|[A-Za-z0-9._-]+)(:[1-9][0-9]{0,4})?$",
        "write name:port, such as pypi.org:443",
    ),
]


class Limits(Strict):
    """Limits other than cores, and limits of one run in the sandbox."""

    memory_gb: Annotated[Number, Field(ge=0.1)] = DEFAULT_LIMITS["memory_gb"]
    """Memory of a run, in GB (10^9 bytes)."""
    processes: Annotated[Whole, Field(ge=16)] = DEFAULT_LIMITS["processes"]
    """Processes and threads of a run."""
    disk_gb: Annotated[Number, Field(gt=0)] = DEFAULT_LIMITS["disk_gb"]
    """Disk space that a run may write, in GB."""

    requests_per_minute: dict[str, Annotated[Whole, Field(ge=1)]] = Field(default={})
    """Requests a minute that a model's service allows, by its name: the host of `base_url`, `provider` or the kind."""
    clients: dict[str, Annotated[Whole, Field(ge=1)]] = Field(default={})
    """Concurrent runs that an MCP server supports, by its name in the MCP file."""


class Archive(Strict):
    """What `lensbench archive` writes."""

    allow: Many[str] = ()
    """Findings to allow although they look like a secret or a name: the ids from the message."""


class Discards(Strict):
    """What happens to invalid runs."""

    max_rounds: Annotated[Whole, Field(ge=0, le=20)] = 3
    """How many times later starts repeat a discarded run before it is given up."""


class Budget(Strict):
    """The cost limits. At a limit no new attempt starts, running ones finish, and the results show the runs so far."""

    max_usd: Annotated[Number, Field(gt=0)] | None = None
    """US dollars, as the agent reports them, else estimated from its tokens (`prices`)."""
    max_runs: Annotated[Whole, Field(ge=1)] | None = None
    """Starts of the agent, including repeated attempts."""
    max_hours: Annotated[Number, Field(gt=0)] | None = None
    """Hours of agents' work, all attempts together."""


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
    """Where it was looked up."""


class Preflight(Strict):
    """What is checked before the first run, at each start that makes runs."""

    servers: Switch = True
    """Start each condition's MCP servers, and call one tool of each."""
    tools: Switch = False
    """Call each tool that only reads, with arguments made from its schema, as the trial of `lensbench init` does."""
    request: Switch = True
    """Start the agent with a short question, where it reports its version: key, address and model are tried."""


def _known_judge(name: Any) -> Any:
    if name in ("mechanical", "human", GIVEN):
        return name
    raise ValueError(
        f"is {name!r}; write mechanical, human, or {{agent: {{kind: ..., model: ...}}}}"
    )


Judge = Annotated[
    Annotated[
        Literal["mechanical", "human", "given"], BeforeValidator(_known_judge), Tag("judge name")
    ]
    | Annotated[ModelJudge, Tag("judge model")],
    Discriminator(
        lambda value: "judge model" if isinstance(value, (dict, ModelJudge)) else "judge name"
    ),
]


def _with_written(made: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """The conditions that a key of the config makes, with those that it writes; their keys go first."""
    conditions = dict(made)
    for name, own in config.get("conditions", {}).items():
        conditions[name] = own
        if isinstance(own, dict):
            conditions[name] = {**made.get(name, {}), **own}
    return conditions


class Config(Strict):
    """Everything that a user can set."""

    run_id: Annotated[str, like(RUN_ID, "use letters, digits and '-' only, at most 64")]
    """Names the run folder, `bench/<run_id>`; `auto`: by date and time, a new one if the experiment differs."""
    scenarios: str | Many[str]
    """The task set, or several: YAML, or Markdown in the protocol's form."""
    repository: Source | None = None
    """The repository of tasks that name none (Markdown sets)."""
    conditions: dict[ConditionName, Condition] = Field(default={})
    """The conditions: one is the baseline, the others are treatments."""
    ladder: Annotated[Ladder | None, _NAMED_LADDER] = None
    """Makes the conditions `without`, `server`, `words` and `both` of a server and its words. A name alone, such as
    `mine`, means mcp.mine.json and words.mine.md."""
    ablate: Ablation | None = None
    """Makes the conditions `all` (the baseline), `none`, and `all` without each server, skill and file, or each
    tool: which of them can go?"""
    notes: Annotated[Many[str], _ONE_OR_MANY] = ()
    """What is new in this run, shown in the results."""
    baseline: str = "without"
    """The condition that the others are compared with."""
    trials: Annotated[Whole, Field(ge=1, le=99)] = 1
    """How many times every task is run in every condition."""
    seed: Annotated[Whole, Field(ge=0, lt=2**32)] = 1
    """Fixes the order inside pairs, and the agent's seed if it accepts one."""
    agent: Agent = Agent()
    """The agent under test."""
    judges: Many[Judge] = (MECHANICAL,)
    """Who decides whether a criterion is met: `mechanical`, `human`, and any number of `{agent: ...}`."""
    judging: Judging = Judging()
    """How judges are asked."""
    gate: Gate = Gate()
    """The settings of the verdict."""
    controls: Controls = Controls()
    """Further conditions that check the tasks."""
    discards: Discards = Discards()
    """What happens to invalid runs."""
    budget: Budget = Budget()
    """The cost limits."""
    prices: dict[str, Price] = Field(default={})
    """Name of a model, or a pattern with `*` -> its price, before the list prices that lensbench knows; the first
    pattern that matches is used."""
    preflight: Preflight = Preflight()
    """What is checked before the first run."""
    sandbox: Literal["auto", "bubblewrap", "none"] = "auto"
    """Isolates agents from your files, the criteria and each other; `auto`: bubblewrap where it works, else none."""
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
    """Limits other than cores."""
    archive: Archive = Archive()
    """What `lensbench archive` writes."""
    fail_on: Annotated[Many[VerdictName], _ONE_OR_MANY] = ()
    """Verdicts that make the start exit with code 1, after everything is written."""
    only: Many[str] = ()
    """Make the runs of these tasks only (`lensbench run --only <task>`); no setting of the experiment."""
    accept_changes: Switch = False
    """Continue although the experiment's settings changed after the first run that counts; the results state this."""
    imported: Switch = False
    """The runs were made elsewhere: broken rules are warnings."""
    warnings: Many[str] = ()
    """What was found at the import, shown in the results. Only with `imported`."""

    @model_validator(mode="before")
    @classmethod
    def _rungs_of_the_ladder(cls, value: Any) -> Any:
        """The conditions that `ladder` means; the keys of one that is written go first."""
        ladder = _of_a_name(value.get("ladder")) if isinstance(value, dict) else None
        if not isinstance(ladder, dict) or not isinstance(value.get("conditions", {}), dict):
            return value
        agent = value.get("agent") if isinstance(value.get("agent"), dict) else {}
        program = programs().get(str(agent.get("kind")))
        file = (program and program.words) or "AGENTS.md"
        words: dict[str, Any] = {}
        if ladder.get("words"):
            words["files"] = {file: ladder["words"]}
        if ladder.get("skills"):
            words["skills"] = ladder["skills"]
        server = {"mcp": ladder.get("mcp")}
        tools = [tool for tool in agent.get("tools", Agent().tools) or () if tool not in SEARCH]
        both = server | words
        conditions = {
            "without": {},
            "server": server,
            "words": words,
            "both": both,
        }
        if _plain(ladder.get("only")) is True:
            conditions["only"] = both | {"agent": {"tools": tools}}
        return {**value, "conditions": _with_written(conditions, value)}

    @model_validator(mode="before")
    @classmethod
    def _members_of_the_ablation(cls, value: Any) -> Any:
        """The conditions that `ablate` means; the keys of one that is written go first."""
        ablation = value.get("ablate") if isinstance(value, dict) else None
        if not isinstance(ablation, dict) or not isinstance(value.get("conditions", {}), dict):
            return value
        conditions = _with_written(conditions_of(ablation), value)
        return {"baseline": EVERYTHING, **value, "conditions": conditions}

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
