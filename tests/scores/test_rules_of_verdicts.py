"""What an interval that excludes 0 must stand beside: skewness, and gains that are too small and even."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, norm, skew, t

from gate_settings import DEFAULTS
from lensbench.scores.intervals import Estimate, estimate, is_skewed, likelihood_roots, rooms_of
from lensbench.scores.rules import (
    excludes_zero,
    hides_a_tail,
    objection,
    quantiles,
    sample,
    sample_of,
)
from lensbench.scores.rules import given as is_given
from lensbench.scores.sequential import interval_at

BOUNDARY = 2.0
CHANCE = norm.sf(BOUNDARY)


def likelihood_root(values: Any) -> float:
    """That of one sample."""
    return float(likelihood_roots(np.array([values]))[0])


def over(values: list[float], repositories: str = "") -> Estimate:
    """The estimate of tasks with these differences, a repository for each, or one for each letter."""
    named = {f"t{number:03}": value for number, value in enumerate(values)}
    return estimate(named, dict(zip(named, repositories or named, strict=True)))


def around(mean: float, spread: float, tasks: int) -> Estimate:
    """The estimate of differences that are as even as a normal sample of this mean and spread."""
    wave = np.sin(np.arange(tasks) * 2.4)
    return over([*(mean + spread * (wave - wave.mean()) / wave.std(ddof=1))])


tenths = st.lists(st.integers(-20, 20).map(lambda points: points / 20), min_size=3, max_size=30)


@given(tenths)
def test_values_are_skewed_by_scipys_skewness_and_its_standard_error(values: list[float]) -> None:
    d = np.array(values)
    n = len(values)
    if np.ptp(d) > 1e-6:
        error = (6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3))) ** 0.5
        ratio = abs(skew(d, bias=False)) / error
        assert is_skewed(d[None])[0] == (ratio > 2) or ratio == pytest.approx(2)
    else:
        assert not is_skewed(d[None])[0]


@given(tenths)
def test_the_likelihood_root_is_that_of_the_most_likely_weights_with_a_mean_of_0(
    values: list[float],
) -> None:
    """By its dual: the weights 1 / n / (1 + w d) whose mean is 0, against those of 1 / n each."""
    d = np.array(values)
    if d.min() >= 0 or d.max() <= 0:
        assert abs(likelihood_root(d)) in (0, 99)
        return
    edge = (-1 / d.max() * (1 - 1e-12), -1 / d.min() * (1 - 1e-12))
    weight = brentq(lambda each: (d / (1 + each * d)).sum(), *edge, xtol=1e-14)
    weights = 1 / len(d) / (1 + weight * d)
    assert (weights.sum(), (weights * d).sum()) == pytest.approx((1, 0), abs=1e-6)
    assert likelihood_root(d) ** 2 == pytest.approx(-2 * np.log(weights * len(d)).sum(), abs=1e-5)
    assert likelihood_root(d) * d.mean() >= 0


def test_only_what_is_skewed_has_a_likelihood_and_it_is_that_of_what_the_sign_flips_turn() -> None:
    values = [0.1, 0.2, 0.0, 0.3, 0.1, -0.9, 0.2, 0.1, 0.0, 0.1, 0.2, 0.1]
    assert over(values).root == likelihood_root(np.array(values))
    assert over(values, "aabbccddeeff").root == likelihood_root(
        np.array(values).reshape(6, 2).sum(axis=1)
    )
    assert over([0.1, -0.1, 0.2, -0.2]).root is None


FEW_HEAVY_LOSSES = [0.15, 0.2] * 14 + [-0.8, -0.7]


def test_a_gain_whose_losses_are_few_and_heavy_is_not_believed_by_its_interval_alone() -> None:
    interval = interval_at(over(FEW_HEAVY_LOSSES), BOUNDARY)
    assert interval
    assert interval[0] > 0
    assert objection("GO", over(FEW_HEAVY_LOSSES), CHANCE, DEFAULTS) == "heavy tail"
    assert (
        objection("HARM", over([-value for value in FEW_HEAVY_LOSSES]), CHANCE, DEFAULTS)
        == "heavy tail"
    )
    assert objection("GO", over([0.5] * 13 + [0.0] * 3), CHANCE, DEFAULTS) is None
    assert (
        objection("GO", over([0.5 - value for value in FEW_HEAVY_LOSSES]), CHANCE, DEFAULTS) is None
    )


@given(st.lists(st.integers(-20, 20).map(lambda points: points / 20), min_size=8, max_size=20))
def test_a_larger_gain_is_never_believed_less(values: list[float]) -> None:
    shifted = (over([value + shift for value in values]) for shift in np.arange(0, 3, 0.25))
    excluded = [
        found for found in shifted if (interval := interval_at(found, BOUNDARY)) and interval[0] > 0
    ]
    believed = [objection("GO", found, CHANCE, DEFAULTS) is None for found in excluded]
    assert believed == sorted(believed)


def test_fewer_than_ten_tasks_are_neither_a_go_nor_a_harm() -> None:
    nine = around(0.5, 0.05, 9)
    ten = around(0.5, 0.05, 10)
    assert (
        objection("GO", nine, CHANCE, DEFAULTS)
        == objection("HARM", nine, CHANCE, DEFAULTS)
        == "few tasks"
    )
    assert (excludes_zero(nine, CHANCE, DEFAULTS), excludes_zero(ten, CHANCE, DEFAULTS)) == (
        False,
        True,
    )


BASELINES = (0.3, 0.5, 0.6, 0.8)


@pytest.mark.parametrize(
    ("mean", "spread", "tasks"),
    [
        (0.05, 0.05, 12),
        (0.06, 0.10, 24),
        (0.09, 0.10, 12),
        (0.07, 0.10, 24),
        (0.06, 0.05, 24),
        (0.05, 0.05, 60),
        (0.02, 0.12, 40),
        (0.06, 0.30, 12),
    ],
)
def test_a_difference_that_rare_heavy_tasks_show_too_often_is_no_fact(
    mean: float, spread: float, tasks: int
) -> None:
    """Samples without a loss of tasks of which 5% lose all that they had, and of tasks of which the best do."""
    own = sample_of(replace(around(mean, spread, tasks), baselines=BASELINES * (tasks // 4)))
    room = np.array(BASELINES)
    share = 0.05 * room.mean() ** 2 / (room**2).mean()
    best = min(max(room.max(), room.mean() + 2 * room.std()), 1)
    rows = (
        (share, 0.05 * room.mean() / (1 - share), 0.04),
        (0.05, 0.05 * best / 0.95, 0.09),
    )
    hidden = [
        (1 - lost) ** tasks * t.sf((mean - gain) / (spread / tasks**0.5), tasks - 1) > accepted
        for lost, gain, accepted in rows
    ]
    assert hides_a_tail("GO", own, DEFAULTS)[0] == any(hidden)


def test_a_harm_and_a_no_go_are_mirrored_about_what_is_left_to_gain() -> None:
    tasks = 24
    low = (0.2, 0.4)
    high = (0.8, 0.6)
    for mean in np.arange(0.02, 0.12, 0.01):
        go = replace(around(mean, 0.1, tasks), baselines=low * 12)
        harm = replace(around(-mean, 0.1, tasks), baselines=high * 12)
        no_go = replace(around(0.05 - mean, 0.1, tasks), baselines=high * 12)
        found = [
            hides_a_tail(name, sample_of(own), DEFAULTS)[0]
            for name, own in (("GO", go), ("HARM", harm), ("NO-GO", no_go))
        ]
        assert found[0] == found[1] == found[2]


@given(
    st.integers(10, 40), st.floats(0.01, 0.3), st.floats(0, 0.2), st.booleans(), st.integers(0, 9)
)
@settings(max_examples=25, deadline=None)
def test_many_benchmarks_at_once_are_decided_as_each_alone(
    tasks: int, spread: float, mean: float, is_shared: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    differences = np.clip(mean + rng.normal(0, spread, (6, tasks)), -1, 1)
    baselines = np.round(rng.random((6, tasks)), 2)
    homes = [task // 2 if is_shared else task for task in range(tasks)]
    together = sample(differences, baselines, homes)
    names = [f"t{task:03}" for task in range(tasks)]
    for verdict in ("GO", "HARM", "NO-GO"):
        decided = is_given(verdict, together, CHANCE, DEFAULTS)
        for row in range(6):
            alone = estimate(
                dict(zip(names, differences[row], strict=True)),
                {name: f"r{home:03}" for name, home in zip(names, homes, strict=True)},
                baselines=dict(zip(names, baselines[row], strict=True)),
            )
            assert decided[row] == is_given(verdict, sample_of(alone), CHANCE, DEFAULTS)[0]


@given(st.lists(st.floats(0.001, 2), min_size=1, max_size=5), st.integers(2, 60))
def test_quantiles_are_those_of_scipy_to_three_decimals_of_the_chance(
    tails: list[float], df: int
) -> None:
    for tail, far in zip(tails, quantiles(np.array(tails), df), strict=True):
        assert t.sf(far, df) == pytest.approx(min(tail, 1), abs=0.00051)


def test_the_best_baselines_are_two_deviations_above_the_mean_or_the_best_seen() -> None:
    even, odd = rooms_of(np.array([[0.5] * 8, [0.1] * 7 + [0.9]]))[0].most
    assert even == pytest.approx(0.5)
    assert odd == 0.9


@pytest.mark.parametrize("mean", [0.06, 0.07, 0.075, 0.085])
def test_heavy_repositories_count_where_tasks_share_them(mean: float) -> None:
    """Eight repositories of twelve tasks: none of the fifth that loses 24 points is seen in one of six samples."""
    wave = np.sin(np.arange(8) * 2.4)
    values = [*(mean + 0.05 * (wave - wave.mean()) / wave.std(ddof=1))] * 12
    shared = replace(over(values, "abcdefgh" * 12), baselines=(0.01,) * 96)
    chance = 0.8**8 * t.sf((mean - 0.059375) / (0.05 / 8**0.5), 7)
    assert hides_a_tail("GO", sample_of(shared), DEFAULTS)[0] == (chance > 0.045)
    assert not hides_a_tail("GO", sample_of(replace(shared, repositories=96)), DEFAULTS)[0]


def test_ties_do_not_make_a_go_of_nothing_more_often_than_promised() -> None:
    """12 tasks of which each moves with a probability of 0.4, by half of the score either way: all outcomes."""
    chance = 0.0
    for moved in range(13):
        for gains in range(moved + 1):
            found = over([0.5] * gains + [-0.5] * (moved - gains) + [0.0] * (12 - moved))
            if excludes_zero(found, 0.025, DEFAULTS) and (found.delta or 0) > 0:
                chance += binom.pmf(moved, 12, 0.4) * binom.pmf(gains, moved, 0.5)
    assert chance <= 0.026
