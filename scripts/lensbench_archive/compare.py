"""Compares finished runs on the tasks that they share: `lensbench compare bench/a bench/b`.

The first run is the reference. Prints the differences, and writes comparison.md and comparison.json. Runs are paired by
task, over the means of trials, because trials of two runs have nothing to do with each other.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple, TypedDict

from lensbench import __version__
from lensbench.core import numbers
from lensbench.core.conditions import treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.rows import RunStatus
from lensbench.core.system.files import plain, write_atomic, write_json
from lensbench.core.system.program import Parser, benchmark, run_program
from lensbench.core.system.progress import Progress
from lensbench.results.markdown import render as render_markdown
from lensbench.scores.adoption import (
    AdoptionDifference,
    difference_between,
    has_tools,
    says_difference,
    uses_of,
)
from lensbench.scores.complete_tasks import Known
from lensbench.scores.differences import Comparison, as_change, with_holm
from lensbench.scores.intervals import LARGEST, Estimate, estimate
from lensbench.scores.quantities import QUANTITIES
from lensbench_archive.compared_runs import (
    FinishedRun,
    LeftOut,
    Notice,
    Setting,
    changed_settings,
    judge_names,
    models_of,
    notices,
    read_runs,
    shared_tasks,
)

ByTask = Mapping[str, Fraction | float]
"""One number for each task that has one."""

DELTA = "delta"
SCORE = "score"
NEEDS = tuple(name for name, quantity in QUANTITIES.items() if quantity.kind == "log ratio")
"""Quantities that are compared by how many times more a run needs than the reference."""


class ComparedRun(NamedTuple):
    name: str
    """The name of the run in this comparison."""
    run_id: str
    """Its run id."""
    agent: str
    """The agent's kind."""
    models: str
    """The models that answered, joined with commas."""
    judges: Sequence[str]
    """The names of its judges."""
    first_start: str | None
    """When its first run started, as UTC in ISO 8601."""
    tasks: int
    """Number of its tasks."""
    trials: int
    """Number of its trials."""
    scored: int
    """Number of runs with a score."""
    planned: int
    """Number of runs that were planned."""


class ComparedTask(NamedTuple):
    """A task in all runs."""

    task: str
    """Name of the task."""
    category: str
    """Its category."""
    deltas: Mapping[str, float | None]
    """By run, means over its trials."""
    changes: Mapping[str, float]
    """Run -> its delta less the reference's, where both are known."""


class ComparedTreatment(NamedTuple):
    """A treatment of the reference."""

    name: str
    """The treatment, as the reference calls it."""
    conditions: Mapping[str, str]
    """Run -> what the treatment is called there."""
    deltas: Mapping[str, Estimate]
    """By run."""
    tasks: Sequence[ComparedTask]
    """The greatest gain first; those without a gain follow."""


class AdoptionChange(NamedTuple):
    """In how many runs a treatment's tools were called, in a run and in the reference."""

    run: str
    """The run that is compared."""
    treatment: str
    """The treatment, as the reference calls it."""
    found: AdoptionDifference
    """The difference of the two shares of runs, with its interval."""
    sentence: str
    """The same in words."""


@dataclass(frozen=True)
class Change:
    """A quantity in a run against the same in the reference."""

    run: str
    """The run that is compared."""
    treatment: str | None
    """The reference's name of the condition; None for the baseline."""
    quantity: str
    """`delta` (a treatment's alone), `score`, or one of NEEDS."""
    before: float | None
    """The mean over the tasks that both runs have, in the reference; of NEEDS the geometric mean."""
    after: float | None
    """The same mean in the run."""
    found: Estimate
    """Of after less before, task by task; of NEEDS a relative change."""


class ComparisonFile(TypedDict):
    """comparison.json."""

    lensbench: str
    """Version of lensbench."""
    reference: str
    """The run that the others are compared with."""
    alpha: float
    """The error of the intervals, two-sided, a share of 1."""
    power: float
    """The power of the detectable differences, a share of 1."""
    runs: Sequence[ComparedRun]
    """The runs that are compared, the reference first."""
    tasks: Sequence[str]
    """Names of the tasks that all runs have."""
    left_out: Sequence[LeftOut]
    """Tasks that some run lacks, with the reason."""
    names: Mapping[str, Mapping[str, str]]
    """Run -> condition -> what readers call it."""
    unmatched: Sequence[str]
    """Treatments that only one side has, one sentence each."""
    notices: Sequence[Notice]
    """What a reader should know before the numbers."""
    changed: Sequence[Setting]
    """Settings that differ, with both values."""
    same: Sequence[str]
    """Settings that are equal, in words."""
    treatments: Sequence[ComparedTreatment]
    """The deltas of each treatment in each run."""
    changes: Sequence[Change]
    """How each quantity changed."""
    adoption: Sequence[AdoptionChange]
    """How the use of the tools changed."""


