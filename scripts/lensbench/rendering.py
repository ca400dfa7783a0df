"""Results of an unfinished benchmark: all stages after the runs, in their order, over what is there.

Snakemake makes the results when every run is there. When it had to stop before, this shows what there is.
"""

from __future__ import annotations

from pathlib import Path

from lensbench.headline import print_headline
from lensbench.judging import judge_runs
from lensbench.program import run_stage
from lensbench.reports import read_reports
from lensbench.results import write_results
from lensbench.scores import score_all
from lensbench.validity import judge_validity


def render_present(folder: Path) -> None:
    """Writes all tables and results over the runs that are there, and prints the headline; others count as missing."""
    for stage in (judge_validity, read_reports, judge_runs, score_all, write_results, print_headline):
        stage(folder)


if __name__ == "__main__":
    run_stage(render_present)
