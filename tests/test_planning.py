from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from statsmodels.stats.power import TTestPower

from lensbench.core.errors import UserError
from lensbench.scores.power import detectable, repositories_needed, tasks_needed, upper_sd
from lensbench.scores.sample_size import Needs, Spread, looks_save, plan_text, power_plot, split


@pytest.mark.parametrize(
    ("sd", "for_10", "for_5", "for_5_at_90"),
    [(15, 20, 73, 97), (20, 34, 128, 171), (25, 52, 199, 265), (30, 73, 285, 381)],
)
def test_tasks_for_a_decision_are_those_of_the_paired_t_test(
    sd: int, for_10: int, for_5: int, for_5_at_90: int
) -> None:
    assert (tasks_needed(sd, 10), tasks_needed(sd, 5), tasks_needed(sd, 5, 0.9)) == (for_10, for_5, for_5_at_90)


def test_so_many_tasks_have_the_power_and_one_less_has_not() -> None:
    needed = tasks_needed(23, 7, 0.85, 0.1)
    assert TTestPower().power(7 / 23, needed, 0.1) >= 0.85 > TTestPower().power(7 / 23, needed - 1, 0.1)


def test_a_huge_effect_or_no_spread_asks_for_four_tasks() -> None:
    assert tasks_needed(0.1, 50) == tasks_needed(0, 50) == 4


def test_the_smallest_effect_found_at_each_size() -> None:
    assert [round(detectable(20, n), 1) for n in (12, 24, 48, 96)] == [17.8, 11.9, 8.3, 5.8]


def test_a_pilots_spread_is_enlarged_to_its_upper_bound() -> None:
    assert (upper_sd(1, 12), upper_sd(1, 24)) == pytest.approx((1.25, 1.16), abs=0.005)


@pytest.mark.parametrize(
    ("tasks", "trials", "effect"), [(48, 1, 8.5), (24, 2, 9.7), (16, 3, 10.8), (9, 5, 13.6), (144, 1, 4.9)]
)
def test_more_tasks_beat_more_trials_at_equal_runs(tasks: int, trials: int, effect: float) -> None:
    spread = Spread(10, 12.7 * 2**0.5).of(trials)
    assert detectable(spread, tasks) == pytest.approx(effect, abs=0.1)


def test_the_parts_of_a_spread_give_it_back() -> None:
    parts = split(14, 3, 0.24)
    assert parts.of(3) == pytest.approx(14)
    assert parts.tasks**2 / (parts.tasks**2 + parts.trials**2) == pytest.approx(0.24)


def test_tasks_that_share_repositories_are_worth_less() -> None:
    alone = repositories_needed(20, 10, 1, 0.3, 0.8, 0.05)
    shared = repositories_needed(20, 10, 4, 0.3, 0.8, 0.05)
    assert alone == tasks_needed(20, 10)
    assert shared * 4 > alone
    assert repositories_needed(20, 10, 4, 1.0, 0.8, 0.05) == alone
    assert repositories_needed(1, 50, 8, 0.0, 0.8, 0.05) == 6


def test_looks_save_runs_where_the_tools_do_nothing_and_cost_no_error() -> None:
    saved = looks_save(20, 10, 45, 4, (-5, 0, 5, 10, 15))
    assert list(saved.tasks.values()) == pytest.approx([24.0, 31.5, 39.0, 35.9, 28.8], abs=1.5)
    assert saved.go[0] <= 0.026
    assert saved.go[10] == pytest.approx(0.9, abs=0.02)
    assert looks_save(20, 10, 45, 1, (0,)).tasks == {0: 45}


def test_the_tables_name_every_need() -> None:
    text = plan_text(Needs(20, 10))
    assert "| 1 | 20.0 | 34 | 44 |" in text
    assert "| 12 | 17.8 |" in text
    assert "25.1 after 12 tasks, 23.1 after 24 tasks" in text


@pytest.mark.parametrize(
    "wrong", [{"sd": 0.0}, {"effect": -5}, {"power": 1}, {"icc": 2}, {"trials": 0}, {"sd": float("nan")}]
)
def test_numbers_that_mean_nothing_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match=f"--{next(iter(wrong))} is"):
        Needs(**{"sd": 20, "effect": 10, **wrong}).check()


def test_the_plot_is_an_svg_that_says_in_words_what_it_shows() -> None:
    svg = power_plot(Needs(20, 10))
    title = ElementTree.fromstring(svg).find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text is not None
    assert "80 % take 34 tasks with 1 trial" in title.text
    assert svg == power_plot(Needs(20, 10))


def test_the_program_prints_the_tables_and_writes_the_plot(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "lensbench.scores.sample_size", "--sd", "25", "--effect", "10"]
    done = subprocess.run([*command, "--plot", tmp_path / "power.svg"], capture_output=True, text=True, check=True)
    assert "| 1 | 25.0 | 52 |" in done.stdout
    assert (tmp_path / "power.svg").read_text().startswith("<svg")
    failed = subprocess.run([*command, "--power", "80"], capture_output=True, text=True)
    assert (failed.returncode, failed.stderr) == (1, "error: --power is 80; write a number between 0.5 and 1\n")


@pytest.mark.parametrize("tasks", [73, 87, 92, 109, 117, 120])
def test_the_detectable_effect_is_a_positive_number_also_where_the_solver_finds_the_other_root(tasks: int) -> None:
    assert 5 < detectable(20, tasks) < detectable(20, tasks - 1) * 1.01
