"""Conditions: their MCP servers, and the commands that register a workspace with a running server."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, NamedTuple

from typing_extensions import ReadOnly, TypedDict

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan, PlannedCondition, ToolFilter
from lensbench.core.handed_over import text_of
from lensbench.core.records import sha256
from lensbench.core.system.processes import run_process
from lensbench.core.system.redaction import is_secret, literal_secrets

CLOSED_BOOK = "closed_book"
"""The name of the closed-book control: the same prompt in an empty folder, without servers. It is not compared."""
MAX_CONDITION = 32
"""Characters of a condition's name."""
NO_SERVERS = '{"mcpServers": {}}\n'
LONGEST_LINE = 300

TOKEN = "token"
"""The name in an MCP file's entry for what its `token_command` prints."""
OF_THE_RUN = ("workspace", "python", "server_log", "here", TOKEN)
"""The names in MCP files that mean something of a run; all others are environment variables."""
_NAME = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)")
_DEFAULT = r"(?:[^}$]|\$(?!\{)|\$\{[^{}]*+\})*+"
for _ in range(7):  # defaults in defaults
    _DEFAULT = rf"(?:[^}}$]|\$(?!\{{)|\$\{{(?:[^{{}}]*+|\w+:-{_DEFAULT})\}})*+"
_VARIABLE = re.compile(rf"\$\{{([A-Za-z_][A-Za-z0-9_]*)(?::-({_DEFAULT}))?\}}")

_OF_NO_SERVER = re.compile(
    r"\W.*|\w+=.*|[\d.]+[smhd]?|(python|pypy)[\d.]*|node(js)?|deno|bunx?|npx|p?npm|yarn|uvx?|pipx|env|sudo|nice"
    r"|timeout|exec|run|x|dlx|tool|(ba|z|da)?sh|docker|podman|java|dotnet|go|ruby|perl|php|index|main|cli|start|app"
)
"""Words of a command line that name no server's program, or many."""
_VERSION = re.compile(r"[@=<>\[.:].*")

Command = Literal["setup", "teardown"]


def compared(plan: Plan) -> dict[str, PlannedCondition]:
    """The planned conditions without the control."""
    return {
        name: condition for name, condition in plan["conditions"].items() if name != CLOSED_BOOK
    }


class Conditions(TypedDict):
    """What a plan and results say of the conditions."""

    baseline: ReadOnly[str]
    conditions: ReadOnly[Mapping[str, PlannedCondition]]


def display_name(plan: Conditions, condition: str) -> str:
    """What readers call a condition: its server, where it has one that no other condition has, or none, where only the
    baseline has none; else its name."""
    conditions = plan["conditions"]
    servers = conditions[condition]["servers"]
    members = left_out(plan, condition)
    if members:
        brings_nothing = not servers and not conditions[condition].get("files")
        if brings_nothing:
            return "without any of them"
        return f"without {' and '.join(members)}"
    others = [other for name, other in conditions.items() if name not in (condition, CLOSED_BOOK)]
    is_alone = all(other["servers"] != servers for other in others)
    if is_alone and condition == plan["baseline"] and not servers:
        return "without a server"
    if is_alone and len(servers) == 1 and servers[0] not in conditions:
        return servers[0]
    return condition


def left_out(plan: Conditions, condition: str) -> list[str]:
    """What a condition goes `without`: servers, skills and files, and tools of servers that the baseline has, too."""
    own = plan["conditions"][condition]
    members = [*own.get("without", ())]
    tools = own.get("tools", {})
    if tools and own["mcp_sha256"] == plan["conditions"][plan["baseline"]]["mcp_sha256"]:
        members += tools.get("without", ())
    return members


def is_named(full_name: str, name: str) -> bool:
    """Whether a name, with or without `mcp__<server>__`, is that of a tool."""
    return name in (full_name, full_name.split("__", 2)[-1])


def filtered_out(tools: ToolFilter, listing: Iterable[str]) -> list[str]:
    """Those of the listed tools, by their full names, that a filter leaves out."""
    has_only = "only" in tools
    names = [name for own in tools.values() for name in own]
    excluded = []
    for full_name in listing:
        is_of_filter = any(is_named(full_name, name) for name in names)
        if is_of_filter != has_only:
            excluded.append(full_name)
    return excluded


def of_condition(plan: Conditions, condition: str) -> str:
    """`with lens`, `without a server`, or `of the condition v2`: whose runs they are, in a sentence."""
    name = display_name(plan, condition)
    if name.startswith("without "):
        return name
    return f"of the condition {name}" if name == condition else f"with {name}"


def treatments(plan: Plan) -> list[str]:
    """The conditions that are compared with the baseline."""
    return [name for name in compared(plan) if name != plan["baseline"]]


