"""Estimates the mean difference between a treatment and the baseline, from one number per task, with its uncertainty.

docs/statistics.md explains which interval is used when, and why.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, SupportsFloat

from lensbench.core.distributions import t_isf
from lensbench.core.numeric import Bools, Floats, np
from lensbench.scores.power import FEWEST_REPOSITORIES, standard_effect

SIGN_FLIPS = 9_999
"""The number of random sign flips when there are too many to try all."""
NO_SPREAD = 1e-9
"""Relative variation below this is rounding error, and counts as none."""
LARGEST = 1.0
"""The largest difference of two scores."""
SKEWED = 2.0
"""Differences are called skewed when their skewness is more than this many standard errors."""
FARTHEST = 99.0
HALVINGS = 60
HIGH = 2.0
"""The best baselines of tasks are taken to lie this many standard deviations above their mean, or where the best is."""
FLOOR_WEIGHTS = 9_999
"""The number of random weights for a floor."""
UNSEEN = 0.045
"""The accepted chance that a mean lies below its floor."""
EXTREMES = 0.2
"""The share of the tasks at each end that a typical difference leaves out."""
SCOPE = "these repositories only"


class Room(NamedTuple):
    """How far the score of a task can move in one direction from its baseline, as arrays with one value a benchmark."""

    mean: Floats
    evenness: Floats
    """The squared mean divided by the mean square: 1 where all tasks have as much room, a share where few have all."""
    most: Floats
    """That of the tasks with the most."""


class Rooms(NamedTuple):
    """The room that the baselines leave for losses and for gains."""

    losses: Room
    gains: Room


@dataclass(frozen=True)
class Estimate:
    """A mean difference over tasks, in the unit of the differences; None for what cannot be estimated."""

    delta: float | None = None
    """The mean difference, treatment minus baseline."""
    low: float | None = None
    """The lower end of its interval."""
    high: float | None = None
    """The upper end of its interval."""
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
    """Degrees of freedom of the interval."""
    se: float | None = None
    """The standard error of the mean."""
    sd: float | None = None
    """Standard deviation of the differences over tasks."""
    wins: int = 0
    """Tasks with a difference above 0."""
    ties: int = 0
    """Tasks without a difference."""
    losses: int = 0
    """Tasks with a difference below 0."""
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
    """The lowest mean that rare heavy losses leave, as `floors` has it; None where differences have no limit."""
    baselines: tuple[float, ...] = ()
    """The baseline's score in each of the n tasks; empty where it is not known, or not a score."""


class StandardErrors(NamedTuple):
    """Of the means of benchmarks of the same tasks, with their degrees of freedom and their method."""

    se: Floats
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
    baselines: Mapping[str, SupportsFloat] | None = None,
) -> Estimate:
    """The mean of the tasks' differences with its interval of level 1 - `alpha`.

    `differences` has one number per task, the mean over its trials; pass fractions, so that equal differences stay
    equal. `repository_of` may contain more tasks. `pairs` and `planned` are numbers of pairs, by default one per task.
    `seed` is for the sign flips; the order of the tasks does not matter. Intervals are cut at `limit`, the largest
    possible difference. With `typical` delta and interval are those of the tasks without the extreme ones. `baselines`
    has the score of each task without the treatment, which limits what it can lose or gain.
    """
    tasks = sorted(differences)
    pairs = len(tasks) if pairs is None else pairs
    planned = pairs if planned is None else planned
    if not tasks:
        return Estimate(planned=planned, method="no complete pair: no interval")
    moves = np.array([float(differences[task]) for task in tasks])
    d = without_extremes(moves, alpha) if typical else moves
    groups = codes([repository_of[task] for task in tasks])
    repositories = effective(groups)
    units = units_of(d[None], groups)
    p, mid_p = sign_flip_p(units[0], seed)
    root = float(likelihood_roots(units)[0]) if is_skewed(units)[0] else None
    scope = ""
    if max(groups) + 1 < len(tasks) and repositories < FEWEST_REPOSITORIES:
        scope = SCOPE
    scores = tuple(float(baselines[task]) for task in tasks) if baselines else ()
    floor = None
    if limit < math.inf:
        floor = float(floors(d[None], most_lost(scores), seed)[0])
    mean = Estimate(
        delta=float(d.mean()),
        p=p,
        mid_p=mid_p,
        n=len(tasks),
        pairs=pairs,
        planned=planned,
        clusters=max(groups) + 1,
        wins=int((moves > 0).sum()),
        ties=int((moves == 0).sum()),
        losses=int((moves < 0).sum()),
        scope=scope,
        repositories=repositories,
        root=root,
        floor=floor,
        baselines=scores,
    )
    return _with_interval(_with_spread(mean, d, groups, alpha, power), alpha / 2, limit)


