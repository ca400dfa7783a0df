"""The config: what a user may write, its defaults, and one clear message for everything that is wrong with it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, ValidationError, model_validator

from lensbench.conditions import CLOSED_BOOK
from lensbench.documents import Document, DocumentError, KeyPath, read_document
from lensbench.errors import UserError
from lensbench.scenario_files import source_problem
from lensbench.scenarios import Many, Source, Strict, like
from lensbench.services import service_of
from lensbench.validation import explain, has


def _plain(value: Any) -> Any:
    """What `--config accept_changes=true 'discards={max_rounds: 1}'` means, which reaches us as text."""
    text = value.lower() if isinstance(value, str) else ""
    return json.loads(text) if re.fullmatch(r"true|false|0|[1-9][0-9]{0,9}(\.[0-9]{1,9})?", text) else value


Switch = Annotated[bool, BeforeValidator(_plain)]
Whole = Annotated[int, BeforeValidator(_plain)]
Number = Annotated[float, BeforeValidator(_plain), Field(strict=False)]

ConditionName = Annotated[str, like(r"^[a-z][a-z0-9_]{0,31}$", "a condition is named with a-z, 0-9 and '_'")]


DEFAULT_CACHE = ".cache/repositories"
ZAI_MODELS = {"sonnet": "glm-5", "haiku": "glm-5", "opus": "glm-5"}


class Condition(Strict):
    """A named arm of the experiment. Everything but its tools is the same in all conditions."""

    mcp: str | None = None
    """MCP file (`{"mcpServers": ...}`) with the servers that this condition has; none by default."""
    tools: Many[str] = ()
    """The tools that its servers must list, no more and no fewer; not compared when empty."""
    setup: Many[str] = ()
    """Command that tells a running server of each run's `{workspace}`; outside the timed part."""
    teardown: Many[str] = ()
    """Command that tells the server that the workspace goes away."""
    setup_s: Annotated[Number, Field(gt=0)] = 120
    """How long `setup` and `teardown` may take, each."""


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
    version: str = ""
    """The version that the program must say it has; unpinned when empty, which the results warn of."""
    provider: Literal["", "zai", "custom"] = ""
    """Which gateway serves the model: the agent's own default, `zai`, or `custom` with `base_url`."""
    base_url: str = ""
    """The gateway's address."""
    token_env: str = ""
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
    pass_env: Many[str] = ()
    """Names of environment variables that reach the agent. Their values are never written anywhere."""

    @model_validator(mode="before")
    @classmethod
    def _models_of_the_provider(cls, value: Any) -> Any:
        """Z.AI serves one model under all names (protocol, section 5); what a user writes goes first."""
        if isinstance(value, dict) and value.get("provider") == "zai" and not value.get("models"):
            return {**value, "models": ZAI_MODELS}
        return value

    @property
    def mapping(self) -> dict[str, str]:
        """The model mapping of timing.csv's header row."""
        return self.models or {self.model or self.kind: self.model or "none"}


MECHANICAL: Final = "mechanical"
HUMAN: Final = "human"


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
    drafts: Switch = False
    """Judge criteria without patterns by patterns that a machine proposes from their text; the results say so."""


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


Verdict = Literal["GO", "NO-GO", "HARM", "INCONCLUSIVE"]
"""What the gate can say about a treatment."""


class Controls(Strict):
    """Conditions that tell something about the tasks, and are compared with nothing."""

    closed_book: Switch = False
    """Ask every task once more in an empty folder: shows which tasks can be answered without the repository."""


class Limits(Strict):
    """What is scarce beside cores: it changes how fast the runs are made, and nothing else."""

    requests_per_minute: dict[str, Annotated[Whole, Field(ge=1)]] = Field(default={})
    """What a model's service takes, by its name: the host of `base_url`, else `provider`, else the agent's kind."""
    agent_requests: Annotated[Whole, Field(ge=1)] | None = None
    """Requests a minute of one agent at work; null: as in the runs so far, 12 before there are any."""
    clients: dict[str, Annotated[Whole, Field(ge=1)]] = Field(default={})
    """Runs that an MCP server bears at a time, by its name in the MCP file."""


class Archive(Strict):
    """What `snakemake archive` writes."""

    sign_key: str = ""
    """An ed25519 private key in PEM; the archive is not signed when empty."""
    allow: Many[str] = ()
    """Findings that may be in the archive although they look like a secret or a name: the ids that it printed."""


