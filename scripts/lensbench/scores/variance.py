"""Where the spread of scores comes from: tasks, their repositories, or trials of the same task."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

from lensbench.scores.intervals import UNKNOWN, codes


@dataclass(frozen=True)
class Components:
    """Standard deviations in the unit of the values; what cannot be estimated is None, and `reason` says why."""

    tau: float | None = None
    """Between tasks: of what their trials would average to."""
    sigma: float | None = None
    """Between the trials of a task."""
    icc: float | None = None
    """The tasks' part of the variance of one trial: near 1 when trials hardly differ, 0 when tasks differ by chance."""
    rho: float | None = None
    """Between repositories, a part of tau."""
    repository_icc: float | None = None
    """The part of the variance of the tasks' means that tasks of a repository share."""
    reason: str = ""


def components(values: Mapping[str, Sequence[SupportsFloat]], repository_of: Mapping[str, str | None]) -> Components:
    """The components of values that are given per task, one for each trial that has one.

    Two mixed models (statsmodels' MixedLM, REML): a random effect of the task on the trials, and one of the repository
    on the tasks' means. One model with both is the same where all tasks have the same number of trials, but often
    does not converge on a few dozen tasks. In the second, every task counts the same, whatever its number of trials.
    """
    import numpy as np

    there = {task: [float(value) for value in trials] for task, trials in sorted(values.items()) if trials}
    if reason := _why_not(there):
        return Components(reason=reason)
    tasks = np.repeat(np.arange(len(there)), [len(trials) for trials in there.values()])
    parts = _random_intercept(np.concatenate(list(there.values())), tasks)
    if parts is None:
        return Components(reason="the mixed model does not converge")
    between, inside = parts
    shared = None
    groups = codes([repository_of[task] or UNKNOWN for task in there])
    if 1 < max(groups) + 1 < len(groups):
        shared = _random_intercept(np.array([np.mean(trials) for trials in there.values()]), np.array(groups))
    return Components(
        tau=math.sqrt(between),
        sigma=math.sqrt(inside),
        icc=between / (between + inside),
        rho=math.sqrt(shared[0]) if shared else None,
        repository_icc=shared[0] / sum(shared) if shared else None,
        reason="" if shared else "the repositories' part cannot be told",
    )


def _why_not(values: Mapping[str, Sequence[float]]) -> str:
    if len(values) < 2:
        return "less than two tasks have a value"
    if all(len(trials) < 2 for trials in values.values()):
        return "no task has values of two trials"
    if all(max(trials) - min(trials) < 1e-12 for trials in values.values()):
        return "the trials of a task never differ"
    return ""


def _random_intercept(values: Any, groups: Any) -> tuple[float, float] | None:
    """The variances between and inside the groups; None when the model does not converge.

    Powell's method, because those with gradients often end without a result near a variance of 0.
    """
    import numpy as np
    from statsmodels.regression.mixed_linear_model import MixedLM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a variance of 0 is warned about, and is a result
        try:
            fit = MixedLM(values, np.ones(len(values)), groups=groups).fit(reml=True, method="powell")
        except np.linalg.LinAlgError:
            return None
    between, inside = max(float(np.asarray(fit.cov_re).item()), 0.0), float(fit.scale)
    return (between, inside) if fit.converged and math.isfinite(between) and inside > 0 else None
