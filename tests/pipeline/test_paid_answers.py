"""Paid answers under the options of Snakemake that delete and repeat, and single files as targets."""

from __future__ import annotations

import json
import signal

import pytest

from small_benchmark import Project, wait_for

TARGETS = ("validity.csv", "reports.csv", "records/anna-with.json", "runs/anna-with.md", "results.md")


@pytest.mark.parametrize("target", TARGETS)
def test_a_single_file_as_target_buys_no_run_under_an_old_plan(finished: Project, target: str) -> None:
    old = finished.record("anna-with")["agent_sha256"]
    (finished.bench / "records" / "anna-with.json").unlink()
    finished.configure({"timeout_s": 50}, accept_changes=True)
    finished.start(target=f"bench/r/{target}")
    new = json.loads((finished.bench / "plan.json").read_text())["agent_sha256"]
    assert finished.record("anna-with")["agent_sha256"] == new != old
    assert finished.ledger() == ["anna-with"]


@pytest.mark.parametrize("option", ["-F", "--forceall"])
def test_forcing_everything_keeps_what_was_paid_for_and_a_dry_run_says_so_beside_what_is_missing(
    finished: Project, option: str
) -> None:
    before = {name: content for name, (content, _) in finished.files().items()}
    (finished.bench / "records" / "bert-with.json").unlink()
    said = finished.start("-n", option)
    assert said.count("(kept: finished and valid, no agent is started)") == 1, "the other run of the task"
    assert "runs/anna" not in said
    finished.start(option)
    after = {name: content for name, (content, _) in finished.files().items()}
    assert {name for name in before if after[name] != before[name]} == {"records/bert-with.json"}
    assert finished.ledger() == ["bert-with"]


@pytest.mark.parametrize("arguments", [("--delete-all-output",), ("-n", "--delete-all-output")])
def test_what_was_paid_for_is_not_deleted_with_all_output(finished: Project, arguments: tuple[str, ...]) -> None:
    before = finished.files()
    said = finished.start(*arguments, fails=True)
    assert "4 finished runs were paid for" in said
    assert "Traceback" not in said
    assert finished.files() == before
    assert "Nothing to be done" in finished.start()


def test_without_a_finished_run_all_output_is_deleted(project: Project) -> None:
    project.start(target="bench/r/plan.json")
    project.start("--delete-all-output", target="bench/r/plan.json")
    assert not (project.bench / "plan.json").exists()


def test_after_a_request_to_end_a_target_that_is_missing_says_what_is_missing(project: Project) -> None:
    project.behave(others="sleep 2")
    process = project.begin(cores=2, target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 2)
    process.send_signal(signal.SIGTERM)
    said, _ = process.communicate(timeout=60)
    assert "2 missing" in said
    left = [line for line in said.splitlines() if line.startswith("Missing: ")]
    missing = {"anna-with", "anna-without", "bert-with", "bert-without"} - set(project.ledger("end"))
    assert left == [f"Missing: {', '.join(sorted(missing))}."]
