"""Checks, before the first run is paid, that every criterion has a judge that can decide it."""

from __future__ import annotations

from collections.abc import Sequence

from lensbench.agents import programs
from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import HUMAN, MECHANICAL
from lensbench.core.tasks import Task
from lensbench.judging.judges import canaries
from lensbench.plan.config import Config, judge_names

REQUEST_USD = (0.002, 0.02)
"""The estimated cost of one request to a model judge in US dollars: 3,000 input and 150 output tokens, of a small and a
large model."""


def check_readers(config: Config, tasks: Sequence[Task]) -> str:
    """A sentence on who judges the criteria without patterns, if there are any, and at which price. Raises UserError
    when nobody does, because the runs would be paid for nothing."""
    criteria = [[criterion for _, criterion in answer_criteria(task)] for task in tasks]
    without_patterns = sum(not criterion.mechanical for own in criteria for criterion in own)
    if not without_patterns:
        return ""
    answers = len(config.conditions) * config.trials
    requests = answers * sum(len(own) + canaries.COUNT for own in criteria if own)
    low, high = (requests * usd for usd in REQUEST_USD)
    price = f"about {requests} requests, {low:.2g} to {high:.2g} US dollars (a guess)"
    bare = f"{without_patterns} of {sum(map(len, criteria))} criteria have no patterns"
    readers = [name for name in judge_names(config.judges) if name != MECHANICAL]
    if readers:
        cost = (
            f": {price} each"
            if set(readers) != {HUMAN}
            else ", on the judge sheet (docs/human-judging.md)"
        )
        return f"{bare}; read by {', '.join(readers)}{cost}"
    kind = config.agent.kind if config.agent.kind in programs() else "..."
    model = config.agent.model if kind != "..." and config.agent.model else "..."
    nobody = (
        f"{bare}, and no judge can read them: add {{agent: {{kind: {kind}, model: {model}}}}} to judges ({price}), "
        "or add human (the judge sheet), or write patterns (`lensbench draft` proposes them)"
    )
    if config.agent.kind == "offline":
        return nobody
    raise UserError(f"{nobody}; nothing was started")
