"""How finished runs differ on the tasks that they share: deltas, deltas of deltas, and what each condition needed. Runs
are paired by task, over the means of trials, because trials of two runs have nothing to do with each other."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from lensbench.core.conditions import treatments
from lensbench.core.frozen_plan import Plan
from lensbench.results.compare.runs import FinishedRun
from lensbench.scores.differences import Comparison, as_change, differences, with_holm
from lensbench.scores.intervals import Estimate, estimate
from lensbench.scores.quantities import QUANTITIES

ByTask = Mapping[str, Fraction | float]
"""One number for each task that has one."""

DELTA, SCORE = "delta", "score"
NEEDS = tuple(name for name, quantity in QUANTITIES.items() if quantity.kind == "log ratio")
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
        return self.runs[0]

    @property
    def others(self) -> Sequence[FinishedRun]:
        return self.runs[1:]

    def conditions(self, treatment: str) -> list[tuple[FinishedRun, str]]:
        """The runs that have a treatment of the reference, and what they call it; the reference comes first."""
        pairs = [(run, run.counterpart(treatment, self.reference)) for run in self.runs]
        return [(run, condition) for run, condition in pairs if condition is not None]

    def over(self, values: ByTask) -> Estimate:
        """The estimate of one number per task."""
        plan = self.reference.plan
        repository_of = {task: plan["tasks"][task]["repository"] for task in self.tasks}
        gate = plan["gate"]
        return estimate(values, repository_of, gate["alpha"], len(self.tasks), plan["seed"], power=gate["power"])

    def own_delta(self, run: FinishedRun, condition: str) -> Estimate:
        comparison = self._comparison(run, condition)
        return comparison.over(differences(comparison.pairs(run.tables.score)), self.tasks)

    def by_task(self, run: FinishedRun, condition: str, quantity: str) -> ByTask:
        """The mean of each task's trials that have the quantity: deltas, scores, or logarithms of NEEDS (nothing has a
        logarithm of 0). Tasks without any are left out."""
        comparison, of = self._comparison(run, condition), QUANTITIES[SCORE if quantity == DELTA else quantity].of
        trials: Mapping[str, Sequence[Fraction | float]] = comparison.known(partial(of, run.tables))[0]
        if quantity == DELTA:
            trials = differences(comparison.pairs(run.tables.score))
        if quantity in NEEDS:
            trials = {task: [math.log(value) for value in own if value > 0] for task, own in trials.items()}
        return {task: sum(trials[task]) / len(trials[task]) for task in self.tasks if trials[task]}

    def _comparison(self, run: FinishedRun, condition: str) -> Comparison:
        plan: Plan = {**run.plan, "gate": self.reference.plan["gate"], "seed": self.reference.plan["seed"]}
        return Comparison(run.tables._replace(plan=plan), condition, plan["baseline"])

    def change(self, run: FinishedRun, treatment: str | None, quantity: str, conditions: tuple[str, str]) -> Change:
        """A quantity of the reference's condition, and of the run's."""
        before, after = map(self.by_task, (self.reference, run), conditions, (quantity, quantity))
        both = [task for task in self.tasks if task in before and task in after]
        difference = self.over({task: after[task] - before[task] for task in both})
        means = [sum(float(side[task]) for task in both) / len(both) if both else None for side in (before, after)]
        if quantity in NEEDS:
            difference, means = as_change(difference), [None if mean is None else math.exp(mean) for mean in means]
        return Change(run.name, treatment, quantity, means[0], means[1], difference)


def changes(overlap: Shared) -> list[Change]:
    """Every treatment and the baseline of every run against the reference, with Holm's p among the runs and
    treatments that answer the same question. The baseline is a family of its own: it answers whether anything but the
    tools moved."""
    rows: list[Change] = []
    for treatment in treatments(overlap.reference.plan):
        for run, condition in overlap.conditions(treatment)[1:]:
            kinds = (DELTA, SCORE, *NEEDS)
            rows += (overlap.change(run, treatment, quantity, (treatment, condition)) for quantity in kinds)
    for run in overlap.others:
        baselines = overlap.reference.plan["baseline"], run.plan["baseline"]
        rows += (overlap.change(run, None, quantity, baselines) for quantity in (SCORE, *NEEDS))
    families: dict[tuple[str, bool], dict[int, Estimate]] = {}
    for number, row in enumerate(rows):
        families.setdefault((row.quantity, row.treatment is None), {})[number] = row.found
    estimates = {number: estimate for family in families.values() for number, estimate in with_holm(family).items()}
    return [replace(row, found=estimates[number]) for number, row in enumerate(rows)]


def by_task(overlap: Shared, treatment: str) -> list[ComparedTask]:
    """A row per task: the delta in every run, and each run's delta less the reference's."""
    deltas = {run.name: overlap.by_task(run, condition, DELTA) for run, condition in overlap.conditions(treatment)}
    first, *others = deltas
    rows = []
    for task in overlap.tasks:
        own = {name: float(delta[task]) if task in delta else None for name, delta in deltas.items()}
        changes = {
            name: float(deltas[name][task] - deltas[first][task])
            for name in others
            if task in deltas[name] and task in deltas[first]
        }
        rows.append(ComparedTask(task, overlap.reference.plan["tasks"][task]["category"], own, changes))
    return rows
