"""Paid answers under the options of Snakemake that delete and repeat, and single files as targets."""

import json
import shutil
import signal

import pytest

from small_benchmark import Project, wait_for


@pytest.mark.parametrize("target", ["validity.csv", "runs/anna-with.md", "results.md"])
def test_a_single_file_as_target_buys_no_run_under_an_old_plan(finished: Project, target: str) -> None:
    old = finished.record("anna-with")["agent_sha256"]
    shutil.rmtree(finished.attempt("anna-with"))
    finished.configure({"timeout_s": 50}, accept_changes=True)
    finished.start(target=f"bench/r/{target}")
    new = json.loads((finished.bench / "plan.json").read_text())["agent_sha256"]
    assert finished.record("anna-with")["agent_sha256"] == new != old
    assert finished.ledger() == ["anna-with"]


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
