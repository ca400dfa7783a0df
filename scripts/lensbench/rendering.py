"""Results of an unfinished benchmark: all stages after the runs, in their order, over what is there.

Snakemake makes the results when every run is there. When it had to stop before, this shows what there is.
"""

from __future__ import annotations

from pathlib import Path

from lensbench.config import HUMAN
from lensbench.estimates import write_estimates
from lensbench.headline import print_headline
from lensbench.instrument import measure_instrument
from lensbench.judges.human import human_judges
from lensbench.judging import judge_all
from lensbench.page import write_page
from lensbench.panel import decide_all
from lensbench.program import run_stage
from lensbench.reports import read_reports
from lensbench.results import write_results
from lensbench.scores import score_all
from lensbench.validity import judge_validity
from lensbench.waves import read_opened_plan


def render_present(folder: Path) -> None:
    """Writes all tables and results over the runs that are there, and prints the headline; others count as missing."""
    judge_validity(folder)
    read_reports(folder)
    for judge in read_opened_plan(folder)["judges"]:
        if judge["name"] != HUMAN:
            judge_all(folder, judge["name"], ask=False)
    for name in human_judges(folder):
        judge_all(folder, name)
    for stage in (decide_all, score_all, measure_instrument, write_estimates, write_results, write_page):
        stage(folder)
    print_headline(folder)


if __name__ == "__main__":
    run_stage(render_present)
