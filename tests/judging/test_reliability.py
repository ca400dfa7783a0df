"""The judges compared with each other, from run folders that are made by hand."""

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, cast

import pytest

from handmade import REPORT_COLUMNS, Bench
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.tables import write_table
from lensbench.core.tasks import Category, Criterion, Task
from lensbench.judging.criteria_checks import CLOSED_BOOK
from lensbench.judging.decisions import VERDICT_COLUMNS, decide_all
from lensbench.judging.reliability import measure_reliability
from lensbench.judging.shown_answers import sampled_pairs
from lensbench.plan import task_markdown
from lensbench.plan.frozen import Plan
from lensbench.runs.validity import judge_validity
from lensbench.scores.scores import score_all

POINTS = {"Met": "1", "Partial": "0.5", "Missed": "0"}
SHORT = {"m": "Met", "p": "Partial", "-": "Missed"}
TREATMENTS = {"without": [], "with": ["lens"]}
Make = Callable[..., Any]


def says(bench: Any, judge: str, task: str, condition: str, letters: str, **more: Any) -> None:
    """Adds the verdicts of a judge on the criteria of a run; a failure's name may stand for all of them."""
    given = (
        [SHORT.get(letter, letter) for letter in letters]
        if set(letters) <= set(SHORT)
        else [letters] * 2
    )
    for number, verdict in enumerate(given, 1):
        known = verdict in POINTS
        bench.verdicts.append(
            dict.fromkeys(VERDICT_COLUMNS, "")
            | {
                "task": task,
                "condition": condition,
                "trial": 1,
                "criterion": number,
                "judge": judge,
            }
            | {"verdict": verdict if known else "Unjudged", "points": POINTS.get(verdict)}
            | {
                "failure": "" if known else verdict,
                "version": "7",
                "model": "glm-5",
                "cost_usd": "0.25",
            }
            | more
        )


def tasks_of(bench: Any) -> Iterable[Task]:
    """Two criteria a task; the question gives the first one away in task `a`."""
    for name in bench.tasks:
        prompt = "What is in state.py?" if name == "a" else "Where is it?"
        criteria = (
            Criterion(text="names the file", all_of=("state.py",)),
            Criterion(text="says why"),
        )
        yield Task(id=name, category=Category.DEBUG, prompt=prompt, criteria=criteria)


def measured(bench: Any) -> dict[str, Any]:
    """judge_reliability.json after all stages before it."""
    folder: Path = bench.folder
    names = {"mechanical": 1} | {row["judge"]: 1 for row in bench.verdicts}
    judges = [{"name": name} for name in names if not name.startswith("human")]
    write_json(folder / "plan.json", bench.plan | {"judges": judges})
    write_atomic(
        folder / "scenarios.md", task_markdown.render(list(tasks_of(bench)), "Tasks").encode()
    )
    judge_validity(folder)
    write_table(folder / "reports.csv", REPORT_COLUMNS, bench.reports)
    for name in names:
        rows = [row for row in bench.verdicts if row["judge"] == name]
        write_table(folder / "verdicts" / f"{name}.csv", VERDICT_COLUMNS, rows)
        if name.startswith("human-"):
            person = {
                "schema": 1,
                "sheet": "0" * 64,
                "judge": name.removeprefix("human-"),
                "verdicts": [],
            }
            write_json(folder / "human" / f"{name}.json", person)
    decide_all(folder)
    score_all(folder)
    measure_reliability(folder)
    found: dict[str, Any] = json.loads((folder / "judge_reliability.json").read_text())
    return found


def test_one_mechanical_judge_has_nobody_to_agree_with_and_no_bias(bench: Make) -> None:
    made = bench()
    for task in "ab":
        made.run(task, "with", points=("1", None))
        made.run(task, "without", points=("0", None))
    found = measured(made)
    assert found["judges"]["mechanical"]["verdicts"] == {"Met": 2, "Missed": 2, "Unjudged": 4}
    assert found["judges"]["mechanical"]["failures"] == {}
    assert found["judges"]["mechanical"]["cost_usd"] is None
    assert found["agreement"]["pairs"] == []
    assert found["bias"] is None
    assert found["unjudged"] == {
        "with": {"criteria": 2, "of": 4},
        "without": {"criteria": 2, "of": 4},
    }
    kinds = [(each["task"], each["criterion"], each["kind"]) for each in found["criteria"]]
    assert kinds == [("a", 1, "given_away"), ("a", 2, "unjudged"), ("b", 2, "unjudged")]


def test_a_folder_in_which_nothing_counts_is_measured_too(bench: Make) -> None:
    made = bench()
    for task in "ab":
        made.run(task, "with", reason="empty")
    found = measured(made)
    assert (found["judges"], found["unjudged"], found["bias"]) == ({}, {}, None)
    assert found["agreement"]["all"]["n"] == 0


@pytest.fixture(scope="module")
def panelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Bench, dict[str, Any]]:
    """Twelve tasks, three judges and a person who has judged four of the tasks; with what is measured of them."""
    made = Bench(
        tmp_path_factory.mktemp("panelled") / "r", tasks=[f"t{number:02}" for number in range(12)]
    )
    for number, task in enumerate(made.tasks):
        for condition in ("with", "without"):
            made.run(task, condition, points=("1", "0") if number % 2 else ("0.5", "1"))
            says(made, "claude", task, condition, "mm" if condition == "with" else "m-")
            says(made, "gpt", task, condition, "m-" if number % 3 else "timeout")
            if number < 4:
                says(made, "human-anna", task, condition, "m-")
    return made, measured(made)