class Shared(NamedTuple):
    """Runs on the tasks that they share. The first run is the reference, and its gate and seed hold for all."""

    runs: Sequence[FinishedRun]
    tasks: Sequence[str]

    def conditions(self, treatment: str) -> list[tuple[FinishedRun, str]]:
        """The runs that have a treatment of the reference, and what they call it; the reference comes first."""
        pairs = [(run, run.counterpart(treatment, self.runs[0])) for run in self.runs]
        return [(run, condition) for run, condition in pairs if condition is not None]

    def comparison(self, run: FinishedRun, condition: str) -> Comparison:
        reference = self.runs[0].plan
        plan: Plan = {**run.plan, "gate": reference["gate"], "seed": reference["seed"]}
        return Comparison(run.tables._replace(plan=plan), condition, plan["baseline"])

    def by_task(self, run: FinishedRun, condition: str, quantity: str) -> ByTask:
        """The mean of each task's trials that have the quantity: deltas, scores, or logarithms of NEEDS (nothing has a
        logarithm of 0). Tasks without any are left out."""
        comparison = self.comparison(run, condition)
        trials: Mapping[str, Sequence[Fraction | float]]
        if quantity == DELTA:
            trials = comparison.deltas(run.tables.score)
        else:
            of = QUANTITIES[quantity].of
            trials, _ = comparison.known(partial(of, run.tables))
        means: dict[str, Fraction | float] = {}
        for task in self.tasks:
            values: Sequence[Fraction | float] = trials[task]
            if quantity in NEEDS:
                values = [math.log(value) for value in values if value > 0]
            if values:
                means[task] = sum(values) / len(values)
        return means

    def change(
        self, run: FinishedRun, treatment: str | None, quantity: str, conditions: tuple[str, str]
    ) -> Change:
        """A quantity of the reference's condition, and of the run's."""
        plan = self.runs[0].plan
        earlier, later = conditions
        before = self.by_task(self.runs[0], earlier, quantity)
        after = self.by_task(run, later, quantity)
        both = [task for task in self.tasks if task in before and task in after]
        repositories = {task: plan["tasks"][task]["repository"] for task in self.tasks}
        difference = estimate(
            {task: after[task] - before[task] for task in both},
            repositories,
            plan["gate"]["alpha"],
            len(self.tasks),
            plan["seed"],
            power=plan["gate"]["power"],
        )
        old = _mean(before, both)
        new = _mean(after, both)
        if quantity in NEEDS:
            difference = as_change(difference)
            old = None if old is None else math.exp(old)
            new = None if new is None else math.exp(new)
        return Change(run.name, treatment, quantity, old, new, difference)


def _mean(values: ByTask, tasks: Sequence[str]) -> float | None:
    """The mean over these tasks; None without any."""
    if not tasks:
        return None
    return sum(float(values[task]) for task in tasks) / len(tasks)


def changes(overlap: Shared) -> list[Change]:
    """Every treatment and the baseline of every run against the reference, with Holm's p among the runs and
    treatments that answer the same question. The baseline is a family of its own: it answers whether anything but the
    tools moved."""
    reference, *others = overlap.runs
    rows = []
    for treatment in treatments(reference.plan):
        for run, condition in overlap.conditions(treatment)[1:]:
            for quantity in (DELTA, SCORE, *NEEDS):
                sides = (treatment, condition)
                rows.append(overlap.change(run, treatment, quantity, sides))
    for run in others:
        for quantity in (SCORE, *NEEDS):
            sides = (reference.plan["baseline"], run.plan["baseline"])
            rows.append(overlap.change(run, None, quantity, sides))
    families: dict[tuple[str, bool], dict[int, Estimate]] = {}
    for number, row in enumerate(rows):
        question = (row.quantity, row.treatment is None)
        families.setdefault(question, {})[number] = row.found
    for family in families.values():
        for number, found in with_holm(family).items():
            rows[number] = replace(rows[number], found=found)
    return rows