class Discards(Strict):
    """What happens to runs that must not count."""

    max_rounds: Annotated[Whole, Field(ge=0, le=20)] = 3
    """How often a discarded run is repeated by a later start before it is given up."""


class Budget(Strict):
    """What the benchmark may cost. At a limit no new attempt starts, running ones end, and the results say so."""

    max_usd: Annotated[Number, Field(gt=0)] | None = None
    """US dollars, by the agent's own word; agents that do not tell their cost spend nothing."""
    max_runs: Annotated[Whole, Field(ge=1)] | None = None
    """Starts of the agent, further attempts included."""
    max_hours: Annotated[Number, Field(gt=0)] | None = None
    """Hours of agents' work, all attempts added up."""


class Preflight(Strict):
    """What is tried at every start that makes runs, before the first of them."""

    servers: Switch = True
    """Start every condition's MCP servers, and call one tool of each."""
    request: Switch = True
    """Ask the model's gateway for one token, for agents that say how."""


class StartGate(Strict):
    """The conditions of a task start at the same moment."""

    limit_s: Annotated[Number, Field(ge=0)] = 900
    """How long a run waits for its partner; 0 switches the gate off."""


Judge = Annotated[
    Annotated[Literal["mechanical", "human"], Tag("judge name")] | Annotated[ModelJudge, Tag("judge model")],
    Discriminator(lambda value: "judge model" if isinstance(value, (dict, ModelJudge)) else "judge name"),
]


class Config(Strict):
    """Everything that a user can set."""

    run_id: Annotated[str, like(r"^[A-Za-z0-9][A-Za-z0-9-]{0,63}$", "use letters, digits and '-' only, at most 64")]
    """Names the run folder, `bench/<run_id>`."""
    scenarios: str | Many[str]
    """The task set, or several: YAML, or Markdown in the protocol's form."""
    repository: Source | None = None
    """The repository of tasks that name none (Markdown sets)."""
    conditions: dict[ConditionName, Condition]
    """The arms; one of them is the baseline, the others are treatments."""
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
    preflight: Preflight = Preflight()
    """What is tried before the first run."""
    start_gate: StartGate = StartGate()
    """The conditions of a task start at the same moment."""
    sandbox: Literal["auto", "bubblewrap", "none"] = "auto"
    """What keeps agents away from everything but their workspace; `auto`: bubblewrap where it works, else none."""
    sandbox_visible: Many[str] = ()
    """Further folders and files that agents may read in the sandbox."""
    cache: str = DEFAULT_CACHE
    """Where fetched repositories are kept."""
    part: Annotated[str, like(r"^([1-9][0-9]?/[1-9][0-9]?)?$", "write 1/3 for the first of three parts")] = ""
    """The part of the runs that this machine makes, such as `1/3`; all when empty."""
    limits: Limits = Limits()
    """What is scarce beside cores."""
    archive: Archive = Archive()
    """What `snakemake archive` writes."""
    fail_on: Annotated[Many[Verdict], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)] = ()
    """Verdicts of the gate with which Snakemake ends with exit code 1, after everything is written."""
    prompt: str = ""
    """What `snakemake eval` asks."""
    repo: str = ""
    """What it asks about (a path; the current folder when empty), or `snakemake scenarios` does (or a git URL)."""
    tasks: Annotated[Whole, Field(ge=1, le=200)] = 12
    """How many tasks `snakemake scenarios` writes."""
    accept_changes: Switch = False
    """Go on although the experiment's settings changed after its first valid run; the results will say so."""
    imported: Switch = False
    """The runs were made elsewhere: what breaks our rules is taken with a warning."""
    warnings: Many[str] = ()
    """What was found at the import; it stands in the results. Only with `imported`."""

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


def load_config(given: Mapping[str, Any], files: Iterable[str] = ()) -> Config:
    """The checked config. `given` is what Snakemake merged from `files` and `--config`.

    Raises UserError with one line per problem: file and line (or `--config`), key, what is wrong, what to write.
    """
    documents = [read_file(name) for name in files]
    value: dict[str, Any] = json.loads(json.dumps(given, default=str))  # Snakemake's mappings and dates as plain data

    def place(path: KeyPath) -> str:
        return _place(path, value, documents)

    try:
        config = Config.model_validate(value)
    except ValidationError as error:
        raise UserError("\n".join(explain(error, Config, value, place))) from None
    problems = [f"{place(path)}: {message}" for path, message in _problems(config)]
    if problems:
        raise UserError("\n".join(problems))
    return config


