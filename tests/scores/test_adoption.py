"""Adoption: its intervals against other implementations, and what results say of it."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import binomtest, norm
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from lensbench.core.records import Call
from lensbench.scores.adoption import (
    Adoption,
    AdoptionDifference,
    adoption,
    design_effect,
    exact_interval,
    says_adoption,
    says_difference,
    says_step,
    score_interval,
    too_few_calls,
    turned,
)
from lensbench.scores.complete_tasks import mid_p
from lensbench.scores.intervals import sign_flip_p

Make = Callable[..., Any]
YES, NO = Fraction(1), Fraction(0)


def tasks(*called: int, trials: int = 1) -> list[list[Fraction]]:
    """Tasks by the number of their trials that called a tool."""
    return [[YES] * count + [NO] * (trials - count) for count in called]


# --- Intervals


@given(st.integers(1, 200), st.data())
def test_the_share_of_single_trials_has_the_exact_interval_of_statsmodels(
    runs: int, data: st.DataObject
) -> None:
    called = data.draw(st.integers(0, runs))
    found = adoption(tasks(*[1] * called, *[0] * (runs - called)))
    assert (found.runs, found.of) == (called, runs)
    expected = proportion_confint(called, runs, method="beta")
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_trials_that_agree_count_as_one_run_and_trials_by_chance_as_many() -> None:
    alike = adoption(tasks(*[3] * 6, *[0] * 18, trials=3))
    assert (alike.low, alike.high) == pytest.approx(exact_interval(6, 24))
    mixed = adoption(tasks(*[1] * 24, trials=3))  # less than independent runs would vary
    assert (mixed.low, mixed.high) == pytest.approx(exact_interval(24, 72))
    none = adoption(tasks(*[0] * 24, trials=3))
    assert (none.low, none.high) == pytest.approx(exact_interval(0, 24))


def test_the_design_effect_is_the_variance_of_shares_by_that_of_independent_runs() -> None:
    called = [3, 2, 2, 0, 1, 0, 1, 0, 3, 0, 1, 2]
    shares = np.array(called) / 3
    chance = shares.mean()
    expected = shares.var(ddof=1) / (chance * (1 - chance) / 3)
    expected *= (student.isf(0.025, 11) / student.isf(0.025, 35)) ** 2
    assert design_effect(tasks(*called, trials=3)) == pytest.approx(expected)


@given(st.lists(st.lists(st.sampled_from([NO, YES]), min_size=1, max_size=5), min_size=1))
@example([[NO], [NO, NO, NO, NO], [YES, NO]])  # once without an end in the beta function
def test_an_effect_lies_between_independent_and_equal_trials(own: list[list[Fraction]]) -> None:
    effect = design_effect(own)
    assert 1 <= effect <= max(map(len, own))
    found = adoption(own)
    assert 0 <= found.low <= found.runs / found.of <= found.high <= 1


def by_likelihood(more: int, fewer: int, pairs: int, delta: float) -> float:
    """The score statistic of a difference, with the likeliest shares found by a search."""

    def improbable(rare: float) -> float:
        shares = np.array([rare + delta, rare, 1 - 2 * rare - delta])
        counts = np.array([more, fewer, pairs - more - fewer])
        return -float(counts @ np.log(np.maximum(shares, 1e-300)))

    ends = (max(0.0, -delta), (1 - delta) / 2)
    rare = minimize_scalar(improbable, bounds=ends, method="bounded", options={"xatol": 1e-13}).x
    return (more - fewer - pairs * delta) / np.sqrt(pairs * (2 * rare + delta * (1 - delta)))


@pytest.mark.parametrize(
    ("more", "fewer", "pairs"), [(8, 2, 24), (16, 1, 24), (3, 3, 12), (5, 9, 48), (1, 2, 14)]
)
def test_two_shares_have_the_score_interval_of_a_searched_likelihood(
    more: int, fewer: int, pairs: int
) -> None:
    far, middle = norm.isf(0.025), (more - fewer) / pairs
    low = brentq(lambda delta: by_likelihood(more, fewer, pairs, delta) - far, -0.999, middle)
    high = brentq(lambda delta: by_likelihood(more, fewer, pairs, delta) + far, middle, 0.999)
    assert score_interval(more, fewer, pairs) == pytest.approx((low, high), abs=1e-5)


def test_tangos_own_example_and_the_interval_of_equal_tasks() -> None:
    """One of 44 lenses differs (Tango, Statistics in Medicine 17, 1998): -0.118 to 0.059. Without a difference the
    interval ends where one score reaches z: z^2 / (n + z^2)."""
    assert score_interval(0, 1, 44) == pytest.approx((-0.118, 0.059), abs=5e-4)
    square = norm.isf(0.025) ** 2
    assert score_interval(0, 0, 24)[1] == pytest.approx(square / (24 + square))
    assert score_interval(24, 0, 24)[1] == pytest.approx(1)


@given(st.integers(0, 30), st.integers(0, 30), st.integers(0, 30))
def test_exchanged_treatments_have_the_mirrored_interval(more: int, fewer: int, alike: int) -> None:
    pairs = more + fewer + alike
    if pairs:
        low, high = score_interval(more, fewer, pairs)
        assert score_interval(fewer, more, pairs) == pytest.approx((-high, -low), abs=1e-6)
        assert low <= (more - fewer) / pairs + 1e-9 <= high + 2e-9


@given(st.integers(0, 12), st.integers(0, 12))
def test_mid_p_is_the_exact_p_less_half_of_what_is_as_far(gains: int, losses: int) -> None:
    changes = gains + losses
    if changes > 0:
        exact = binomtest(gains, changes).pvalue
        as_far = [binomtest(k, changes).pvalue for k in range(changes + 1)]
        chances = [binomtest(k, changes, alternative="less").pvalue for k in range(changes + 1)]
        each = np.diff([0.0, *chances])
        equal = sum(each[k] for k in range(changes + 1) if as_far[k] == pytest.approx(exact))
        assert mid_p(gains, losses) == pytest.approx(exact - equal / 2)
    if changes in range(2, 13) and gains != losses:
        flips = sign_flip_p(np.array([1.0] * gains + [-1.0] * losses), 0)
        assert mid_p(gains, losses) == pytest.approx(flips[1])


# --- What is said


@pytest.mark.parametrize(
    ("found", "sentence"),
    [
        (
            adoption(tasks(*[1] * 5, *[0] * 19)),
            "Its tools were called in 5 of 24 runs (21%, 7 to 42%).",
        ),
        (
            adoption(tasks(*[0] * 24)),
            "Its tools were called in none of 24 runs (0%, at most 14%).",
        ),
        (
            adoption(tasks(*[1] * 24)),
            "Its tools were called in all of 24 runs (100%, at least 86%).",
        ),
        (
            Adoption(5, 24, 0.0713, 0.4215, reported=2, unknown=3),
            "Its tools were called in 5 of 24 runs (21%, 7 to 42%); of 2 runs only the agent's report tells; of 3 more"
            " nothing is known.",
        ),
        (
            Adoption(1, 2, 0.0126, 0.9874, reported=2),
            "Its tools were called in 1 of 2 runs (50%, 1 to 99%), as the agent reports.",
        ),
    ],
)
def test_the_sentence_has_the_count_with_its_interval(found: Adoption, sentence: str) -> None:
    assert says_adoption(found) == sentence


def test_beside_a_delta_it_is_said_what_that_is_of() -> None:
    some = adoption(tasks(1, 0))
    every = adoption(tasks(1, 1))
    assert says_adoption(some, beside_delta=True).endswith(
        "The difference is that of offering them."
    )
    assert "offering" not in says_adoption(every, beside_delta=True)


def paired(more: int, fewer: int, both: int, of: int) -> AdoptionDifference:
    ends = score_interval(more, fewer, of)
    counts = (more + both, of, fewer + both, of)
    return AdoptionDifference(
        *counts, (more - fewer) / of, *ends, mid_p(more, fewer), more, fewer, is_single=True
    )


def test_two_treatments_are_said_with_the_tasks_that_differ() -> None:
    assert says_difference(paired(8, 2, 6, 24), "v2", "v1") == (
        "v2 was called in 14 of 24 runs, v1 in 8: +25 points (95% interval -1 to +48; 8 tasks only v2, 2 only v1)."
    )


def test_a_step_says_what_its_interval_shows() -> None:
    up = paired(16, 0, 3, 24)
    counts = "from 3 to 19 of 24 runs (+67 points, +44 to +82)"
    assert says_step(up, "the words") == f"the words raise adoption {counts}"
    assert says_step(turned(up), "the words").startswith("the words lower adoption from 19 to 3")
    assert "are not shown to change" in says_step(paired(3, 2, 0, 24), "the words")
    assert turned(turned(up)) == up


@pytest.mark.parametrize(
    ("called", "runs", "blocks"),
    [
        (0, 24, True),
        (1, 24, True),
        (2, 24, False),
        (1, 3, True),
        (1, 1, False),
        (0, 1, True),
        (14, 96, True),
        (16, 96, False),
        (5, 48, True),
        (6, 48, False),
    ],
)
def test_too_few_calls_by_the_upper_end(called: int, runs: int, blocks: bool) -> None:
    found = adoption(tasks(*[1] * called, *[0] * (runs - called)))
    assert bool(too_few_calls(found, "with lens")) is blocks


# --- In results


def offered(bench: Make, calls: dict[str, set[str]], of: int) -> Any:
    """A benchmark with these tasks' runs of each condition calling a tool."""
    names = [f"t{number:02}" for number in range(of)]
    servers = {"without": [], **{name: ["lens"] for name in calls}}
    made = bench(tasks=tuple(names), servers=servers, changes={"agent": {"kind": "claude-code"}})
    for task in names:
        made.run(task, "without")
        for condition, own in calls.items():
            seen = [Call("mcp__lens__lens_grep", 1)] if task in own else [Call("Read", 1)]
            made.run(task, condition, seen=seen)
    return made