def adoptions(overlap: Shared) -> Iterator[AdoptionChange]:
    """The adoption of each treatment of the reference in every other run, on the tasks of which both are known."""
    for treatment in treatments(overlap.runs[0].plan):
        (reference, own), *others = overlap.conditions(treatment)
        before = _calls(overlap, reference, own)
        for run, condition in others:
            after = _calls(overlap, run, condition)
            both = [task for task in overlap.tasks if before.get(task) and after.get(task)]
            if not both:
                continue
            means = {task: _share(after[task]) - _share(before[task]) for task in both}
            repositories = {task: reference.plan["tasks"][task]["repository"] for task in both}
            seed = reference.plan["seed"]
            estimated = estimate(means, repositories, seed=seed, limit=LARGEST)
            found = difference_between(after, before, estimated)
            names = (
                f"{run.names[condition]} in {run.name}",
                f"{reference.names[own]} in {reference.name}",
            )
            yield AdoptionChange(run.name, treatment, found, says_difference(found, *names))


def _share(trials: Sequence[Fraction]) -> Fraction:
    return sum(trials, Fraction(0)) / len(trials)


def _calls(overlap: Shared, run: FinishedRun, condition: str) -> Known:
    """By shared task, which trials called a tool of the condition's servers; empty for a condition without tools."""
    if not has_tools(run.plan, condition):
        return {}
    known = overlap.comparison(run, condition).known(uses_of(run.tables).of)[0]
    return {task: known[task] for task in overlap.tasks}


def by_task(overlap: Shared, treatment: str) -> list[ComparedTask]:
    """A row per task: the delta in every run, and each run's delta less the reference's."""
    means = {}
    for run, condition in overlap.conditions(treatment):
        means[run.name] = overlap.by_task(run, condition, DELTA)
    reference, *others = means
    first = means[reference]
    rows = []
    for task in overlap.tasks:
        deltas: dict[str, float | None] = {}
        for name, delta in means.items():
            deltas[name] = float(delta[task]) if task in delta else None
        differences = {}
        for name in others:
            if task in first and task in means[name]:
                differences[name] = float(means[name][task] - first[task])
        category = overlap.runs[0].plan["tasks"][task]["category"]
        rows.append(ComparedTask(task, category, deltas, differences))
    return sorted(rows, key=lambda row: -fmean(row.changes.values()) if row.changes else math.inf)


def compare(runs: Sequence[FinishedRun]) -> ComparisonFile:
    """Everything in comparison.json; the first run is the reference. Raises UserError without a shared task."""
    tasks, left_out = shared_tasks(runs)
    overlap = Shared(runs, tasks)
    reference, *others = runs
    unmatched: list[str] = []
    for run in others:
        unmatched += _unmatched(reference, run)
    settings, same = changed_settings(runs, tasks)
    return {
        "lensbench": __version__,
        "reference": reference.name,
        "alpha": reference.plan["gate"]["alpha"],
        "power": reference.plan["gate"]["power"],
        "runs": [_run(run, tasks) for run in runs],
        "tasks": tasks,
        "left_out": left_out,
        "names": {run.name: run.names for run in runs},
        "unmatched": unmatched,
        "notices": notices(runs, settings),
        "changed": settings,
        "same": same,
        "treatments": [_treatment(overlap, name) for name in treatments(reference.plan)],
        "changes": changes(overlap),
        "adoption": [*adoptions(overlap)],
    }


def _run(run: FinishedRun, tasks: Sequence[str]) -> ComparedRun:
    statuses = [row["status"] for key, row in run.tables.scores.items() if key.task in tasks]
    starts = [record.attempt.started_at for record in run.tables.valid if record.source == "run"]
    return ComparedRun(
        run.name,
        run.plan["run_id"],
        run.plan["agent"]["kind"],
        models_of(run),
        judge_names(run),
        min(starts, default=None),
        len(run.plan["order"]),
        run.plan["trials"],
        statuses.count(RunStatus.SCORED),
        len(statuses),
    )


def _unmatched(reference: FinishedRun, run: FinishedRun) -> Iterator[str]:
    counterparts = {name: run.counterpart(name, reference) for name in treatments(reference.plan)}
    for name, counterpart in counterparts.items():
        if counterpart is None:
            yield f"{reference.names[name]} of {reference.name} is no treatment of {run.name}."
    for name in treatments(run.plan):
        if name not in counterparts.values():
            yield f"{run.names[name]} of {run.name} is no treatment of {reference.name}."


