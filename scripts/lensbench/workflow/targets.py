"""Helpers for Snakemake's targets other than a benchmark: one question (`eval`) and new tasks (`scenarios`)."""

from __future__ import annotations

import json
from collections.abc import Set

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.plan.config import Config
from lensbench.repositories.pin import repository_name


def question(config: Config) -> str:
    """The question of `snakemake eval`. Raises UserError when it is missing."""
    if not config.prompt:
        raise UserError("there is no question; add --config 'prompt=how does auth work?'")
    return config.prompt


def writer(config: Config, plan: Plan) -> str:
    """The argument of `snakemake scenarios`: the agent that writes tasks, and the words that no question may
    contain."""
    kept = {"agent", "seed", "sandbox", "sandbox_visible", "cache"}
    told = config.model_dump(mode="json", exclude_defaults=True, include=kept)
    servers = {name for condition in plan["conditions"].values() for name in condition["servers"]}
    tools = {tool for condition in config.conditions.values() for tool in condition.tools}
    told |= {"tools": sorted(servers | tools)} | ({"max_usd": config.budget.max_usd} if config.budget.max_usd else {})
    return json.dumps(told, sort_keys=True)


def task_set(config: Config) -> str:
    """The path for the tasks that `snakemake scenarios` writes about `repo`, without extension."""
    return f"scenarios/{repository_name(config.repo)}"


def misused(config: Config, rules: Set[str]) -> str:
    """Why these rules cannot run with this config; "" when they can."""
    if "scenarios" in rules and not config.repo:
        return "name a repository: snakemake scenarios --config repo=<git url or path> tasks=12"
    if rules - {"scenarios", "eval"} and not config.makes_benchmark:
        return "prompt and repo are for `snakemake eval` and `snakemake scenarios`; omit them for a benchmark"
    return ""
