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
    total = 0
    without_patterns = 0
    asked = 0
    for task in tasks:
        criteria = answer_criteria(task)
        total += len(criteria)
        without_patterns += sum(not criterion.mechanical for _, criterion in criteria)
        if criteria:
            asked += len(criteria) + canaries.COUNT
    if not without_patterns:
        return ""
    requests = len(config.conditions) * config.trials * asked
    low, high = (requests * usd for usd in REQUEST_USD)
    price = f"about {requests} requests, {low:.2g} to {high:.2g} US dollars (a guess)"
    bare = f"{without_patterns} of {total} criteria have no patterns"
    readers = [name for name in judge_names(config.judges) if name != MECHANICAL]
    if set(readers) == {HUMAN}:
        return f"{bare}; read by {HUMAN}, on the judge sheet (docs/human-judging.md)"
    if readers:
        return f"{bare}; read by {', '.join(readers)}: {price} each"
    kind = model = "..."
    if config.agent.kind in programs():
        kind = config.agent.kind
        model = config.agent.model or model
    nobody = (
        f"{bare}, and no judge can read them: add {{agent: {{kind: {kind}, model: {model}}}}} to judges ({price}), "
        "or add human (the judge sheet), or write patterns (`lensbench draft` proposes them)"
    )
    if config.agent.kind == "offline":
        return nobody
    raise UserError(f"{nobody}; nothing was started")
