"""What an interval that excludes 0 must stand beside: skewness, and gains that are too small and even."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import binom, skew

from lensbench.scores.intervals import Estimate, estimate, is_skewed, likelihood_root
from lensbench.scores.objections import excludes_zero, objection, rare_losses, tasks_that_would_show
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
def test_the_likelihood_root_is_that_of_the_most_likely_weights_with_a_mean_of_0(values: list[float]) -> None:
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
    assert over(values, "aabbccddeeff").root == likelihood_root(np.array(values).reshape(6, 2).sum(axis=1))
    assert over([0.1, -0.1, 0.2, -0.2]).root is None


FEW_HEAVY_LOSSES = [0.15, 0.2] * 14 + [-0.8, -0.7]


def test_a_gain_whose_losses_are_few_and_heavy_is_not_believed_by_its_interval_alone() -> None:
    interval = interval_at(over(FEW_HEAVY_LOSSES), BOUNDARY)
    assert interval
    assert interval[0] > 0
    assert "the losses are few and heavy" in objection(over(FEW_HEAVY_LOSSES), BOUNDARY)
    assert "the gains are few and heavy" in objection(over([-value for value in FEW_HEAVY_LOSSES]), BOUNDARY)
    clear_gains = [0.5] * 13 + [0.0] * 3
    assert objection(over(clear_gains), BOUNDARY) == ""
    few_heavy_gains = [0.5 - value for value in FEW_HEAVY_LOSSES]
    assert objection(over(few_heavy_gains), BOUNDARY) == ""


@given(st.lists(st.integers(-20, 20).map(lambda points: points / 20), min_size=6, max_size=20))
def test_a_larger_gain_is_never_believed_less(values: list[float]) -> None:
    shifted = (replace(over([value + shift for value in values]), p=0.0) for shift in np.arange(0, 3, 0.25))
    excluded = [found for found in shifted if (interval := interval_at(found, BOUNDARY)) and interval[0] > 0]
    believed = [objection(found, BOUNDARY) == "" for found in excluded]
    assert believed == sorted(believed)


def test_an_interval_that_holds_0_needs_no_objection() -> None:
    assert objection(over([0.1, -0.1, 0.2, -0.2, 0.0, 0.05]), BOUNDARY) == ""
    assert objection(over([]), BOUNDARY) == ""


@pytest.mark.parametrize(
    ("mean", "spread", "tasks", "believed"),
    [
        (0.06, 0.05, 12, False),  # as tasks of which 5 % lose 95 points look before the first is drawn
        (0.06, 0.10, 24, False),
        (0.12, 0.10, 12, True),
        (0.10, 0.14, 12, True),
        (0.06, 0.05, 60, True),  # one of 60 would have been drawn
    ],
)
def test_a_small_and_even_gain_of_few_tasks_is_not_believed(
    mean: float, spread: float, tasks: int, believed: bool
) -> None:
    assert (rare_losses(around(mean, spread, tasks), BOUNDARY) == "") == believed


def test_how_many_tasks_would_show_that_nothing_is_lost() -> None:
    small = around(0.06, 0.05, 24)
    tasks = tasks_that_would_show(small, BOUNDARY)
    assert 24 < tasks < 60
    assert tasks_that_would_show(around(0.2, 0.1, 12), BOUNDARY) == 12


@pytest.mark.parametrize("tasks", [12, 24, 48])
def test_benchmarks_with_rare_heavy_losses_are_believed_in_one_of_twenty(tasks: int) -> None:
    rng = np.random.default_rng(tasks)
    believed = 0
    for _ in range(1000):
        gains = 0.05 + rng.normal(0, 0.1, tasks)
        found = over([*np.where(rng.random(tasks) < 0.05, -0.95, gains)])
        interval = interval_at(found, BOUNDARY)
        believed += bool(
            interval and interval[0] > 0 and not objection(found, BOUNDARY) and not rare_losses(found, BOUNDARY)
        )
    assert believed / 1000 <= 0.05 + 3 * 0.007


def test_ties_do_not_make_a_go_of_nothing_more_often_than_promised() -> None:
    """12 tasks of which each moves with a probability of 0.4, by half of the score either way: all outcomes."""
    chance = 0.0
    for moved in range(13):
        for gains in range(moved + 1):
            found = over([0.5] * gains + [-0.5] * (moved - gains) + [0.0] * (12 - moved))
            if excludes_zero(found, 2.004654) and (found.delta or 0) > 0:
                chance += binom.pmf(moved, 12, 0.4) * binom.pmf(gains, moved, 0.5)
    assert chance <= 0.026
