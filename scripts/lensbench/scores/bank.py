"""Checks a baseline that was borrowed from earlier benchmarks (docs/bank.md).

Its score may have changed since. The change cannot be measured precisely without repeating all tasks. Therefore the
user sets the largest change that is possible (`bank.drift`), every interval allows for it, and the fifth of the tasks
that is repeated shows whether the change was larger.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lensbench.core.conditions import AGAIN
from lensbench.core.records import RunId
from lensbench.scores.gate import in_points, with_noun
from lensbench.scores.intervals import LARGEST, Estimate, estimate
from lensbench.scores.run_tables import Tables

LEVEL = 0.05
"""The probability that the check reports a change that does not exist; several earlier benchmarks share it."""
FEWEST_ALIKE = 3


class BankCheck(NamedTuple):
    """The borrowed baselines, compared with the repeated part."""

    sentence: str
    blocker: str
    """Why no verdict is given; empty when one may be given."""
    changes: Mapping[str, Estimate]
    """The change of the score since each earlier benchmark, over the repeated tasks."""


def check_bank(tables: Tables) -> BankCheck | None:
    """The check of the earlier baselines; None when no run is borrowed."""
    plan, first = tables.plan, [run for run in tables.borrowed if run.condition == tables.plan["baseline"]]
    if "bank" not in plan or not first:
        return None
    allowed = f"{plan['bank']['drift']:g} point{'' if plan['bank']['drift'] == 1 else 's'}"
    by_lender: dict[str, list[RunId]] = {}
    for run in sorted(tables.borrowed, key=lambda run: run.condition != plan["baseline"]):
        by_lender.setdefault(tables.lenders[run], []).append(run)
    level = LEVEL / len(by_lender)
    changes = {lender: change_since(tables, runs, level) for lender, runs in by_lender.items()}
    taken = [_taken(tables, lender, runs, set(first)) for lender, runs in by_lender.items()]
    its = "its score" if len(taken) == 1 else "their scores"
    told = f"{', and '.join(taken)}; the intervals allow for a change of {its} by {allowed} since then, either way."
    checked = [_told(change, lender, len(changes), level) for lender, change in changes.items()]
    blocker = _blocker(changes, plan["bank"]["drift"] / 100, allowed, level)
    return BankCheck(" ".join([told, *filter(None, checked)]), blocker, changes)


def _taken(tables: Tables, lender: str, runs: Sequence[RunId], first: Collection[RunId]) -> str:
    days = sorted(tables.records[run].last.started_at[:10] for run in runs)
    when = days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"
    own, planned = sum(run in first for run in runs), len(tables.plan["order"]) * tables.plan["trials"]
    told = [f"{own} of {planned} runs of {tables.plan['baseline']} are those of"] if own else []
    if more := len(runs) - own:
        told.append(f"{more} more, which are averaged with them, are from")
    return f"{' and '.join(told)} {lender} ({when})"


def _blocker(changes: Mapping[str, Estimate], drift: float, allowed: str, level: float) -> str:
    if not any(change.n for change in changes.values()):
        return "None of the runs that were made again to check the earlier baseline has a score yet."
    changed = [lender for lender, change in changes.items() if not is_possible(change, drift)]
    if not changed:
        return ""
    again = " ".join(_told(changes[lender], lender, len(changes), level) for lender in changed)
    rest = "bank" if len(changed) == len(changes) else f"{', '.join(changed)} from bank.baseline"
    return (
        f"The baseline has changed by more than the {allowed} of bank.drift since {', '.join(changed)} was made: "
        f"{again} Remove {rest}, in another run_id; what is missing then is made anew."
    )


def is_possible(change: Estimate, drift: float) -> bool:
    """True when a change of at most `drift` in either direction fits the data. Three or more tasks that all changed by
    the same amount have no interval; then the amount itself is compared with `drift`."""
    if change.low is None or change.high is None:
        return change.n < FEWEST_ALIKE or abs(change.delta or 0) <= drift
    return change.low <= drift and change.high >= -drift


def _told(change: Estimate, lender: str, lenders: int, level: float) -> str:
    if change.delta is None:
        return ""
    since = f" more than in {lender}" if lenders > 1 else ""
    told = f"Made again in {with_noun(change.n, 'task')}, it scores {in_points(change.delta)}{since}"
    if change.low is None or change.high is None:
        return f"{told}; {'one task gives' if change.n == 1 else 'tasks that are all alike give'} no interval."
    interval = f"{in_points(change.low, unit='')} to {in_points(change.high, unit='')}"
    return f"{told} ({100 * (1 - level):.4g} % interval {interval})."


def change_since(tables: Tables, borrowed: Sequence[RunId], level: float = LEVEL) -> Estimate:
    """The repeated baseline minus borrowed runs of it, over the tasks with both; its interval has level 1 - `level`."""
    plan = tables.plan
    values: dict[str, list[Fraction]] = {}
    for run in sorted(borrowed):
        again = run._replace(condition=AGAIN)
        after = tables.score(again) if again in tables.scores else None
        before = tables.score(run)
        if after is not None and before is not None:
            values.setdefault(run.task, []).append(after - before)
    repositories = {task: plan["tasks"][task]["repository"] for task in values}
    means = {task: sum(each, Fraction(0)) / len(each) for task, each in values.items()}
    return estimate(means, repositories, level, seed=plan["seed"], limit=LARGEST)
