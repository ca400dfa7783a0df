"""Estimates the mean difference between a treatment and the baseline, from one number per task, with its uncertainty.

docs/statistics.md explains which interval is used when, and why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, SupportsFloat

from lensbench.core.distributions import t_isf
from lensbench.scores.power import FEWEST_REPOSITORIES, standard_effect

if TYPE_CHECKING:
    from lensbench.core.distributions import Floats

RESAMPLES = 9_999
"""The number of random sign flips when there are too many to try all."""
NO_SPREAD = 1e-9
"""Relative variation below this is rounding error, and counts as none."""
LARGEST = 1.0
"""The largest difference of two scores."""
SKEWED = 2.0
"""Differences are called skewed when their skewness is more than this many standard errors."""
FARTHEST = 99.0
HALVINGS = 60
WEIGHTS = 9_999
"""The number of random weights for a floor."""
UNSEEN = 0.045
"""The accepted chance that a mean lies below its floor."""
EXTREMES = 0.2
"""The share of the tasks at each end that a typical difference leaves out."""
SCOPE = "these repositories only"


@dataclass(frozen=True)
class Estimate:
    """A mean difference over tasks, in the unit of the differences; None for what cannot be estimated."""

    delta: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    """Two-sided sign-flip test: of whole repositories if tasks share six or more repositories, else of tasks."""
    p_holm: float | None = None
    """The same, corrected for the family of comparisons (Holm); set by the caller."""
    n: int = 0
    """Tasks with at least one complete pair."""
    pairs: int = 0
    """Complete pairs."""
    planned: int = 0
    """Pairs that were planned."""
    clusters: int = 0
    """Repositories of the n tasks."""
    method: str = ""
    """The method of the interval, or why there is none."""
    df: float | None = None
    se: float | None = None
    sd: float | None = None
    """Standard deviation of the differences over tasks."""
    wins: int = 0
    """Tasks with a difference above 0."""
    ties: int = 0
    losses: int = 0
    mde: float | None = None
    """The minimum detectable effect at the planned power."""
    scope: str = ""
    """The limit of the claim; empty when there is none."""
    mid_p: float | None = None
    """The mid-p of this test, which counts ties with the observed mean half: with few tasks `p` is too conservative."""
    repositories: float = 0.0
    """The effective number of repositories."""
    root: float | None = None
    """For skewed differences: the signed root of the empirical likelihood ratio, to be compared with a t quantile."""
    people: int = 0
    """Tasks that people judged, when the estimate is corrected by them; else 0."""
    floor: float | None = None
    """The lowest mean that rare heavy losses leave, as `floor_of` has it; None where differences have no limit."""


class StandardError(NamedTuple):
    """Of a mean, with its degrees of freedom and its method."""

    se: float
    df: float
    method: str


def estimate(
    differences: Mapping[str, SupportsFloat],
    repository_of: Mapping[str, str | None],
    alpha: float = 0.05,
    planned: int | None = None,
    seed: int = 0,
    *,
    pairs: int | None = None,
    power: float = 0.8,
    limit: float = math.inf,
    typical: bool = False,
) -> Estimate:
    """The mean of the tasks' differences with its interval of level 1 - `alpha`.

    `differences` has one number per task, the mean over its trials; pass fractions, so that equal differences stay
    equal. `repository_of` may contain more tasks. `pairs` and `planned` are numbers of pairs, by default one per task.
    `seed` is for the sign flips; the order of the tasks does not matter. Intervals are cut at `limit`, the largest
    possible difference. With `typical` delta and interval are those of the tasks without the extreme ones.
    """
    import numpy as np

    tasks = sorted(differences)
    pairs = len(tasks) if pairs is None else pairs
    planned = pairs if planned is None else planned
    if not tasks:
        return Estimate(planned=planned, method="no complete pair: no interval")
    own = np.array([float(differences[task]) for task in tasks])
    d = without_extremes(own, alpha) if typical else own
    groups = codes([repository_of[task] for task in tasks])
    clusters = max(groups) + 1
    varies = bool(np.ptp(d) > NO_SPREAD * np.abs(d).max())
    error = _error_of(d, groups) if varies else None
    has_groups = clusters < len(tasks)
    is_local = has_groups and effective(groups) < FEWEST_REPOSITORIES
    units = np.bincount(groups, d).astype(float) if has_groups and not is_local else d
    p, mid_p = sign_flip_p(units, seed)
    result = Estimate(
        delta=float(d.mean()),
        p=p,
        mid_p=mid_p,
        n=len(tasks),
        pairs=pairs,
        planned=planned,
        clusters=clusters,
        method=error.method
        if error
        else f"{'one task' if len(tasks) == 1 else 'no spread'}: no interval",
        df=error.df if error else None,
        se=error.se if error else None,
        sd=float(d.std(ddof=1)) if varies else 0.0 if len(tasks) > 1 else None,
        wins=int((own > 0).sum()),
        ties=int((own == 0).sum()),
        losses=int((own < 0).sum()),
        mde=minimum_detectable(error.se, error.df, alpha, power) if error else None,
        scope=SCOPE if is_local else "",
        repositories=effective(groups),
        root=likelihood_root(units) if is_skewed(units) else None,
        floor=floor_of(d, limit, seed) if limit < math.inf else None,
    )
    ends = interval_of(result, alpha / 2, limit)
    if ends is None or (error is None and limit == math.inf):
        return result
    return replace(
        result,
        low=ends[0],
        high=ends[1],
        method=error.method if error else "no spread: exact binomial",
    )


def interval_of(
    mean: Estimate, chance: float, limit: float = math.inf
) -> tuple[float, float] | None:
    """The t interval of a mean with this chance of an error a side, cut at `limit`; None when it cannot be estimated.
    Equal differences have the interval of what so many tasks may not have seen, or without a limit a point."""
    if mean.delta is None or mean.sd is None:
        return None
    if mean.se and mean.df:
        margin = float(t_isf(chance, mean.df)) * mean.se
        return max(mean.delta - margin, -limit), min(mean.delta + margin, limit)
    return (
        (mean.delta, mean.delta) if limit == math.inf else unseen(mean.delta, mean.n, chance, limit)
    )


def without_extremes(d: Floats, alpha: float) -> Floats:
    """Numbers whose mean is the trimmed mean of `d`, without EXTREMES at each end, and whose t interval is its interval
    (Tukey and McLaughlin, Sankhya A 25, 1963): the extremes count as much as the last ones that are kept."""
    import numpy as np

    cut = int(EXTREMES * len(d))
    if not cut:
        return d
    middle, df = np.sort(d)[cut:-cut], len(d) - 1.0
    values = d.clip(middle[0], middle[-1])
    wider = float(t_isf(alpha / 2, df - 2 * cut) / t_isf(alpha / 2, df)) * len(d) / len(middle)
    whole: Floats = middle.mean() + (values - values.mean()) * wider
    return whole


def effective(groups: Sequence[int]) -> float:
    """The effective number of repositories, (sum of sizes)^2 / sum of squared sizes: 1 if one has nearly all."""
    sizes = Counter(groups).values()
    return sum(sizes) ** 2 / sum(size**2 for size in sizes)


def codes(names: Sequence[str | None]) -> list[int]:
    """A number from 0 for every name, in the order of first appearance: tasks without a repository share one."""
    code_of = {name: code for code, name in enumerate(dict.fromkeys(names))}
    return [code_of[name] for name in names]


CLUSTERED, WITHIN, PAIRED = "cluster-robust t", "within-repository t", "paired t"


def _error_of(d: Floats, groups: Sequence[int]) -> StandardError:
    """The standard error to use: of repositories where tasks share them, else of tasks. That of repositories may happen
    to be zero although the tasks differ; then the one of tasks is used."""
    if max(groups) + 1 < len(d):
        method = cluster_robust if effective(groups) >= FEWEST_REPOSITORIES else within_repositories
        error = method(d, groups)
        if error and error.se > NO_SPREAD * float(abs(d).max()):
            return error
    return StandardError(float(d.std(ddof=1)) / math.sqrt(len(d)), len(d) - 1.0, PAIRED)


def cluster_robust(d: Floats, groups: Sequence[int]) -> StandardError:
    """CR2 standard error with Satterthwaite's degrees of freedom (Bell and McCaffrey, Survey Methodology 28, 2002;
    Pustejovsky and Tipton, Journal of Business and Economic Statistics 36, 2018), for a mean.

    A repository with the share w of the tasks has its sum of residuals divided by the root of 1 - w. The degrees of
    freedom are 1 / sum(b^2) over the matrix b = (w [g = h] - w w') / root((1 - w) (1 - w')): for G repositories of
    equal size that is G - 1, and the standard error is that of CR1.
    """
    import numpy as np

    shares = np.bincount(groups) / len(d)
    sums = np.bincount(groups, d - d.mean()) / np.sqrt(1 - shares)
    se = float(np.sqrt(sums @ sums)) / len(d)
    b = (np.diag(shares) - np.outer(shares, shares)) / np.sqrt(np.outer(1 - shares, 1 - shares))
    return StandardError(se, 1 / float((b**2).sum()), CLUSTERED)


def within_repositories(d: Floats, groups: Sequence[int]) -> StandardError | None:
    """That of the mean over exactly these repositories, from the residuals of a least squares fit with one mean per
    repository, with n - G degrees of freedom. None when there are fewer than 2."""
    import numpy as np

    df = len(d) - (max(groups) + 1)
    if df < 2:
        return None
    residuals = d - (np.bincount(groups, d) / np.bincount(groups))[list(groups)]
    return StandardError(math.sqrt(float(residuals @ residuals) / df / len(d)), float(df), WITHIN)


def unseen(mean: float, tasks: int, chance: float, limit: float = LARGEST) -> tuple[float, float]:
    """The interval of a mean of equal differences if the unseen tasks differ the most; `chance` a side."""
    share = unseen_share(tasks, chance)
    return mean - share * (limit + mean), mean + share * (limit - mean)


def unseen_share(tasks: int, chance: float) -> float:
    """The largest share that so many tasks miss with this `chance` (exact binomial; for 0.05 the rule of
    three: Hanley and Lippman-Hand, JAMA 249, 1983)."""
    return 1 - math.pow(chance, 1 / tasks)


def floor_of(d: Floats, limit: float, seed: int) -> float:
    """The lower bound of a mean of differences that are at least -`limit`, which assumes nothing else about them, of a
    one-sided level of 1 - UNSEEN.

    It is a quantile of the mean with random weights of the tasks and of one more task that loses everything (Gaffke,
    Mathematical Methods of Statistics 14, 2005; Learned-Miller and Thomas, arXiv:1905.06208, on its coverage). Where
    some tasks lose everything and the rest is equal, it is the exact binomial bound of Clopper and Pearson.
    """
    import numpy as np

    weights = np.random.default_rng(seed).standard_exponential((WEIGHTS, len(d) + 1))
    return float(np.quantile(weights @ np.append(d, -limit) / weights.sum(axis=1), UNSEEN))


def sign_flip_p(d: Floats, seed: int) -> tuple[float, float] | tuple[None, None]:
    """The p value of the sign-flip test: the probability of a mean at least as far from 0 if every difference could
    equally well have the opposite sign; and its mid-p, which counts means exactly as far half (Lancaster, Journal of
    the American Statistical Association 56, 1961).

    Two-sided, exact up to 13 differences. Differences of 0 are omitted, which does not change the result. None for
    fewer than two differences.
    """
    import numpy as np

    if len(d) < 2:
        return None, None
    moves = d[d != 0]
    if len(moves) < 2:
        return 1.0, 1.0
    own = abs(float(moves.sum()))
    if 2 ** len(moves) <= RESAMPLES:
        flips = np.arange(2 ** len(moves))[:, None] >> np.arange(len(moves)) & 1
        far, total = np.abs((2 * flips - 1) @ moves), 2 ** len(moves)
    else:
        signs = np.random.default_rng(seed).integers(0, 2, (RESAMPLES, len(moves)), dtype=np.int8)
        far, total = np.append(np.abs((2.0 * signs - 1) @ moves), own), RESAMPLES + 1
    beyond, at_least = ((far >= own * (1 + sign * NO_SPREAD)).sum() / total for sign in (1, -1))
    return float(at_least), float(beyond + at_least) / 2


def is_skewed(values: Floats) -> bool:
    """True when the skewness of the values is more than SKEWED standard errors."""
    count, rest = len(values), values - values.mean()
    variance, third = float((rest**2).mean()), float((rest**3).mean())
    if count < 3 or variance <= NO_SPREAD**2:
        return False
    return abs(third) > SKEWED * math.sqrt(
        variance**3 * 6 * (count - 2) / ((count + 1) * (count + 3))
    )


def likelihood_root(values: Floats) -> float:
    """The signed root of the empirical likelihood ratio for a mean of 0 (Owen, Biometrika 75, 1988): used like a t
    statistic, but it takes the shape of the distribution into account. 0 for a mean of 0, and FARTHEST at most, which
    is also the result for values all on one side of 0.
    """
    import numpy as np

    mean, low, high = float(values.mean()), float(values.min()), float(values.max())
    if min(-low, high) <= NO_SPREAD * max(-low, high):
        return math.copysign(FARTHEST, mean) if mean else 0.0
    # No weight exceeds 1, so the solution keeps this distance from the points where the logarithm is undefined.
    left, right = (1 / len(values) - 1) / high, (1 / len(values) - 1) / low
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        if float((values / (1 + middle * values)).sum()) > 0:
            left = middle
        else:
            right = middle
    ratio = 2 * float(np.log1p((left + right) / 2 * values).sum())
    return math.copysign(min(math.sqrt(max(ratio, 0.0)), FARTHEST), mean)


def minimum_detectable(se: float, df: float, alpha: float, power: float) -> float | None:
    """The minimum detectable effect: the true difference at which a t interval with this standard error, the effect of
    shared repositories included, excludes 0 with this power. None with 1 degree of freedom, for which it is
    undefined."""
    count = int(df + NO_SPREAD) + 1
    return None if count < 3 else se * math.sqrt(count) * standard_effect(count, power, alpha)
