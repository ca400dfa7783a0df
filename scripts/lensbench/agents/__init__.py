"""Agents: command-line programs that answer a prompt. One module of `adapters/` is one adapter.

An adapter has no state and two functions, those of `Adapter`. It reads the output line by line as it comes; a tool's
answer in which `errors` finds something counts as a failed call. It may have more:

- `is_over(event: dict) -> bool | None`: True for the event with which an answer ends, False for one with which work
  goes on, None for others; a program that stays silent after its end is ended, and its answer counts;
- `version(settings: AgentSettings) -> str | None`: the version that the program reports, None when it reports none;
- `PROGRAM`: the `Program` of others that it starts;
- `HOSTS`: the `name:port` of the model's own service, () for none. Without it, and without `agent.base_url`, agents of
  this kind share the machine's network;
- `UNSTEADY`: a pattern of what its requests have by chance, beside ids and times, so that two of them can be compared;
- `TEE`: True when it cannot promise to show which tools were offered and called, so that the tee notes them;
- `FILTERS`: True when it leaves out the tools of `Assignment.excluded`, by a filter of its own;
- `COST`: what its output says of each run: `dollars`, `tokens`, or `nothing`; without it, that depends on the run.

`agent.kind: some-name` loads `adapters/some_name.py`; nothing else needs to be registered. An adapter of another
package is an entry point in the group `lensbench.agents` (docs/adapters.md).
"""

from __future__ import annotations

import importlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from lensbench.agents.reach import hosts_in
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import Outcome

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ADDRESSES = {"zai": "https://api.z.ai/api/anthropic"}
"""Where a provider serves the Messages API."""


@dataclass(frozen=True)
class Assignment:
    """The input of an adapter for a run. All paths are absolute and private to the run."""

    prompt: str
    prompt_file: str
    workspace: str
    home: str
    """The agent's HOME and the place for its configuration; new and empty."""
    mcp_servers: Mapping[str, Mapping[str, Any]]
    """The content of the MCP file: server -> entry."""
    mcp_file: str
    """The MCP servers of this condition, in the common `mcpServers` form; empty in the baseline."""
    answer_file: str
    servers: tuple[str, ...]
    denied_servers: tuple[str, ...]
    """The MCP servers of other conditions only, whose tools are also blocked by name."""
    settings: AgentSettings
    seed: int
    errors: ErrorTexts = KNOWN_ERRORS
    """Patterns of error texts, by server of this condition."""
    reads_files: bool = False
    """A condition of the experiment brings files: in all conditions, the program reads instructions and settings in the
    workspace, as it does by default."""
    reads_skills: bool = False
    """A condition brings skills: all conditions have the program's means to read them."""
    is_trial: bool = False
    """No run, but a short question before the first one: a refused request is not repeated."""
    words: Mapping[str, Mapping[str, Any]] | None = None
    """Other words for its servers, which the tee puts in; None when no condition of the experiment has any."""
    excluded: tuple[str, ...] = ()
    """The tools of its servers that the condition leaves out: `mcp__<server>__<tool>`."""

    def excluded_of(self, server: str) -> list[str]:
        """Those of a server, by its own names."""
        beginning = f"mcp__{server}__"
        own = [name for name in self.excluded if name.startswith(beginning)]
        return [name.removeprefix(beginning) for name in own]


@dataclass(frozen=True)
class Invocation:
    """How to start a program: its environment is exactly `env`, and its standard input is empty."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Configuration that the program reads: absolute path, which begins with `Assignment.home` -> content."""
    answer_file: str = ""
    """The file that counts as the answer if it is written; "" for programs that were not told of one."""


class Program(NamedTuple):
    """A program of others, which gets the prompt as an argument."""

    name: str
    model: str
    key: str
    """The variable with the key for `model`, which is a default."""
    commands: str = ""
    """First characters of a prompt that it takes for a command."""
    words: str = ""
    """The file with instructions that it reads in the workspace."""
    skills: str = ""
    """The folder in the workspace where it looks for skills."""
    writes: tuple[str, ...] = ()
    """Files that it puts into the workspace by itself, which change nothing in the repository."""