def test_every_output_has_the_sentence_and_results_json_the_interval(bench: Make) -> None:
    made = offered(bench, {"with": {f"t{number:02}" for number in range(5)}}, 24)
    results = made.build()
    found = results["estimates"]["with"]["adoption"]["treatment"]
    assert (found["runs"], found["of"]) == (5, 24)
    assert (found["low"], found["high"]) == pytest.approx((0.0713, 0.4215), abs=1e-4)
    sentence = "Its tools were called in 5 of 24 runs (21%, 7 to 42%). The difference is that of offering them."
    assert results["headlines"][1] == sentence
    assert made.page.count(sentence) >= 2
    assert sentence in (made.folder / "summary.md").read_text(encoding="utf-8")


def test_two_treatments_are_compared_on_their_tasks(bench: Make) -> None:
    names = [f"t{number:02}" for number in range(24)]
    calls = {"v1": {*names[:6], *names[14:16]}, "v2": set(names[:14])}
    made = offered(bench, calls, 24)
    results = made.build()
    found = results["estimates"]["v2 against v1"]["adoption"]
    assert found["sentence"].startswith("v2 was called in 14 of 24 runs, v1 in 8: +25 points")
    assert found["sentence"] in made.page
    assert found["difference"]["p"] == pytest.approx(mid_p(8, 2), abs=1e-5)
