"""Limits other than cores, as Snakemake resources: the total of each, and how much each job takes.

The requests of an agent cannot be throttled from outside, so a limit on requests per minute becomes a limit on
concurrent agents, using the measured requests per minute of one agent. Without `limits` there are no resources.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from lensbench.agents.services import service_of
from lensbench.core.store import all_records
from lensbench.plan.config import Config, ModelJudge
from lensbench.plan.mcp_files import servers_of

ASSUMED = 12
"""Requests per minute of an agent before any measurement: one in five seconds."""


class Capacity:
    """The limits of a benchmark; `folder` is its run folder."""

    def __init__(self, config: Config, folder: Path) -> None:
        self._config = config
        self._limits = config.limits
        self._folder = folder
        self._service = service_of(config.agent.settings)
        self._judged = {
            judge.shown_name: service_of(judge.agent.settings)
            for judge in config.judges
            if isinstance(judge, ModelJudge)
        }

    @cached_property
    def resources(self) -> dict[str, int]:
        """The total of each resource."""
        requests = {
            _resource("requests_per_minute", service): limit
            for service, limit in self._limits.requests_per_minute.items()
        }
        clients = {_resource("clients", server): limit for server, limit in self._limits.clients.items()}
        return (
            requests
            | clients
            | {_resource("beside", name): self._pairs for name in self._config.conditions if self._pairs}
        )

    @cached_property
    def _servers(self) -> dict[str, list[str]]:
        """The limited servers of each condition."""
        return {
            name: [server for server in servers_of(condition) if server in self._limits.clients]
            for name, condition in self._config.conditions.items()
        }

    @cached_property
    def _pairs(self) -> int:
        """How many tasks may run at a time in all conditions at once, given the limited servers."""
        used = [server for servers in self._servers.values() for server in servers]
        return min((self._limits.clients[server] // used.count(server) for server in used), default=0)

    def claim(self, resource: str, condition: str, paired: bool) -> int:
        """How much of a resource a run takes. A run that starts together with others also takes one unit of their
        resources: without it, runs that need no server would fill all cores, waiting for partners that cannot start."""
        if resource == _resource("requests_per_minute", self._service):
            return min(self._agent_requests, self.resources[resource])
        if resource == _resource("beside", condition):
            return int(paired)
        return int(resource in [_resource("clients", server) for server in self._servers.get(condition, ())])

    def bears(self, conditions: Iterable[str]) -> bool:
        """True when the runs of a task in these conditions can run at the same time."""
        together = list(conditions)
        return all(
            sum(self.claim(resource, condition, paired=True) for condition in together) <= there_is
            for resource, there_is in self.resources.items()
        )

    @property
    def judges_at_a_time(self) -> int:
        """How many concurrent requests of model judges the limited services allow."""
        limits = (self._limits.requests_per_minute.get(service) for service in self._judged.values())
        return min((max(1, limit // self._judge_requests) for limit in limits if limit), default=64)

    def judge_claim(self, resource: str, judge: str, threads: int) -> int:
        """How much of a resource a judge with `threads` concurrent requests takes."""
        if judge not in self._judged or resource != _resource("requests_per_minute", self._judged[judge]):
            return 0
        return min(threads * self._judge_requests, self.resources[resource])

    @property
    def _judge_requests(self) -> int:
        return self._limits.agent_requests or ASSUMED

    @cached_property
    def _agent_requests(self) -> int:
        return self._limits.agent_requests or measured(self._folder) or ASSUMED


def measured(folder: Path) -> int | None:
    """Requests per minute of one agent over all runs so far, rounded; None when no run reports its turns."""
    turns = seconds = 0.0
    for _, record in all_records(folder):
        if record.outcome.turns and record.attempt.duration_s:
            turns, seconds = turns + record.outcome.turns, seconds + record.attempt.duration_s
    return math.ceil(60 * turns / seconds) if seconds else None


def _resource(kind: str, name: str) -> str:
    return f"{kind}_{re.sub(r'[^A-Za-z0-9]', '_', name)}"
