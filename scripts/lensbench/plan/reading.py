"""Reads a config, and reports everything that is wrong with it, with places, in one message."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from lensbench.agents import can_filter, known_kinds, programs
from lensbench.agents.services import service_of
from lensbench.core.conditions import CLOSED_BOOK
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.frozen_plan import GIVEN, HUMAN, MECHANICAL, TESTS
from lensbench.core.handed_over import encoding_of
from lensbench.core.pasted import pasted
from lensbench.core.system.yaml_places import Document, DocumentError, KeyPath, parse_document
from lensbench.plan import own_files
from lensbench.plan.ablation import condition_name, parts_of
from lensbench.plan.config import (
    MOST_ABLATED_TOOLS,
    MOST_MEMBERS,
    Ablation,
    Agent,
    Condition,
    Config,
    ModelJudge,
    judge_names,
)
from lensbench.plan.own_files import condition_files, mcp_problem, misplaced, servers_of
from lensbench.plan.task_files import source_problem
from lensbench.plan.validation import explain, has
from lensbench.plan.words import words_problem


def load_config(settings: Mapping[str, Any], files: Iterable[str] = ()) -> Config:
    """The validated config of `settings`, the mapping that Snakemake merged from `files` and `--config`. Raises
    UserError with a line per problem: file and line (or `--config`), key, what is wrong, what to write."""
    files = list(map(str, files))
    documents = [read_file(name) for name in files]
    # Converts Snakemake's mappings and dates to plain data.
    value: dict[str, Any] = json.loads(json.dumps(settings, default=str))

    def place(path: KeyPath) -> str:
        return _place(path, value, documents)

    try:
        config = Config.model_validate(value)
    except ValidationError as error:
        raise UserError("\n".join(explain(error, Config, value, place))) from None
    problems: list[str] = []
    for path, text in problems_of(config, files):
        if " ~/" in text:
            text = f"{text}; write the whole path: ~ is not replaced here"
        problems.append(f"{place(path)}: {text}")
    if problems:
        raise UserError("\n".join(problems))
    return config


def read_config(path: Path) -> Config:
    """The config in a file, for uses without task sets. Raises UserError for an invalid config."""
    _, document = read_file(str(path))
    return load_config({**document.value, "scenarios": []}, [str(path)])


def read_file(name: str) -> tuple[str, Document]:
    """A config file, a mapping, and its name for messages, relative if below the current folder. Raises UserError, with
    file, line and column, for one that a start cannot read."""
    relative = os.path.relpath(name)
    place = name if relative.startswith("..") else relative
    try:
        content = Path(name).read_bytes()
        if encoding_of(content) in ("utf-16", "utf-32"):
            raise DocumentError(
                "is UTF-16 or UTF-32, which Snakemake does not read; save it as UTF-8"
            )
        document = parse_document(content)
        if document.value is None:
            raise DocumentError(
                "is empty; `lensbench init` writes a config, docs/tutorial.md shows one"
            )
        if not isinstance(document.value, dict):
            raise DocumentError("must be a mapping of keys to values, such as `run_id: demo`")
        for path, line in document.lines.items():
            value = document.at(path)
            why = pasted(value) if isinstance(value, str) else ""
            if why:
                raise DocumentError(why, line)
        return place, document
    except DocumentError as error:
        raise UserError(f"{place}:{error.line}: {error}") from None
    except OSError as error:
        hint = ""
        if isinstance(error, FileNotFoundError):
            hint = "; `lensbench init` writes one, or name it: --configfile"
        raise UserError(f"{place}: cannot be read: {error.strerror}{hint}") from None


def _place(path: KeyPath, value: Any, documents: list[tuple[str, Document]]) -> str:
    """The place of a key in the config: the last file that has it (with this value), or the command line; of a missing
    key, that of the key around it."""
    known: KeyPath = ()
    for part in path:
        if not has(value, part):
            break
        value = value[part]
        known = (*known, part)
    if not known and documents:
        return documents[-1][0]
    for name, document in reversed(documents):
        if known in document.lines:
            is_section = isinstance(value, (dict, list))
            if is_section or str(document.at(known)) == str(value):
                return f"{name}:{document.lines[known]}"
    return "--config"


_OF_A_KIND = (
    "command",
    "model",
    "provider",
    "models",
    "served",
    "version",
    "base_url",
    "token_env",
    "pass_env",
)
"""Keys of the agent that mean something for one kind of program only."""

_CHOOSING = ("claude-code", "gemini", "opencode")
"""Kinds of agents whose built-in tools can be chosen."""


def problems_of(config: Config, config_files: Iterable[str] = ()) -> Iterable[tuple[KeyPath, str]]:
    """The problems, each with its key in the config. `config_files`: the files that the config was read from."""
    yield from misplaced(config, config_files)
    agent = config.agent
    conditions = config.conditions
    gate = config.gate
    ladder = config.ladder
    names = ", ".join(conditions)
    problem = source_problem(config.repository)
    if problem:
        yield ("repository",), f"repository: {problem}"
    if conditions and config.baseline not in conditions:
        hint = did_you_mean(config.baseline, conditions)
        yield (
            ("baseline",),
            f"baseline is {config.baseline!r}, which is not one of the conditions ({names}){hint}",
        )
    if len(conditions) < 2:
        having = "is empty"
        if names:
            having = f"has only {names}"
        yield ("conditions",), f"conditions {having}; a comparison needs a baseline and a treatment"
    yield from _twins(config)
    if config.ablate and _has_its_files(config.ablate):
        yield from _ablation_problems(config.ablate)
    if CLOSED_BOOK in conditions:
        text = f"conditions has {CLOSED_BOOK!r}, the name of a control; write controls: {{closed_book: true}} instead"
        yield ("conditions", CLOSED_BOOK), text
    yield from _condition_problems(config)
    for index, scenario_file in enumerate(config.scenario_files):
        if not Path(scenario_file).is_file():
            yield (
                ("scenarios", index),
                f"scenarios: there is no file {scenario_file}; write the path of a task set",
            )
    prompts = [judge.prompt for judge in config.judges if isinstance(judge, ModelJudge)]
    for path in (*config.scenario_files, *condition_files(config), *prompts):
        if set("{}") & set(path):
            yield (
                (),
                f"{path} has a brace in its name, which Snakemake takes for a wildcard; rename the file",
            )
    keys = [key for key in _OF_A_KIND if key in agent.model_fields_set]
    if keys and "kind" not in agent.model_fields_set:
        text = f"agent.{keys[0]} is given, but agent.kind is missing; write the agent's kind, such as claude-code"
        yield ("agent", keys[0]), text
    yield from agent_problems(agent, "agent", ("agent",), known_kinds())
    for index, path in enumerate(config.sandbox_visible):
        file = Path(path).expanduser()
        if not file.exists():
            yield (
                ("sandbox_visible", index),
                f"sandbox_visible: there is no {file}; write an existing folder or file",
            )
    if config.imported and agent.kind != "none":
        text = (
            f"imported is true, but agent.kind is {agent.kind!r};"
            " imported runs cannot be repeated: write none"
        )
        yield ("imported",), text
    if ladder and not (ladder.words or ladder.skills):
        yield (
            ("ladder",),
            "ladder.words is missing; write the file with the words that come with the server",
        )
    if ladder and ladder.only and agent.kind not in _CHOOSING:
        text = f"ladder.only is not possible for agent.kind {agent.kind!r}, whose tools cannot be chosen"
        yield ("ladder", "only"), text
    if config.warnings and not config.imported:
        yield (
            ("warnings",),
            "warnings is only for imported runs; remove the key, or set imported: true",
        )
    yield from _comparison_problems(config)
    yield from _judge_problems(config)
    yield from _limit_problems(config)
    if gate.holdout is not None:
        described = any(condition.describe for condition in conditions.values())
        if not described or conditions[config.baseline].describe:
            text = "gate.holdout confirms a choice of words; write describe in treatments, not in the baseline"
            yield ("gate", "holdout"), text
        if gate.looks > 1:
            yield ("gate", "holdout"), "gate.holdout needs all tasks; remove gate.looks"
    is_over_trials = gate.looks > 1 and gate.over == "trials"
    if is_over_trials and gate.looks != config.trials:
        text = f"gate.looks is {gate.looks} over {config.trials} trials; with over: trials, each trial is a look"
        yield ("gate", "looks"), text


def _condition_problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    for name, condition in config.conditions.items():
        place = f"conditions.{name}"
        if condition.mcp is not None:
            problem = mcp_problem(Path(condition.mcp))
            if problem:
                yield ("conditions", name, "mcp"), f"{place}.mcp: {condition.mcp} {problem}"
            for server in condition.errors.keys() - servers_of(condition):
                text = f"{place}.errors: {condition.mcp} has no {server!r}"
                yield ("conditions", name, "errors", server), text
        yield from _unknown_members(name, condition)
        problem = _words_problem(config, condition)
        if problem:
            yield ("conditions", name, "describe"), f"{place}.describe: {problem}"
        problem = _filter_problem(config, condition)
        if problem:
            yield ("conditions", name, "tools"), f"{place}.tools {problem}"
        for key, problem in own_files.problems(condition, config.agent.kind):
            path = ("conditions", name, *key)
            yield path, f"{'.'.join(map(str, path))} {problem}"


def _twins(config: Config) -> Iterable[tuple[KeyPath, str]]:
    """A treatment that is the baseline under another name would be a benchmark of nothing."""
    baseline = config.conditions.get(config.baseline)
    for name in config.treatments if config.agent.kind != "none" else ():
        if config.conditions[name] == baseline:
            what = "has no server"
            if baseline.mcp:
                what = f"has the same servers as {config.baseline!r}"
            text = f"conditions.{name} {what}; write mcp: <file> in the treatment, and not in the baseline"
            yield ("conditions", name), text


def _unknown_members(name: str, condition: Condition) -> Iterable[tuple[KeyPath, str]]:
    """What a condition goes without although it does not have it."""
    if not condition.without or not _has_its_files(condition):
        return
    known = own_files.members(condition)
    for index, member in enumerate(condition.without):
        if member not in known:
            hint = did_you_mean(member, known)
            text = f"conditions.{name}.without has {member!r}, which it does not have{hint}"
            yield ("conditions", name, "without", index), text


def _words_problem(config: Config, condition: Condition) -> str:
    """Why a condition cannot have its other words for servers; "" when it can, and without any."""
    if not condition.describe:
        return ""
    if config.agent.tee is False:
        return "the tee puts the words in; remove agent.tee: false"
    if condition.mcp and mcp_problem(Path(condition.mcp)):
        return ""  # said of the MCP file
    return words_problem(Path(condition.describe), condition.mcp)


def _filter_problem(config: Config, condition: Condition) -> str:
    """Why a condition cannot have a part of its servers' tools, as the end of a sentence; "" when it can, or has
    all of them."""
    if not condition.filter:
        return ""
    kind = config.agent.kind
    if not can_filter(kind):
        able = ", ".join(other for other in known_kinds() if can_filter(other))
        return (
            f"is not possible for agent.kind {kind!r}, which has no filter; kinds with one: {able}"
        )
    if not condition.mcp:
        return "is a part of no server; write mcp: <file> beside it, or remove it"
    if not config.preflight.servers:
        return "needs the servers' tool lists; remove preflight.servers: false"
    return ""


def _has_its_files(named: Ablation | Condition) -> bool:
    """Whether the members can be read; what is missing is said once, and not of each member."""
    if named.mcp is not None and mcp_problem(Path(named.mcp)):
        return False
    return not named.skills or Path(named.skills).is_dir()


def _ablation_problems(ablation: Ablation) -> Iterable[tuple[KeyPath, str]]:
    """What is wrong with the members of an ablation: too few, too many, or two of one name."""
    parts = parts_of(ablation.model_dump())
    if len(parts) < 2:
        what = "name two servers, skills, files or tools, or write two conditions"
        yield ("ablate",), f"ablate has {', '.join(parts) or 'no member'}; {what}"
    most = MOST_ABLATED_TOOLS if ablation.tools else MOST_MEMBERS
    noun = "tools" if ablation.tools else "members"
    if len(parts) > most:
        text = (
            f"ablate has {len(parts)} {noun}, which makes {len(parts) + 2} runs of every task; {most} are possible:"
            " leave some out together, groups: {search: [a, b]}"
        )
        yield ("ablate",), text
    seen: dict[str, str] = {}
    for part in parts:
        name = condition_name(part)
        if name in seen:
            text = f"ablate: {part!r} and {seen[name]!r} would both be the condition {name}; give one a name in groups"
            yield ("ablate",), text
        seen[name] = part


def agent_problems(
    agent: Agent, name: str, path: KeyPath, kinds: Sequence[str]
) -> Iterable[tuple[KeyPath, str]]:
    """What is wrong with an agent of one of these kinds."""
    if agent.kind not in kinds:
        text = f"{name}.kind is {agent.kind!r}; known are {', '.join(kinds)}"
        yield (*path, "kind"), text + did_you_mean(agent.kind, kinds)
    if agent.kind in ("acp", "command", "command-events") and not agent.command:
        text = f"{name}.command is missing; kind {agent.kind!r} needs the program and its arguments"
        yield (*path, "command"), text
    if agent.base_url and not agent.provider and agent.kind in programs():
        text = f"{name}.base_url is not read without agent.provider; write provider: custom, or remove base_url"
        yield (*path, "base_url"), text


def _comparison_problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    pairs: set[frozenset[str]] = set()
    for index, text in enumerate(config.gate.comparisons):
        sides = text.split(" against ")
        place = ("gate", "comparisons", index)
        for name in sides:
            if name == config.baseline:
                yield (
                    place,
                    f"gate.comparisons has {text!r}; each treatment has a verdict against {name!r} anyway",
                )
            elif name not in config.conditions:
                hint = did_you_mean(name, config.treatments)
                yield (
                    place,
                    f"gate.comparisons has {text!r}, and {name!r} is not one of the conditions{hint}",
                )
        if len({*sides}) < 2 or frozenset(sides) in pairs:
            yield (
                place,
                f"gate.comparisons has {text!r}; name two different treatments, each pair once",
            )
        pairs.add(frozenset(sides))


def _judge_problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    names = judge_names(config.judges)
    if not names:
        yield ("judges",), "judges is empty; write [mechanical]"
    for index, (judge, name) in enumerate(zip(config.judges, names, strict=True)):
        place = ("judges", index)
        if name == GIVEN and not config.imported:
            text = "judges has 'given', which only `lensbench verdict` writes; write mechanical"
            yield place, text
        if name in names[:index]:
            yield place, f"judges has {name!r} twice; give one of them another name"
        if not isinstance(judge, ModelJudge):
            continue
        if config.judging.private:
            text = f"judges has the model {name!r}, which would see answers, but judging.private is true"
            yield place, f"{text}; remove one of them (docs/sent.md)"
        if name in (MECHANICAL, HUMAN, TESTS, GIVEN) or name.startswith(f"{HUMAN}-"):
            yield (
                (*place, "name"),
                f"a model judge cannot be named {name!r}; give it another name",
            )
        kinds = [kind for kind in known_kinds() if kind not in ("none", "offline")]
        yield from agent_problems(judge.agent, "judges: agent", (*place, "agent"), kinds)
        if judge.prompt and not Path(judge.prompt).is_file():
            yield (
                (*place, "prompt"),
                f"judges: there is no file {judge.prompt}; write the path of a template",
            )


def _limit_problems(config: Config) -> Iterable[tuple[KeyPath, str]]:
    """A limit on an unused name is a typo, which must not silently disable the limit."""
    judges = [judge.agent for judge in config.judges if isinstance(judge, ModelJudge)]
    services = sorted({service_of(agent.settings) for agent in (config.agent, *judges)})
    servers: set[str] = set()
    for condition in config.conditions.values():
        servers.update(servers_of(condition))
    for key, names in (("requests_per_minute", services), ("clients", sorted(servers))):
        for name in getattr(config.limits, key):
            if name not in names:
                text = f"limits.{key} has {name!r}, which is not used; write one of {', '.join(names) or '(none)'}"
                yield ("limits", key, name), text + did_you_mean(name, names)
