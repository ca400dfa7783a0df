"""How often other methods than those of the gate would be wrong, where nothing is to be found.

    python benchmarks/methods.py [--replications 4000]          (docs/why.md, docs/statistics.md)

Differences of tasks are normal with a spread of 20 points and a mean of 0. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
from statistics import NormalDist

import numpy as np

from lensbench.core.distributions import t_isf
from lensbench.scores.intervals import cluster_robust

Array = np.ndarray
SPREAD = 20.0
RESAMPLES = 1000
NORMAL = NormalDist()


def bootstrap(d: Array, rng: np.random.Generator, is_corrected: bool) -> tuple[float, float]:
    """The percentile interval of a mean, or the bias-corrected and accelerated one (Efron 1987)."""
    n = len(d)
    picks = rng.integers(0, n, (RESAMPLES, n))
    sampled = d[picks]
    means = np.sort(sampled.mean(axis=1))
    levels = [0.025, 0.975]
    if is_corrected:
        is_below = means < d.mean()
        least = 1 / RESAMPLES
        most = 1 - least
        below = float(np.clip(is_below.mean(), least, most))
        z0 = NORMAL.inv_cdf(below)
        others = d.sum() - d
        left = others / (n - 1)
        bends = left.mean() - left
        squares = (bends**2).sum()
        cubes = (bends**3).sum()
        a = float(cubes / (6 * squares**1.5))
        for number, level in enumerate((0.025, 0.975)):
            z = z0 + NORMAL.inv_cdf(level)
            stretched = z / (1 - a * z)
            levels[number] = NORMAL.cdf(z0 + stretched)
    low = float(np.quantile(means, levels[0]))
    high = float(np.quantile(means, levels[1]))
    return low, high


def plain_t(d: Array) -> tuple[float, float]:
    """The t interval of a mean, as if all tasks were independent."""
    error = d.std(ddof=1) / np.sqrt(len(d))
    margin = float(t_isf(0.025, len(d) - 1)) * error
    low = d.mean() - margin
    high = d.mean() + margin
    return float(low), float(high)


def clustered_t(d: Array, groups: Array) -> tuple[float, float]:
    """The cluster-robust interval, as the gate has it."""
    found = cluster_robust(d[None, :], list(groups))
    error = float(found.se[0])
    margin = float(t_isf(0.025, found.df)) * error
    low = d.mean() - margin
    high = d.mean() + margin
    return float(low), float(high)


def in_repositories(rng: np.random.Generator, groups: Array, share: float) -> Array:
    """Differences of which this share of the variance belongs to the repositories."""
    between = SPREAD * np.sqrt(share)
    within = SPREAD * np.sqrt(1 - share)
    common = rng.normal(0, between, groups.max() + 1)
    own = rng.normal(0, within, len(groups))
    return common[groups] + own


def misses(interval: tuple[float, float]) -> bool:
    """True when 0, the truth, is outside."""
    low, high = interval
    if low > 0:
        return True
    return high < 0


def is_found_by_looking(d: Array) -> bool:
    """True when a t test shows a gain at any of the looks after every four tasks."""
    for count in range(4, len(d) + 1, 4):
        low, _ = plain_t(d[:count])
        if low > 0:
            return True
    return False


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=4000)
    options = parser.parse_args()
    count = options.replications
    seed = 1
    rng = np.random.default_rng(seed)
    repositories = np.arange(8)
    sizes = [
        20,
        4,
        4,
        4,
        4,
        4,
        4,
        4,
    ]
    even = np.repeat(repositories, 6)
    uneven = np.repeat(repositories, sizes)
    rows = {
        "t interval, 12 tasks": lambda: misses(plain_t(rng.normal(0, SPREAD, 12))),
        "percentile bootstrap, 12 tasks": lambda: misses(
            bootstrap(rng.normal(0, SPREAD, 12), rng, False)
        ),
        "BCa bootstrap, 12 tasks": lambda: misses(bootstrap(rng.normal(0, SPREAD, 12), rng, True)),
        "a delta of 5 points or more, 12 tasks": lambda: rng.normal(0, SPREAD, 12).mean() >= 5,
        "looking every 4 tasks up to 48, p < 0.05, a gain": lambda: is_found_by_looking(
            rng.normal(0, SPREAD, 48)
        ),
    }
    for share in (0.1, 0.3):
        for name, groups in (("8 repositories", even), ("8 repositories, one with 40%", uneven)):
            label = f"48 tasks in {name}, {share:.0%} of the variance theirs"
            rows[f"{label}: as if independent"] = lambda g=groups, s=share: misses(
                plain_t(in_repositories(rng, g, s))
            )
            rows[f"{label}: cluster-robust"] = lambda g=groups, s=share: misses(
                clustered_t(in_repositories(rng, g, s), g)
            )
    print("| method | wrong |\n|---|--:|")
    for name, once in rows.items():
        wrong = 0
        for _ in range(count):
            if once():
                wrong += 1
        print(f"| {name} | {wrong / count:.3f} |", flush=True)


if __name__ == "__main__":
    main()
