"""How finished runs differ on the tasks that they share: deltas, deltas of deltas, and what each condition needed.

A run against the reference is paired by task: the trials of a task are averaged inside each run first, because the
trials of two runs have nothing to do with each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from lensbench.core.conditions import treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import RunId
from lensbench.results.compare.runs import FinishedRun
from lensbench.scores.differences import Comparison, as_change, differences, with_holm
from lensbench.scores.intervals import Estimate, estimate
from lensbench.scores.quantities import QUANTITIES, Quantity

ByTask = Mapping[str, Fraction | float]
"""One number for each task that has one."""

DELTA, SCORE = "delta", "score"
NEEDS = ("duration_s", "tokens_input", "tokens_output")
"""Quantities that are compared by how many times more a run needs than the reference."""


@dataclass(frozen=True)
class Change:
    """A quantity in a run against the same in the reference."""

    run: str
    treatment: str | None
    """The reference's name of the condition; None for the baseline."""
    quantity: str
    """`delta` (a treatment's alone), `score`, or one of NEEDS."""
    before: float | None
    """The mean over the tasks that both runs have, in the reference; of NEEDS the geometric mean."""
    after: float | None
    found: Estimate
    """Of after less before, task by task; of NEEDS a relative change."""


class ComparedTask(NamedTuple):
    """A task in all runs."""

    task: str
    category: str
    deltas: Mapping[str, float | None]
    """By run, means over its trials."""
    changes: Mapping[str, float]
    """Run -> its delta less the reference's, where both are known."""


@dataclass(frozen=True)
class Shared:
    """Runs on the tasks that they share. The first run is the reference, and its gate and seed hold for all."""

    runs: Sequence[FinishedRun]
    tasks: Sequence[str]

    @property
    def reference(self) -> FinishedRun:
        """The run that the others are compared with."""
        return self.runs[0]

    @property
    def others(self) -> Sequence[FinishedRun]:
        """The runs that are compared with the reference."""
        return self.runs[1:]

    def conditions(self, treatment: str) -> list[tuple[FinishedRun, str]]:
        """The runs that have a treatment of the reference, and what they call it; the reference comes first."""
        found = [(run, run.counterpart(treatment, self.reference)) for run in self.runs]
        return [(run, condition) for run, condition in found if condition is not None]

    def over(self, values: ByTask) -> Estimate:
        """The estimate of one number per task."""
        plan = self.reference.plan
        repository_of = {task: plan["tasks"][task]["repository"] for task in self.tasks}
        gate = plan["gate"]
        return estimate(values, repository_of, gate["alpha"], len(self.tasks), plan["seed"], power=gate["power"])

    def own_delta(self, run: FinishedRun, condition: str) -> Estimate:
        """A treatment's delta in its own run."""
        comparison = self._comparison(run, condition)
        return comparison.over(differences(comparison.pairs(run.tables.score)), self.tasks)

    def deltas(self, run: FinishedRun, condition: str) -> ByTask:
        """The mean delta of each task with a complete pair."""
        found = differences(self._comparison(run, condition).pairs(run.tables.score))
        return {task: sum(found[task]) / Fraction(len(found[task])) for task in self.tasks if found[task]}

    def _comparison(self, run: FinishedRun, condition: str) -> Comparison:
        plan: Plan = {**run.plan, "gate": self.reference.plan["gate"], "seed": self.reference.plan["seed"]}
        return Comparison(run.tables._replace(plan=plan), condition, plan["baseline"])

    def levels(self, run: FinishedRun, condition: str, quantity: Quantity = QUANTITIES[SCORE]) -> ByTask:
        """The mean of each task's trials in a condition; tasks without any value are left out."""
        known = self._trials(run, condition, quantity)
        return {task: sum(values) / Fraction(len(values)) for task, values in known.items() if values}

    def log_levels(self, run: FinishedRun, condition: str, quantity: Quantity) -> ByTask:
        """The mean logarithm of each task's trials; nothing has a logarithm of 0, so such trials are left out."""
        known = self._trials(run, condition, quantity).items()
        logarithms = {task: [math.log(value) for value in values if value > 0] for task, values in known}
        return {task: math.fsum(values) / len(values) for task, values in logarithms.items() if values}

    def _trials(self, run: FinishedRun, condition: str, quantity: Quantity) -> dict[str, list[Fraction]]:
        trials = range(1, run.plan["trials"] + 1)
        found = {
            task: [quantity.of(run.tables, RunId(task, condition, trial)) for trial in trials] for task in self.tasks
        }
        return {task: [value for value in values if value is not None] for task, values in found.items()}


