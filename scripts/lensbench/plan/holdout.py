"""Which tasks confirm a choice that is made on the others: drawn by seed before any run, and kept in the plan."""

from __future__ import annotations

import random
from collections.abc import Sequence

from lensbench.core.frozen_plan import Plan


def held_out(tasks: Sequence[str], share: float, seed: int) -> list[str]:
    """The tasks that confirm, in the order of `tasks`: this share of them, but at least one on each side."""
    drawn = random.Random(f"holdout {seed}").sample(sorted(tasks), len(tasks))
    count = min(max(round(share * len(tasks)), 1), len(tasks) - 1)
    confirming = {*drawn[: max(count, 0)]}
    return [task for task in tasks if task in confirming]


def kept_out(plan: Plan, former: Plan) -> list[str]:
    """The same after tasks were added: no task changes sides."""
    before = former["tasks"]
    new = [task for task in plan["order"] if task not in before]
    share = plan["gate"].get("holdout", 0.0)
    confirming = {*former.get("holdout", ()), *held_out(new, share, plan["seed"])}
    return [task for task in plan["order"] if task in confirming]