def _with_spread(
    mean: Estimate, d: Floats, groups: Sequence[int], alpha: float, power: float
) -> Estimate:
    """The estimate with its standard error and what follows from it; with the reason where there is none."""
    if mean.n == 1:
        return replace(mean, method="one task: no interval")
    rounding = NO_SPREAD * np.abs(d).max()
    if np.ptp(d) <= rounding:
        return replace(mean, sd=0.0, method="no spread: no interval")
    error = standard_errors(d[None], groups)
    if error.se[0] <= rounding:
        error = _paired(d[None])
    se = float(error.se[0])
    return replace(
        mean,
        sd=float(d.std(ddof=1)),
        se=se,
        df=error.df,
        mde=minimum_detectable(se, error.df, alpha, power),
        method=error.method,
    )


def _with_interval(mean: Estimate, chance: float, limit: float) -> Estimate:
    """The estimate with its interval; differences without a spread have one only where they have a limit."""
    ends = interval_of(mean, chance, limit)
    if ends is None:
        return mean
    low, high = ends
    if mean.se is not None:
        return replace(mean, low=low, high=high)
    if limit == math.inf:
        return mean
    return replace(mean, low=low, high=high, method="no spread: exact binomial")


def interval_of(
    mean: Estimate, chance: float, limit: float = math.inf
) -> tuple[float, float] | None:
    """The t interval of a mean with this chance of an error a side, cut at `limit`; None when it cannot be estimated.
    Equal differences have the interval of what so many tasks may not have seen, or without a limit a point."""
    if mean.delta is None or mean.sd is None:
        return None
    if mean.se and mean.df:
        margin = t_isf(chance, mean.df) * mean.se
        low = max(mean.delta - margin, -limit)
        high = min(mean.delta + margin, limit)
        return low, high
    if limit == math.inf:
        return mean.delta, mean.delta
    lost = most_lost(mean.baselines)
    gained = 1 - lost if mean.baselines else limit
    return unseen(mean.delta, mean.n, chance, lost, gained)


def without_extremes(d: Floats, alpha: float) -> Floats:
    """Numbers whose mean is the trimmed mean of `d`, without EXTREMES at each end, and whose t interval is its interval
    (Tukey and McLaughlin, Sankhya A 25, 1963): the extremes count as much as the last ones that are kept."""
    cut = int(EXTREMES * len(d))
    if not cut:
        return d
    middle = np.sort(d)[cut:-cut]
    values = d.clip(middle[0], middle[-1])
    df = len(d) - 1.0
    longer = t_isf(alpha / 2, df - 2 * cut) / t_isf(alpha / 2, df)
    wider = longer * len(d) / len(middle)
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


CLUSTERED = "cluster-robust t"
WITHIN = "within-repository t"
PAIRED = "paired t"


def units_of(d: Floats, groups: Sequence[int]) -> Floats:
    """What differs independently: the sums of repositories where tasks share six or more, else the tasks."""
    if max(groups) + 1 == d.shape[-1] or effective(groups) < FEWEST_REPOSITORIES:
        return d
    return sums_of(d, groups)


def sums_of(d: Floats, groups: Sequence[int]) -> Floats:
    """The sum of each repository's tasks, for each benchmark."""
    members = np.eye(max(groups) + 1)[list(groups)]
    sums: Floats = d @ members
    return sums


def standard_errors(d: Floats, groups: Sequence[int]) -> StandardErrors:
    """The standard errors to use, for each benchmark (a row of differences of the same tasks): of repositories where
    tasks share them, else of tasks."""
    if max(groups) + 1 == d.shape[-1]:
        return _paired(d)
    if effective(groups) >= FEWEST_REPOSITORIES:
        return cluster_robust(d, groups)
    return within_repositories(d, groups) or _paired(d)


