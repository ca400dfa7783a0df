"""How often SAVES and COSTS are right, on simulated tasks with a known true loss and a known true bill.

    python benchmarks/savings.py [--replications 1000] [--only REGEX]

The decision is the product's own: rules.py on the scores, saving.py on the typical task and on the bill. Beside it
stands the plain rule of two t intervals of 95%. Exit code 1 when a row lies above its promise by more than three
standard errors, or a power below its aim.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from calibration import archive_baselines, demo_baselines
from habits import DEFAULTS

from lensbench.core.distributions import t_isf
from lensbench.scores import intervals
from lensbench.scores.rules import given, sample
from lensbench.scores.saving import beyond, shares_saved

Floats = np.ndarray[Any, Any]
CHANCE = DEFAULTS["alpha"] / 2
LEAST = math.log(0.9)


class Drawn(NamedTuple):
    """Benchmarks, a row each: differences of scores, baselines, and what treatment and baseline needed."""

    differences: Floats
    baselines: Floats
    treated: Floats
    base: Floats


class Row(NamedTuple):
    """A truth, and the promise: at most, or at least."""

    draw: Callable[[np.random.Generator, int], Drawn]
    verdict: str = "SAVES"
    at_most: float = 1.0
    at_least: float = 0.0


def priced(
    rng: np.random.Generator, count: int, tasks: int, share: float, spread: float = 0.5
) -> tuple[Floats, Floats]:
    """What the runs needed: tasks differ threefold, and the typical treatment needs this share."""
    task = np.exp(rng.normal(0, 1.1, (count, tasks)))
    base = task * np.exp(rng.normal(0, spread / 2**0.5, task.shape))
    treated = task * share * np.exp(rng.normal(0, spread / 2**0.5, task.shape))
    return treated, base


def tenth_lost(tasks: int, spread: float) -> Row:
    """So many tasks lose all they had that the mean loss is 10; the others differ by chance."""

    def draw(rng: np.random.Generator, count: int) -> Drawn:
        baselines = demo_baselines(rng, count, tasks)
        hit = rng.random(baselines.shape) < 0.1 / 0.55
        differences = np.where(hit, -baselines, rng.normal(0, spread, baselines.shape))
        return Drawn(differences, baselines, *priced(rng, count, tasks, 0.6))

    return Row(draw, at_most=0.05)


def lost(tasks: int, spread: float) -> Row:
    """A loss of exactly 10."""

    def draw(rng: np.random.Generator, count: int) -> Drawn:
        baselines = archive_baselines(rng, count, tasks)
        differences = rng.normal(-0.1, spread, baselines.shape)
        return Drawn(differences, baselines, *priced(rng, count, tasks, 0.6))

    return Row(draw, at_most=0.03)


def equal(tasks: int, spread: float, share: float = 0.6, at_least: float = 0.0) -> Row:
    """Equal answers on average, and a saving."""

    def draw(rng: np.random.Generator, count: int) -> Drawn:
        baselines = demo_baselines(rng, count, tasks)
        differences = rng.normal(0, spread, baselines.shape)
        return Drawn(differences, baselines, *priced(rng, count, tasks, share))

    return Row(draw, at_most=0.03 if share == 0.9 else 1.0, at_least=at_least)


def tied(tasks: int, ties: float, spread: float, at_least: float = 0.0) -> Row:
    """Equal answers on average, many of them the same, and 40% saved."""

    def draw(rng: np.random.Generator, count: int) -> Drawn:
        baselines = demo_baselines(rng, count, tasks)
        moved = rng.random(baselines.shape) >= ties
        other = rng.normal(0, spread / (1 - ties) ** 0.5, baselines.shape)
        differences = np.where(moved, np.round(other / 0.05) * 0.05, 0.0)
        return Drawn(differences, baselines, *priced(rng, count, tasks, 0.6))

    return Row(draw, at_least=at_least)


def runaway(tasks: int, share: float, often: float, times: float, at_most: float) -> Row:
    """The typical task needs this share, and a few runs of the treatment many times as much."""

    def draw(rng: np.random.Generator, count: int) -> Drawn:
        baselines = demo_baselines(rng, count, tasks)
        treated, base = (
            np.exp(rng.normal(0, 0.35, baselines.shape)) * factor for factor in (share, 1.0)
        )
        treated = np.where(rng.random(treated.shape) < often, treated * times, treated)
        return Drawn(rng.normal(0, 0.05, baselines.shape), baselines, treated, base)

    return Row(draw, at_most=at_most)


def dear_fifth(tasks: int, small: float, dear: float, verdict: str) -> Row:
    """A fifth of the tasks costs ten times as much; the two kinds change by different shares."""

    def draw(rng: np.random.Generator, count: int) -> Drawn:
        baselines = demo_baselines(rng, count, tasks)
        is_dear = np.broadcast_to(np.arange(tasks) % 5 == 0, baselines.shape)
        base = np.where(is_dear, 10.0, 1.0) * np.exp(rng.normal(0, 0.2, baselines.shape))
        factor = np.where(is_dear, dear, small)
        treated = base * factor * np.exp(rng.normal(0, 0.2, baselines.shape))
        return Drawn(rng.normal(0, 0.05, baselines.shape), baselines, treated, base)

    return Row(draw, verdict, at_most=0.05)


ROWS: dict[str, Row] = {
    **{
        f"10 lost: a fifth loses all it had, the others spread by {100 * spread:g}, {tasks} tasks": tenth_lost(
            tasks, spread
        )
        for spread in (0.0, 0.12, 0.25)
        for tasks in (12, 24, 48, 96)
    },
    **{
        f"10 lost: normal, spread {100 * spread:g}, {tasks} tasks": lost(tasks, spread)
        for spread in (0.12, 0.25)
        for tasks in (24, 48, 96)
    },
    **{
        f"equal answers, exactly 10% saved, {tasks} tasks": equal(tasks, 0.1, 0.9)
        for tasks in (24, 48, 96)
    },
    **{
        f"the same bill: small tasks save 40%, the dear fifth needs 16% more, {tasks} tasks": dear_fifth(
            tasks, 0.6, 1.16, "SAVES"
        )
        for tasks in (24, 48, 96)
    },
    **{
        f"the bill is smaller by 19%: small tasks need 60% more, the dear fifth half, {tasks} tasks: COSTS": dear_fifth(
            tasks, 1.6, 0.5, "COSTS"
        )
        for tasks in (24, 48, 96)
    },
    **{
        f"40% saved, but 3% of runs need 30 times as much (a bill of x1.17), {tasks} tasks": runaway(
            tasks, 0.6, 0.03, 30, 1.0
        )
        for tasks in (24, 48, 96)
    },
    **{
        f"power: equal answers, 40% saved, spread {100 * spread:g}, {tasks} tasks": equal(
            tasks, spread, at_least=aim
        )
        for spread, tasks, aim in (
            (0.12, 24, 0.25),
            (0.25, 24, 0.0),
            (0.25, 48, 0.5),
            (0.25, 96, 0.85),
        )
    },
    **{
        f"power: equal answers, 40% saved, {ties:.0%} ties, spread {100 * spread:g}, {tasks} tasks": tied(
            tasks, ties, spread
        )
        for ties, spread in ((0.5, 0.25), (0.66, 0.19), (0.8, 0.15))
        for tasks in (24, 48)
    },
}
"""The rows by name; 40% is saved where nothing else is said."""


def shares(row: Row, count: int) -> tuple[float, float]:
    """How often the verdict is given, and how often two plain t intervals would give it."""
    drawn = row.draw(np.random.default_rng(1), count)
    with_floor = row.verdict == "SAVES"
    scores = sample(drawn.differences, drawn.baselines, with_floor=with_floor)
    logs = np.log(drawn.treated / drawn.base)
    bill = sample(shares_saved(drawn.treated, drawn.base), drawn.baselines)
    far = t_isf(0.025, scores.df)
    if row.verdict == "SAVES":
        saved = sample(LEAST - logs, drawn.baselines)
        found = given("SAVES", scores, CHANCE, DEFAULTS)
        found &= beyond(saved, CHANCE) & beyond(bill, CHANCE)
        plain = scores.delta + DEFAULTS["margin"] / 100 > far * scores.se
        plain &= saved.delta > far * saved.se
    else:
        added = sample(logs - math.log(1.1), drawn.baselines)
        found = given("NO-GO", scores, CHANCE, DEFAULTS)
        found &= beyond(added, CHANCE) & beyond(bill, CHANCE, -1)
        plain = DEFAULTS["effect"] / 100 - scores.delta > far * scores.se
        plain &= added.delta > far * added.se
    return float(found.mean()), float(plain.mean())


def main() -> None:
    """Print how often SAVES is given, a row for each truth."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=1000, help="benchmarks per row")
    parser.add_argument("--only", default="", help="a regular expression for the names of rows")
    arguments = parser.parse_args()
    count = arguments.replications
    kept = True
    intervals.FLOOR_WEIGHTS = 999  # fewer weights are quicker
    print("| truth | SAVES | two t intervals | promised | as promised |\n|---|--:|--:|---|---|")
    for name, row in ROWS.items():
        if not re.search(arguments.only, name):
            continue
        share, plain = shares(row, count)
        promise = ""
        expected = share
        if row.at_most < 1:
            promise = f"at most {row.at_most:g}"
            expected = row.at_most
        if row.at_least:
            promise = f"at least {row.at_least:g}"
            expected = row.at_least
        error = 3 * math.sqrt(expected * (1 - expected) / count)
        is_kept = row.at_least - error <= share <= row.at_most + error
        kept &= is_kept
        word = "yes" if is_kept else "NO"
        print(f"| {name} | {share:.3f} | {plain:.3f} | {promise} | {word} |", flush=True)
    sys.exit(not kept)


if __name__ == "__main__":
    main()
