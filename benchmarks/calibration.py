"""How often the gate is right, on simulated runs whose truth is known.

    python benchmarks/calibration.py [--replications 2000] [--only REGEX]

A task has 2 to 5 criteria. Each is Met, Partial or Missed by how much an answer knows of it: a normal number that the
task, the criterion, the treatment and chance move. The baseline scores about 70 %, half of the pairs of one trial tie,
and their differences spread by 21 points. From the verdicts on, everything is the code that real runs go through:
score_run, compare, estimate, look_result, decide.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from habits import PEOPLE, UNKNOWABLE
from scipy.optimize import brentq

from lensbench.core.numbers import exact, mean
from lensbench.plan.waves import looks_over_tasks
from lensbench.scores import intervals
from lensbench.scores.account import draw
from lensbench.scores.gate import DEFAULTS, decide
from lensbench.scores.scores import Side, compare, score_run
from lensbench.scores.sequential import look_result

COVERAGE = (0.935, 0.975)
"""Of an interval whose level is 95.75 %."""
FALSE_GO = 0.025
SIZES = (12, 24, 48, 96)
BATCH = 100
"""Benchmarks that are drawn at once."""

KNOWN, BY_TASK, BY_CRITERION, BY_CHANCE, PARTLY = 1.0, 1.2, 0.8, 0.55, 0.4
"""What an answer knows on average, how that spreads, and up to where a fact above 0 is known in part only."""
BY_EFFECT = 0.35
"""How the treatment's effect spreads over tasks."""


class World(NamedTuple):
    """What is true in a simulation."""

    shift: float = 0.0
    """What the treatment adds to what an answer knows, on average over tasks."""
    spread: float = 0.0
    """How that differs from task to task; 0 is the same condition twice (A/A)."""
    tasks: int = 48
    trials: int = 1
    repositories: int = 0
    """How many repositories share the tasks, and half of the variance of the effect; 0: one for each task."""