def _paired(d: Floats) -> StandardErrors:
    count = d.shape[-1]
    se = d.std(axis=-1, ddof=1) / np.sqrt(count)
    return StandardErrors(se, count - 1.0, PAIRED)


def cluster_robust(d: Floats, groups: Sequence[int]) -> StandardErrors:
    """CR2 standard errors with Satterthwaite's degrees of freedom (Bell and McCaffrey, Survey Methodology 28, 2002;
    Pustejovsky and Tipton, Journal of Business and Economic Statistics 36, 2018), for a mean.

    A repository with the share w of the tasks has its sum of residuals divided by the root of 1 - w. The degrees of
    freedom are 1 / sum(b^2) over the matrix b = (w [g = h] - w w') / root((1 - w) (1 - w')): for G repositories of
    equal size that is G - 1, and the standard error is that of CR1.
    """
    count = d.shape[-1]
    shares = np.bincount(groups) / count
    root = np.sqrt(1 - shares)
    residuals = d - d.mean(axis=-1, keepdims=True)
    sums = sums_of(residuals, groups) / root
    se = np.sqrt((sums**2).sum(axis=-1)) / count
    overlap = np.diag(shares) - np.outer(shares, shares)
    b = overlap / np.sqrt(np.outer(1 - shares, 1 - shares))
    return StandardErrors(se, 1 / float((b**2).sum()), CLUSTERED)


def within_repositories(d: Floats, groups: Sequence[int]) -> StandardErrors | None:
    """Those of the mean over exactly these repositories, from the residuals of a least squares fit with one mean per
    repository, with n - G degrees of freedom. None when there are fewer than 2."""
    count = d.shape[-1]
    df = count - (max(groups) + 1)
    if df < 2:
        return None
    means = sums_of(d, groups) / np.bincount(groups)
    residuals = d - means[..., list(groups)]
    se = np.sqrt((residuals**2).sum(axis=-1) / df / count)
    return StandardErrors(se, float(df), WITHIN)


def rooms_of(baselines: Floats) -> Rooms:
    """The room for losses and for gains of each benchmark, a row of its tasks' baseline scores."""
    return Rooms(_room(baselines), _room(1 - baselines))


def _room(room: Floats) -> Room:
    mean = room.mean(axis=-1)
    square = (room**2).mean(axis=-1)
    evenness = np.where(square > 0, mean**2 / np.maximum(square, NO_SPREAD), 1.0)
    high = mean + HIGH * room.std(axis=-1)
    most = np.maximum(high, room.max(axis=-1))
    return Room(mean, evenness, np.minimum(most, LARGEST))


def most_lost(baselines: Sequence[float]) -> float:
    """What a task that loses everything loses: the mean baseline, and 1 where it is not known."""
    if not baselines:
        return LARGEST
    return sum(baselines) / len(baselines)


def unseen(
    mean: float, tasks: int, chance: float, lost: float = LARGEST, gained: float = LARGEST
) -> tuple[float, float]:
    """The interval of a mean of equal differences if the unseen tasks lose or gain the most; `chance` a side."""
    share = unseen_share(tasks, chance)
    low = mean - share * max(lost + mean, 0.0)
    high = mean + share * max(gained - mean, 0.0)
    return low, high


def unseen_share(tasks: int, chance: float) -> float:
    """The largest share that so many tasks miss with this `chance` (exact binomial; for 0.05 the rule of
    three: Hanley and Lippman-Hand, JAMA 249, 1983). Without any task it is all."""
    if not tasks:
        return 1.0
    return 1 - math.pow(chance, 1 / tasks)


def floors(d: Floats, lost: Floats | float, seed: int) -> Floats:
    """The lower bounds of the means of differences that assume nothing about the tasks that were not seen but that they
    lose `lost` at most, on average; of a one-sided level of 1 - UNSEEN.

    A floor is a quantile of the mean with random weights of the tasks and of one more task that loses everything
    (Gaffke, Mathematical Methods of Statistics 14, 2005; Learned-Miller and Thomas, arXiv:1905.06208, on its coverage).
    Where some tasks lose everything and the rest is equal, it is the exact binomial bound of Clopper and Pearson.
    """
    benchmarks, count = d.shape
    weights = np.random.default_rng(seed).standard_exponential((FLOOR_WEIGHTS, count + 1))
    weights /= weights.sum(axis=1, keepdims=True)
    found = np.empty(benchmarks)
    losses = np.broadcast_to(np.asarray(lost, dtype=float), benchmarks)
    for row in range(benchmarks):
        means = weights @ np.append(d[row], -losses[row])
        found[row] = np.quantile(means, UNSEEN)
    return found


