"""What it means for the numbers that an earlier benchmark made the baseline (docs/bank.md).

Its score may have changed since. How much is not known, and cannot be learned from a fifth of the tasks better than
from all of them made anew; so the user says how large a change is possible, every interval allows for it, and the fifth
that is made again shows whether it was larger.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from lensbench.core.conditions import AGAIN
from lensbench.core.records import RunId
from lensbench.scores.gate import in_points, with_noun
from lensbench.scores.intervals import LARGEST, Estimate, estimate
from lensbench.scores.measures import Tables


class BankCheck(NamedTuple):
    """The baseline that was borrowed, and how it compares with the part of it that was made again."""

    sentence: str
    blocker: str
    """Why no verdict is given; else empty."""
    change: Estimate
    """Of the score since the earlier benchmark, over the tasks that were made again."""


def check_bank(tables: Tables) -> BankCheck | None:
    """What is known about the earlier baseline; None where no run of it stands in."""
    plan = tables.plan
    if "bank" not in plan or not tables.borrowed:
        return None
    bank, change = plan["bank"], change_since(tables)
    days = sorted(tables.records[run].last.started_at[:10] for run in tables.borrowed)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    planned = len(plan["order"]) * plan["trials"]
    allowed = f"{bank['drift']:g} point{'' if bank['drift'] == 1 else 's'}"
    taken = (
        f"{len(tables.borrowed)} of {planned} runs of {plan['baseline']} are those of {bank['baseline']} ({when}); the "
        f"intervals allow for a change of its score by {allowed} since then, either way."
    )
    again = _told(change)
    blocker = ""
    if not change.n:
        blocker = "None of the runs that were made again to check the earlier baseline has a score yet."
    elif not is_possible(change, bank["drift"] / 100):
        blocker = (
            f"The baseline has changed by more than the {allowed} of bank.drift since {bank['baseline']} was made: "
            f"{again} Remove bank, and the baseline is made anew in another run_id."
        )
    return BankCheck(f"{taken} {again}".rstrip(), blocker, change)


def is_possible(change: Estimate, drift: float) -> bool:
    """True while a change of at most `drift`, either way, fits what was seen. The check is of level 5 %."""
    return change.low is None or change.high is None or (change.low <= drift and change.high >= -drift)


def _told(change: Estimate) -> str:
    if change.delta is None:
        return ""
    told = f"Made again in {with_noun(change.n, 'task')}, it scores {in_points(change.delta)}"
    if change.low is None or change.high is None:
        return f"{told}; {'one task gives' if change.n == 1 else 'tasks that are all alike give'} no interval."
    return f"{told} (95 % interval {in_points(change.low, unit='')} to {in_points(change.high, unit='')})."


def change_since(tables: Tables) -> Estimate:
    """The baseline made again less the baseline that was borrowed, over the tasks that have both."""
    plan = tables.plan
    values: dict[str, Fraction] = {}
    for task in plan["order"]:
        found = []
        for trial in range(1, plan["trials"] + 1):
            again, before = RunId(task, AGAIN, trial), RunId(task, plan["baseline"], trial)
            if before in tables.borrowed and again in tables.scores:
                after, base = tables.score(again), tables.score(before)
                found += [after - base] if after is not None and base is not None else []
        if found:
            values[task] = sum(found, Fraction(0)) / len(found)
    repositories = {task: plan["tasks"][task]["repository"] for task in values}
    return estimate(values, repositories, seed=plan["seed"], limit=LARGEST)
