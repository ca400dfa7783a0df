"""What runs and judges of a start take beside cores: the limits as Snakemake resources (none without `limits`), and
what each judge waits for. An agent's requests cannot be throttled from outside, so a limit on them is one on concurrent
agents, by the measured requests per minute of one agent."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from lensbench.agents.services import service_of
from lensbench.core.frozen_plan import HUMAN, AgentSettings, Plan
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import all_records
from lensbench.judging.decisions import judges_of
from lensbench.judging.verdicts import rounds_of
from lensbench.plan.config import Config, ModelJudge
from lensbench.plan.own_files import servers_of

AT_A_TIME = 4
"""Answers that model judges read at the same time, at most."""
ASSUMED = 12
"""Requests per minute of an agent before any measurement: one in five seconds."""


class JobLimits:
    totals: dict[str, int]

    def __init__(self, config: Config, folder: Path) -> None:
        limits = config.limits
        conditions = config.conditions
        self._folder = folder
        self._service = _requests(config.agent.settings)
        models = [judge for judge in config.judges if isinstance(judge, ModelJudge)]
        self._judged = {judge.shown_name: _requests(judge.agent.settings) for judge in models}
        self.totals = {}
        for name, most in limits.requests_per_minute.items():
            self.totals[_resource("requests_per_minute", name)] = most
        for name, most in limits.clients.items():
            self.totals[_resource("clients", name)] = most
        self._clients: dict[str, list[str]] = {}
        users: Counter[str] = Counter()
        for name, condition in conditions.items():
            limited = [server for server in servers_of(condition) if server in limits.clients]
            self._clients[name] = [_resource("clients", server) for server in limited]
            users.update(self._clients[name])
        if users:
            together = min(self.totals[server] // count for server, count in users.items())
            if together:  # tasks in all conditions
                beside = (_resource("beside", name) for name in conditions)
                self.totals |= dict.fromkeys(beside, together)

    def claim(self, resource: str, condition: str, paired: bool) -> int:
        """How much of a resource a run takes. A run that starts together with others also takes one unit of their
        resources: otherwise runs without servers would fill all cores, waiting for partners."""
        if resource == self._service:
            return min(self._requests_of_agent, self.totals[resource])
        if resource == _resource("beside", condition):
            return int(paired)
        return int(resource in self._clients.get(condition, ()))

    def bears(self, conditions: Iterable[str]) -> bool:
        """True when the runs of a task in these conditions can run at the same time."""
        together = list(conditions)
        for resource, there_is in self.totals.items():
            claims = [self.claim(resource, condition, paired=True) for condition in together]
            if sum(claims) > there_is:
                return False
        return True

    @property
    def judges_at_a_time(self) -> int:
        """How many answers model judges read at the same time within the limits of their services."""
        limits = filter(None, map(self.totals.get, self._judged.values()))
        return min([AT_A_TIME, *(max(1, limit // ASSUMED) for limit in limits)])

    def judge_claim(self, resource: str, judge: str, threads: int) -> int:
        """How much of a resource a judge with `threads` concurrent requests takes."""
        is_limited = resource == self._judged.get(judge)
        return min(threads * ASSUMED, self.totals[resource]) if is_limited else 0

    @cached_property
    def _requests_of_agent(self) -> int:
        return measured(self._folder) or ASSUMED


def measured(folder: Path) -> int | None:
    """Requests per minute of one agent over all runs so far, rounded; None when no run reports its turns."""
    turns = seconds = 0.0
    for _, record in all_records(folder):
        if record.outcome.turns and record.attempt.duration_s:
            turns = turns + record.outcome.turns
            seconds = seconds + record.attempt.duration_s
    return math.ceil(60 * turns / seconds) if seconds else None


def _requests(agent: AgentSettings) -> str:
    return _resource("requests_per_minute", service_of(agent))


def _resource(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"


Claims = dict[str, Callable[[Any], int]]
"""Resource name -> how much of it a job takes, as a function of the job's wildcards."""


@dataclass(frozen=True)
class JudgeSchedule:
    """The judges of a benchmark as the workflow sees them."""

    config: Config
    folder: Path
    limits: JobLimits
    plan: Plan

    @cached_property
    def names(self) -> list[str]:
        """The judges whose verdicts are wanted: those of the config, and every person with a verdict file."""
        return judges_of(self.folder, self.plan)

    @property
    def models(self) -> list[ModelJudge]:
        return [judge for judge in self.config.judges if isinstance(judge, ModelJudge)]

    @property
    def wants_sheet(self) -> bool:
        return HUMAN in self.config.judges

    def threads(self, name: str) -> int:
        """How many answers the judge reads in parallel."""
        return (
            self.limits.judges_at_a_time
            if name in [judge.shown_name for judge in self.models]
            else 1
        )

    def claims(self) -> Claims:
        return {resource: partial(self._claim, resource) for resource in self.limits.totals}

    def _claim(self, resource: str, wildcards: Any) -> int:
        return self.limits.judge_claim(resource, wildcards.judge, self.threads(wildcards.judge))

    def inputs(self, name: str) -> list[str]:
        """The inputs of this judge alone: people's verdict files."""
        files = RunFolder(self.folder).human.glob("*.json") if name.startswith(f"{HUMAN}-") else ()
        return sorted(map(str, files))

    @property
    def incomplete(self) -> list[str]:
        """The judges whose last round left criteria without a verdict, and that a start asks again."""
        return [
            name
            for name in self.names
            if 0 < rounds_of(self.folder, name) <= self.config.discards.max_rounds
        ]
