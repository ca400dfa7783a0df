import json
import math
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2
from statsmodels.stats.power import TTestPower

from gate_settings import DEFAULTS
from handmade import Bench
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings
from lensbench.plan.config import Gate
from lensbench.scores.adoption import power_of_adoption, tasks_for_adoption
from lensbench.scores.complete_tasks import mid_p
from lensbench.scores.needed import Truth, power_of, tasks_for, usual_tasks
from lensbench.scores.power import tasks_needed, upper_sd
from lensbench_archive.sample_size import (
    Needs,
    detectable,
    main,
    read_pilot,
    repositories_needed,
    split,
)
from programs import refusal, run_here


@pytest.mark.parametrize(
    ("sd", "for_10", "for_5", "for_5_at_90"),
    [
        (15, 20, 73, 97),
        (20, 34, 128, 171),
        (25, 52, 199, 265),
        (30, 73, 285, 381),
    ],
)
def test_tasks_for_a_decision_are_of_the_paired_t_test(
    sd: int, for_10: int, for_5: int, for_5_at_90: int
) -> None:
    assert (tasks_needed(sd, 10), tasks_needed(sd, 5), tasks_needed(sd, 5, 0.9)) == (
        for_10,
        for_5,
        for_5_at_90,
    )


def test_so_many_tasks_have_the_power_and_one_less_has_not_and_a_pilots_spread_is_enlarged() -> (
    None
):
    needed = tasks_needed(23, 7, 0.85, 0.1)
    assert (
        TTestPower().power(7 / 23, needed, 0.1)
        >= 0.85
        > TTestPower().power(7 / 23, needed - 1, 0.1)
    )
    assert tasks_needed(0.1, 50) == tasks_needed(0, 50) == 4
    assert [detectable(20, n) for n in (12, 24, 48, 96)] == [18.2, 12.1, 8.3, 5.8]
    assert (upper_sd(1, 12), upper_sd(1, 24)) == pytest.approx((1.25, 1.16), abs=0.005)


def test_the_parts_of_a_spread_give_it_back() -> None:
    parts = split(14, 3, 0.24)
    assert parts.of(3) == pytest.approx(14)
    assert parts.tasks**2 / (parts.tasks**2 + parts.trials**2) == pytest.approx(0.24)


def test_tasks_that_share_repositories_are_worth_less() -> None:
    def needed(tasks_each: int, icc: float) -> int | None:
        return repositories_needed(20, 10, tasks_each, icc, 0.8, 0.05)

    alone = needed(1, 0.3)
    shared = needed(4, 0.3)
    assert alone == 35
    assert shared is not None
    assert shared * 4 > alone
    assert needed(4, 1.0) == pytest.approx(alone, abs=2)


def test_a_claim_about_repositories_needs_six() -> None:
    assert repositories_needed(1, 50, 8, 0.0, 0.8, 0.05) == 6


@pytest.mark.parametrize(
    "wrong",
    [
        {"sd": 0.0},
        {"sd": 0.306},
        {"effect": 0.05},
        {"effect": -5},
        {"power": 1},
        {"alpha": 0.5},
        {"share": 2},
        {"sd": float("nan")},
    ],
)
def test_numbers_that_mean_nothing_are_refused_by_name(wrong: dict[str, float]) -> None:
    with pytest.raises(UserError, match=f"--{next(iter(wrong))} is"):
        Needs(**{"sd": 20, "effect": 10, **wrong}).check()


def test_the_program_prints_the_tables() -> None:
    words = ("--sd", 20, "--effect", 10)
    said = run_here(main, *words)
    for row in (
        "| 1 | 20.0 | 35 | 45 |",
        "| 12 | 18.2 |",
        "25.1 after 12 tasks, 23.1 after 24 tasks",
    ):
        assert row in said
    assert refusal(main, *words, "--power", 80) == "--power is 80; write a number between 0.5 and 1"


ROOT = Path(__file__).parents[2]


def counts_of(page: str, pattern: str) -> tuple[int, ...]:
    """The numbers of tasks that a page states."""
    found = re.search(pattern, (ROOT / page).read_text(encoding="utf-8"))
    assert found, page
    return tuple(map(int, found.groups()))


