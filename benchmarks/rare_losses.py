"""The cost of protection against rare heavy losses: the gate's rule compared with the best possible rule.

    python benchmarks/rare_losses.py [--replications 20000]

If 5 % of all tasks lose 95 points and the others gain 5, a small set of tasks usually has no such loss, and looks like
a small constant gain. A rule with at most 5 % GO for such benchmarks must refuse some benchmarks of servers that help.
By the Neyman-Pearson lemma, the likelihood ratio refuses the fewest, among the benchmarks whose interval excludes 0.
That rule uses what no gate can know: how much the server helps, and how much its gains differ. Its share of GO is
therefore an upper bound for every rule. All differences except the losses are normal.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from lensbench.core.distributions import norm_sf, t_isf
from lensbench.scores.intervals import Estimate
from lensbench.scores.objections import RARE, rare_losses
from lensbench.scores.sequential import FIRST, next_boundary
from lensbench.scores.verdict_of import DEFAULTS

Benchmarks = np.ndarray[Any, Any]
BOUNDARY = next_boundary((), ((1.0,),), FIRST * DEFAULTS["alpha"])
EVEN = 0.10
"""The spread of the gain in one trial, of tasks without a loss."""


def likely(differences: Benchmarks, mean: float, spread: float) -> Benchmarks:
    """The logarithm of the likelihood of each benchmark, up to a constant."""
    away = ((differences - mean) / spread) ** 2
    return np.asarray(-away.sum(axis=1) / 2 - differences.shape[1] * np.log(spread))


def excluding_zero(differences: Benchmarks) -> Benchmarks:
    """The benchmarks whose interval is above 0."""
    tasks = differences.shape[1]
    margin = t_isf(norm_sf(BOUNDARY), tasks - 1) * differences.std(axis=1, ddof=1) / np.sqrt(tasks)
    return np.asarray(differences[differences.mean(axis=1) > margin])


def by_the_gate(differences: Benchmarks, trials: int) -> int:
    """The number of these that the gate's rule accepts."""
    tasks = differences.shape[1]
    each = zip(differences.mean(axis=1), differences.std(axis=1, ddof=1), strict=True)
    return sum(not rare_losses(Estimate(delta=mean, sd=spread, n=tasks), BOUNDARY, trials) for mean, spread in each)


def row(tasks: int, trials: int, gain: float, spread: float, replications: int) -> str:
    """The share of GO by the interval, the gate and the best rule: for a server with this gain, and for rare losses."""
    rng = np.random.default_rng(tasks * trials)
    even = EVEN * np.sqrt((1 + 1 / trials) / 2)
    none = (1 - RARE.share) ** tasks
    harmful = excluding_zero(rng.normal(RARE.gain, even, (replications, tasks)))
    helpful = excluding_zero(rng.normal(gain, spread, (replications, tasks)))

    def ratio(differences: Benchmarks) -> Benchmarks:
        return likely(differences, gain, spread) - likely(differences, RARE.gain, even)

    allowed = round(RARE.chance / none * replications)
    least = np.sort(ratio(harmful))[::-1][allowed] if allowed < len(harmful) else -np.inf
    shares = [
        len(helpful), by_the_gate(helpful, trials), (ratio(helpful) > least).sum(),
        none * len(harmful), none * by_the_gate(harmful, trials), none * (ratio(harmful) > least).sum(),
    ]  # fmt: skip
    told = " | ".join(f"{share / replications:.3f}" for share in shares)
    return f"| {tasks} x {trials} | {100 * gain:+.0f} | {100 * spread:.0f} | {told} |"


def main() -> None:
    """Prints the table of docs/gate.md."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=20_000, help="benchmarks per row")
    replications = parser.parse_args().replications
    print("| tasks x trials | points | spread | GO: interval | gate | best rule | rare: interval | gate | best rule |")
    print("|--:" * 9 + "|")
    for tasks in (12, 24, 48):
        for trials, spread in ((1, 0.20), (3, 0.14)):
            for gain in (0.05, 0.10):
                print(row(tasks, trials, gain, spread, replications), flush=True)


if __name__ == "__main__":
    main()
