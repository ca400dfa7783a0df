"""How often `lensbench table` names a step where no version changed anything, or two agents that do not differ, and how
often it finds a step.

    python benchmarks/history.py [--replications 500]

Scores are those of runs with four criteria, of easy tasks (most criteria are met in both conditions), and of hidden
tests (0 or 1); runs are missing at random. Versions differ in the treatment only. Exit code 1 when more than 5% of the
series without a change have a step, or of the tables name a pair.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np

from lensbench_archive.contrasts import contrasts
from lensbench_archive.history import steps

Floats = np.ndarray[Any, Any]
AIM = 0.05
BAD, REPAIR = 5, 9
"""The version that is worse, and the one that repairs it, of twelve."""


class World(NamedTuple):
    """Where scores come from."""

    name: str
    criteria: int
    mean: float
    """Of the chance that a run meets a criterion."""
    spread: float
    """Of this chance over tasks."""


FOUR = World("4 criteria", 4, 0.55, 0.2)
WORLDS = (FOUR, World("4 criteria, easy", 4, 0.9, 0.08), World("hidden tests", 1, 0.5, 0.3))


def series(
    rng: np.random.Generator, world: World, levels: Sequence[float], tasks: int, trials: int
) -> list[list[float | None]]:
    """The differences of each version by task; `levels` are those of the versions, as shares of 1."""
    chance = rng.normal(world.mean, world.spread, tasks)

    def scores(level: float) -> Floats:
        met = rng.binomial(world.criteria, np.clip(chance + level, 0.02, 0.98), (trials, tasks))
        return (met / world.criteria).mean(axis=0)

    rows = []
    for level in levels:
        change = scores(level) - scores(0.0)
        is_missing = rng.random(tasks) < 0.02
        rows.append(
            [None if gone else float(d) for d, gone in zip(change, is_missing, strict=True)]
        )
    return rows


def found(
    world: World, levels: Sequence[float], tasks: int, trials: int, replications: int
) -> list[list[int]]:
    """The places of the steps in each simulated series."""
    rng = np.random.default_rng([len(levels), tasks, trials, world.criteria])
    repositories = [f"r{task % 12}" for task in range(tasks)]
    return [
        [step.place for step in steps(series(rng, world, levels, tasks, trials), repositories)]
        for _ in range(replications)
    ]


def tables_with_a_pair(world: World, cells: int, tasks: int, replications: int) -> int:
    """In how many of the simulated tables of agents that do not differ some pair is said to."""
    rng = np.random.default_rng([cells, tasks, world.criteria])
    repositories = [f"r{task % 12}" for task in range(tasks)]
    wrong = 0
    for _ in range(replications):
        rows = np.array(series(rng, world, [0.1] * cells, tasks, 1), dtype=float)
        changes = [rows[first] - rows[second] for first, second in combinations(range(cells), 2)]
        pairs = contrasts(np.array(changes), repositories).estimates()
        wrong += any(pair.clearness > 1 for pair in pairs)
    return wrong


def near(places: Sequence[int], place: int) -> bool:
    """True when a step was found there, or one version beside it."""
    return any(abs(other - place) <= 1 for other in places)


def main() -> None:
    """Print how many series without a change have a step, and how many steps are found."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=500, help="series per row")
    replications = parser.parse_args().replications
    print("| nothing changed: scores | versions | tasks | series with a step |\n|---|--:|--:|--:|")
    false = 0
    cells = [(world, versions, 24) for world in WORLDS for versions in (2, 12)]
    for world, versions, tasks in cells:
        places = found(world, [0.1] * versions, tasks, 1, replications)
        wrong = sum(map(bool, places))
        false += wrong
        print(f"| {world.name} | {versions} | {tasks} | {wrong / replications:.1%} |", flush=True)
    share = false / len(cells) / replications
    print(f"| all | | | {share:.1%} |\n")
    print(
        "| nothing differs: scores | agents | tasks | tables that name a pair |\n|---|--:|--:|--:|"
    )
    named = 0
    tables = [(world, agents) for world in WORLDS for agents in (2, 6)]
    for world, agents in tables:
        wrong = tables_with_a_pair(world, agents, 24, replications)
        named += wrong
        print(f"| {world.name} | {agents} | 24 | {wrong / replications:.1%} |", flush=True)
    of_tables = named / len(tables) / replications
    print(f"| all | | | {of_tables:.1%} |\n")
    print(
        "| a bad version and its repair: points | tasks | trials | bad one found | repair found |"
    )
    print("|--:|--:|--:|--:|--:|", flush=True)
    for size, tasks, trials in (
        (0.1, 24, 1),
        (0.1, 48, 1),
        (0.1, 48, 3),
        (0.1, 96, 3),
        (0.2, 24, 1),
        (0.2, 48, 1),
    ):
        levels = [0.1 - size * (BAD <= version < REPAIR) for version in range(12)]
        places = found(FOUR, levels, tasks, trials, replications)
        shares = [sum(near(own, place) for own in places) for place in (BAD, REPAIR)]
        bad, repair = (share / replications for share in shares)
        print(f"| {100 * size:.0f} | {tasks} | {trials} | {bad:.0%} | {repair:.0%} |", flush=True)
    if share > AIM:
        sys.exit(f"{share:.1%} of the series without a change have a step")
    if of_tables > AIM:
        sys.exit(f"{of_tables:.1%} of the tables without a difference name a pair")


if __name__ == "__main__":
    main()
