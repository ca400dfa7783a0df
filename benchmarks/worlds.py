"""Simulated verdicts on criteria, with a known true effect.

A task has 2 to 5 criteria. Each is Met, Partial or Missed by the answer's knowledge: a normal variable with effects of
the task, the criterion, the treatment and chance. The baseline scores about 70%, half of the pairs of one trial tie,
and the standard deviation of their differences is 21 points.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from lensbench.scores.scores import score_run

BATCH = 100
"""Benchmarks simulated per batch."""

KNOWN, BY_TASK, BY_CRITERION, BY_CHANCE, PARTLY = 1.0, 1.2, 0.8, 0.55, 0.4
"""Mean and spread of an answer's knowledge, and the bound up to which a fact above 0 is only known in part."""
BY_EFFECT = 0.35
"""The spread of the treatment's effect over tasks."""


class World(NamedTuple):
    """The truth in a simulation."""

    shift: float = 0.0
    """The treatment's average effect on an answer's knowledge, over tasks."""
    spread: float = 0.0
    """The spread of the effect over tasks; 0 is the same condition twice (A/A)."""
    tasks: int = 48
    trials: int = 1
    repositories: int = 0
    """The number of repositories, which share half of the variance of the effect; 0: one for each task."""
    known: float = KNOWN
    """The mean knowledge of the baseline's answers."""


def verdict_counts(world: World, replications: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """The numbers of Met and Partial criteria: arrays by replication, task, side (baseline first) and trial."""
    shape = (replications, world.tasks)
    known = (
        world.known
        + rng.normal(0, BY_TASK, shape)[..., None]
        + rng.normal(0, BY_CRITERION, (*shape, 5))
    )
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


@lru_cache
def shift_for(true: float, spread: float, known: float = KNOWN) -> float:
    """The effect on knowledge that gives a mean delta of `true`, a share of 1; estimated with half a million pairs."""
    scores = np.zeros((6, 6, 6))
    for criteria, met, partial in np.ndindex(6, 6, 6):
        if criteria >= 2 and met + partial <= criteria:
            scores[criteria, met, partial] = float(score_row(criteria, met, partial)["score"])

    def miss(shift: float) -> float:
        world = World(shift, spread, tasks=1000, known=known)
        criteria = criteria_of(np.arange(world.tasks))[:, None, None]
        draws = (verdict_counts(world, BATCH, np.random.default_rng(seed)) for seed in range(5))
        found = (scores[criteria, met, partial] for met, partial in draws)
        return (
            float(np.mean([each[:, :, 1].mean() - each[:, :, 0].mean() for each in found])) - true
        )

    return float(brentq(miss, -1, 2, xtol=1e-3))


def repository_of(world: World) -> dict[str, str]:
    """A repository for each task, or the shared ones in turn."""
    return {
        f"t{task:03}": f"r{task % (world.repositories or world.tasks)}"
        for task in range(world.tasks)
    }
