"""The stages of `lensbench.runs` after the runs, in one program, since most of the cost of each is its start."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.program import run_stage
from lensbench.runs.reports import read_reports
from lensbench.runs.validity import judge_validity


def read_runs(folder: Path) -> None:
    """Writes validity.csv (which runs are valid), runs/timing.csv and reports.csv."""
    judge_validity(folder)
    read_reports(folder)


if __name__ == "__main__":
    run_stage(read_runs)