def read_config(path: Path) -> Config:
    """The config in a file, for what needs no task sets: they need not be there. Raises UserError."""
    _, document = read_file(str(path))
    value = document.value
    return load_config({**value, "scenarios": []} if isinstance(value, dict) else value, [str(path)])


def read_file(name: str) -> tuple[str, Document]:
    """A config file, by the name to show: relative when it lies below the current folder. Raises UserError."""
    relative = os.path.relpath(name)
    shown = name if relative.startswith("..") else relative
    try:
        return shown, read_document(Path(name))
    except DocumentError as error:
        raise UserError(f"{shown}:{error.line}: {error}") from None
    except OSError as error:
        raise UserError(f"{shown}: cannot be read: {error.strerror}") from None


def _place(path: KeyPath, value: Any, documents: list[tuple[str, Document]]) -> str:
    """Where a key of the config stands: the last file that has it (with this value), or the command line.

    A key that nobody gave stands where the key around it does.
    """
    given: KeyPath = ()
    for part in path:
        if not has(value, part):
            break
        value, given = value[part], (*given, part)
    for name, document in reversed(documents if given else ()):
        if given in document.lines and (isinstance(value, (dict, list)) or str(document.at(given)) == str(value)):
            return f"{name}:{document.lines[given]}"
    return "--config" if given or not documents else documents[-1][0]


def _problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    """What the types alone cannot say: names that must agree, files and folders that must be there."""
    names = ", ".join(config.conditions)
    if problem := source_problem(config.repository):
        yield ("repository",), f"repository: {problem}"
    if config.baseline not in config.conditions:
        yield ("baseline",), f"baseline is {config.baseline!r}, which is not one of the conditions ({names})"
    if len(config.conditions) < 2:
        text = f"conditions has only {names or 'nothing'}; a comparison needs a baseline and a treatment"
        yield ("conditions",), text
    if CLOSED_BOOK in config.conditions:
        text = f"conditions has {CLOSED_BOOK!r}, the name of a control; write controls: {{closed_book: true}} instead"
        yield ("conditions", CLOSED_BOOK), text
    for name, condition in config.conditions.items():
        if condition.mcp is not None:
            problem = mcp_problem(Path(condition.mcp))
            if problem:
                yield ("conditions", name, "mcp"), f"conditions.{name}.mcp: {condition.mcp} {problem}"
    for index, scenario_file in enumerate(config.scenario_files):
        if not Path(scenario_file).is_file():
            yield ("scenarios", index), f"scenarios: there is no file {scenario_file}; write the path of a task set"
    prompts = [judge.prompt for judge in config.judges if isinstance(judge, ModelJudge)]
    for path in (*config.scenario_files, *(condition.mcp or "" for condition in config.conditions.values()), *prompts):
        if set("{}") & set(path):
            yield (), f"{path} has a brace in its name, which Snakemake takes for a wildcard; rename the file"
    if config.agent.kind in ("command", "command-events") and not config.agent.command:
        needs = f"agent.command is missing; kind {config.agent.kind!r} needs the program and its arguments"
        yield ("agent", "command"), needs
    kinds = known_kinds()
    if config.agent.kind not in kinds:
        yield ("agent", "kind"), f"agent.kind is {config.agent.kind!r}; known are {', '.join(kinds)}"
    for index, path in enumerate(config.sandbox_visible):
        if not Path(path).expanduser().exists():
            yield ("sandbox_visible", index), f"sandbox_visible: there is no {path}; write an existing folder or file"
    if config.imported and config.agent.kind != "none":
        text = (
            f"imported is true, but agent.kind is {config.agent.kind!r}; imported runs cannot be made again: write none"
        )
        yield ("imported",), text
    if config.warnings and not config.imported:
        yield ("warnings",), "warnings are those of an import; remove the key, or set imported: true"
    number, of = parts_of(config.part)
    if number > of:
        yield ("part",), f"part is {config.part!r}; the last of {of} parts is '{of}/{of}'"
    if of > 1 and config.gate.looks > 1:
        text = "part does not go with gate.looks: a look needs all runs of its waves; write gate: {looks: 1}"
        yield ("part",), text
    yield from _judge_problems(config)
    yield from _limit_problems(config)
    if config.gate.looks > 1 and config.gate.over == "trials" and config.gate.looks != config.trials:
        text = f"gate.looks is {config.gate.looks} over {config.trials} trials; with over: trials, each trial is a look"
        yield ("gate", "looks"), text


