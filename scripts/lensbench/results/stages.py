"""The stages of this room in one program: they read the same tables, and most of their time would be start-up."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.system.program import run_stage
from lensbench.results.page.page import read_inputs, write_page
from lensbench.results.results import write_results
from lensbench.scores.run_tables import read_tables


def write_everything(folder: Path) -> None:
    """Writes all results: results.json, results.md, summary.md, junit.xml, report.html, answers/."""
    tables = read_tables(folder)
    write_results(folder, tables)
    write_page(folder, read_inputs(folder, tables))


if __name__ == "__main__":
    run_stage(write_everything)
