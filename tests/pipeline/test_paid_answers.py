"""Single files and single tasks as targets: the plan of the present settings comes first, and no answer is paid twice."""

import json
import shutil
import signal

import pytest

from small_benchmark import RUNS, Project, wait_for


@pytest.mark.parametrize("target", ["validity.csv", "runs/anna-with.md", "results.md"])
def test_a_single_file_as_target_buys_no_run_under_an_old_plan(finished: Project, target: str) -> None:
    old = finished.record("anna-with")["agent_sha256"]
    shutil.rmtree(finished.attempt("anna-with"))
    finished.configure({"timeout_s": 50}, accept_changes=True)
    finished.start(target=f"bench/r/{target}")
    new = json.loads((finished.bench / "plan.json").read_text())["agent_sha256"]
    assert finished.record("anna-with")["agent_sha256"] == new != old
    assert finished.ledger() == ["anna-with"]


def test_after_a_request_to_end_a_target_that_is_missing_says_how_many_runs_are_missing(project: Project) -> None:
    project.behave(others="sleep 2")
    process = project.begin(cores=2, target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 2)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert "2 missing" in said


def test_the_runs_of_one_task_are_made_alone_and_the_others_later(project: Project) -> None:
    said = project.start("--config", "only=[anna]")
    assert project.ledger() == ["anna-with", "anna-without"]
    assert len(project.table("pairs")) >= 1
    assert "Traceback" not in said
    assert "did you mean 'anna'?" in project.start("--config", "only=[ana]", fails=True)
    project.start(*RUNS)
    assert len(project.ledger()) == len(set(project.ledger())) > 2


def test_a_single_file_is_made_of_the_plan_of_the_present_settings_also_without_a_memory(finished: Project) -> None:
    shutil.rmtree(finished.folder / ".snakemake")
    finished.configure(trials=2)
    finished.start(target="bench/r/validity.csv")
    assert json.loads((finished.bench / "plan.json").read_text())["trials"] == 2
    assert (len(finished.table("validity")), len(finished.ledger())) == (8, 4)
