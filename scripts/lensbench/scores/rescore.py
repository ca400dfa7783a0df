"""The order of the stages after the runs, for whoever runs them in one program: looks, partial results, archives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from lensbench.core.frozen_plan import HUMAN
from lensbench.judging.decisions import decide_all
from lensbench.judging.judges.human import human_judges
from lensbench.judging.reliability import measure_reliability
from lensbench.judging.verdicts import judge_all
from lensbench.plan.frozen import read_plan
from lensbench.runs.validity import read_runs
from lensbench.scores.estimates import score_and_estimate
from lensbench.scores.estimates_file import EstimatesFile


def estimate_present(folder: Path, judge: Callable[[str], object] | None = None) -> EstimatesFile:
    """Writes all tables, judge_reliability.json and estimates.json for the existing runs; others count as missing."""
    judge_present(folder, judge)
    measure_reliability(folder)
    return score_and_estimate(folder)


def judge_present(folder: Path, judge: Callable[[str], object] | None = None) -> None:
    """Writes the tables up to the panel's decisions. `judge` runs a judge of the config, by default without asking a
    model; people's verdicts are read from their files."""
    judge = judge or partial(judge_all, folder, ask=False)
    read_runs(folder)
    for entry in read_plan(folder)["judges"]:
        if entry["name"] != HUMAN:
            judge(entry["name"])
    for name in human_judges(folder):
        judge_all(folder, name)
    decide_all(folder)
