"""The readings in which a verdict must hold: lost runs, and attempts by condition."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from handmade import file_discard
from lensbench.core.records import RunId
from lensbench.runs.made_with import starts_of
from lensbench.runs.reasons import DiscardReason
from lensbench.scores.differences import Comparison, fraction
from lensbench.scores.readings import chance_of, with_lost_runs
from lensbench.scores.run_tables import read_tables

Make = Callable[..., Any]
TASKS = tuple(f"t{number}" for number in range(8))


@given(st.integers(0, 8), st.integers(0, 8))
def test_the_test_of_lost_runs_is_fishers(one: int, other: int) -> None:
    wanted = fisher_exact([[one, 8 - one], [other, 8 - other]], alternative="greater").pvalue
    assert chance_of(one, one + other, 8) == pytest.approx(wanted)


def made(bench: Make, *missing: tuple[str, str]) -> Any:
    """Eight tasks: the baseline scores 50, the treatment 100, 75, 50, 25, twice each; some runs are missing."""
    built = bench(tasks=TASKS, criteria=4)
    points = [
        ("1", "1", "1", "1"),
        ("1", "1", "1", "0"),
        ("1", "1", "0", "0"),
        ("1", "0", "0", "0"),
    ]
    for number, task in enumerate(TASKS):
        for condition, own in (("with", points[number % 4]), ("without", points[2])):
            if (task, condition) not in missing:
                built.run(task, condition, points=own)
    built.build()
    return built


def ends(
    built: Any, *crashed: RunId, interrupted: Collection[RunId] = ()
) -> tuple[float | None, float | None] | None:
    """The deltas at their worst and at their best."""
    found = with_lost_runs(
        Comparison(read_tables(built.folder), "with", "without"), crashed, interrupted
    )
    return (found[0].delta, found[1].delta) if found else None


def test_pairs_without_a_run_have_a_quartile_and_lost_runs_of_one_condition_their_worst(
    bench: Make,
) -> None:
    """Seven differences are left: -25, 0, 0, 25, 25, 50, 50 without the last; the second lowest and highest of them."""
    assert ends(made(bench, ("t7", "with"))) == (
        pytest.approx((125 + 0) / 800),
        pytest.approx((125 + 50) / 800),
    )


THREE = [RunId(task, "with", 1) for task in ("t1", "t4", "t7")]


def test_three_failures_against_none_score_nothing_for_their_condition(bench: Make) -> None:
    """25, 50 and -25 become -50 each: whether they were made again, are missing, or failed through the service."""
    lost = pytest.approx((100 - 50 - 150) / 800)
    assert ends(made(bench), *THREE) == (lost, lost)
    assert ends(made(bench), interrupted=THREE) == (lost, lost)


def test_three_runs_missing_for_good_score_nothing_for_their_condition(bench: Make) -> None:
    lost = pytest.approx((100 - 50 - 150) / 800)
    assert ends(made(bench, *((run.task, run.condition) for run in THREE))) == (lost, lost)


def test_only_the_failures_that_the_other_condition_does_not_have_score_nothing(
    bench: Make,
) -> None:
    """Five against one: four fifths of each of the five, whatever task the one had."""
    failed = [RunId(task, "with", 1) for task in TASKS[:5]]
    other = RunId("t7", "without", 1)
    kept, lost = 100 - (50 + 25 + 0 - 25 + 50), -50
    some = (50 + 25 + 0 - 25 + 50) / 5 + 4 / 5 * 5 * lost
    assert ends(made(bench), *failed, other) == (
        pytest.approx((kept + some) / 800),
        pytest.approx((kept + some) / 800),
    )


@pytest.mark.parametrize(("given_up", "share"), [("no", 7 / 8), ("yes", 1)])
def test_a_pair_with_a_run_that_was_given_up_is_not_waited_for(
    bench: Make, given_up: str, share: float
) -> None:
    tables = read_tables(made(bench, ("t7", "with")).folder)
    rows = [
        row | {"given_up": given_up} if row["status"] != "valid" else row for row in tables.validity
    ]
    assert fraction(Comparison(tables._replace(validity=rows), "with", "without")) == share


def test_failures_that_chance_explains_count_as_they_are(bench: Make) -> None:
    built = made(bench)
    assert ends(built) is None
    assert ends(built, *THREE[:2]) is None
    assert ends(built, *THREE[:2], interrupted=THREE[2:]) is None
    assert ends(built, *THREE, *(RunId(run.task, "without", 1) for run in THREE)) is None


def test_attempts_and_discards_are_counted_by_condition(bench: Make) -> None:
    built = made(bench, ("t0", "with"))
    built.run("t0", "with", attempts=3)
    file_discard(built.folder, RunId("t1", "with"), DiscardReason.MCP_FAILED, "", None)
    file_discard(built.folder, RunId("t2", "with"), DiscardReason.BY_HAND, "", None)
    file_discard(built.folder, RunId("t3", "with"), DiscardReason.API_ERROR, "", None)
    built.build()
    runs = [RunId(task, "with", 1) for task in TASKS]
    found = starts_of(built.folder, runs)
    assert (found.attempts, found.discards, found.repeated) == (10, 3, 3)
    assert (found.crashed, found.interrupted) == ({runs[0], runs[1]}, {runs[3]})
