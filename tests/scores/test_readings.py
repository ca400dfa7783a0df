"""The readings in which a verdict must hold: lost runs, and attempts by condition."""

from collections.abc import Callable, Collection
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import fisher_exact

from handmade import file_discard
from lensbench.core.records import RunId
from lensbench.plan.config import Agent
from lensbench.runs.made_with import Starts, starts_of
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.stopping import start_attempt
from lensbench.scores.differences import Comparison, fraction
from lensbench.scores.readings import chance_of, with_lost_runs
from lensbench.scores.rules import ReasonKind
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
    starts = Starts(16, 0, crashed, interrupted)
    found = with_lost_runs(Comparison(read_tables(built.folder), "with", "without"), [starts])
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
    kept = 100 - (50 + 25 + 0 - 25 + 50)
    lost = -50
    some = (50 + 25 + 0 - 25 + 50) / 5 + 4 / 5 * 5 * lost
    assert ends(made(bench), *failed, other) == (
        pytest.approx((kept + some) / 800),
        pytest.approx((kept + some) / 800),
    )


def state(bench: Make, name: str) -> Any:
    """A benchmark with three runs of the treatment in one state."""
    kind = "none" if name == "missing in an import" else "claude-code"
    changes: dict[str, Any] = {
        "given up": {"max_rounds": 0},
        "left out by the budget": {"budget": {"max_runs": 13}},
        "discarded when the budget ended": {"budget": {"max_runs": 13}},
        "missing in an import": {"imported": True},
    }
    own = {"agent": {**Agent().settings, "kind": kind}, **changes.get(name, {})}
    made = bench(tasks=TASKS, criteria=4, changes=own)
    has_attempt = name in ("waiting", "given up", "discarded when the budget ended")
    for task in TASKS:
        made.run(task, "without", points=("1", "1", "0", "0"))
        if RunId(task, "with") not in THREE:
            made.run(task, "with", points=("1", "1", "1", "0"))
        elif has_attempt:
            made.run(task, "with", reason="crashed")
    for _ in range(13):
        start_attempt(made.folder)
    return made


@pytest.mark.parametrize(
    ("name", "due", "share", "lost"),
    [
        ("missing", 3, 5 / 8, True),
        ("waiting", 3, 5 / 8, True),
        ("given up", 0, 1, True),
        ("left out by the budget", 0, 1, False),
        ("discarded when the budget ended", 0, 1, True),
        ("missing in an import", 0, 1, True),
    ],
)
def test_a_verdict_waits_for_runs_that_a_start_would_make_and_for_no_others(
    bench: Make, name: str, due: int, share: float, lost: bool
) -> None:
    made = state(bench, name)
    found = made.build()["estimates"]["with"]["gate"]["reasons"]
    comparison = Comparison(read_tables(made.folder), "with", "without")
    assert len(comparison.tables.due) == due
    assert (ReasonKind.RUNS_DUE in {reason["kind"] for reason in found}) == bool(due)
    assert fraction(comparison) == share
    assert (with_lost_runs(comparison, ()) is not None) == lost


def test_runs_are_due_again_when_the_budget_is_raised_or_nobody_knows_what_was_spent(
    bench: Make,
) -> None:
    made = state(bench, "left out by the budget")
    assert not made.build()["estimates"]["with"]["gate"]["needs"].startswith("The runs that are")
    made.changes["budget"] = {"max_runs": 14}
    assert made.build()["estimates"]["with"]["gate"]["needs"].startswith("The runs that are due")
    made.changes["budget"] = {"max_runs": 13}
    (made.folder / "spent.json").write_text("{")
    assert made.build()["estimates"]["with"]["gate"]["needs"].startswith("The runs that are due")


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
