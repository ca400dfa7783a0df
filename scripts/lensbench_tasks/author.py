"""Tasks written by an agent, which is asked per category, and again with the reasons for failed tasks.

The agent gets a clean copy of the repository and no servers. Its replies are parsed strictly, checked like all other
proposals, and stored without secrets.
"""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from lensbench.agents import secret_names
from lensbench.agents.prices import Prices, priced
from lensbench.agents.sandbox import Place, Sandbox, find_sandbox
from lensbench.agents.start import AgentReply, start_agent
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import AgentSettings
from lensbench.core.records import RunId
from lensbench.core.system.files import write_atomic
from lensbench.core.system.places import template_environment
from lensbench.core.system.redaction import Redactor
from lensbench.core.system.trees import remove_tree
from lensbench.core.system.yaml_places import DocumentError, parse_document
from lensbench.core.tasks import Category, Source, Task
from lensbench.plan.config import Config
from lensbench.plan.validation import explain
from lensbench.runs.attempt import Job, prepare
from lensbench.runs.reasons import Expectation, reason_of, stops
from lensbench.runs.stopping import Ledger
from lensbench_tasks.files import yaml_text
from lensbench_tasks.problems import Problem
from lensbench_tasks.rounds import SHORT_CATEGORIES, CandidateResult, Proposal
from lensbench_tasks.settings import sandbox_of

MEANING = {
    Category.EXPLORATORY: "how one thing passes through several files; a station of the way per criterion.",
    Category.DEBUG: "where three to five odd observations come from; one place, and what it decides, per criterion.",
    Category.CHANGE_IMPACT: "which places a change reaches; the thing, or some of its dependents, per criterion.",
    Category.TARGETED: "what holds when nothing is configured; one value with its name per criterion.",
}
_TEMPLATE = template_environment().get_template("write_tasks.md.j2")
_NO_SERVERS: Mapping[str, Any] = {"mcp": None, "servers": []}


class Rejected(NamedTuple):
    """A rejected task, as the agent wrote it."""

    yaml: str
    problems: Sequence[Problem]


class NoAnswer(Exception):
    """The agent gave no valid answer; the text says why."""


@dataclass
class AskedAgent:
    """The agent that writes tasks, until `max_usd` is spent. Its replies are stored in `folder`."""

    agent: AgentSettings
    sandbox: Sandbox
    folder: Path
    max_usd: float | None = None
    prices: Prices = field(default_factory=dict)
    ledger: Ledger = field(default_factory=Ledger)
    _asked: int = 0

    @property
    def spent_all(self) -> bool:
        """True when the budget is spent."""
        return self.max_usd is not None and self.ledger.usd_at_most >= self.max_usd

    def ask(self, tree: Path, stem: str, prompt: str) -> str:
        """The answer of the agent in a clean copy of `tree`; `stem` is the name of the stored files.

        Raises NoAnswer, and UserError when the service refuses the agent, so that asking again is useless.
        """
        reply = self._start(tree, prompt)
        outcome = reply.outcome
        self.ledger.add(priced(outcome, self.prices), reply.ended.duration_s / 3600)
        self._asked += 1
        name = f"{self._asked:02}-{stem}"
        transcript = gzip.compress(reply.transcript.encode(), 6, mtime=0)
        write_atomic(self.folder / f"{name}.md", reply.answer)
        write_atomic(self.folder / f"{name}.jsonl.gz", transcript)
        if stops(outcome):
            raise UserError(f"the agent was refused ({outcome.error}); fix that, then start again")
        reason, detail = reason_of(reply, Expectation((), ()))
        if reason:
            raise NoAnswer(f"the agent gave no valid answer: {reason} {detail}")
        return reply.answer

    def _start(self, tree: Path, prompt: str) -> AgentReply:
        plan: Any = {
            "agent": dict(self.agent),
            "conditions": {"none": _NO_SERVERS},
            "seed": 1,
            "tasks": {"scenarios": {}},
        }
        run = RunId("scenarios", "none", 1)
        job = Job(Path(), run, plan, prompt, {"tree": str(tree)}, 0.0)
        redact = Redactor(secret_names(self.agent), os.environ)
        with tempfile.TemporaryDirectory(prefix="lb-", ignore_cleanup_errors=True) as private:
            place = Place(self.sandbox, private)
            assignment = prepare(job, place, redact)
            reply = start_agent(assignment, place, self.agent["timeout_s"], redact)
            remove_tree(private)
        return reply


