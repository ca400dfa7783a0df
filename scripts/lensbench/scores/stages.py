"""Runs the stages of this room in one program, because they read the same records and start-up dominates their cost."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.program import run_stage
from lensbench.scores.estimates import write_estimates
from lensbench.scores.estimates_file import EstimatesFile
from lensbench.scores.run_tables import read_tables
from lensbench.scores.scores import score_all


def score_and_estimate(folder: Path) -> EstimatesFile:
    """Scores the runs and estimates the differences: scores.csv, pairs.csv, estimates.json."""
    records = score_all(folder)
    return write_estimates(folder, read_tables(folder, records))


if __name__ == "__main__":
    run_stage(score_and_estimate)
