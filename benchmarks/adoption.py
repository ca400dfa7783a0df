"""How often the intervals of adoption cover the true share, and the true difference of two treatments.

    python benchmarks/adoption.py [--replications 4000]

Tasks differ in how likely a run is to call the tools: beta distributed, so that the trials of a task agree by `icc`.
The two treatments meet the same tasks with latent normal variables that agree by `agree`. "Rejects" is McNemar's
mid-p, or with trials the sign flips', at .05. Exit code 1 when an interval covers less than 93%.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from lensbench.core.distributions import norm_isf
from lensbench.scores import intervals
from lensbench.scores.adoption import (
    AdoptionDifference,
    design_effect,
    difference_between,
    exact_interval,
)
from lensbench.scores.intervals import LARGEST, estimate

AIM = 0.93
EXACT = (
    "the interval of a share is exact, so it covers at least 95% of independent runs, and more where few counts are"
    " likely. Of 12 runs with a share of 0.9 it misses those with up to 7 calls alone, 0.4%."
)
TASKS = (12, 24, 48)
SHARES = (0.05, 0.2, 0.5, 0.9)
DESIGNS = ((1, 0.0), (3, 0.3), (3, 0.7))
"""Trials of a task, and how much they agree."""
CHANGES = ((0.2, 0.2), (0.2, 0.6), (0.5, 0.9))
"""The shares of the baseline and of the treatment."""


@cache
def interval(counts: tuple[int, ...], trials: int) -> tuple[float, float]:
    """The product's interval, by the sorted counts of the tasks."""
    runs = len(counts) * trials
    effect = design_effect([_values(count, trials) for count in counts])
    return exact_interval(sum(counts) / effect, runs / effect)


def _values(count: int, trials: int) -> list[Fraction]:
    return [Fraction(1)] * count + [Fraction(0)] * (trials - count)


def covered(
    rng: np.random.Generator, tasks: int, share: float, trials: int, icc: float, replications: int
) -> float:
    """How often the interval of a share covers it."""
    chances = np.full((replications, tasks), share)
    if icc:
        size = 1 / icc - 1
        chances = rng.beta(share * size, (1 - share) * size, (replications, tasks))
    counts = np.sort(rng.binomial(trials, chances), axis=1)
    hits = 0
    for row in counts.tolist():
        low, high = interval(tuple(row), trials)
        hits += low <= share <= high
    return hits / replications


def compared(
    rng: np.random.Generator, tasks: int, shares: tuple[float, float], agree: float, trials: int
) -> AdoptionDifference:
    """Two treatments on the same tasks; with trials a half of what varies is the tasks' own."""
    common = rng.normal(size=(tasks, 1)) * np.sqrt(agree)
    own = [rng.normal(size=(tasks, trials)) * np.sqrt(1 - agree) for _ in shares]
    called = [
        (common + each > norm_isf(share)).astype(int)
        for share, each in zip(shares, own, strict=True)
    ]
    names = [f"t{number}" for number in range(tasks)]
    old, new = (
        {
            name: [Fraction(value) for value in row]
            for name, row in zip(names, side.tolist(), strict=True)
        }
        for side in called
    )
    means = {name: (sum(new[name]) - sum(old[name])) / trials for name in names}
    found = estimate(means, dict(zip(names, names, strict=True)), limit=LARGEST)
    return difference_between(new, old, found)


def share_rows(replications: int) -> Iterator[tuple[str, float]]:
    """A row for each number of tasks, design and share, with its coverage."""
    for tasks, (trials, icc), share in product(TASKS, DESIGNS, SHARES):
        rng = np.random.default_rng([tasks, trials, int(100 * icc), int(100 * share)])
        rate = covered(rng, tasks, share, trials, icc, replications)
        yield f"| {tasks} | {trials} | {icc:g} | {share:g} | {rate:.3f} |", rate


def difference_rows(replications: int) -> Iterator[tuple[str, float]]:
    """A row for each number of tasks and of trials, agreement and pair of shares, with its coverage."""
    for tasks, trials, agree, shares in product(TASKS, (1, 3), (0.0, 0.5), CHANGES):
        seeds = [round(100 * share) for share in shares]
        rng = np.random.default_rng([tasks, trials, round(100 * agree), *seeds])
        hits = rejected = 0
        for _ in range(replications):
            found = compared(rng, tasks, shares, agree, trials)
            low = found.low or 0.0
            high = found.high or 0.0
            hits += low - 1e-9 <= shares[1] - shares[0] <= high + 1e-9
            rejected += (found.p or 0.0) <= 0.05
        rate = hits / replications
        cells = [tasks, trials, *(f"{part:g}" for part in (agree, *shares))]
        cells += [f"{rate:.3f}", f"{rejected / replications:.3f}"]
        yield f"| {' | '.join(map(str, cells))} |", rate


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=4000, help="benchmarks per row")
    replications = parser.parse_args().replications
    intervals.SIGN_FLIPS = 999  # sign flips
    intervals.FLOOR_WEIGHTS = 9  # the floor is not used here
    rates = []
    print("| tasks | trials | icc | share | covered |\n|--:|--:|--:|--:|--:|")
    for row, rate in share_rows(replications):
        print(row, flush=True)
        rates.append(rate)
    print("\n| tasks | trials | agree | baseline | treatment | covered | rejects |")
    print("|--:|--:|--:|--:|--:|--:|--:|")
    for row, rate in difference_rows(replications):
        print(row, flush=True)
        rates.append(rate)
    print(f"\nThe least is {min(rates):.3f}, the most {max(rates):.3f}: {EXACT}")
    sys.exit(min(rates) < AIM)


if __name__ == "__main__":
    main()
