"""Starts the agent of a model judge with a prompt, in an empty workspace, without tools and servers."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from pathlib import Path

from lensbench.agents import secret_names
from lensbench.agents.prices import priced
from lensbench.agents.refusals import Action
from lensbench.agents.sandbox import Place, find_sandbox
from lensbench.agents.services import record_response, service_of, wait_for
from lensbench.agents.start import AgentReply, assign, start_agent
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings, Plan, PlannedJudge
from lensbench.core.records import Outcome
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.processes import adopt_orphans, die_with_parent
from lensbench.core.system.redaction import Redactor
from lensbench.runs.reasons import Expectation, meaning_of, reason_of
from lensbench.runs.stopping import check_budget, spend_on_request

_UNIMPORTANT = {
    "retries",
    "timeout_s",
    "max_turns",
    "mcp_start_s",
    "pass_env",
    "token_env",
    "tools",
    "tool_search",
}
"""Settings of a judge's agent that do not affect its verdicts."""


@dataclass(frozen=True)
class JudgeAgent:
    """The agent of one of the plan's judges; it is sent to worker processes."""

    folder: Path
    judge: PlannedJudge
    plan: Plan
    """Without its tasks."""
    attempts: int

    @property
    def settings(self) -> AgentSettings:
        """The agent's settings: as configured, without tools."""
        return {**self.judge["agent"], "tools": [], "tool_search": False}

    @property
    def identity(self) -> str:
        """The settings that identify the judge: agent and model, but not time limits and retries."""
        settings = dict(self.judge["agent"])
        for name in settings.keys() & _UNIMPORTANT:
            del settings[name]
        return json.dumps(settings, sort_keys=True)

    def check_budget(self) -> None:
        """Raises StopEverything when the money is spent; the other limits are for runs."""
        check_budget(self.folder, {"max_usd": self.plan.get("budget", {}).get("max_usd")})

    def ask(self, prompt: str) -> tuple[AgentReply, str, str]:
        """The agent's output, and why it is invalid. Raises UserError for errors that affect all requests."""
        if self.plan["judging"].get("private"):
            raise UserError(
                f"judge {self.judge['name']!r} is a model, but judging.private is true; nothing was sent"
            )
        redact = Redactor(secret_names(self.settings), os.environ)
        service = service_of(self.settings)
        wait_for(service, prompt)
        start = time.time()
        with private_folder() as private:
            place = Place(find_sandbox(self.plan.get("sandbox")), private)
            os.mkdir(os.path.join(private, "repo"))  # an empty workspace
            run = assign(
                place, prompt, {}, self.settings, self.plan["seed"], servers=(), denied_servers=()
            )
            output = start_agent(run, place, self.settings["timeout_s"], redact)
        output = output._replace(outcome=priced(output.outcome, self.plan.get("prices", {})))
        spend_on_request(self.folder, output.outcome)
        self._check_service(output.outcome)
        reason, detail = reason_of(output, Expectation((), ()))
        resets_at = output.outcome.resets_at
        is_refusal = resets_at is not None or meaning_of(output.outcome) == Action.PAUSE
        if is_refusal or not reason:
            record_response(service, is_refusal, start, resets_at)
        if resets_at is not None:
            return self.ask(prompt)
        return output, reason, redact(detail)

    def _check_service(self, outcome: Outcome) -> None:
        name = self.judge["name"]
        version = self.settings["version"]
        found = outcome.agent_version
        # Unlike for a run, 400 may be caused by one long answer: each request is the first.
        if meaning_of(outcome) == Action.STOP or outcome.error_status == 404:
            raise UserError(
                f"judge {name!r} was refused ({outcome.error}); fix that, then start again"
            )
        if version and found and found != version:
            raise UserError(
                f"judge {name!r} is version {found}, but its agent.version is {version}"
            )


def agent_of(folder: Path, plan: Plan, judge: PlannedJudge, attempts: int) -> JudgeAgent:
    """The agent of a judge. Raises UserError when one of its keys is not set."""
    missing = [name for name in secret_names(judge["agent"]) if not os.environ.get(name)]
    if missing:
        raise UserError(
            f"judge {judge['name']!r}: {', '.join(missing)} is not set in the environment; export it"
        )
    return JudgeAgent(folder, judge, {**plan, "tasks": {}, "order": []}, attempts)


@contextmanager
def workers(parallel: int) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes, not threads: when an agent ends, all descendants of its process are ended. Whatever ends the
    block early, such as a signal, ends the requests that run."""
    pool = ProcessPoolExecutor(parallel, get_context("fork"), _begin, (os.getpid(),))
    with pool:
        try:
            yield pool
        except BaseException:
            for worker in active_children():
                worker.terminate()
            pool.shutdown(cancel_futures=True)
            raise


def _begin(parent: int) -> None:
    die_with_parent(parent)
    adopt_orphans()
