"""What an interval that excludes 0 must stand beside: skewness, and gains that are too small and even."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, skew, t

from gate_settings import DEFAULTS
from lensbench.scores.intervals import Estimate, estimate, is_skewed, likelihood_root
from lensbench.scores.objections import excludes_zero, hides_a_tail, objection
from lensbench.scores.sequential import interval_at

BOUNDARY = 2.0


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
    d, n = np.array(values), len(values)
    if np.ptp(d) > 1e-6:
        error = (6 * n * (n - 1) / ((n - 2) * (n + 1) * (n + 3))) ** 0.5
        ratio = abs(skew(d, bias=False)) / error
        assert is_skewed(d) == (ratio > 2) or ratio == pytest.approx(2)
    else:
        assert not is_skewed(d)


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
    assert objection("GO", over(FEW_HEAVY_LOSSES), BOUNDARY, DEFAULTS) == "heavy tail"
    assert (
        objection("HARM", over([-value for value in FEW_HEAVY_LOSSES]), BOUNDARY, DEFAULTS)
        == "heavy tail"
    )
    assert objection("GO", over([0.5] * 13 + [0.0] * 3), BOUNDARY, DEFAULTS) is None
    assert (
        objection("GO", over([0.5 - value for value in FEW_HEAVY_LOSSES]), BOUNDARY, DEFAULTS)
        is None
    )


@given(st.lists(st.integers(-20, 20).map(lambda points: points / 20), min_size=8, max_size=20))
def test_a_larger_gain_is_never_believed_less(values: list[float]) -> None:
    shifted = (over([value + shift for value in values]) for shift in np.arange(0, 3, 0.25))
    excluded = [
        found for found in shifted if (interval := interval_at(found, BOUNDARY)) and interval[0] > 0
    ]
    believed = [objection("GO", found, BOUNDARY, DEFAULTS) is None for found in excluded]
    assert believed == sorted(believed)


def test_fewer_than_eight_tasks_are_neither_a_go_nor_a_harm() -> None:
    seven, eight = around(0.5, 0.05, 7), around(0.5, 0.05, 8)
    assert (
        objection("GO", seven, BOUNDARY, DEFAULTS)
        == objection("HARM", seven, BOUNDARY, DEFAULTS)
        == "few tasks"
    )
    assert (excludes_zero(seven, BOUNDARY, DEFAULTS), excludes_zero(eight, BOUNDARY, DEFAULTS)) == (
        False,
        True,
    )


@pytest.mark.parametrize(
    ("mean", "spread", "tasks"),
    [
        (0.06, 0.05, 12),
        (0.06, 0.10, 24),
        (0.12, 0.10, 12),
        (0.10, 0.05, 24),
        (0.06, 0.05, 60),
        (0.07, 0.12, 40),
        (0.06, 0.19, 12),
        (0.06, 0.21, 12),
    ],
)
def test_a_difference_that_rare_heavy_tasks_show_too_often_is_no_fact(
    mean: float, spread: float, tasks: int
) -> None:
    """A sample of tasks of which 5% lose 95 points and the others gain 5, without one of the former."""
    chance = (
        0.95**tasks * t.sf((mean - 0.05) / (spread / tasks**0.5), tasks - 1) if spread < 0.2 else 0
    )
    assert hides_a_tail("GO", around(mean, spread, tasks), DEFAULTS) == (chance > 0.045)
    assert hides_a_tail("HARM", around(-mean, spread, tasks), DEFAULTS) == (chance > 0.045)
    assert hides_a_tail("NO-GO", around(0.05 - mean, spread, tasks), DEFAULTS) == (chance > 0.045)


@pytest.mark.parametrize("mean", [0.06, 0.07, 0.075, 0.085])
def test_heavy_repositories_count_where_tasks_share_them(mean: float) -> None:
    """Eight repositories of twelve tasks: none of the fifth that loses 24 points is seen in one of six samples."""
    wave = np.sin(np.arange(8) * 2.4)
    values = [*(mean + 0.05 * (wave - wave.mean()) / wave.std(ddof=1))] * 12
    chance = 0.8**8 * t.sf((mean - 0.06) / (0.05 / 8**0.5), 7)
    assert hides_a_tail("GO", over(values, "abcdefgh" * 12), DEFAULTS) == (chance > 0.045)
    assert not hides_a_tail("GO", over(values), DEFAULTS)


def test_ties_do_not_make_a_go_of_nothing_more_often_than_promised() -> None:
    """12 tasks of which each moves with a probability of 0.4, by half of the score either way: all outcomes."""
    chance = 0.0
    for moved in range(13):
        for gains in range(moved + 1):
            found = over([0.5] * gains + [-0.5] * (moved - gains) + [0.0] * (12 - moved))
            if excludes_zero(found, 2.004654, DEFAULTS) and (found.delta or 0) > 0:
                chance += binom.pmf(moved, 12, 0.4) * binom.pmf(gains, moved, 0.5)
    assert chance <= 0.026
