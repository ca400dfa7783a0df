"""Runs the stages from the runs to the scores in one program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lensbench.judging.judges.human import human_judges
from lensbench.judging.panel import decide_all
from lensbench.judging.verdicts import judge_all
from lensbench.plan.frozen import read_plan
from lensbench.plan.names import HUMAN
from lensbench.runs.reports import read_reports
from lensbench.runs.validity import judge_validity
from lensbench.scores.scores import score_all


def score_present(folder: Path, judge: Callable[[str], object]) -> None:
    """Writes all tables up to the scores for the existing runs; the others count as missing.

    `judge` runs a judge of the config; people's verdicts are read from their files.
    """
    judge_validity(folder)
    read_reports(folder)
    for configured in read_plan(folder)["judges"]:
        if configured["name"] != HUMAN:
            judge(configured["name"])
    for name in human_judges(folder):
        judge_all(folder, name)
    decide_all(folder)
    score_all(folder)
