"""Checks, before the first run is paid, that every criterion has a judge that can decide it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from lensbench.agents import programs
from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError, printable
from lensbench.core.frozen_plan import HUMAN, MECHANICAL
from lensbench.core.system.program import Parser, run_program
from lensbench.core.tasks import Task
from lensbench.judging.judges import canaries
from lensbench.plan.config import Config, judge_names
from lensbench.plan.reading import load_config
from lensbench.plan.task_files import read_scenarios

REQUEST_USD = (0.002, 0.02)
"""The estimated cost of one request to a model judge in US dollars: 3,000 input and 150 output tokens, of a small and a
large model."""


class Unread(NamedTuple):
    """The criteria without patterns, which a model or a person must judge."""

    criteria: int
    without_patterns: int
    requests: int
    """The number of requests to a model judge that reads every answer."""

    @property
    def price(self) -> str:
        """The estimated price of one model judge, in words."""
        low, high = (self.requests * usd for usd in REQUEST_USD)
        return f"about {self.requests} requests, {low:.2g} to {high:.2g} US dollars (a guess)"


def unread(config: Config, tasks: Sequence[Task]) -> Unread:
    """The criteria of `tasks` that patterns cannot decide."""
    bare = sum(not criterion.mechanical for task in tasks for _, criterion in answer_criteria(task))
    answers = len(config.conditions) * config.trials
    read = [len(answer_criteria(task)) for task in tasks]
    requests = answers * sum(count + canaries.COUNT for count in read if count)
    return Unread(sum(read), bare, requests)


def check_readers(config: Config, tasks: Sequence[Task]) -> str:
    """A sentence on who judges the criteria without patterns, if there are any. Raises UserError when nobody does,
    because the runs would be paid for nothing."""
    tally = unread(config, tasks)
    if not tally.without_patterns:
        return ""
    bare = f"{tally.without_patterns} of {tally.criteria} criteria have no patterns"
    readers = [name for name in judge_names(config.judges) if name != MECHANICAL]
    if readers:
        price = f": {tally.price} each" if set(readers) != {HUMAN} else ", on the judge sheet (docs/human-judging.md)"
        return f"{bare}; read by {', '.join(readers)}{price}"
    nobody = f"{bare}, and no judge can read them: {ways(config, tally)}"
    if config.agent.kind == "offline":
        return nobody
    raise UserError(f"{nobody}; nothing was started")


def ways(config: Config, tally: Unread) -> str:
    """What to add to the config so that criteria without patterns are judged."""
    kind, model = config.agent.kind, config.agent.model or "..."
    judge = f"{{agent: {{kind: {kind}, model: {model}}}}}" if kind in programs() else "{agent: {kind: ..., model: ...}}"
    return (
        f"add {judge} to judges ({tally.price}), or add human (the judge sheet), or write patterns "
        "(`lensbench draft` proposes them)"
    )


def main() -> None:
    """Print who judges the criteria without patterns. The exit code is 1 when nobody does."""
    parser = Parser(prog="python -m lensbench.judging.readers", description=main.__doc__)
    parser.add_argument("--settings", required=True, help="the config as JSON")
    config = load_config(json.loads(parser.parse_args().settings))
    if text := check_readers(config, read_scenarios(config.scenario_files, config.repository, config.imported).tasks):
        print(printable(f"judges: {text}"), flush=True)


if __name__ == "__main__":
    run_program(main)