class Sides(NamedTuple):
    """The two conditions of a comparison."""

    treatment: str
    baseline: str
    """The benchmark's baseline, or the treatment that takes its place."""


def comparisons(plan: Plan) -> dict[str, Sides]:
    """Every two conditions by the name of their comparison: treatments against the baseline have their own names, and
    two treatments a name such as `v2 against v1`: the one that brings more first, else the later one of the plan, or as
    `gate.comparisons` names them."""
    sides = {name: Sides(name, plan["baseline"]) for name in treatments(plan)}

    def size(name: str) -> tuple[int, int, int]:
        condition = plan["conditions"][name]
        return (
            len(condition.get("files", ())),
            len(condition.get("servers", ())),
            len(condition.get("agent", ())),
        )

    others = [name for name in treatments(plan) if _is_compared_with_others(plan, name)]
    for earlier, later in combinations(sorted(others, key=size), 2):
        is_reverse = f"{earlier} against {later}" in plan["gate"]["comparisons"]
        first, second = (earlier, later) if is_reverse else (later, earlier)
        sides[f"{first} against {second}"] = Sides(first, second)
    return sides


def shown_names(plan: Plan) -> dict[str, str]:
    """What readers call each condition, and each comparison of two treatments: `v2 against v1`."""
    names = {condition: display_name(plan, condition) for condition in plan["conditions"]}
    for name, sides in comparisons(plan).items():
        treatment = names[sides.treatment]
        names.setdefault(name, f"{treatment} against {names[sides.baseline]}")
    return names


def _is_compared_with_others(plan: Plan, treatment: str) -> bool:
    """False for a condition of an ablation, which asks only what leaving something out changes, unless the config
    names a comparison with it."""
    if not left_out(plan, treatment):
        return True
    return any(treatment in name.split(" against ") for name in plan["gate"]["comparisons"])


def decided_comparisons(plan: Plan) -> dict[str, Sides]:
    """The comparisons that the gate decides: all against the baseline, and those that `gate.comparisons` names."""
    names = {*treatments(plan), *plan["gate"]["comparisons"]}
    return {name: sides for name, sides in comparisons(plan).items() if name in names}


def brings(condition: PlannedCondition) -> str:
    """Everything in which a condition may differ from others, with short hashes: `CLAUDE.md (1f0c...)`."""
    parts = []
    for name, digest in {"MCP file": condition["mcp_sha256"], **condition.get("files", {})}.items():
        if digest:
            parts.append(f"{name} ({digest[:12]})")
    words = {
        "setup": condition.get("setup", ()),
        "teardown": condition.get("teardown", ()),
        "writes": condition.get("writes", ()),
        "without": condition.get("without", ()),
    }
    words |= {f"tools {word}": names for word, names in condition.get("tools", {}).items()}
    for word, values in words.items():
        if values:
            parts.append(f"{word} {' '.join(values)}")
    words_sha256 = condition.get("describe", "")
    if words_sha256:
        parts.append(f"other words ({words_sha256[:12]})")
    for key, value in condition.get("agent", {}).items():
        parts.append(f"agent.{key} {value}")
    return ", ".join(parts)


def fill_mcp_file(condition: PlannedCondition, values: Mapping[str, str]) -> str:
    """The MCP file of a planned condition with the names of OF_THE_RUN but `token`, and environment variables replaced:
    it holds secrets. Raises UserError when the file differs from the planned one, or a variable is not set."""
    if condition["mcp"] is None:
        return NO_SERVERS
    content = Path(condition["mcp"]).read_bytes()
    if sha256(content) != condition["mcp_sha256"]:
        raise UserError(f"{condition['mcp']} was changed during the benchmark; start it again")
    if missing := missing_variables([condition]):
        raise UserError(missing[0])
    here = str(Path(condition["mcp"]).resolve().parent)
    file = read_jsonc(content)
    file["mcpServers"] = _kept(file["mcpServers"], condition)
    names = {**os.environ, "here": here, **values}
    names.pop(TOKEN, None)
    return json.dumps(filled(file, names))


def _kept(servers: Mapping[str, Any], condition: PlannedCondition) -> dict[str, Any]:
    """The servers of an MCP file without those that the condition goes without."""
    kept = dict(servers)
    for name in condition.get("without", ()):
        kept.pop(name, None)
    return kept


def read_jsonc(content: bytes) -> Any:
    """JSON as editors write it: with comments, trailing commas and a byte order mark. Raises ValueError."""
    text = text_of(content)
    try:
        return json.loads(text)
    except ValueError as error:
        import json5

        with suppress(ValueError, RecursionError):
            return json5.loads(text)
        raise error