@pytest.mark.parametrize(
    ("page", "pattern", "plan"),
    [
        ("README.md", r"gain of 10 points you usually need (\d+)", Needs(20, 10)),
        ("docs/tutorial.md", r"generate --count (\d+) ", Needs(20, 10)),
        ("docs/tutorial-servers.md", r"here (\d+), or (\d+) with two", Needs(12, 5)),
    ],
)
def test_the_docs_state_what_the_program_answers(page: str, pattern: str, plan: Needs) -> None:
    stated = counts_of(page, pattern)
    answers = [plan.tasks(spread, 0.8) for spread in plan.spreads.values()]
    assert list(stated) == answers[: len(stated)]


def test_the_tutorials_table_is_what_the_program_prints() -> None:
    table = (ROOT / "docs/tutorial.md").read_text(encoding="utf-8").split("| trials |")[1]
    rows = re.findall(r"^\| \d .*$", table.split("```")[0], flags=re.MULTILINE)
    said = run_here(main, "--sd", 20, "--effect", 10)
    assert len(rows) == 4
    assert all(row in said for row in rows)


def test_init_gives_the_answer_of_size() -> None:
    settings: GateSettings = Gate().model_dump(mode="json")  # type: ignore[assignment]
    assert usual_tasks(settings) == Needs(20, 10).tasks(20, 0.8)


def test_so_many_tasks_find_the_gain_by_the_rules_of_the_gate() -> None:
    enough = Needs(20, 10).tasks(20, 0.8)
    truth = Truth(0.1, 0.2)
    assert power_of("GO", truth, enough, 0.025, DEFAULTS) >= 0.8
    assert power_of("GO", truth, enough - 1, 0.025, DEFAULTS) < 0.8


@pytest.mark.parametrize(("before", "after", "tasks"), [(0.2, 0.8, 12), (0.2, 0.5, 41)])
def test_a_change_of_adoption_is_found_by_so_many_tasks(
    before: float, after: float, tasks: int
) -> None:
    assert tasks_for_adoption(before, after, 0.8) == tasks
    rng = np.random.default_rng(0)
    old, new = (rng.random((4000, tasks)) < share for share in (before, after))
    more = (new & ~old).sum(axis=1)
    fewer = (old & ~new).sum(axis=1)
    found = [mid_p(int(a), int(b)) <= 0.05 and a > b for a, b in zip(more, fewer, strict=True)]
    assert sum(found) / 4000 == pytest.approx(power_of_adoption(before, after, tasks), abs=0.02)


def piloted(folder: Path, trials: int = 1) -> Bench:
    """Twelve tasks in repositories of their own: half of them gain 25 points; 0.5 dollars and 60 seconds a run."""
    names = [f"t{n:02}" for n in range(12)]
    tasks = {
        n: {"category": "Debug", "repository": n, "prompt_sha256": "p", "criteria": 4}
        for n in names
    }
    made = Bench(folder, names, trials, changes={"tasks": tasks})
    for number, name in enumerate(names):
        for trial in range(1, trials + 1):
            gain = ("1", "1", "1" if (number + trial) % 2 else "0", "0")
            made.run(name, "with", trial, points=gain, duration_s=80, cost_usd=0.7)
            made.run(
                name, "without", trial, points=("1", "1", "0", "0"), duration_s=40, cost_usd=0.3
            )
    made.build()
    return made


def write_set(path: Path, count: int) -> None:
    """A set of questions about one repository."""
    facts = [{"text": "says a", "all_of": "a"}, {"text": "says b", "all_of": "b"}]
    task = {"category": "Debug", "repository": {"path": "."}, "prompt": "Where?", "criteria": facts}
    tasks = [{"id": f"a-{number}", **task} for number in range(count)]
    path.write_text(json.dumps({"tasks": tasks}), encoding="utf-8")


