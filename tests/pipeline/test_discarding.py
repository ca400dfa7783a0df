"""Runs that must not count: found, filed, repeated by the next start, and given up in the end."""

import json
import subprocess
from collections import Counter

import pytest
from test_repeating import bytes_of

from lensbench.workflow.discard import main
from programs import refusal, run_module
from small_benchmark import RUNS, Project

REASONS = {
    "offered-without": "contaminated",
    "called-without": "contaminated",
    "empty-with": "empty",
    "crash-without": "crashed",
    "slow-with": "timed_out",
    "apierror-with": "api_error",
    "apitext-without": "api_error",
    "change-with": "workspace_changed",
    "model-with": "model_changed",
    "model-without": "model_changed",
}
ANOTHER_TRY = {"empty-with", "crash-without", "apierror-with", "apitext-without"}


def filed(project: Project, by: str) -> Counter[str]:
    """The discards of each run."""
    files = (project.bench / "attempts").rglob("discard.json")
    return Counter(path.parts[-3] for path in files if json.loads(path.read_text())["by"] == by)


def due(project: Project) -> set[str]:
    """The runs that a start would make."""
    dry = project.start("-n", *RUNS)
    return {
        line.split("runs/")[1].removesuffix(".md")
        for line in dry.splitlines()
        if "Missing output files" in line
    }


def test_runs_that_must_not_count_are_filed_once_repeated_alone_and_given_up(
    impatient: Project,
) -> None:
    project = impatient
    project.write_tasks(sorted({stem.partition("-")[0] for stem in REASONS} | {"again"}))
    project.configure({"retries": 2, "timeout_s": 8}, discards={"max_rounds": 1})
    project.behave(
        offered_without=["offered mcp__fake__search", "answer"],
        called_without="called mcp__fake__search",
        empty_with=["empty", "empty", "answer"],
        crash_without="crash",
        slow_with=["hang", "answer"],
        apierror_with="apierror 529 overloaded",
        apitext_without="apitext",
        change_with="change",
        model_with=["model other-1", "answer"],
        again_with=["crash", "answer"],
    )
    project.start(*RUNS, cores=8)
    assert project.reasons() == REASONS
    ledger = project.ledger()
    assert {stem: ledger.count(stem) for stem in REASONS} == {
        stem: 1 + (stem in ANOTHER_TRY) for stem in REASONS
    }
    assert ledger.count("again-with") == 2
    again = [
        json.loads(path.read_text())
        for path in sorted(project.bench.glob("attempts/again-with/*/record.json"))
    ]
    assert [record["attempt"]["reason"] for record in again] == ["crashed", ""]
    assert again[1]["attempt"]["waited_s"] >= 1
    discards = project.files("attempts")
    assert filed(project, "validity") == dict.fromkeys(REASONS, 1)
    assert filed(project, "runner") == dict.fromkeys([*ANOTHER_TRY, "again-with"], 1)
    assert project.processes() == []

    assert due(project) == set(REASONS)

    project.clear_ledger()
    runs = project.files("runs")
    # The control folder counts starts: what heals at its second start must find the first one there.
    (project.control / "ledger").write_text("".join(f"start {stem}\n" for stem in ledger))
    said = project.start(cores=8)
    healed = {"offered-without", "empty-with", "slow-with", "model-with", "model-without"}
    assert project.reasons() == {
        stem: reason for stem, reason in REASONS.items() if stem not in healed
    }
    assert "5 runs discarded" in said
    repeated = project.ledger()
    for stem in set(ledger):
        assert (repeated.count(stem) > ledger.count(stem)) == (stem in REASONS)
    after = project.files("attempts")
    assert {name: after[name] for name in discards} == discards
    assert filed(project, "validity") == {stem: 1 + (stem not in healed) for stem in REASONS}
    untouched = {name for name in runs if name.partition("/")[2].removesuffix(".md") not in REASONS}
    assert {name: project.files("runs")[name] for name in untouched} == {
        name: runs[name] for name in untouched
    }
    costs_no_round = {"apierror-with"}  # the service was overloaded
    given_up = {
        f"{row['task']}-{row['condition']}"
        for row in project.table("validity")
        if row["given_up"] == "yes"
    }
    assert given_up == set(REASONS) - healed - costs_no_round
    assert "was given up: contaminated" in (project.bench / "results.md").read_text()
    assert due(project) == costs_no_round
    dry = project.start("-n", "--config", "discards={max_rounds: 2}")
    assert {stem for stem in REASONS if f"{stem}: its answer does not count in" in dry} == given_up


