"""The layout of a run folder, `bench/<run_id>`: every name once.

`RunFolder.plan` is the name, `plan.json`; `RunFolder(folder).plan` is the path. Names of files that only the program
reads start with a dot.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import overload


class _Place:
    """A file or folder: on the class its name in a run folder, on an instance its path."""

    def __init__(self, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, folder: None, owner: type[RunFolder]) -> str: ...
    @overload
    def __get__(self, folder: RunFolder, owner: type[RunFolder]) -> Path: ...
    def __get__(self, folder: RunFolder | None, owner: type[RunFolder]) -> str | Path:
        return self.name if folder is None else folder.path / self.name


@dataclass(frozen=True)
class RunFolder:
    """A benchmark's folder, or one with the same layout: a look's, an archive's `run/`, the folder of one question."""

    path: Path

    # frozen by the stage `plan`
    plan = _Place("plan.json")  # what every run reads: tasks, conditions, settings, with hashes
    prompts = _Place("prompts")  # the prompt of each task, the same bytes in every condition
    protocol = _Place("protocol.md")  # the rules under which the runs were made
    config = _Place("config.yaml")  # the resolved settings
    tasks = _Place("scenarios.md")  # the frozen tasks
    tasks_beside = _Place("scenarios.frozen.md")
    """The frozen tasks of a run folder in which scenarios.md is the user's file."""
    changes = _Place("changes")  # hidden files and references of change tasks

    # before and during runs
    repositories = _Place("repositories.json")  # the code under test, by revision and hash
    environments = _Place("environments.json")
    """The path of each change task's environment."""
    preflight = _Place("preflight.json")  # what was tried before the runs
    requests = _Place("requests")
    """The first request of each condition, and what differs (`lensbench check --requests`)."""
    spent = _Place("spent.json")  # money and attempts so far
    attempts = _Place("attempts")
    """All answers that were paid for (core/store.py)."""
    taps = _Place("taps")
    """What the tee noted of the servers' messages, by run."""
    runs = _Place("runs")
    """A copy of the answer of each run that counts."""
    timing = _Place("runs/timing.csv")  # the model mapping, then a row for every run ever made
    looks = _Place("looks")  # what was known after each wave
    look_ledger = _Place("looks.jsonl")  # every look at a verdict, and the error that it spent
    imported = _Place("imported")
    """The original files of an imported benchmark."""
    published = _Place("imported/published.csv")  # the scores that came with an import
    logs = _Place("logs")  # the output of programs
    archive_log = _Place("logs/archive.log")  # the output of the archive

    # made from the runs
    validity = _Place("validity.csv")  # which runs count
    reports = _Place("reports.csv")  # what agents report about themselves
    citations = _Place("citations.json")
    """The source lines cited in answers."""
    tests = _Place("tests")  # the test results of change tasks
    human = _Place("human")  # verdicts that people saved
    judging = _Place("judging")  # replies of model judges
    judging_tests = _Place("judging/tests")
    """Test runs, by the hash of everything that they depend on."""
    judge_verdicts = _Place("verdicts")  # a table for each judge
    verdicts = _Place("verdicts.csv")  # all verdicts
    decisions = _Place("decisions.csv")  # the verdicts that count
    escalations = _Place("escalations.csv")  # criteria that people should judge
    judge_sheet = _Place("judge_sheet.html")  # the page on which people judge
    judge_reliability = _Place("judge_reliability.json")  # how far the judges can be trusted
    scores = _Place("scores.csv")  # the score of each run
    pairs = _Place("pairs.csv")  # each pair with its difference
    estimates = _Place("estimates.json")  # the deltas with intervals, and the gate
    results_json = _Place("results.json")  # the results for programs
    results = _Place("results.md")  # the results as text
    summary = _Place("summary.md")  # the results for a CI job
    junit = _Place("junit.xml")  # the results as a test report
    page = _Place("report.html")  # the results as a page
    badge = _Place("badge.svg")  # the picture of a claim
    answers = _Place("answers")  # a page for each pair and run

    # marker files and internal state
    at_work = _Place(".at-work")  # the lock of the start that is at work
    crashes = _Place(".crashes")
    """How the last attempts of each condition crashed, one after the other."""
    checked = _Place(".checked")
    """Size and times of the files that were verified."""
    checksums = _Place(".checksums")
    """Checksums of written files, in the format of `sha256sum`; the last line of a file counts."""
    copies = _Place(".copies")
    """Files that no stage can rebuild."""
    frozen_settings = _Place(".plan")  # the accepted settings
    gate = _Place(".gate")  # the start gate of pairs
    lock = _Place(".lock")  # a lock between programs
    refused = _Place(".refused")
    """This start ended with a verdict listed in `fail_on`; contains the message."""
    stopped = _Place(".stopped")  # why a start makes no more runs


PLACES: tuple[str, ...] = tuple(
    place.name for place in vars(RunFolder).values() if isinstance(place, _Place)
)
