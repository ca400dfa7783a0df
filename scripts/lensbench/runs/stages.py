"""The stages of this room after the runs, in one program: most of what each costs is its start."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.program import run_stage
from lensbench.runs.reports import read_reports
from lensbench.runs.validity import judge_validity


def read_runs(folder: Path) -> None:
    """Decides which runs count, and reads what they report: validity.csv, runs/timing.csv, reports.csv."""
    judge_validity(folder)
    read_reports(folder)


if __name__ == "__main__":
    run_stage(read_runs)
