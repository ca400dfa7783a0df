import math
from dataclasses import asdict, replace

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from scipy.stats import t as student
from scipy.stats import ttest_1samp
from scipy.stats.mstats import trimmed_mean_ci
from statsmodels.regression.linear_model import OLS
from statsmodels.stats.power import TTestPower

from lensbench.judging.trust.bias import Mean
from lensbench.scores import intervals
from lensbench.scores.differences import corrected_by_people
from lensbench.scores.intervals import (
    CLUSTERED,
    PAIRED,
    SCOPE,
    WITHIN,
    Estimate,
    cluster_robust,
    estimate,
)


def over(values: list[float], repositories: str | None = None, **settings: object) -> Estimate:
    """The estimate of tasks with these differences; `repositories` has a letter for each, or every task has its own."""
    tasks = [f"t{number:03}" for number in range(len(values))]
    names = list(repositories) if repositories else tasks
    return estimate(
        dict(zip(tasks, values, strict=True)), dict(zip(tasks, names, strict=True)), **settings
    )  # type: ignore[arg-type]


def test_a_typical_difference_is_the_trimmed_mean_with_its_interval() -> None:
    calls = [3.0, -1.0, 2.0, 0.0, 4.0, -2.0, 1.0, 480.0, 2.5, -90.0]
    found = over(calls, typical=True)
    assert (found.low, found.high) == pytest.approx(tuple(trimmed_mean_ci(calls, (0.2, 0.2))))
    assert (found.delta, found.wins, found.ties, found.losses) == (pytest.approx(7.5 / 6), 6, 1, 3)


SCORES = [0.3, 0.0, -0.1, 0.25, 0.5, 0.0, 0.2, -0.2, 0.35, 0.1, 0.0, 0.15]


# --- Which interval


def test_the_paired_interval_is_that_of_scipy_by_hand_and_of_the_textbook() -> None:
    found = over(SCORES)
    low, high = ttest_1samp(SCORES, 0).confidence_interval(0.95)
    assert (found.method, found.scope, found.df) == (PAIRED, "", 11)
    assert (found.low, found.high) == pytest.approx((low, high))
    found = over([0.1, 0.2, 0.3])
    margin = 4.302653 * 0.1 / math.sqrt(3)  # the table's t for 2 degrees of freedom
    assert (found.delta, found.sd, found.se) == pytest.approx((0.2, 0.1, 0.0577350))
    assert (found.low, found.high) == pytest.approx((0.2 - margin, 0.2 + margin))
    # Student 1908: hours of sleep gained with one drug over another; mean 1.58, t = 4.0621, 0.70 to 2.46.
    found = over([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4])
    assert found.delta == pytest.approx(1.58)
    assert found.delta / found.se == pytest.approx(4.0621, abs=1e-4)
    assert (found.low, found.high) == pytest.approx((0.7001142, 2.4598858))
    assert (found.wins, found.ties, found.losses) == (9, 1, 0)


