"""What the generator takes from a benchmark's config: the agent that writes tasks, and its environment."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.frozen_plan import SandboxSettings
from lensbench.plan.config import Config
from lensbench.plan.own_files import servers_of
from lensbench.plan.reading import read_config


def config_of(file: Path | None) -> Config:
    """The config in a file; without one, the defaults, with which no model is asked. Raises UserError."""
    return read_config(file) if file else Config(run_id="tasks", scenarios=())


def is_offline(config: Config) -> bool:
    """True when no model is asked: the miners write the tasks."""
    return config.agent.kind in ("offline", "none")


def sandbox_of(config: Config) -> SandboxSettings:
    """The settings of the sandbox for agents and tests."""
    return {
        "mode": config.sandbox,
        "visible": list(config.sandbox_visible),
        "hidden": [config.cache],
    }


def names_of(config: Config) -> frozenset[str]:
    """The servers and tools of the benchmark, which questions must not mention."""
    names = set[str]()
    for condition in config.conditions.values():
        names |= {*servers_of(condition), *condition.tools}
    return frozenset(names)
