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
    plan = _Place("plan.json")
    prompts = _Place("prompts")
    protocol = _Place("protocol.md")
    config = _Place("config.yaml")
    tasks = _Place("scenarios.md")
    tasks_beside = _Place("scenarios.frozen.md")
    """The frozen tasks of a run folder in which scenarios.md is the user's file."""
    changes = _Place("changes")

    # before and during runs
    repositories = _Place("repositories.json")
    environments = _Place("environments.json")
    """The path of each change task's environment."""
    preflight = _Place("preflight.json")
    spent = _Place("spent.json")
    attempts = _Place("attempts")
    """All answers that were paid for (core/store.py)."""
    runs = _Place("runs")
    """A copy of the answer of each run that counts."""
    timing = _Place("runs/timing.csv")
    looks = _Place("looks")
    look_ledger = _Place("looks.jsonl")
    imported = _Place("imported")
    """The original files of an imported benchmark."""
    published = _Place("imported/published.csv")
    logs = _Place("logs")
    archive_log = _Place("logs/archive.log")

    # made from the runs
    validity = _Place("validity.csv")
    reports = _Place("reports.csv")
    citations = _Place("citations.json")
    """The source lines cited in answers."""
    tests = _Place("tests")
    human = _Place("human")
    judging = _Place("judging")
    judging_tests = _Place("judging/tests")
    """Test runs, by the hash of everything that they depend on."""
    judge_verdicts = _Place("verdicts")
    guesses = _Place("guesses")
    verdicts = _Place("verdicts.csv")
    decisions = _Place("decisions.csv")
    escalations = _Place("escalations.csv")
    judge_sheet = _Place("judge_sheet.html")
    instrument = _Place("instrument.json")
    scores = _Place("scores.csv")
    pairs = _Place("pairs.csv")
    estimates = _Place("estimates.json")
    results_json = _Place("results.json")
    results = _Place("results.md")
    summary = _Place("summary.md")
    junit = _Place("junit.xml")
    page = _Place("report.html")
    answers = _Place("answers")

    # marker files and internal state
    at_work = _Place(".at-work")
    checked = _Place(".checked")
    """Size and times of the files that were verified."""
    checksums = _Place(".checksums")
    """Checksums of written files, in the format of `sha256sum`; the last line of a file counts."""
    copies = _Place(".copies")
    """Files that no stage can rebuild."""
    frozen_settings = _Place(".plan")
    gate = _Place(".gate")
    lock = _Place(".lock")
    refused = _Place(".refused")
    """This start ended with a verdict listed in `fail_on`; contains the message."""
    sandbox_trials = _Place(".sandbox")
    """The result of the sandbox test on each machine."""
    stopped = _Place(".stopped")


PLACES: tuple[str, ...] = tuple(place.name for place in vars(RunFolder).values() if isinstance(place, _Place))
"""All names in a run folder."""