def test_shared_repositories_get_statsmodels_cluster_robust_interval() -> None:
    groups = np.repeat(np.arange(6), 2)
    found = over(SCORES, "aabbccddeeff")
    fit = OLS(SCORES, np.ones(12)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    assert (found.method, found.clusters, found.scope, found.df) == (
        CLUSTERED,
        6,
        "",
        pytest.approx(5),
    )
    assert (found.low, found.high) == pytest.approx(tuple(fit.conf_int()[0]))


@given(st.lists(st.integers(1, 9), min_size=6, max_size=12), st.integers(0, 2**31))
def test_unequal_repositories_get_the_figures_that_clubsandwich_checks_itself_with(
    sizes: list[int], seed: int
) -> None:
    """The closed formulas of a population mean in clubSandwich's tests/testthat/test_intercept_formulas.R."""
    each = np.array(sizes)
    total = each.sum()
    squares = each**2
    assume(total > len(sizes))
    groups = np.repeat(np.arange(len(sizes)), each)
    values = np.random.default_rng(seed).normal(0.1, 0.2, total)
    away = np.bincount(groups, values) / each - values.mean()
    variance = (squares * away**2 / (1 - each / total)).sum() / total**2
    freedom = total**2 / (
        total**2 * (squares / (total - each) ** 2).sum()
        - 2 * total * (each**3 / (total - each) ** 2).sum()
        + (squares / (total - each)).sum() ** 2
    )
    found = cluster_robust(values, [*groups])
    assert (found.se, found.df) == pytest.approx((math.sqrt(variance), freedom))


def test_few_repositories_limit_the_claim_and_no_interval_what_is_possible() -> None:
    """(6 + 10)^2 / (36 + 10) is 5.6 repositories' worth; (2 + 10)^2 / (4 + 10) is 10.3."""
    few = over([0.1, 0.2, 0.0, 0.4] * 4, "a" * 6 + "bcdefghijk")
    many = over([0.1, 0.2, 0.0, 0.4] * 3, "aabcdefghijk")
    assert (few.scope, few.method, many.scope, many.method) == (SCOPE, WITHIN, "", CLUSTERED)
    wild, free = (over([0.9, -0.8], limit=limit) for limit in (1.0, math.inf))
    assert free.high > 5
    assert (wild.low, wild.high, wild.se) == (-1, 1, free.se)


def test_a_few_shared_repositories_limit_the_claim_and_a_wider_interval_would_cover_others() -> (
    None
):
    found = over(SCORES, "aaaabbbbcccc")
    groups = np.repeat(np.arange(3), 4)
    inside = np.array(SCORES) - np.repeat(np.array(SCORES).reshape(3, 4).mean(axis=1), 4)
    se = math.sqrt((inside**2).sum() / 9 / 12)
    assert (found.method, found.scope, found.df) == (WITHIN, SCOPE, 9)
    assert (found.low, found.high) == pytest.approx(student(9, np.mean(SCORES), se).interval(0.95))
    fit = OLS(SCORES, np.ones(12)).fit(cov_type="cluster", cov_kwds={"groups": groups}, use_t=True)
    wider = intervals.cluster_robust(np.array(SCORES), [*groups])
    assert (wider.se, wider.df) == pytest.approx((fit.bse[0], 2))


def test_repositories_of_any_size_count_each_task_once_and_few_have_the_paired_interval() -> None:
    found = over([0.4, 0.2, 0.3, 0.1, 0.0, -0.1], "aaaabb")
    assert found.delta == pytest.approx(0.15)
    assert (found.low + found.high) / 2 == pytest.approx(0.15)
    alone = over(SCORES, "a" * 12)
    apart = over(SCORES)
    assert (alone.low, alone.high, alone.p) == pytest.approx((apart.low, apart.high, apart.p))
    assert (alone.scope, alone.clusters) == (SCOPE, 1)
    found = over([0.1, 0.2, 0.4], "aab")
    assert (found.method, found.df, found.scope) == (PAIRED, 2, SCOPE)


@pytest.mark.parametrize("repositories", ["aaabbb", "aabbccddeeff"])
def test_an_interval_that_would_be_a_point_by_accident_is_the_paired_one(repositories: str) -> None:
    """Inside the two repositories nothing differs; between the six nothing does."""
    values = [0.1, 0.1, 0.1, 0.3, 0.3, 0.3] if len(repositories) == 6 else [0.1, -0.1] * 6
    found = over(values, repositories)
    apart = over(values)
    assert (found.method, found.low, found.high) == (PAIRED, apart.low, apart.high)


def test_no_task_gives_nothing_one_a_difference_and_those_without_a_repository_are_one_unknown() -> (
    None
):
    tasks = {f"t{number}": value for number, value in enumerate(SCORES)}
    unnamed = estimate(tasks, dict.fromkeys(tasks))
    assert unnamed == estimate(tasks, dict.fromkeys(tasks, "one"))
    assert (unnamed.clusters, unnamed.scope) == (1, SCOPE)
    assert estimate({}, {}, planned=12) == Estimate(
        planned=12, method="no complete pair: no interval"
    )
    found = over([0.5])
    assert (found.delta, found.n, found.method) == (0.5, 1, "one task: no interval")
    assert (found.low, found.high, found.p, found.se, found.sd, found.mde) == (None,) * 6


# --- What cannot be said


@pytest.mark.parametrize(("value", "p"), [(0.0, 1.0), (0.1, 2 / 2**4)])
def test_equal_differences_are_no_certainty(value: float, p: float) -> None:
    found = over([value] * 4)
    assert (found.delta, found.low, found.high, found.sd, found.mde) == (
        pytest.approx(value),
        None,
        None,
        0.0,
        None,
    )
    assert (found.p, found.method) == (p, "no spread: no interval")


@given(st.lists(st.floats(-1, 1), max_size=12), st.text("abcdefg", min_size=12, max_size=12))
@example([0.0, 0.0, 0.0, 2.225073858507e-311, -1.0], "aaaaaaaaaaaa")
@settings(max_examples=40)
def test_no_figure_is_ever_nan_or_infinite(values: list[float], repositories: str) -> None:
    found = asdict(over(values, repositories[: len(values)] or None, planned=20))
    numbers = [value for value in found.values() if isinstance(value, float)]
    assert all(map(math.isfinite, numbers))
    assert found["wins"] + found["ties"] + found["losses"] == found["n"] == len(values)
    assert (found["low"] is None) == (found["high"] is None) == (found["se"] is None)


# --- p


def test_p_counts_sign_flips_that_are_as_far_from_zero_without_ties_and_by_repository() -> None:
    """Of 8 sign flips of 1, 2 and 4, two have a mean as far from 0 as 7/3, and four as far as 5/3."""
    assert (over([1, 2, 4]).p, over([1, -2, -4]).p) == (pytest.approx(2 / 8), pytest.approx(4 / 8))
    """Of the 8 sign flips of 1, 2 and 4, none is further than 7/3; of the 4 as far as 5/3, two are further."""
    assert (over([1, 2, 4]).mid_p, over([-1, 2, 4]).mid_p) == (
        pytest.approx(1 / 8),
        pytest.approx(3 / 8),
    )
    assert (over([1, 2, 4, 0, 0]).p, over([0, 0, 5]).p) == (pytest.approx(2 / 8), 1.0)
    assert over([0.1, 0.2, 0.3] * 4, "aabbccddeeff").p == pytest.approx(2 / 2**6)
    assert over([0.1, -0.1] * 6, "aabbccddeeff").p == 1.0


def test_many_tasks_are_resampled_with_the_seed_and_pairs_are_counted_by_the_caller() -> None:
    values = [round(0.05 + 0.3 * math.sin(7 * number), 2) for number in range(40)]
    first = over(values, seed=1)
    assert first == over(values, seed=1)
    assert first.p == pytest.approx(ttest_1samp(values, 0).pvalue, abs=0.02)
    assert first.p != over(values, seed=2).p
    found = estimate({"a": 0.1, "b": 0.2}, {"a": "x", "b": "y"}, planned=9, pairs=5)
    assert (found.n, found.pairs, found.planned) == (2, 5, 9)
    plain = over([0.1, 0.2])
    assert (plain.pairs, plain.planned) == (2, 2)


# --- Counts and power


@pytest.mark.parametrize(
    ("tasks", "power"),
    [(3, 0.8), (5, 0.8), (48, 0.9), (73, 0.8), (87, 0.8), (109, 0.8), (957, 0.8)],
)
def test_the_minimum_detectable_effect_is_found_for_every_number_of_tasks(
    tasks: int, power: float
) -> None:
    found = over([0.3 if number % 2 else -0.1 for number in range(tasks)], power=power)
    assert found.mde > 0
    assert TTestPower().power(found.mde / found.sd, nobs=tasks, alpha=0.05) == pytest.approx(
        power, abs=1e-4
    )


def test_an_effect_of_the_minimum_detectable_size_is_found_with_the_power_that_was_asked_for() -> (
    None
):
    found = over(SCORES, "aabbccddeeff", power=0.8)
    power = TTestPower().power(found.mde / found.se / math.sqrt(6), nobs=6, alpha=0.05)
    assert power == pytest.approx(0.8, abs=1e-4)


# --- Properties

tenths = st.lists(st.integers(-20, 20).map(lambda value: value / 20), min_size=2, max_size=11)
letters = st.text("abcdefgh", min_size=16, max_size=16)


@given(st.data(), tenths, letters)
@settings(max_examples=25)
def test_the_order_of_the_tasks_changes_nothing(
    data: st.DataObject, values: list[float], repositories: str
) -> None:
    pairs = [(f"t{number:02}", value) for number, value in enumerate(values)]
    repository_of = {task: name for (task, _), name in zip(pairs, repositories, strict=False)}
    shuffled = data.draw(st.permutations(pairs))
    assert estimate(dict(shuffled), repository_of) == estimate(dict(pairs), repository_of)


def test_a_smaller_alpha_gives_a_wider_interval_and_the_same_p() -> None:
    wide = over(SCORES, alpha=0.01)
    narrow = over(SCORES, alpha=0.1)
    assert wide.low < narrow.low < narrow.high < wide.high
    assert replace(wide, low=None, high=None, mde=None) == replace(
        narrow, low=None, high=None, mde=None
    )


@pytest.mark.parametrize(
    ("clusters", "design"), [(24, 1.0), (6, 1.4)], ids=["apart", "of shared repositories"]
)
def test_what_people_correct_has_its_interval_widened_by_repositories(
    clusters: int, design: float
) -> None:
    found = Estimate(
        delta=0.05,
        low=-0.1,
        high=0.2,
        n=24,
        sd=0.2,
        se=design * 0.2 / math.sqrt(24),
        df=clusters - 1.0,
        floor=-0.15,
        method="m",
    )
    fixed = corrected_by_people(found, Mean(0.03, -0.09, 0.15, 16, "", 0.06), 0.05, 0.8)
    margin = student.isf(0.025, min(15, clusters - 1)) * design * 0.06
    assert fixed
    assert (fixed.delta, fixed.low, fixed.high) == pytest.approx(
        (0.03, 0.03 - margin, 0.03 + margin)
    )
    assert (fixed.se, fixed.df, fixed.people) == (
        pytest.approx(design * 0.06),
        min(15, clusters - 1),
        16,
    )
    assert fixed.floor == pytest.approx(0.03 - margin - 0.05)  # as far below the interval as before
    assert fixed.method == "m, corrected by people"


@pytest.mark.parametrize(
    ("value", "se", "spread"), [(None, 0.06, 0.2), (0.03, None, 0.2), (0.03, 0.06, None)]
)
def test_too_few_labels_of_people_correct_nothing(
    value: float | None, se: float | None, spread: float | None
) -> None:
    found = Estimate(delta=0.05, n=24, sd=spread, se=0.04, df=23.0)
    assert corrected_by_people(found, Mean(value, None, None, 3, "few", se), 0.05, 0.8) is None
