"""Agents: command-line programs that answer a prompt. One module of `adapters/` is one adapter.

An adapter has two functions and no state:

- `command(run: Assignment) -> Invocation`: how the program is started for a run;
- `read(lines: Iterable[str], *, errors: ErrorTexts) -> Outcome`: what its output shows, read line by line as it comes;
  a tool's answer in which `errors` finds something counts as a failed call.

and may have two more, for the preflight:

- `version(settings: AgentSettings) -> str | None`: the version that the program reports, None when it reports none;
- `probe(settings: AgentSettings) -> Probe | None`: a request that shows whether gateway and key are good.

and a constant `HOSTS`, the `name:port` of the model's own service, () for none: without it, and without
`agent.base_url`, agents of this kind share the machine's network.

`agent.kind: some-name` in the config finds `agents/adapters/some_name.py`; nothing else has to know of it.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from lensbench.agents.reach import hosts_in
from lensbench.core.error_texts import KNOWN_ERRORS, ErrorTexts
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import Outcome


@dataclass(frozen=True)
class Assignment:
    """What an adapter is told about a run. All paths are absolute and private to the run."""

    prompt: str
    prompt_file: str
    workspace: str
    home: str
    """Fresh and empty; the agent's HOME, and the place for its configuration."""
    mcp_servers: Mapping[str, Mapping[str, Any]]
    """What stands in the MCP file: server -> entry."""
    mcp_file: str
    """The MCP servers of this condition, in the common `mcpServers` form; empty in the baseline."""
    answer_file: str
    """Where a program that writes its answer to a file puts it."""
    servers: tuple[str, ...]
    """MCP servers that this condition has."""
    denied_servers: tuple[str, ...]
    """MCP servers that only other conditions have: their tools are blocked by name as well."""
    settings: AgentSettings
    """The `agent` section of the config."""
    seed: int
    errors: ErrorTexts = KNOWN_ERRORS
    """What error texts of this condition's servers look like."""


@dataclass(frozen=True)
class Invocation:
    """A program start: nothing but `env` is in its environment, and its standard input is empty."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    """Configuration that the program reads: path below `Assignment.home` -> content."""


@dataclass(frozen=True)
class Probe:
    """A POST request to the model's gateway that costs a token at most; any JSON object is a good answer to it."""

    url: str
    headers: Mapping[str, str]
    """The key among them: they are sent, never written."""
    body: Mapping[str, Any]


class Adapter(Protocol):
    """The face of an adapter module."""

    def command(self, run: Assignment) -> Invocation:
        """How the agent is started for `run`."""

    def read(self, lines: Iterable[str], *, errors: ErrorTexts) -> Outcome:
        """What the agent's standard output shows."""


def base_environment(run: Assignment) -> dict[str, str]:
    """The environment that every agent gets: nothing of the user's but PATH and the variables in `agent.pass_env`."""
    passed = {name: os.environ[name] for name in run.settings["pass_env"] if name in os.environ}
    private = {"HOME": run.home, "TMPDIR": os.path.join(run.home, "tmp"), "LANG": "C.UTF-8"}
    return {"PATH": os.environ.get("PATH", os.defpath), **private, **passed}


def secret_names(settings: AgentSettings) -> list[str]:
    """The environment variables that the agent's settings name: their values must never be written."""
    return list(dict.fromkeys(filter(None, (*settings["pass_env"], settings["token_env"]))))


def model_hosts(settings: AgentSettings) -> tuple[str, ...] | None:
    """The hosts (`name:port`) that an agent asks its model at; None when its kind leaves that open."""
    known = getattr(load_adapter(settings["kind"]), "HOSTS", None)
    found = hosts_in([str(settings.get("base_url") or "")])
    preset = ("api.z.ai:443",) if settings.get("provider") == "zai" else ()
    return (*map(str, found), *preset) or known


def known_kinds() -> tuple[str, ...]:
    """What `agent.kind` may be: the adapters that are there, and `none`."""
    folder = Path(__file__).parent / "adapters"
    adapters = sorted(file.stem.replace("_", "-") for file in folder.glob("[a-z]*.py"))
    return (*adapters, "none")


def load_adapter(kind: str) -> Adapter:
    """The adapter module for `agent.kind`. Raises ModuleNotFoundError when there is none."""
    adapter: Adapter = importlib.import_module(f"lensbench.agents.adapters.{kind.replace('-', '_')}")
    return adapter