def changes(shared: Shared) -> list[Change]:
    """Every treatment and the baseline of every run against the reference, with Holm's p among the runs and
    treatments that answer the same question."""
    found: list[Change] = []
    for treatment in treatments(shared.reference.plan):
        for run, condition in shared.conditions(treatment)[1:]:
            found.append(_delta(shared, run, treatment, condition))
            found += _condition(shared, run, treatment, treatment, condition)
    for run in shared.others:
        baselines = shared.reference.plan["baseline"], run.plan["baseline"]
        found += _condition(shared, run, None, *baselines)
    return _with_holm(found)


def _delta(shared: Shared, run: FinishedRun, treatment: str, condition: str) -> Change:
    sides = shared.deltas(shared.reference, treatment), shared.deltas(run, condition)
    return _change(shared, run, treatment, DELTA, sides)


def _condition(
    shared: Shared, run: FinishedRun, treatment: str | None, reference_condition: str, condition: str
) -> list[Change]:
    """The score of a condition and what it needed, in a run against the reference."""

    def sides(levels: Callable[[FinishedRun, str], ByTask]) -> tuple[ByTask, ByTask]:
        return levels(shared.reference, reference_condition), levels(run, condition)

    needs = [
        _change(shared, run, treatment, name, sides(partial(shared.log_levels, quantity=QUANTITIES[name])), ratio=True)
        for name in NEEDS
    ]
    return [_change(shared, run, treatment, SCORE, sides(shared.levels)), *needs]


def _change(
    shared: Shared, run: FinishedRun, treatment: str | None, quantity: str, sides: tuple[ByTask, ByTask],
    ratio: bool = False,
) -> Change:  # fmt: skip
    before, after = sides
    both = [task for task in shared.tasks if task in before and task in after]
    found = shared.over({task: after[task] - before[task] for task in both})
    means = [sum(float(side[task]) for task in both) / len(both) if both else None for side in sides]
    if ratio:
        found, means = as_change(found), [None if mean is None else math.exp(mean) for mean in means]
    return Change(run.name, treatment, quantity, means[0], means[1], found)


def _with_holm(found: Sequence[Change]) -> list[Change]:
    """The baseline is a family of its own: it answers whether anything but the tools moved."""
    families: dict[tuple[str, bool], dict[str, Estimate]] = {}
    for number, change in enumerate(found):
        families.setdefault((change.quantity, change.treatment is None), {})[str(number)] = change.found
    corrected = {number: each for family in families.values() for number, each in with_holm(family).items()}
    return [replace(change, found=corrected[str(number)]) for number, change in enumerate(found)]


def by_task(shared: Shared, treatment: str) -> list[ComparedTask]:
    """A row per task: the delta in every run, and each run's delta less the reference's."""
    deltas = {run.name: shared.deltas(run, condition) for run, condition in shared.conditions(treatment)}
    first = deltas[shared.reference.name]
    rows = []
    for task in shared.tasks:
        by_run = {name: _number(delta.get(task)) for name, delta in deltas.items()}
        changes = {
            name: float(delta[task] - first[task])
            for name, delta in deltas.items()
            if name != shared.reference.name and task in delta and task in first
        }
        rows.append(ComparedTask(task, shared.reference.plan["tasks"][task]["category"], by_run, changes))
    return rows


def _number(value: Fraction | float | None) -> float | None:
    return None if value is None else float(value)
