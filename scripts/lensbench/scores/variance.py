"""Variance components of scores: between tasks, and between trials of a task."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsFloat

from lensbench.core.numeric import Floats, Ints, np


@dataclass(frozen=True)
class Components:
    """Standard deviations in the unit of the values; None for what cannot be estimated, with the reason in `reason`."""

    tau: float | None = None
    """Between tasks: of the true means of their trials."""
    sigma: float | None = None
    """Between the trials of a task."""
    icc: float | None = None
    """The share of the variance of one trial that is between tasks: near 1 when trials hardly differ."""
    reason: str = ""
    """Why there are none."""


def components(values: Mapping[str, Sequence[SupportsFloat]]) -> Components:
    """The variance components of the values of each task, one for each trial with a value: a mixed model with a random
    effect of the task (restricted maximum likelihood)."""
    tasks = [np.array(list(map(float, values[task]))) for task in sorted(values) if values[task]]
    reason = _why_not(tasks)
    if reason:
        return Components(reason=reason)
    groups = np.repeat(np.arange(len(tasks)), list(map(len, tasks)))
    between, inside = _random_intercept(np.concatenate(tasks), groups)
    return Components(math.sqrt(between), math.sqrt(inside), between / (between + inside))


def _why_not(tasks: Sequence[Floats]) -> str:
    if len(tasks) < 2:
        return "less than two tasks have a value"
    if max(map(len, tasks)) < 2:
        return "no task has values of two trials"
    if all(trials.max() - trials.min() < 1e-12 for trials in tasks):
        return "the trials of a task never differ"
    return ""


def _random_intercept(values: Floats, groups: Ints) -> tuple[float, float]:
    """The variances between and within the groups, by restricted maximum likelihood (Searle, Casella and McCulloch,
    Variance Components, 1992, section 6.6), found by a search over their ratio.

    For a ratio r, the mean of a group of n values has the variance within * (1 + n r) / n.
    """
    sizes = np.bincount(groups)
    means = np.bincount(groups, values) / sizes
    residuals = values - means[groups]
    within = float(residuals @ residuals)
    df = len(values) - 1

    def inside(ratios: Floats) -> Floats:
        weights = sizes / (1 + sizes * ratios[:, None])
        off = means - (weights @ means / weights.sum(axis=1))[:, None]
        squares: Floats = within + (weights * off**2).sum(axis=1)
        return squares / df

    def deviance(ratios: Floats) -> Floats:
        growth = 1 + sizes * ratios[:, None]
        determinant: Floats = np.log(growth).sum(axis=1) + np.log((sizes / growth).sum(axis=1))
        return df * np.log(inside(ratios)) + determinant

    low = -12.0
    high = 12.0
    for _ in range(9):  # each step narrows the range to a sixteenth
        grid = np.linspace(low, high, 33)
        best = grid[np.argmin(deviance(np.exp(grid)))]
        step = (high - low) / 32
        low = best - step
        high = best + step
    at = np.array([np.exp(best), 0.0])
    ratio = float(at[np.argmin(deviance(at))])
    spread = float(inside(np.array([ratio]))[0])
    return ratio * spread, spread
