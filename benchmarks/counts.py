"""How often the intervals of counts, tokens and time cover what they are intervals of, when rare runs run away.

    python benchmarks/counts.py [--replications 1000]

A share of the runs, of both conditions or of the treatment alone, needs ten or fifty times as much. The interval is the
product's own; beside it stands that of the plain mean difference, of whose mean it is. Exit code 1 when an interval of
counts covers less than 93%.
"""

from __future__ import annotations

import argparse
import math
import sys
from typing import Any

import numpy as np

from lensbench.scores import intervals
from lensbench.scores.intervals import EXTREMES, Estimate, estimate

Floats = np.ndarray[Any, Any]
AIM, MANY = 0.93, 200_000


def runs(
    rng: np.random.Generator, tasks: int, mean: float, shares: tuple[float, float], times: float
) -> Floats:
    """The counts of the treatment and of the baseline, which needs a tenth more; tasks differ from each other."""
    usual = (
        mean
        * np.exp(rng.normal(0, 0.5, tasks) + rng.normal(0, 0.35, (2, tasks)))
        * np.array([[0.9], [1.0]])
    )
    return rng.poisson(
        np.where(rng.random((2, tasks)) < np.array(shares)[:, None], usual * times, usual)
    )


def values(counts: Floats, kind: str) -> Floats:
    """What is averaged: differences, or log ratios of the pairs without a 0."""
    treatment, baseline = counts if kind != "log ratio" else counts[:, (counts > 0).all(axis=0)]
    return (
        np.log(treatment / baseline)
        if kind == "log ratio"
        else (treatment - baseline).astype(float)
    )


def truth(drawn: Floats, kind: str) -> float:
    """The mean of so many that it is the true one; of counts without the extremes."""
    cut = int(EXTREMES * len(drawn)) if kind == "count" else 0
    return float(np.sort(drawn)[cut : len(drawn) - cut].mean())


def over(drawn: Floats, kind: str) -> Estimate:
    """The estimate over tasks of repositories of their own."""
    named = {str(task): float(value) for task, value in enumerate(drawn)}
    return estimate(named, dict(zip(named, named, strict=True)), typical=kind == "count")


def main() -> None:
    """Print a row for each quantity, share of runaways and number of tasks."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=1000, help="benchmarks per row")
    replications = parser.parse_args().replications
    short = False
    intervals.SIGN_FLIPS = 199  # sign flips decide nothing here
    print(
        "| quantity | runaways: treatment, baseline | times | tasks | covered | plain mean |\n|---|---|--:|--:|--:|--:|"
    )
    quantities = (("tool calls", 5, "count"), ("tokens, time, turns", 60_000, "log ratio"))
    rows = [
        (own, shares, times)
        for own in quantities
        for shares in ((0.02, 0.02), (0.05, 0.05), (0.05, 0.0))
        for times in (10, 50)
    ]
    for (name, mean, kind), shares, times in rows:
        rng = np.random.default_rng(1)
        many = runs(rng, MANY, mean, shares, times)
        true = {each: truth(values(many, each), each) for each in (kind, "difference")}
        for tasks in (12, 24, 48):
            covered = dict.fromkeys(true, 0)
            for _ in range(replications):
                counts = runs(rng, tasks, mean, shares, times)
                for each, aim in true.items():
                    interval = over(values(counts, each), each)
                    covered[each] += (
                        (interval.low or -math.inf) <= aim <= (interval.high or math.inf)
                    )
            shown, plain = (count / replications for count in covered.values())
            short |= kind == "count" and shown + 3 * math.sqrt(AIM * (1 - AIM) / replications) < AIM
            print(
                f"| {name} | {shares[0]:.0%}, {shares[1]:.0%} | {times} | {tasks} | {shown:.3f} | {plain:.3f} |"
            )
    sys.exit(short)


if __name__ == "__main__":
    main()
