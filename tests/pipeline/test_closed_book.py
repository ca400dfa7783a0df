"""The closed-book control: the same tasks without the repository, beside the comparison and never in it."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from test_repeating import bytes_of

from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.workflow.read_schedule import read_schedule
from lensbench.workflow.schedule import Schedule
from small_benchmark import RUNS, Project

CONTROL: dict[str, Any] = {"controls": {"closed_book": True}}


def scheduled(project: Project, monkeypatch: pytest.MonkeyPatch) -> Schedule:
    monkeypatch.chdir(project.folder)
    return read_schedule(
        yaml.safe_load((project.folder / "config.yaml").read_text()), ["config.yaml"]
    )


def test_the_control_comes_and_goes_gets_an_empty_folder_and_no_servers_and_forms_no_pair(
    project: Project,
) -> None:
    project.start(*RUNS)
    before = bytes_of(project.files())
    project.clear_ledger()
    project.configure(**CONTROL)
    project.start(target="bench/r/pairs.csv")
    assert len(project.ledger()) == 2
    after = bytes_of(project.files())
    new = {name for name in after.keys() - before.keys() if name.startswith("runs/")}
    assert new == {"runs/anna-closed_book.md", "runs/bert-closed_book.md"}
    assert {name: after[name] for name in before} == before
    control = project.record("anna-closed_book")
    baseline = project.record("anna-without")
    assert control["prompt_sha256"] == baseline["prompt_sha256"]
    assert control["settings_sha256"] == baseline["settings_sha256"]
    assert control["tree_before"] == control["tree_after"] != baseline["tree_before"]
    assert control["outcome"]["servers"] == {}
    assert "of 0 files" in (project.bench / "runs" / "anna-closed_book.md").read_text()
    assert "of 2 files" in (project.bench / "runs" / "anna-without.md").read_text()
    assert project.reasons() == {}
    assert {row["treatment"] for row in project.table("pairs")} == {"with"}
    scored = {
        row["task"]: row["score"]
        for row in project.table("scores")
        if row["condition"] == "closed_book"
    }
    assert scored == {"anna": "0.5", "bert": "0.5"}
    project.configure()
    project.start(*RUNS)
    assert len(project.ledger()) == 2
    assert {row["condition"] for row in project.table("validity")} == {"without", "with"}


def test_a_pair_starts_together_and_the_control_comes_last(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure(**CONTROL)
    schedule = scheduled(project, monkeypatch)
    pair = RunId("anna", "with", 1)
    control = RunId("anna", "closed_book", 1)
    assert schedule.gate_s(pair, 2) > 0
    assert schedule.gate_s(control, 4) == 0
    priorities = {run: schedule.priority(run.stem) for run in schedule.runs}
    assert max(value for run, value in priorities.items() if run.condition == "closed_book") < min(
        value for run, value in priorities.items() if run.condition != "closed_book"
    )


def test_a_condition_cannot_have_the_name_of_the_control(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.configure(conditions={"without": {}, "closed_book": {"mcp": "mcp.json"}})
    with pytest.raises(UserError, match=r"write controls: \{closed_book: true\} instead"):
        scheduled(project, monkeypatch)


def test_a_control_run_by_another_model_or_a_discarded_one_costs_no_pair(
    bench: Callable[..., Any],
) -> None:
    made = bench(servers={"without": [], "with": ["lens"], "closed_book": []})
    for task in made.tasks:
        made.run(task, "without", points=("1", "0"))
        made.run(task, "with", points=("1", "1"))
    made.run("a", "closed_book", points=("0", "0"), models=("glm-9",), tree_before="empty")
    made.run("b", "closed_book", reason="timed_out")
    results = made.build()
    reasons = {
        (run["task"], run["condition"]): run["reason"] for run in results["runs"] if run["reason"]
    }
    assert reasons == {("b", "closed_book"): "timed_out"}
    assert results["treatments"] == list(results["comparisons"]) == ["with"]
    assert results["comparisons"]["with"]["pairs"] == {"complete": 2, "planned": 2}
    assert "closed_book" in made.page