def asked_agent(config: Config, folder: Path) -> AskedAgent:
    """The agent of the config. Raises UserError when a key is missing."""
    agent = config.agent.settings
    missing = [variable for variable in secret_names(agent) if not os.environ.get(variable)]
    if missing:
        raise UserError(f"{', '.join(missing)} is not set in the environment; export it")
    prices: Any = config.model_dump(mode="json", include={"prices"})["prices"]
    sandbox = find_sandbox(sandbox_of(config))
    return AskedAgent(agent, sandbox, folder, config.budget.max_usd, prices)


@dataclass
class Author:
    """A writer that asks the agent for tasks."""

    rounds = 4

    name: str
    source: Source
    tree: Path
    asked: AskedAgent
    after: Mapping[Category, int] = field(default_factory=dict)
    """The last number in the ids of earlier tasks, by category."""
    _written: dict[str, str] = field(default_factory=dict)

    def write(self, counts: Mapping[Category, int]) -> Iterator[Proposal]:
        """The tasks that the agent writes, by category; it is asked for one after the other."""
        for category, count in counts.items():
            first = 1 + self.after.get(category, 0)
            ids = [
                f"{self.name}-{SHORT_CATEGORIES[category]}-{number:02}"
                for number in range(first, first + count)
            ]
            if ids:
                yield from self._ask(category, ids, [])

    def revise(self, failures: Sequence[CandidateResult]) -> Iterator[Proposal]:
        """The agent's new versions of rejected tasks."""
        for category in Category:
            back = [fate.proposal.id for fate in failures if fate.proposal.category is category]
            why = [
                Rejected(
                    self._written.get(fate.proposal.id, f"- id: {fate.proposal.id}"),
                    fate.tries[-1].problems,
                )
                for fate in failures
                if fate.proposal.category is category
            ]
            if back:
                yield from self._ask(category, back, why)

    def _ask(
        self, category: Category, ids: Sequence[str], failures: Sequence[Rejected]
    ) -> list[Proposal]:
        if self.asked.spent_all:
            return []
        prompt = _TEMPLATE.render(
            name=self.name,
            category=category.value,
            meaning=MEANING[category],
            count=len(ids),
            ids=ids,
            rejected=failures,
        )
        try:
            answer = self.asked.ask(self.tree, SHORT_CATEGORIES[category], prompt)
        except NoAnswer as error:
            return [_failed(name, category, str(error)) for name in ids]
        return self._proposals(answer, category, ids)

    def _proposals(self, answer: str, category: Category, ids: Sequence[str]) -> list[Proposal]:
        """A proposal for each id: the task with that id in the reply, or why there is none."""
        try:
            entries = read_reply(answer)
        except DocumentError as error:
            return [_failed(name, category, f"the reply cannot be read: {error}") for name in ids]
        for name, value in entries.items():
            self._written[name] = yaml_text([value])
        return [self._proposal(name, category, entries.get(name)) for name in ids]

    def _proposal(self, name: str, category: Category, value: dict[str, Any] | None) -> Proposal:
        if value is None:
            return _failed(name, category, "the reply has no task with this id")
        value = {**value, "category": category.value, "repository": self.source}
        try:
            return Proposal(name, category, Task.model_validate(value))
        except ValidationError as error:
            lines = explain(error, Task, value, lambda path: "")
            return _failed(name, category, *(line[2:] for line in lines))


def _failed(name: str, category: Category, *reasons: str) -> Proposal:
    problems = tuple(Problem("schema", reason) for reason in reasons)
    return Proposal(name, category, None, problems)


def read_reply(answer: str) -> dict[str, dict[str, Any]]:
    """The tasks in a reply, by id. Raises DocumentError when there is no list of tasks between the marks."""
    before, _, _ = f"\n{answer}".rpartition("\n<<<end>>>")
    _, mark, text = before.rpartition("\n<<<tasks>>>")
    if not mark:
        raise DocumentError("there is nothing between <<<tasks>>> and <<<end>>>")
    value = parse_document(text.encode(errors="replace")).value
    tasks = value.get("tasks") if isinstance(value, dict) else None
    if not isinstance(tasks, list) or not all(isinstance(task, dict) for task in tasks):
        raise DocumentError("it has no list 'tasks' of mappings")
    return {str(task.get("id")): task for task in tasks}
