from collections import Counter

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal, norm, t

from gate_settings import DEFAULTS
from lensbench.core.errors import UserError
from lensbench.plan.waves import looks_over_tasks
from lensbench.scores.gate import conditional_power, look_result, stopped, worthwhile
from lensbench.scores.intervals import Estimate, estimate
from lensbench.scores.saving import Saving
from lensbench.scores.sequential import EarlierLook, boundaries, even_fractions, next_boundary


def spread_around(mean: float, spread: float, tasks: int = 12) -> Estimate:
    """The estimate of differences that lie `spread` above and below `mean`, a repository for each task."""
    differences = {f"t{n:02}": mean + (spread if n % 2 else -spread) for n in range(tasks)}
    return estimate(differences, {task: task for task in differences}, 0.05, tasks, 1)


@pytest.mark.parametrize(
    ("looks", "published"),
    [
        (1, [1.960]),
        (2, [2.963, 1.969]),
        (3, [3.710, 2.511, 1.993]),
        (4, [4.333, 2.963, 2.359, 2.014]),
        (5, [4.877, 3.357, 2.680, 2.290, 2.031]),
    ],
)
def test_the_boundaries_are_the_published_ones_or_a_little_stricter(
    looks: int, published: list[float]
) -> None:
    """They remember one earlier look."""
    for found, known in zip(boundaries(even_fractions(looks)), published, strict=True):
        assert known - 0.002 <= found <= known + 0.01


def test_the_looks_together_err_as_often_as_one_look_would() -> None:
    fractions = (0.2, 0.5, 0.7, 1.0)
    steps = np.diff((0.0, *fractions))
    paths = np.random.default_rng(1).normal(0, np.sqrt(steps), (400_000, 4)).cumsum(
        axis=1
    ) / np.sqrt(fractions)
    for alpha in (0.05, 0.2):
        crossed = (paths >= boundaries(fractions, alpha)).any(axis=1).mean()
        assert 0.96 * alpha / 2 <= crossed <= alpha / 2 + 4 * np.sqrt(alpha / 2 / len(paths))


@given(st.floats(0, 1), st.floats(1.5, 4), st.sampled_from([0.0005, 0.005, 0.05]))
@settings(max_examples=12, phases=[Phase.generate], deadline=None)
def test_the_boundary_after_another_look_is_of_scipys_normal_distribution(
    correlation: float, limit: float, spend: float
) -> None:
    boundary = next_boundary(spend, EarlierLook(limit, correlation))
    cov = [[1, correlation], [correlation, 1]]

    def reached(value: float) -> float:
        both = multivariate_normal.cdf([limit, value], cov=cov, allow_singular=True)
        return float(norm.cdf(limit) - both)

    assert reached(boundary + 0.002) <= spend / 2
    assert reached(boundary - 0.002) >= spend / 2 or boundary <= 0.001 - 8


@given(
    tasks=st.lists(st.integers(0, 999), unique=True, min_size=8, max_size=60),
    looks=st.integers(1, 8),
    seed=st.integers(0, 99),
)
@settings(max_examples=60)
def test_waves_hold_every_task_once_and_a_like_part_of_every_category(
    tasks: list[int], looks: int, seed: int
) -> None:
    categories = {f"t{n}": "ABC"[n % 3] for n in tasks}
    waves = looks_over_tasks(categories, categories, looks, seed)
    assert sorted(task for wave in waves for task in wave) == sorted(categories)
    sizes = [len(wave) for wave in waves]
    assert len(waves) == looks
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1
    for category in set(categories.values()):
        counts = [Counter(categories[task] for task in wave)[category] for wave in waves]
        assert max(counts) - min(counts) <= 1


def test_waves_are_by_seed_and_more_looks_than_tasks_are_a_users_mistake() -> None:
    categories = {f"t{n}": "AB"[n % 2] for n in range(20)}
    first = looks_over_tasks(categories, categories, 4, 7)
    assert looks_over_tasks(reversed(list(categories)), categories, 4, 7) == first
    assert looks_over_tasks(categories, categories, 4, 8) != first
    with pytest.raises(UserError, match=r"gate\.looks is 3, and there are 2 tasks"):
        looks_over_tasks("ab", {"a": "A", "b": "A"}, 3)