def _treatment(overlap: Shared, name: str) -> ComparedTreatment:
    deltas = {}
    conditions = {}
    for run, condition in overlap.conditions(name):
        comparison = overlap.comparison(run, condition)
        deltas[run.name] = comparison.over(comparison.deltas(run.tables.score), overlap.tasks)
        conditions[run.name] = condition
    return ComparedTreatment(name, conditions, deltas, by_task(overlap, name))


def points(share: float | None) -> str:
    """A difference of scores in points, with its sign."""
    return numbers.points(share, "")


def cells(row: Change) -> tuple[str, ...]:
    """The quantity in the reference and in the run, its change, and the interval."""
    show = points if row.quantity == SCORE else numbers.change
    sides = (None if mean is None else Fraction(str(mean)) for mean in (row.before, row.after))
    low = row.found.low
    high = row.found.high
    ends = numbers.MISSING if low is None or high is None else f"{show(low)} to {show(high)}"
    return (*map(QUANTITIES[row.quantity].amount, sides), show(row.found.delta), ends)


def _shown(data: ComparisonFile, row: Change) -> str:
    """What readers call the condition of a change."""
    if row.treatment is None:
        return "baseline"
    return data["names"][data["reference"]][row.treatment]


def sentence(data: ComparisonFile, row: Change) -> str:
    """What the difference between two deltas says, and what it does not."""
    found = row.found
    run = row.run
    reference = data["reference"]
    treatment = _shown(data, row)

    def size(share: float) -> str:
        return points(abs(share)).removeprefix("+")

    if found.delta is None:
        return f"No task has a complete pair of {treatment} in both {reference} and {run}."
    start = f"The delta of {treatment} is the same in {run} as in {reference}"
    if found.delta:
        direction = "higher" if found.delta > 0 else "lower"
        start = f"The delta of {treatment} is {size(found.delta)} points {direction} in {run} than in {reference}"
    if found.low is None or found.high is None:
        return f"{start}; {found.method}."
    level = f"{round((1 - data['alpha']) * 100, 4):g}% interval {numbers.interval(found.low, found.high, '')}"
    chance = (
        "chance alone can explain this"
        if found.low <= 0 <= found.high
        else "more than chance explains"
    )
    power = ""
    if found.mde is not None:
        power = f" If tasks spread as these do, {data['power'] * 100:g}% of such comparisons find a true difference"
        power += f" of {size(found.mde)} points."
    scope = f" This holds for {found.scope}." if found.scope else ""
    return f"{start} ({level}, over {found.n} tasks): {chance}.{power}{scope}"


def render(data: ComparisonFile, *, short: bool = False) -> str:
    """comparison.md; `short` leaves out the single tasks, for the terminal."""
    filters: dict[str, Callable[..., object]] = {
        "in_points": points,
        "cells": cells,
        "says": partial(sentence, data),
        "label": lambda row: f"{_shown(data, row)}: {QUANTITIES[row.quantity].label}",
    }
    return render_markdown({"data": data, "short": short}, "comparison.md.j2", filters)


def write_comparison(folders: Sequence[Path], output: Path | None = None) -> None:
    """Writes both files into `output`, by default `comparisons/<names>` beside the first run; prints them."""
    with Progress("comparing"):
        data = compare(read_runs(folders))
    names = "-".join(folder.resolve().name for folder in folders)
    output = output or folders[0].resolve().parent / "comparisons" / names
    write_json(output / "comparison.json", plain(data))
    write_atomic(output / "comparison.md", render(data))
    print(render(data, short=True))
    print(f"open {output / 'comparison.md'}")


def main() -> None:
    """Reads the arguments, and compares the runs."""
    parser = Parser(prog="lensbench compare", description=__doc__)
    parser.add_argument(
        "runs",
        nargs="+",
        type=benchmark,
        help="run ids, or run folders bench/<run_id>; the first is the reference",
    )
    parser.add_argument(
        "--output", type=Path, help="the folder to write to; bench/comparisons/<names> by default"
    )
    arguments = parser.parse_args()
    run_program(lambda: write_comparison(arguments.runs, arguments.output))


if __name__ == "__main__":
    main()