def verdict_counts(world: World, replications: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """How many criteria are Met and Partial: arrays by replication, task, side (baseline first) and trial."""
    shape = (replications, world.tasks)
    known = KNOWN + rng.normal(0, BY_TASK, shape)[..., None] + rng.normal(0, BY_CRITERION, (*shape, 5))
    effect = rng.normal(0, 1, shape)
    if world.repositories:
        shared = rng.normal(0, 1, (replications, world.repositories))
        effect = (effect + shared[:, np.arange(world.tasks) % world.repositories]) / np.sqrt(2)
    added = np.stack([np.zeros(shape), world.shift + world.spread * effect], axis=-1)
    chance = rng.normal(0, BY_CHANCE, (*shape, 2, world.trials, 5))
    seen = known[:, :, None, None, :] + added[..., None, None] + chance
    asked = np.arange(5) < criteria_of(np.arange(world.tasks))[:, None, None, None]
    return ((seen > PARTLY) & asked).sum(-1), ((seen > 0) & (seen <= PARTLY) & asked).sum(-1)


def criteria_of(task: Any) -> Any:
    """2 to 5 criteria in turn, so that the tasks of a repository have different numbers of them."""
    return 2 + (task + task // 4) % 4


@lru_cache
def score_row(criteria: int, met: int, partial: int) -> Mapping[str, Any]:
    """The row of scores.csv of a run with these verdicts."""
    points = ["1"] * met + ["0.5"] * partial + ["0"] * (criteria - met - partial)
    run = {"task": "t", "condition": "c", "trial": "1", "status": "valid"}
    return score_run(run, [{"points": point} for point in points], criteria, None)


@lru_cache(maxsize=4096)
def delta(criteria: int, treatment: tuple[int, int], baseline: tuple[int, int]) -> Fraction:
    """The delta of a pair, from the Met and Partial verdicts of its runs."""
    treated, base = (Side(score_row(criteria, *counts), None, None) for counts in (treatment, baseline))
    difference = exact(compare(treated, base, ())["delta"])
    assert difference is not None
    return difference


def benchmarks(world: World, replications: int, seed: int) -> Iterator[dict[str, Fraction]]:
    """The differences of one benchmark after the other: a number per task, over its trials."""
    rng = np.random.default_rng(seed)
    for _ in range(0, replications, BATCH):
        met, partial = (counts.tolist() for counts in verdict_counts(world, BATCH, rng))
        for benchmark in range(BATCH):
            yield {
                f"t{task:03}": task_difference(criteria_of(task), met[benchmark][task], partial[benchmark][task])
                for task in range(world.tasks)
            }


def task_difference(criteria: int, met: list[list[int]], partial: list[list[int]]) -> Fraction:
    """The mean over the trials of a task; `met` and `partial` by side, baseline first, and trial."""
    baselines, treatments = (list(zip(*counts, strict=True)) for counts in zip(met, partial, strict=True))
    found = mean(delta(criteria, *pair) for pair in zip(treatments, baselines, strict=True))
    assert found is not None
    return found


@lru_cache
def shift_for(true: float, spread: float) -> float:
    """What the treatment must add to have a mean delta of `true`, a share of 1; found on half a million pairs."""
    scores = np.zeros((6, 6, 6))
    for criteria, met, partial in np.ndindex(6, 6, 6):
        if criteria >= 2 and met + partial <= criteria:
            scores[criteria, met, partial] = float(score_row(criteria, met, partial)["score"])

    def miss(shift: float) -> float:
        world = World(shift, spread, tasks=1000)
        criteria = criteria_of(np.arange(world.tasks))[:, None, None]
        draws = (verdict_counts(world, BATCH, np.random.default_rng(seed)) for seed in range(5))
        found = (scores[criteria, met, partial] for met, partial in draws)
        return float(np.mean([each[:, :, 1].mean() - each[:, :, 0].mean() for each in found])) - true

    return float(brentq(miss, -1, 2, xtol=1e-3))


def repository_of(world: World) -> dict[str, str]:
    """A repository for each task, or the shared ones in turn."""
    return {f"t{task:03}": f"r{task % (world.repositories or world.tasks)}" for task in range(world.tasks)}


class Outcome(NamedTuple):
    """What many benchmarks of one world came to."""

    replications: int
    verdicts: Counter[str]
    covered: int
    """How many of the intervals held the true delta."""
    used: float
    """Tasks used on average."""

    def share(self, verdict: str) -> float:
        """How often this verdict was given."""
        return self.verdicts[verdict] / self.replications


def one_look(world: World, true: float, replications: int, seed: int = 1) -> Outcome:
    """Benchmarks of which all runs are made."""
    repositories = repository_of(world)
    verdicts: Counter[str] = Counter()
    covered = 0
    for differences in benchmarks(world, replications, seed):
        found = intervals.estimate(differences, repositories, limit=intervals.LARGEST)
        drawn = draw([], "with", tuple(differences), DEFAULTS, (world.tasks, world.trials), 1.0)
        decided = decide(found, DEFAULTS, look_result(found, 1, 1, DEFAULTS, drawn.boundary), trials=world.trials)
        verdicts[decided.verdict] += 1
        covered += decided.low is not None and decided.high is not None and decided.low <= true <= decided.high
    return Outcome(verdicts.total(), verdicts, covered, world.tasks)


def many_looks(world: World, looks: int, settings: Mapping[str, Any], replications: int, seed: int = 1) -> Outcome:
    """Benchmarks that end when the gate closes."""
    repositories = repository_of(world)
    waves = looks_over_tasks(repositories, {task: str(n % 3) for n, task in enumerate(repositories)}, looks)
    stages = list(accumulate(waves))
    verdicts: Counter[str] = Counter()
    used = 0
    for differences in benchmarks(world, replications, seed):
        for look, tasks in enumerate(stages, start=1):
            estimate = intervals.estimate({task: differences[task] for task in tasks}, repositories)
            result = look_result(estimate, look, looks, settings)
            if not result.open:
                verdicts[decide(estimate, settings, result).verdict] += 1
                used += len(tasks)
                break
    return Outcome(verdicts.total(), verdicts, 0, used / verdicts.total())


def error(share: float, replications: int) -> float:
    """The Monte Carlo standard error of a share."""
    return float(np.sqrt(share * (1 - share) / replications))


def false_go(draws_go: Any, replications: int, seed: int = 1) -> float:
    """How often a server that does not help gets a GO."""
    rng = np.random.default_rng(seed)
    return sum(draws_go(rng) for _ in range(replications)) / replications


def null_worlds() -> Iterator[tuple[str, World]]:
    """Servers that do nothing on average: to no task, to each task something else, and alike within a repository."""
    for tasks in SIZES:
        yield f"A/A, {tasks} tasks x 1", World(tasks=tasks)
    nothing = World(shift_for(0, BY_EFFECT), BY_EFFECT)
    for tasks in SIZES:
        for trials in (1, 3):
            yield f"mean 0, {tasks} tasks x {trials}", nothing._replace(tasks=tasks, trials=trials)
    for tasks, shared in ((48, 6), (48, 12), (96, 16)):
        name = f"mean 0, {tasks} tasks x 1 in {shared} repositories"
        yield name, nothing._replace(tasks=tasks, repositories=shared)


def as_promised(found: Outcome) -> bool:
    """Coverage and false GO within their limits, give or take three Monte Carlo errors: there are many rows."""
    low, high = COVERAGE
    slack = 3 * error(1 - low, found.replications)
    covered = low - slack <= found.covered / found.replications <= high + slack
    return covered and found.share("GO") <= FALSE_GO + 3 * error(FALSE_GO, found.replications)


def null_row(name: str, found: Outcome) -> str:
    """What was found of a server that does nothing."""
    shares = (f"{found.share(verdict):.3f}" for verdict in ("GO", "HARM", "NO-GO", "INCONCLUSIVE"))
    kept = "yes" if as_promised(found) else "NO"
    return f"| {name} | {found.covered / found.replications:.3f} | {' | '.join(shares)} | {kept} |"


def power_rows(replications: int) -> Iterator[str]:
    """Servers that help, in all sizes."""
    for tasks in SIZES:
        for trials in (1, 3):
            cells = []
            for true in (0.05, 0.10, 0.15):
                world = World(shift_for(true, BY_EFFECT), BY_EFFECT, tasks, trials)
                found = one_look(world, true, replications)
                cells.append(f"{found.share('GO'):.2f} ({found.covered / found.replications:.2f})")
            yield f"| {tasks} x {trials} | {' | '.join(cells)} |"


def sequential_rows(replications: int) -> Iterator[str]:
    """45 tasks at most, for an effect of 10 points, with one look and with four."""
    settings = {**DEFAULTS, "effect": 10, "power": 0.9}
    for true in (-0.05, 0.0, 0.05, 0.10, 0.15):
        world = World(shift_for(true, BY_EFFECT), BY_EFFECT, 45)
        once, four = (many_looks(world, looks, settings, replications) for looks in (1, 4))
        shares = " | ".join(f"{found.share(verdict):.3f}" for verdict in ("GO", "HARM") for found in (once, four))
        yield f"| {100 * true:+.0f} | {four.used:.1f} | {1 - four.used / world.tasks:.0%} | {shares} |"


def main() -> None:
    """Prints what the gate promises beside what it does; exit code 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=2000, help="benchmarks per row, in hundreds")
    parser.add_argument("--only", default="", help="a regular expression: only the rows whose names it finds")
    arguments = parser.parse_args()
    replications = max(arguments.replications // BATCH, 1) * BATCH
    wanted = re.compile(arguments.only).search
    print(f"Nothing to find: {replications} benchmarks a row; error of a share near 0.025: ", end="")
    print(f"{error(0.025, replications):.4f}, near 0.95: {error(0.95, replications):.4f}\n")
    print("| truth | coverage | GO | HARM | NO-GO | INCONCLUSIVE | as promised |\n|---|--:|--:|--:|--:|--:|--:|")
    broken = False
    for name, world in null_worlds():
        if wanted(name):
            found = one_look(world, 0.0, replications)
            broken |= not as_promised(found)
            print(null_row(name, found), flush=True)
    print("\nWhat people do, with a server that does not help:\n\n| what | GO | as promised |\n|---|--:|--:|")
    for name, draws_go in (PEOPLE | UNKNOWABLE).items():
        if wanted(name):
            share = false_go(draws_go, replications)
            kept = share <= FALSE_GO + 3 * error(FALSE_GO, replications)
            broken |= not kept and name in PEOPLE
            word = "yes" if kept else "NO" if name in PEOPLE else "no: the sentence says so"
            print(f"| {name} | {share:.3f} | {word} |", flush=True)
    fewer = max(replications // (4 * BATCH), 1) * BATCH
    print(f"\nSomething to find: share of GO (coverage); {fewer} benchmarks; error up to {error(0.5, fewer):.3f}\n")
    print("| tasks x trials | +5 points | +10 | +15 |\n|---|--:|--:|--:|")
    for row in power_rows(fewer) if wanted("power") else ():
        print(row, flush=True)
    fewer = max(replications // (2 * BATCH), 1) * BATCH
    print(f"\nOne look or four at 45 tasks; {fewer} benchmarks; error near 0.025: {error(0.025, fewer):.4f}\n")
    print("| true points | tasks used | saved | GO, 1 look | GO, 4 | HARM, 1 | HARM, 4 |\n" + "|--:" * 7 + "|")
    for row in sequential_rows(fewer) if wanted("four looks or one") else ():
        print(row, flush=True)
    sys.exit(broken)


if __name__ == "__main__":
    main()