def test_the_interval_of_a_look_uses_its_boundary_and_of_one_look_is_the_estimates_own() -> None:
    found = spread_around(0.05, 0.1)
    result = look_result(found, 1, 1, DEFAULTS, norm.isf(0.025))
    assert (result.low, result.high) == pytest.approx((found.low, found.high), abs=1e-4)
    assert not result.open
    assert result.conditional_power is None
    found = spread_around(0.05, 0.1)
    result = look_result(found, 2, 4, DEFAULTS, 2.963)
    half = t.ppf(1 - norm.sf(2.963), 11) * np.std([0.15, -0.05] * 6, ddof=1) / np.sqrt(12)
    assert (result.low, result.high) == pytest.approx((0.05 - half, 0.05 + half), abs=1e-6)
    assert result.z == pytest.approx(norm.isf(t.sf(0.05 / found.se, 11)))


@pytest.mark.parametrize(
    ("mean", "spread", "is_open", "why"),
    [
        (0.20, 0.1, False, "the verdict is GO"),
        (-0.20, 0.1, False, "the verdict is HARM"),
        (0.0, 0.05, False, "the verdict is NO-GO"),
        (0.08, 0.2, True, "the chance of a GO, SAVES or HARM"),
        (
            -0.09,
            0.2,
            True,
            "the chance of a GO, SAVES or HARM",
        ),  # a loss that goes on like this is a HARM
        (-0.03, 0.05, True, "the chance of a GO, SAVES or HARM"),  # a NO-GO that a HARM may follow
        (-0.04, 0.2, False, "below 20%"),
    ],
)
def test_the_next_wave_runs_only_while_a_verdict_is_likely(
    mean: float, spread: float, is_open: bool, why: str
) -> None:
    result = look_result(spread_around(mean, spread, 24), 2, 4, DEFAULTS, 2.963)
    assert (result.open, why in result.why) == (is_open, True)
    assert ("below" in result.why) == (why == "below 20%")


def saving(mean: float, spread: float = 0.1, tasks: int = 24) -> Saving:
    """What the treatment saves beyond the least, as log ratios."""
    ratios = spread_around(mean, spread, tasks)
    return Saving("cost", ratios, [ratios], spread_around(-1, spread, tasks), [ratios])


@pytest.mark.parametrize(
    ("mean", "saved", "tasks", "is_open"),
    [
        (-0.04, 0.4, 24, True),  # 48 tasks in all can show that answers are at most 10 points worse
        (-0.04, 0.4, 16, False),  # 32 cannot
        (-0.04, -0.1, 24, False),  # nothing is saved
    ],
)
def test_runs_without_a_go_go_on_while_savings_are_likely(
    mean: float, saved: float, tasks: int, is_open: bool
) -> None:
    half = spread_around(mean, 0.2, tasks)
    assert look_result(half, 2, 4, DEFAULTS, 6.0, saving(saved, tasks=tasks)).open is is_open


def test_the_gates_own_verdict_or_the_last_look_ends_the_runs_even_without_an_interval() -> None:
    found = look_result(spread_around(0.0, 0.1, 24), 2, 4, DEFAULTS, 2.963, saving(0.4))
    assert (found.open, found.why) == (False, "the verdict is SAVES")
    assert stopped(found, "NO-GO").open  # while unseen losses forbid SAVES
    result = look_result(spread_around(0.06, 0.2), 4, 4, DEFAULTS, 2.014)
    assert (result.open, result.why) == (False, "this is the last look")
    same = estimate({"a": 0.5, "b": 0.5}, {"a": "x", "b": "y"}, 0.05, 2, 1)
    first = look_result(same, 1, 2, DEFAULTS, 2.963)
    assert (first.z, first.conditional_power) == (None, None)
    assert (first.open, first.why) == (True, "all differences are the same")
    assert look_result(estimate({}, {}), 1, 2, DEFAULTS, 2.963).why == "nothing can be estimated"
    assert not look_result(same, 2, 2, DEFAULTS, 2.0).open


def test_conditional_power_is_that_of_a_path_to_the_last_look_and_a_small_plan_is_not_futile() -> (
    None
):
    time = 0.5
    z = 0.4
    drift = 3.5
    rest = np.random.default_rng(1).normal(drift * (1 - time), np.sqrt(1 - time), 400_000)
    simulated = (z * np.sqrt(time) + rest >= 2.014).mean()
    assert conditional_power(z, time, drift, 2.014) == pytest.approx(simulated, abs=0.003)
    assert worthwhile(0.2, 0.25, DEFAULTS) == pytest.approx(norm.isf(0.025) + norm.ppf(0.8))
    assert worthwhile(0.02, 0.25, DEFAULTS) == pytest.approx(0.05 / 0.01)
