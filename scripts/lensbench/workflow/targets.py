"""Helpers for Snakemake's targets other than a benchmark: one question (`eval`) and new tasks (`scenarios`)."""

from __future__ import annotations

import json

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.plan.config import Config
from lensbench.repositories.pin import repository_name
from lensbench.workflow.schedule import Schedule


def question(config: Config) -> str:
    """The question of `snakemake eval`. Raises UserError when it is missing."""
    if not config.prompt:
        raise UserError("there is no question; add --config 'prompt=how does auth work?'")
    return config.prompt


def writer(config: Config, plan: Plan) -> str:
    """The argument of `snakemake scenarios`: the agent that writes tasks, and the words that no question may
    contain."""
    kept = {"agent", "seed", "sandbox", "sandbox_visible", "cache", "prices"}
    told = config.model_dump(mode="json", exclude_defaults=True, include=kept)
    servers = {name for condition in plan["conditions"].values() for name in condition["servers"]}
    tools = {tool for condition in config.conditions.values() for tool in condition.tools}
    told |= {"tools": sorted(servers | tools)} | ({"max_usd": config.budget.max_usd} if config.budget.max_usd else {})
    return json.dumps(told, sort_keys=True)


def task_set(config: Config) -> str:
    """The path for the tasks that `snakemake scenarios` writes about `repo`, without extension."""
    return f"scenarios/{repository_name(config.repo)}"


def repository(config: Config) -> str:
    """The repository of `snakemake scenarios`. Raises UserError when it is missing."""
    if not config.repo:
        raise UserError("name a repository: snakemake scenarios --config repo=<git url or path> tasks=12")
    return config.repo


def experiment(schedule: Schedule) -> str:
    """The argument of the plan stage. Raises UserError for a config that is not of a benchmark."""
    if not schedule.config.makes_benchmark:
        raise UserError("prompt and repo are for `snakemake eval` and `snakemake scenarios`; omit them for a benchmark")
    return schedule.settings
