"""A budget, in a real Snakemake run: what is made, what is said, and how it goes on."""

from __future__ import annotations

from small_benchmark import Project


def test_at_the_budget_no_run_starts_any_more_and_the_results_show_what_there_is(project: Project) -> None:
    project.configure(budget={"max_runs": 3})
    said = project.start("--cores", "1", fails=True)
    assert "the budget is spent (3.00 of 3 attempts); raise budget.max_runs to continue" in said
    assert len(project.ledger()) == 3
    results = (project.bench / "results.md").read_text()
    assert "Not finished" in results
    assert "3 scored, 0 unjudged, 0 discarded, 1 missing" in results

    project.configure(budget={"max_runs": 9})
    project.start("--cores", "1")
    assert len(set(project.ledger())) == len(project.ledger()) == 4
    assert "Not finished" not in (project.bench / "results.md").read_text()
