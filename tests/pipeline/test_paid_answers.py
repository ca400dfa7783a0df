"""Single files and single tasks as targets: the plan of the present settings comes first, and no answer is paid twice."""

import json
import shutil

import pytest

from small_benchmark import RUNS, Project


@pytest.mark.parametrize("target", ["validity.csv", "runs/anna-with.md", "results.md"])
def test_a_single_file_as_target_buys_no_run_under_an_old_plan(finished: Project, target: str) -> None:
    old = finished.record("anna-with")["agent_sha256"]
    shutil.rmtree(finished.attempt("anna-with"))
    finished.configure({"timeout_s": 50}, accept_changes=True)
    finished.start(target=f"bench/r/{target}")
    new = json.loads((finished.bench / "plan.json").read_text())["agent_sha256"]
    assert finished.record("anna-with")["agent_sha256"] == new != old
    assert finished.ledger() == ["anna-with"]


def test_the_runs_of_one_task_are_made_alone_and_the_others_later(project: Project) -> None:
    said = project.start("--config", "only=[anna]")
    assert project.ledger() == ["anna-with", "anna-without"]
    assert len(project.table("pairs")) >= 1
    assert "Traceback" not in said
    assert "did you mean 'anna'?" in project.start("--config", "only=[ana]", fails=True)
    project.start(*RUNS)
    assert len(project.ledger()) == len(set(project.ledger())) > 2
