"""Results of an unfinished benchmark: all stages after the runs, in their order, for the finished runs.

Snakemake computes the results when every run is finished. If it stopped earlier, this shows partial results.
"""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.program import run_stage
from lensbench.judging.instrument import measure_instrument
from lensbench.judging.verdicts import judge_all
from lensbench.results.page.page import write_page
from lensbench.results.results import write_results
from lensbench.scores.estimates import write_estimates
from lensbench.scores.rescore import score_present
from lensbench.workflow.finish import print_headline


def render_present(folder: Path) -> None:
    """Writes all tables and results for the finished runs, and prints the headline; other runs count as missing."""
    score_present(folder, lambda judge: judge_all(folder, judge, ask=False))
    for stage in (measure_instrument, write_estimates, write_results, write_page):
        stage(folder)
    print_headline(folder)


if __name__ == "__main__":
    run_stage(render_present)