class Adapter(Protocol):
    """The interface of an adapter module."""

    def command(self, run: Assignment) -> Invocation:
        """How the agent is started for `run`. Raises UserError when something is missing."""

    def read(self, lines: Iterable[str], *, errors: ErrorTexts) -> Outcome:
        """What the agent's standard output shows."""


def base_environment(run: Assignment) -> dict[str, str]:
    """The environment of every agent: from the user's, only PATH and the variables in `agent.pass_env`."""
    variables = {name: os.environ[name] for name in run.settings["pass_env"] if name in os.environ}
    private = {"HOME": run.home, "TMPDIR": os.path.join(run.home, "tmp"), "LANG": "C.UTF-8"}
    return {"PATH": os.environ.get("PATH", os.defpath), **private, **variables}


def as_written(settings: Mapping[str, Any]) -> str:
    """`settings` as JSON in which programs that replace `$X` and `${X}` find each text as it is written here."""
    return re.sub(r"\$(?=[\w{])", "${LENSBENCH_NO_VALUE:-$}", json.dumps(settings))


def as_called(tool: str) -> str:
    """A tool's name as agents write it: `_` for characters that the model's service does not take."""
    return re.sub(r"[^\w-]", "_", tool, flags=re.ASCII)


def secret_names(settings: AgentSettings) -> list[str]:
    """The environment variables in the agent's settings whose values must never be written."""
    return list(dict.fromkeys(filter(None, (*settings["pass_env"], settings["token_env"]))))


def model_hosts(settings: AgentSettings) -> tuple[str, ...] | None:
    """The hosts (`name:port`) of an agent's model; None when they are unknown for its kind."""
    hosts = getattr(load_adapter(settings["kind"]), "HOSTS", None)
    address = settings.get("base_url") or ADDRESSES.get(settings.get("provider", ""), "")
    return tuple(map(str, hosts_in([address]))) or hosts


def is_stock(settings: AgentSettings) -> bool:
    """True for an agent with its program's own defaults (docs/ladder.md)."""
    return settings.get("profile") == "stock"


def own_kinds() -> tuple[str, ...]:
    """The adapters of this package."""
    folder = Path(__file__).parent / "adapters"
    return tuple(sorted(file.stem.replace("_", "-") for file in folder.glob("[a-z]*.py")))


@cache
def _foreign() -> dict[str, EntryPoint]:
    """The adapters of other packages, by kind."""
    from importlib.metadata import entry_points  # no run of our own kinds needs it

    return {entry.name: entry for entry in entry_points(group="lensbench.agents")}


def known_kinds() -> tuple[str, ...]:
    """The valid values of `agent.kind`: the existing adapters, and `none`."""
    own = own_kinds()
    return (*own, *sorted({*_foreign()} - {*own, "none"}), "none")


def can_filter(kind: str) -> bool:
    """True for a kind of agents that can have a part of a server's tools."""
    return kind in known_kinds()[:-1] and bool(getattr(load_adapter(kind), "FILTERS", False))


@cache
def programs() -> dict[str, Program]:
    """The program of each kind of agent that has one."""
    found = {}
    for kind in known_kinds()[:-1]:
        with suppress(UserError):  # another package's
            program = getattr(load_adapter(kind), "PROGRAM", None)
            if program:
                found[kind] = program
    return found


def load_adapter(kind: str) -> Adapter:
    """The adapter for `agent.kind`. Raises ModuleNotFoundError when there is none, and UserError when that of another
    package cannot be loaded."""
    adapter: Adapter
    if kind in own_kinds() or kind not in _foreign():
        adapter = importlib.import_module(f"lensbench.agents.adapters.{kind.replace('-', '_')}")
        return adapter
    entry = _foreign()[kind]
    try:
        adapter = entry.load()
        return adapter
    except Exception as error:  # whatever is wrong in it
        raise UserError(
            f"agent.kind {kind!r}: {entry.value} cannot be loaded ({error}); repair or remove the package"
        ) from None