REFUSED = """
from dataclasses import replace
from lensbench.agents.adapters import command_events
from lensbench.agents.adapters.command import command

def read(lines, *, errors):
    return replace(command_events.read(lines, errors=errors), error_status=401)
"""


def test_a_refused_key_stops_everything_with_a_message_and_is_no_discard(project: Project) -> None:
    (
        project.copy_program() / "scripts" / "lensbench" / "agents" / "adapters" / "refused.py"
    ).write_text(REFUSED)
    project.configure({"kind": "refused", "retries": 3})
    project.behave(others="apierror 401 invalid x-api-key")
    message = project.start(cores=1, fails=True)
    assert (
        message.count("the agent was refused (401 invalid x-api-key); fix that, then start again")
        == 1
    )
    assert len(project.ledger()) == 1
    assert (project.files("runs"), filed(project, "validity")) == ({}, {})
    results = (project.bench / "results.md").read_text()
    assert "Not finished" in results
    assert "invalid x-api-key); fix that, then start again." in results
    assert project.processes() == []


def lensbench(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_module("lensbench", *arguments, cwd=project.folder)


def test_a_run_is_discarded_by_hand_taken_back_and_made_again(finished: Project) -> None:
    before = finished.files()
    tables = finished.tables()

    gone = lensbench(finished, "discard", "anna-with", "--reason", "the laptop slept")
    assert gone.returncode == 0, gone.stderr
    assert (
        "Discarded by hand: fake 1, without a server 0. With these runs counted the delta of fake stays"
        in gone.stdout
    )
    assert finished.reasons() == {"anna-with": "by_hand"}
    page = (finished.bench / "results.md").read_text()
    assert "anna, fake, trial 1 was discarded by hand: the laptop slept (score then: " in page
    assert "discarded by hand: the laptop slept" in (finished.bench / "report.html").read_text()

    back = lensbench(finished, "discard", "bench/r/runs/anna-with.md", "--undo")
    assert back.returncode == 0, back.stderr
    assert (bytes_of(finished.files()), finished.tables()) == (bytes_of(before), tables)
    assert "by hand" not in (finished.bench / "results.md").read_text()
    assert "Nothing to be done" in finished.start("-n")

    lensbench(finished, "discard", "anna-with", "--reason", "the laptop slept", "bench/r")
    finished.clear_ledger()
    said = finished.start()
    assert (finished.ledger(), finished.reasons()) == (["anna-with"], {})
    assert "Discarded by hand: fake 1" in said
    assert "repeated, and counts" in (finished.bench / "results.md").read_text()
    refused = lensbench(finished, "discard", "anna-with", "--undo")
    assert refused.returncode == 2
    assert "was repeated since it was discarded" in refused.stderr
    assert lensbench(finished, "fsck").returncode == 0


def test_a_wrong_run_or_an_empty_reason_changes_nothing(
    finished: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(finished.folder)
    before = finished.files()
    for arguments, message in (
        (("ana-with", "--reason", "x"), "bench/r has no run 'ana-with'; did you mean 'anna-with'?"),
        (("anna-with", "--reason", " "), "--reason is empty; say why the run must not count"),
        (("anna-with", "--undo"), "anna-with was not discarded by hand; nothing to undo"),
    ):
        assert refusal(main, *arguments) == message
    assert "one of the arguments --reason --undo is required" in refusal(main, "anna-with")
    assert finished.files() == before
