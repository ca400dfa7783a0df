"""Waves: the next one is made only while the gate is open, in the same start."""

import json
from collections.abc import Sequence
from typing import Any

import yaml

from lensbench.scores.sequential import SHARE
from small_benchmark import Project

CALLS = "called mcp__fake__search"
NAMES = [f"task{letter}" for letter in "abcdefghijklmnopqrst"]


def write_tasks(project: Project, helped: str, names: Sequence[str] = NAMES) -> None:
    """Tasks of 2, 3 or 4 criteria: the treatment alone states the last one in those that are `helped`."""
    tasks: list[dict[str, Any]] = []
    for number, name in enumerate(names):
        criteria = [{"text": "names the class", "all_of": "Cart"}] * (1 + number % 3)
        last = "An index" if helped == "all" or (helped == "half" and number % 2) else "Cart"
        category = "Targeted" if number % 4 < 2 else "Debug"
        prompt = f"Task {name}: where is the cart?"
        criteria = [*criteria, {"text": "says what an index said", "all_of": last}]
        tasks.append({"id": name, "category": category, "prompt": prompt, "criteria": criteria})
    copied = json.loads(json.dumps({"name": "shop", "tasks": tasks}))  # without YAML aliases
    (project.folder / "tasks.yaml").write_text(yaml.safe_dump(copied))
    project.behave(**{f"{name}_with": CALLS for name in names})


def looks(project: Project) -> list[bool]:
    return [
        json.loads(path.read_text())["open"]
        for path in sorted((project.bench / "looks").glob("*.json"))
    ]


def test_a_clear_effect_ends_it_at_the_first_look_and_what_is_added_or_left_is_made_when_it_is_wanted(
    project: Project,
) -> None:
    write_tasks(project, "all")
    project.configure(gate={"looks": 2})
    project.start()
    assert looks(project) == [False]
    assert len(project.ledger()) == len(NAMES)  # half of the tasks, in two conditions
    files = (
        project.bench / "looks" / "1" / "judge_reliability.json",
        project.bench / "judge_reliability.json",
    )
    taken, final = (json.loads(path.read_text())["belief"] for path in files)
    assert taken == final, "a look trusts the judges as much as the results do"
    page = (project.bench / "results.md").read_text()
    assert "look 1 of 2" in page
    first = project.table("validity")
    assert "missing" not in {row["status"] for row in first}
    assert "Nothing to be done" in project.start()

    write_tasks(project, "all", [*NAMES, "later", "latest"])
    project.start()
    assert {row["task"] for row in project.table("validity")} == {row["task"] for row in first}
    assert len(project.ledger()) == len(NAMES)  # the look still decides
    assert json.loads((project.bench / "plan.json").read_text())["dealt"] == NAMES

    before = {name: text for name, text in project.files().items() if name != "looks.jsonl"}
    project.start("--config", "gate={looks: 1}")
    assert {row["task"] for row in project.table("validity")} == {*NAMES, "later", "latest"}
    assert len(project.ledger()) == 2 * (len(NAMES) + 2)
    assert before.items() <= project.files().items()
    assert (
        "gate.looks: was 2, is 1, changed after a verdict"
        in (project.bench / "results.md").read_text()
    )
    refused = project.start("--config", "gate={looks: 1, alpha: 0.2, effect: 1}", fails=True)
    assert "gate.alpha: was 0.05, is 0.2, changed after a verdict" in refused
    project.start("--config", "gate={looks: 1, alpha: 0.2, effect: 1}", "accept_changes=true")
    page = (project.bench / "results.md").read_text()
    assert "gate.effect: was 5.0, is 1.0, changed after a verdict" in page
    spent = [
        json.loads(line)["spent"]
        for line in (project.bench / "looks.jsonl").read_text().splitlines()
    ]
    assert spent[-1] <= 0.05 / SHARE + 1e-9


def test_while_nothing_is_decided_the_next_wave_is_made_by_the_same_start(project: Project) -> None:
    write_tasks(project, "half", NAMES[:8])
    project.configure(gate={"looks": 2, "effect": 20})
    project.start()
    assert (looks(project), len(project.ledger())) == ([True], 2 * 8)
    assert {row["status"] for row in project.table("validity")} == {"valid"}
    assert "Nothing to be done" in project.start()


def test_a_discarded_run_of_the_first_wave_is_made_again_and_its_look_is_taken_again(
    project: Project,
) -> None:
    write_tasks(project, "all")
    project.configure(gate={"looks": 2})
    project.behave(**{f"{name}_with": ["empty", CALLS] for name in NAMES})
    project.start()
    discarded = [row for row in project.table("validity") if row["status"] == "discarded"]
    assert discarded
    project.start()
    assert not [row for row in project.table("validity") if row["status"] != "valid"]