def judge_names(judges: Iterable[Any]) -> list[str]:
    """The names of the configured judges, as in verdicts.csv."""
    return [judge.shown_name if isinstance(judge, ModelJudge) else judge for judge in judges]


def _judge_problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    names = judge_names(config.judges)
    if not names:
        yield ("judges",), "judges is empty; write [mechanical]"
    for index, (judge, name) in enumerate(zip(config.judges, names, strict=True)):
        if name in names[:index]:
            yield ("judges", index), f"judges has {name!r} twice; give one of them another name"
        if not isinstance(judge, ModelJudge):
            continue
        if name in (MECHANICAL, HUMAN) or name.startswith(f"{HUMAN}-"):
            yield ("judges", index, "name"), f"a model judge cannot be named {name!r}; give it another name"
        kinds = [kind for kind in known_kinds() if kind not in ("none", "offline")]
        if judge.agent.kind not in kinds:
            text = f"judges: agent.kind is {judge.agent.kind!r}; a judge can be {', '.join(kinds)}"
            yield ("judges", index, "agent", "kind"), text
        if judge.agent.kind in ("command", "command-events") and not judge.agent.command:
            text = f"judges: agent.command is missing; kind {judge.agent.kind!r} needs the program and its arguments"
            yield ("judges", index, "agent", "command"), text
        if judge.prompt and not Path(judge.prompt).is_file():
            yield ("judges", index, "prompt"), f"judges: there is no file {judge.prompt}; write the path of a template"


def parts_of(part: str) -> tuple[int, int]:
    """The number of a part (from 1), and how many there are."""
    number, _, of = part.partition("/")
    return (int(number), int(of)) if part else (1, 1)


def _limit_problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    """A limit on something that nobody uses is a slip of the pen, and would limit nothing."""
    judges = [judge.agent for judge in config.judges if isinstance(judge, ModelJudge)]
    services = sorted({service_of(agent.model_dump()) for agent in (config.agent, *judges)})
    servers = sorted({server for condition in config.conditions.values() for server in servers_of(condition)})
    for key, known in (("requests_per_minute", services), ("clients", servers)):
        for name in getattr(config.limits, key):
            if name not in known:
                text = f"limits.{key} has {name!r}, which nobody uses; write one of {', '.join(known) or '(none)'}"
                yield ("limits", key, name), text


def servers_of(condition: Condition) -> list[str]:
    """The names of a condition's MCP servers; none when its file is wrong."""
    if condition.mcp is None or mcp_problem(Path(condition.mcp)):
        return []
    return sorted(json.loads(Path(condition.mcp).read_text())["mcpServers"])


def known_kinds() -> tuple[str, ...]:
    """What `agent.kind` may be: the adapters that are there, and `none`."""
    folder = Path(__file__).parent / "agents"
    adapters = sorted(file.stem.replace("_", "-") for file in folder.glob("[a-z]*.py"))
    return (*adapters, "none")


_SERVER = re.compile(r"(?!.*__)[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
_ENTRY_KEYS = {"type", "command", "args", "env", "url", "headers", "timeout", "alwaysLoad"}


def mcp_problem(path: Path) -> str:
    """What is wrong with an MCP file, as the end of a sentence that begins with its name; "" when nothing is.

    Agents ignore an entry with a misspelt key in silence, and a run WITH would become a run WITHOUT.
    """
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        return "is not there; write the path of an MCP file, or leave the key out for a condition without servers"
    except (OSError, ValueError, RecursionError):
        content = None
    entries = content.get("mcpServers") if isinstance(content, dict) else None
    if not isinstance(entries, dict):
        return 'is not an MCP file; it must be JSON of the form {"mcpServers": {"<name>": {"command": ...}}}'
    if not entries:
        return "names no server; leave the key out for a condition without servers"
    for name, entry in entries.items():
        if not _SERVER.fullmatch(name):
            return f"names a server {name!r}; use letters, digits, '-' and single '_' only, at most 64"
        if not isinstance(entry, dict) or ("command" in entry) == ("url" in entry):
            return f"must give server {name!r} either a command or a url"
        if not isinstance(entry.get("command", entry.get("url")), str) or not _is_texts(entry.get("args", [])):
            return f"must give server {name!r} a command or url that is text, and args that are a list of texts"
        unknown = sorted(set(entry) - _ENTRY_KEYS)
        if unknown:
            return f"gives server {name!r} the key {unknown[0]!r}, which agents ignore; known are " + ", ".join(
                sorted(_ENTRY_KEYS)
            )
    return ""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