def test_a_pilot_plans_runs_money_and_hours_from_its_own_runs(tmp_path: Path) -> None:
    folder = piloted(tmp_path / "r").folder
    said = run_here(main, "--pilot", folder, "--effect", 10, "--power", 0.9)
    spread = (
        12.5 * math.sqrt(12 / 11) * math.sqrt(11 / chi2.ppf(0.2, 11))
    )  # half gain 25, half nothing
    baselines = [0.5] * 12
    truth = Truth(0.1, spread / 100, baselines)
    tasks = tasks_for("GO", truth, 0.025, DEFAULTS, 0.9)
    assert f"spreads by up to {spread:.1f} points in one trial" in said
    price = math.ceil(2 * tasks * 0.5)
    minutes = math.ceil(math.ceil(2 * tasks / 8) * 60 / 60)
    line = f"- {2 * tasks} runs ({tasks} tasks x 1 trial x 2 conditions), about {price} USD, {minutes} min at 8 at a time"
    assert f"{line}: 90% to find +10\n" in said
    assert "24% of a trial's variance is the tasks' own" in said
    assert "lensbench generate" not in said
    write_set(tmp_path / "set.yaml", 12)
    (folder / "config.yaml").write_text(f"scenarios: {tmp_path / 'set.yaml'}\n")
    alone = run_here(main, "--pilot", folder, "--effect", 10, "--power", 0.9, "--parallel", 1)
    assert alone.endswith(
        f"\n    lensbench generate --count {tasks} --output {tmp_path / 'set.yaml'}\n"
    )
    assert f"{2 * tasks / 60:.2g} h at 1 at a time" in alone


def test_size_says_which_part_of_saves_needs_more_tasks(tmp_path: Path) -> None:
    wanted = f"For SAVES, {tasks_for('SAVES', Truth(0.0, 0.25), 0.025, DEFAULTS)} tasks show that equal answers are at most 10 points worse"
    assert wanted in run_here(main, "--sd", 25, "--effect", 5)
    built = piloted(tmp_path / "r")
    assert "but the pilot does not save over 10%." in run_here(
        main, "--pilot", built.folder, "--effect", 10
    )
    turned = Bench(tmp_path / "s", built.tasks, changes={**built.changes, "baseline": "with"})
    turned.reports, turned.verdicts = built.reports, built.verdicts
    (turned.folder / "attempts").parent.mkdir(exist_ok=True)
    shutil.copytree(built.folder / "attempts", turned.folder / "attempts")
    turned.build()
    wanted = "that its saving of 57% exceeds 10%: the answers need more."
    assert wanted in run_here(main, "--pilot", turned.folder, "--effect", 10)


def test_a_pilot_without_spread_says_what_shows_no_loss(tmp_path: Path) -> None:
    made = Bench(tmp_path / "r")
    for task in made.tasks:
        made.run(task, "with")
        made.run(task, "without")
    made.build()
    said = run_here(main, "--pilot", made.folder, "--effect", 10)
    tasks = tasks_for("SAVES", Truth(0.0, 0.0), 0.025, DEFAULTS)
    wanted = "with: all 2 tasks differ by the same points, so no gain can be planned for."
    assert f"{wanted}\n\nFor SAVES, {tasks} tasks" in said


def test_baselines_that_have_nothing_lose_nothing() -> None:
    """No task can hide a loss, so as many tasks as any verdict needs show that answers are no worse."""
    nothing = Truth(0.0, 0.0, [0.0] * 5)
    assert power_of("SAVES", nothing, 24, 0.025, DEFAULTS) == 1
    assert tasks_for("SAVES", nothing, 0.025, DEFAULTS) == 10
    assert tasks_for("SAVES", nothing._replace(delta=-0.2), 0.025, DEFAULTS) is None
    spread = nothing._replace(sd=0.1)
    assert tasks_for("SAVES", spread, 0.025, DEFAULTS) == tasks_for(
        "SAVES", spread._replace(baselines=[0.001] * 5), 0.025, DEFAULTS
    )


def test_a_pilot_with_trials_measures_what_trials_reduce(tmp_path: Path) -> None:
    (pilot,) = read_pilot(piloted(tmp_path / "r", trials=3).folder, 0.24)
    assert pilot.measured
    assert pilot.spread.trials == pytest.approx(
        12.5 * math.sqrt(36 / 35), abs=0.01
    )  # tasks do not differ: one pool
    assert pilot.spread.tasks < pilot.spread.trials


def test_a_folder_without_results_or_spread_is_refused_in_a_line(tmp_path: Path) -> None:
    assert str(tmp_path) in refusal(main, "--pilot", tmp_path, "--effect", 10)
    made = Bench(tmp_path / "r", ["alone"])
    for condition in ("with", "without"):
        made.run("alone", condition)
    made.build()
    said = refusal(main, "--pilot", made.folder, "--effect", 10)
    assert "the differences of 'with' have no spread to plan with" in said
    assert "one of the arguments --sd --pilot is required" in refusal(main, "--effect", 10)
