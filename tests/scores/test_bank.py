"""What an earlier baseline means for the numbers."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handmade import Bench
from lensbench.core.borrowed import digest
from lensbench.core.conditions import Contrast
from lensbench.core.records import RunId
from lensbench.core.system.files import write_json
from lensbench.core.tables import read_table
from lensbench.scores.differences import between
from lensbench.scores.gate import DEFAULTS, what_decides
from lensbench.scores.intervals import LARGEST, Estimate, estimate
from lensbench.scores.run_tables import read_tables
from lensbench.scores.sequential import deviate, interval_at

AGAIN = "baseline_again"
TASKS = tuple(f"t{number}" for number in range(8))
MADE_AGAIN = TASKS[:4]
POINTS = (("1", "0"), ("1", "1"), ("1", "0"), ("1", "1"), ("0", "0"), ("1", "0"), ("1", "1"), ("1", "1"))


@pytest.fixture
def banked(bench: Callable[..., Bench]) -> Callable[..., Bench]:
    """Makes a benchmark of eight tasks whose baseline was made before; the runs made again have the given points."""

    def make(again: tuple[str, str] | None = None, drift: float = 3.0, **settings: Any) -> Bench:
        servers = {"without": [], "with": ["lens"], AGAIN: []}
        bank = {"baseline": "bench/v1", "drift": drift, "again": list(MADE_AGAIN)}
        changes = {"bank": bank, "agent": {"kind": "claude-code"}}
        made = bench(tasks=TASKS, servers=servers, changes=changes, **settings)
        for number, task in enumerate(TASKS):
            made.run(task, "without", points=("1", "0"), duration_s=99.0, started="2025-12-01T00:00:00.000Z")
            made.run(task, "with", points=POINTS[number], duration_s=20.0)
        for task in MADE_AGAIN:
            made.run(task, AGAIN, points=again or ("1", "0"), duration_s=10.0)
        lend(made)
        return made

    return make


def lend(made: Bench) -> None:
    stems = {f"{task}-without": digest(made.folder, RunId(task, "without")) for task in TASKS}
    write_json(made.folder / "bank.json", {"baseline": "bench/v1", "run_id": "v1", "runs": stems})


def test_every_interval_of_a_score_allows_for_the_drift_and_the_results_say_so(banked: Callable[..., Bench]) -> None:
    narrow, wide = (banked(drift=drift).build() for drift in (0.0, 3.0))
    for kind in ("overall", "categories"):
        a, b = (each["estimates"]["with"]["score"][kind] for each in (narrow, wide))
        a, b = (a, b) if kind == "overall" else (a["Debug"], b["Debug"])
        assert (a["low"] - b["low"], b["high"] - a["high"]) == pytest.approx((0.03, 0.03), abs=2e-6)
        assert b["mde"] - a["mde"] == pytest.approx(0.03, abs=2e-6)
    assert wide["estimates"]["with"]["measures"]["duration_s"]["overall"]["drift"] == 0
    assert wide["bank"] == (
        "8 of 8 runs of without are those of bench/v1 (2025-12-01); the intervals allow for a change of its score by 3 "
        "points since then, either way. Made again in 4 tasks, it scores 0.0 points; tasks that are all alike give no "
        "interval."
    )
    assert wide["bank"] in wide["estimates"]["with"]["gate"]["sentence"]


def test_the_results_name_every_run_that_was_borrowed(banked: Callable[..., Bench]) -> None:
    made = banked()
    made.build()
    assert made.page.count("| without (borrowed) |") == 8
    assert "| Borrowed baseline | 8 of 8 runs of without" in made.page


def test_a_baseline_that_changed_more_than_allowed_forbids_a_verdict(banked: Callable[..., Bench]) -> None:
    made = banked(again=("0", "0"))
    for task in MADE_AGAIN[:1]:  # or they would be all alike
        made.verdicts = [row for row in made.verdicts if (row["task"], row["condition"]) != (task, AGAIN)]
        made.run(task, AGAIN, points=("0.5", "0"), duration_s=10.0)
    found = made.build()["estimates"]["with"]["gate"]
    assert found["verdict"] == "INCONCLUSIVE"
    assert (
        "The baseline has changed by more than the 3 points of bank.drift since bench/v1 was made" in found["sentence"]
    )


def test_without_a_run_that_was_made_again_there_is_no_verdict(banked: Callable[..., Bench]) -> None:
    made = banked()
    for task in MADE_AGAIN:
        (made.folder / "records" / f"{task}-{AGAIN}.json").unlink()
    found = made.build()["estimates"]["with"]["gate"]
    assert "None of the runs that were made again to check the earlier baseline has a score yet." in found["sentence"]


def test_seconds_are_compared_with_those_of_the_runs_that_were_made_again(banked: Callable[..., Bench]) -> None:
    found = banked().build()
    duration = found["comparisons"]["with"]["measures"]["duration_s"]
    assert (duration["pairs"], duration["paired_baseline"], duration["paired_treatment"]) == (4, 10, 20)
    assert found["estimates"]["with"]["measures"]["duration_s"]["overall"]["pairs"] == 4
    assert found["start_skew_s"]["pairs"] == 0


def test_a_run_of_another_model_is_discarded_alone_and_made_anew_it_is_our_own(banked: Callable[..., Bench]) -> None:
    made = banked()
    made.run("t0", "without", points=("1", "0"), models=("glm-4",), started="2025-12-01T00:00:00.000Z")
    lend(made)
    counts = made.build()["counts"]
    discarded = [row for row in read_table(made.folder / "validity.csv", Any) if row["status"] == "discarded"]
    assert [(row["task"], row["condition"], row["reason"]) for row in discarded] == [("t0", "without", "model_changed")]
    made.run("t0", "without", points=("1", "0"))
    assert made.build()["counts"]["scored"] == counts["scored"] + 1
    assert "7 of 8 runs of without are those of bench/v1" in made.page


def test_a_run_of_another_version_of_the_agent_is_discarded_alone(banked: Callable[..., Bench]) -> None:
    made = banked()
    made.run("t0", "without", agent_version="0.9", started="2025-12-01T00:00:00.000Z")
    lend(made)
    made.build()
    discarded = [row for row in read_table(made.folder / "validity.csv", Any) if row["status"] == "discarded"]
    assert [(row["task"], row["condition"]) for row in discarded] == [("t0", "without")]
    assert "version 0.9 of the agent" in discarded[0]["detail"]


SOME = st.lists(st.integers(-20, 20).map(lambda points: points / 20), min_size=3, max_size=12)


@given(SOME, st.integers(0, 30), st.floats(-1, 1))
def test_what_is_said_holds_for_every_change_inside_the_bound(values: list[float], points: int, where: float) -> None:
    drift = points / 100
    named = {f"t{number}": value for number, value in enumerate(values)}
    homes = dict.fromkeys(named) | {name: name for name in named}
    allowed = estimate(named, homes, limit=LARGEST, drift=drift)
    changed = estimate({name: value - where * drift for name, value in named.items()}, homes)
    if allowed.low is None or allowed.high is None or changed.low is None or changed.high is None:
        return
    assert allowed.low <= max(changed.low, -1) + 1e-9
    assert allowed.high >= min(changed.high, 1) - 1e-9
    at = interval_at(allowed, 2.0), interval_at(changed, 2.0)
    assert at[0]
    assert at[1]
    assert at[0][0] <= at[1][0] + 1e-9
    assert at[0][1] >= at[1][1] - 1e-9
    assert allowed.mde is None or changed.mde is None or allowed.mde >= changed.mde
    surely = deviate(allowed), deviate(changed)
    assert surely[0] is not None
    assert surely[1] is not None
    if (allowed.delta or 0) * (changed.delta or 0) > 0:
        assert abs(surely[0]) <= abs(surely[1]) + 1e-9


def test_no_number_of_tasks_decides_what_the_drift_could_have_made() -> None:
    found = Estimate(delta=0.02, se=0.01, df=40, n=41, pairs=41, planned=41, clusters=41, drift=0.05)
    assert "no number of tasks decides" in what_decides(found, {**DEFAULTS}, 1)
    assert "About" in what_decides(Estimate(**{**vars(found), "drift": 0.0}), {**DEFAULTS}, 1)


@pytest.fixture
def twice_banked(bench: Callable[..., Bench]) -> Callable[..., Bench]:
    """Eight tasks whose baseline two earlier benchmarks made; that of the second has the given points."""

    def make(second: tuple[str, str], again: tuple[str, str] = ("1", "0"), drift: float = 3.0) -> Bench:
        servers = {"without": [], "with": ["lens"], AGAIN: [], "baseline_2": []}
        bank = {
            "baseline": ["bench/v1", "bench/v0"], "drift": drift, "again": list(MADE_AGAIN),
            "further": {"baseline_2": list(TASKS[1:])},
        }  # fmt: skip
        made = bench(tasks=TASKS, servers=servers, changes={"bank": bank, "agent": {"kind": "claude-code"}})
        for number, task in enumerate(TASKS):
            made.run(task, "without", points=("1", "0"), started="2025-12-01T00:00:00.000Z")
            made.run(task, "with", points=POINTS[number])
            if number:
                made.run(task, "baseline_2", points=second, started="2025-11-01T00:00:00.000Z")
        for number, task in enumerate(MADE_AGAIN):
            made.run(task, AGAIN, points=again if number else ("0.5", "0"))
        runs = [*(RunId(task, "without") for task in TASKS), *(RunId(task, "baseline_2") for task in TASKS[1:])]
        told = {
            "baseline": ["bench/v1", "bench/v0"], "run_ids": ["v1", "v0"], "further": bank["further"],
            "runs": {run.stem: digest(made.folder, run) for run in runs},
            "lenders": {run.stem: "bench/v1" if run.condition == "without" else "bench/v0" for run in runs},
        }  # fmt: skip
        write_json(made.folder / "bank.json", told)
        return made

    return make


def test_the_scores_of_several_earlier_baselines_are_averaged_everywhere(twice_banked: Callable[..., Bench]) -> None:
    made = twice_banked(("1", "1"))
    data = made.build()
    rows = {row["task"]: row for row in read_table(made.folder / "pairs.csv", Any)}
    assert [rows[task]["baseline_score"] for task in TASKS] == ["0.5"] + ["0.75"] * 7
    score, measured = data["estimates"]["with"]["score"]["overall"], data["comparisons"]["with"]["measures"]["score"]
    assert score["delta"] == pytest.approx(float(measured["delta"]), abs=1e-6)
    assert measured["paired_baseline"] == pytest.approx((0.5 + 7 * 0.75) / 8)
    assert score["wins"] == data["comparisons"]["with"]["wins"]
    assert made.page.count("| baseline\\_2 (borrowed) |") + made.page.count("| baseline_2 (borrowed) |") == 7


def test_every_earlier_baseline_is_checked_and_named(twice_banked: Callable[..., Bench]) -> None:
    data = twice_banked(("1", "1")).build()
    assert data["bank"].startswith(
        "8 of 8 runs of without are those of bench/v1 (2025-12-01), and 7 more, which are averaged with them, are from "
        "bench/v0 (2025-11-01); the intervals allow for a change of their scores by 3 points since then, either way. "
    )
    assert "it scores -6.3 points more than in bench/v1 (97.5 % interval" in data["bank"]
    gate = data["estimates"]["with"]["gate"]
    assert gate["verdict"] == "INCONCLUSIVE"
    assert "3 points of bank.drift since bench/v0 was made" in gate["sentence"]
    assert "Remove bench/v0 from bank.baseline, in another run_id" in gate["sentence"]
    alike = twice_banked(("1", "0")).build()["estimates"]["with"]["gate"]["sentence"]
    assert "of bank.drift since" not in alike
    apart = twice_banked(("1", "1"), again=("0", "0")).build()["estimates"]["with"]["gate"]["sentence"]
    assert "The baseline has changed by more than the 3 points of bank.drift since bench/v1, bench/v0 was made" in apart


def test_a_version_against_another_has_nothing_to_do_with_the_bank(twice_banked: Callable[..., Bench]) -> None:
    made = twice_banked(("1", "1"))
    comparison = between(read_tables_of(made), Contrast("with", "baseline_2"))
    assert comparison.drift == 0
    assert comparison.tables.compared_score(RunId("t0", "without")) == Fraction(1, 2)


def read_tables_of(made: Bench) -> Any:
    made.build()
    return read_tables(made.folder)