def test_judges_are_listed_with_costs_failures_and_agreement_by_pair(
    panelled: tuple[Bench, dict[str, Any]],
) -> None:
    judges = panelled[1]["judges"]
    assert list(judges) == ["claude", "gpt", "human-anna", "mechanical"]
    assert judges["gpt"]["failures"] == {"timeout": {"with": 8, "without": 8}}
    assert (judges["claude"]["models"], judges["claude"]["cost_usd"]) == (["glm-5"], 12.0)
    agreement = panelled[1]["agreement"]
    assert len(agreement["pairs"]) == 6
    pair = agreement["pairs"][0]
    assert (pair["judges"], pair["overall"]["n"], pair["conditions"]["with"]["n"]) == (
        ["claude", "gpt"],
        32,
        16,
    )
    # claude and gpt agree on the first criterion, and without the server on the second one too
    assert (pair["overall"]["equal"], pair["conditions"]["without"]["equal"]) == (0.75, 1.0)
    assert agreement["all"]["n"] == 48
    assert agreement["all"]["alpha"]["low"] is not None


def test_bias_is_reported_for_every_judge_and_for_all_together(
    panelled: tuple[Bench, dict[str, Any]],
) -> None:
    bias = panelled[1]["bias"]
    claude = bias["judges"]["claude"]
    assert claude["with"]["signed"]["value"] == 0.5
    assert "claude gives answers with lens 50.0 points more" in claude["with"]["sentence"]
    assert sorted(bias["judges"]) == ["claude", "gpt", "mechanical"]
    assert bias["together"]["with"]["signed"]["n"] > 0
    # anna judged four tasks, of which the sample of a tenth holds some; the rest must not pass for random
    plan = {"judges": [{"name": "claude"}], "judging": {"human_sample": 0.1}, "seed": 1}
    sampled = {f"t{number:02}" for number in range(4)} & {
        task
        for task, _ in sampled_pairs(
            cast(Plan, plan), [(f"t{number:02}", 1) for number in range(12)]
        )
    }
    corrected = bias["correction"]["with"]
    assert corrected["n"] == len(sampled) < 4
    assert corrected["reason"].startswith(
        f"{len(sampled)} tasks of the sample have scores by people and by judges"
    )


def test_numbers_have_at_most_six_decimals(panelled: tuple[Bench, dict[str, Any]]) -> None:
    shown: list[str] = []
    json.loads(
        (panelled[0].folder / "judge_reliability.json").read_text(), parse_float=shown.append
    )
    assert shown
    assert all(len(number.partition(".")[2]) <= 6 for number in shown)


def test_an_answer_whose_canary_came_back_wrong_is_counted(bench: Make) -> None:
    made = bench()
    made.run("a", "with")
    made.run("a", "without")
    says(made, "claude", "a", "with", "canary")
    says(made, "claude", "a", "without", "mm")
    claude = measured(made)["judges"]["claude"]
    assert (claude["voided"], claude["answers"]) == (1, 2)


def test_several_treatments_are_each_compared_with_the_baseline(bench: Make) -> None:
    made = bench(servers={**TREATMENTS, "other": ["lens"]})
    for condition in made.servers:
        made.run("a", condition)
        says(made, "human-anna", "a", condition, "mm")
    found = measured(made)
    assert sorted(found["bias"]["judges"]["mechanical"]) == ["other", "with"]
    assert sorted(found["blinding"]["classifier"]) == ["other", "with"]


def test_the_closed_book_control_is_no_treatment_and_tells_which_tasks_need_no_repository(
    bench: Make,
) -> None:
    made = bench(
        servers={**TREATMENTS, CLOSED_BOOK: []}, changes={"controls": {"closed_book": True}}
    )
    for task in "ab":
        for condition in made.servers:
            points = ("0", "0") if (task, condition) == ("b", CLOSED_BOOK) else ("1", "1")
            made.run(task, condition, points=points)
            if condition != CLOSED_BOOK:
                says(made, "human-anna", task, condition, "mm")
    found = measured(made)
    assert [each["task"] for each in found["criteria"] if each["kind"] == CLOSED_BOOK] == ["a"]
    assert (list(found["bias"]["correction"]), list(found["blinding"]["classifier"])) == (
        ["with"],
        ["with"],
    )


def test_the_condition_shows_where_the_answers_give_it_away(bench: Make) -> None:
    made = bench(tasks=[f"t{number}" for number in range(8)])
    for task in made.tasks:
        made.run(
            task, "with", answer=f"Found {task} at once. I called mcp__lens__lens_grep for it."
        )
        made.run(
            task,
            "without",
            answer=f"Found {task} at once. I called mcp__lens__lens_grep for it? Never.",
        )
    found = measured(made)["blinding"]["classifier"]["with"]
    assert (found["accuracy"], found["holds"]) == (1.0, False)


@pytest.mark.parametrize(("labelled", "held"), [(0, False), (24, True)])
def test_broken_blinding_stops_no_verdict_where_people_correct_it(
    bench: Make, labelled: int, held: bool
) -> None:
    judging = {"human_sample": 1}
    made = bench(tasks=[f"t{number:02}" for number in range(32)], changes={"judging": judging})
    for number, task in enumerate(made.tasks):
        for condition in ("with", "without"):
            letters = "mm" if condition == "with" and number % 3 else "m-"
            made.run(
                task,
                condition,
                points=(None, None),
                answer=f"Superb {condition}side {'fact ' * len(letters)}",
            )
            says(made, "claude", task, condition, letters)
            if number < labelled:
                says(made, "human-anna", task, condition, letters)
    found = measured(made)
    assert found["blinding"]["classifier"]["with"]["holds"] is False
    assert (
        any("blinding is broken" in reason for reason in found["belief"]["withheld"]["with"])
        != held
    )