def sign_flip_p(d: Floats, seed: int) -> tuple[float, float] | tuple[None, None]:
    """The p value of the sign-flip test: the probability of a mean at least as far from 0 if every difference could
    equally well have the opposite sign; and its mid-p, which counts means exactly as far half (Lancaster, Journal of
    the American Statistical Association 56, 1961).

    Two-sided, exact up to 13 differences. Differences of 0 are omitted, which does not change the result. None for
    fewer than two differences.
    """
    if len(d) < 2:
        return None, None
    moves = d[d != 0]
    if len(moves) < 2:
        return 1.0, 1.0
    found = abs(float(moves.sum()))
    far = np.abs(_flipped_sums(moves, seed))
    beyond = float((far >= found * (1 + NO_SPREAD)).mean())
    at_least = float((far >= found * (1 - NO_SPREAD)).mean())
    return at_least, (beyond + at_least) / 2


def _flipped_sums(moves: Floats, seed: int) -> Floats:
    """The sums with every choice of signs, or with SIGN_FLIPS random ones and the one found."""
    count = len(moves)
    if 2**count <= SIGN_FLIPS:
        flips = np.arange(2**count)[:, None] >> np.arange(count) & 1
        sums: Floats = (2 * flips - 1) @ moves
        return sums
    signs = np.random.default_rng(seed).integers(0, 2, (SIGN_FLIPS, count), dtype=np.int8)
    return np.append((2.0 * signs - 1) @ moves, moves.sum())


def is_skewed(values: Floats) -> Bools:
    """Where the skewness of a row of values is more than SKEWED standard errors."""
    count = values.shape[-1]
    if count < 3:
        return np.zeros(values.shape[:-1], bool)
    residuals = values - values.mean(axis=-1, keepdims=True)
    variance = (residuals**2).mean(axis=-1)
    third = (residuals**3).mean(axis=-1)
    error = np.sqrt(variance**3 * 6 * (count - 2) / ((count + 1) * (count + 3)))
    skewed: Bools = (variance > NO_SPREAD**2) & (np.abs(third) > SKEWED * error)
    return skewed


def likelihood_roots(values: Floats) -> Floats:
    """The signed roots of the empirical likelihood ratios for a mean of 0 (Owen, Biometrika 75, 1988), for each row:
    used like a t statistic, but it takes the shape of the distribution into account. 0 for a mean of 0, and FARTHEST at
    most, which is also the result for values all on one side of 0.
    """
    count = values.shape[-1]
    mean = values.mean(axis=-1)
    low = values.min(axis=-1)
    high = values.max(axis=-1)
    one_sided = np.minimum(-low, high) <= NO_SPREAD * np.maximum(-low, high)
    low = np.where(one_sided, -1.0, low)
    high = np.where(one_sided, 1.0, high)
    inner = np.where(one_sided[..., None], 0.0, values)
    # No weight exceeds 1, so the solution keeps this distance from the points where the logarithm is undefined.
    left = (1 / count - 1) / high
    right = (1 / count - 1) / low
    for _ in range(HALVINGS):
        middle = (left + right) / 2
        is_left = (inner / (1 + middle[..., None] * inner)).sum(axis=-1) > 0
        left = np.where(is_left, middle, left)
        right = np.where(is_left, right, middle)
    ratio = 2 * np.log1p(((left + right) / 2)[..., None] * inner).sum(axis=-1)
    root = np.where(one_sided, FARTHEST, np.minimum(np.sqrt(np.maximum(ratio, 0.0)), FARTHEST))
    signed: Floats = root * np.sign(mean)
    return signed


def minimum_detectable(se: float, df: float, alpha: float, power: float) -> float | None:
    """The minimum detectable effect: the true difference at which a t interval with this standard error, the effect of
    shared repositories included, excludes 0 with this power. None with 1 degree of freedom, for which it is
    undefined."""
    count = int(df + NO_SPREAD) + 1
    if count < 3:
        return None
    return se * math.sqrt(count) * standard_effect(count, power, alpha)