def missing_variables(conditions: Iterable[PlannedCondition]) -> list[str]:
    """The environment variables without default in MCP files that are not set, each with its file and the remedy."""
    missing: dict[str, str] = {}
    for file, servers in mcp_servers(conditions):
        for name in (name for text in texts_in(servers) for name in _unset(text)):
            remedy = f"write `export {name}=...` in the shell that starts lensbench, or ${{{name}:-default}}"
            missing[name] = f"{file}: ${{{name}}} is not set; {remedy} in the file"
    return list(missing.values())


def _unset(text: str) -> Iterator[str]:
    for name, default in (match.groups() for match in _VARIABLE.finditer(text)):
        if name in OF_THE_RUN or name in os.environ:
            continue
        if default is None:
            yield name
        else:
            yield from _unset(default)


def mcp_servers(conditions: Iterable[PlannedCondition]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The MCP files of conditions, each with the servers that one of them has; those that cannot be read are left
    out."""
    found: dict[str, dict[str, Any]] = {}
    for condition in conditions:
        if file := condition["mcp"]:
            with suppress(OSError, ValueError, KeyError, TypeError):
                servers = read_jsonc(Path(file).read_bytes())["mcpServers"]
                found.setdefault(file, {}).update(_kept(servers, condition))
    yield from found.items()


def treatment_words(conditions: Iterable[PlannedCondition]) -> list[str]:
    """The lower-case words by which a text means a server: its name, and its program's."""
    words = set[str]()
    for _, servers in mcp_servers(conditions):
        for name, entry in servers.items():
            line = " ".join(map(str, (entry.get("command", ""), *entry.get("args", ()))))
            line = re.sub(r"\bcd \S+|(?<!\S)\S+node_modules/|(?<=\w)/dist/\S+", " ", line)
            names = map(os.path.basename, line.split())
            program = next((name for name in names if not _OF_NO_SERVER.fullmatch(name)), "")
            words |= {name.lower(), _VERSION.sub("", program).lower()}
    bare = {re.sub("[-_]?(mcp|server)[-_]?", "", word) for word in words}
    return sorted(word for word in bare if word and not _OF_NO_SERVER.fullmatch(word))


def texts_in(value: Any) -> Iterator[str]:
    """The texts in plain data."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from texts_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_in(item)


def mcp_secrets(plan: Plan) -> dict[str, str]:
    """The secrets in the MCP files of all planned conditions, by name: those that are written there, and the values of
    the environment variables that are named there."""
    secrets: dict[str, str] = {}
    for _, servers in mcp_servers(plan["conditions"].values()):
        names = {name for text in texts_in(servers) for name in _NAME.findall(text)} - {*OF_THE_RUN}
        values = {name: os.environ.get(name, "") for name in sorted(names)}
        values = {name: value for name, value in values.items() if value and is_secret(name, value)}
        whole = literal_secrets(filled(servers, os.environ)).items()
        secrets |= values | {
            name: text
            for name, text in whole
            if not any(value in text for value in values.values())
        }
    return secrets


def filled(value: Any, values: Mapping[str, str]) -> Any:
    """Plain data with `${name}` and `${name:-default}` replaced in all strings except keys, and in defaults; unknown
    names without default are kept, and so is every other text: `$$`, `$name`."""
    if isinstance(value, str):
        return _VARIABLE.sub(
            lambda match: values.get(
                match[1], match[0] if match[2] is None else filled(match[2], values)
            ),
            value,
        )
    if isinstance(value, list):
        return [filled(item, values) for item in value]
    return (
        {key: filled(item, values) for key, item in value.items()}
        if isinstance(value, dict)
        else value
    )


def filled_command(command: Sequence[str], workspace: str) -> list[str]:
    """A setup or teardown command with the workspace filled in."""
    return [part.replace("{workspace}", workspace) for part in command]


def run_command(condition: PlannedCondition, name: Command, workspace: str) -> str:
    """Runs the condition's `setup` or `teardown`, if it has one, in this folder and the user's environment, as it is
    the user's and not the agent's; returns why it failed, or ""."""
    command = condition.get(name, ())
    if not command:
        return ""
    argv = filled_command(command, workspace)
    limit_s = condition["setup_s"]
    try:
        last, end = run_process(
            argv, os.environ, os.getcwd(), limit_s, subprocess.STDOUT, last_line
        )
    except OSError as error:
        return f"{name} cannot be started: {argv[0]}: {error.strerror}"
    if end.exit_code == 0:
        return ""
    how = f"exit code {end.exit_code}"
    if end.timed_out:
        how = f"not done in {limit_s:g} s"
    if last:
        how += f": {last}"
    return f"{name} failed, {how}"


def last_line(lines: Iterable[str]) -> str:
    """The last line that is not blank, on one line and shortened; "" when there is none."""
    last = ""
    for line in lines:
        if line.strip():
            last = line
    return " ".join(last.split())[:LONGEST_LINE]
