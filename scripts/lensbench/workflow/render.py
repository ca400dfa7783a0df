"""Results of a benchmark that Snakemake stopped before every run was finished."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.program import run_stage
from lensbench.results.results import write_everything
from lensbench.scores.rescore import estimate_present
from lensbench.workflow.finish import print_headline


def render_present(folder: Path) -> None:
    """Writes all tables and results for the finished runs, and prints the headline; other runs count as missing."""
    estimate_present(folder)
    write_everything(folder)
    print_headline(folder)


if __name__ == "__main__":
    run_stage(render_present)
