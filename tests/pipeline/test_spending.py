"""A budget, in a real Snakemake run: what is made, what is said, and how it goes on."""

import json

from lensbench.workflow.status import Status, line
from small_benchmark import Project


def test_at_the_budget_no_run_starts_any_more_and_the_results_show_what_there_is(project: Project) -> None:
    project.configure(budget={"max_runs": 3})
    said = project.start("--cores", "1", fails=True)
    assert said.count("the budget is spent (3.00 of 3 attempts); raise budget.max_runs to continue") == 1
    lines = said.splitlines()
    assert lines[-1].startswith("open bench/r/report.html"), "the page shows the missing run, too"
    assert not [line for line in lines if "rror" in line or "jobid" in line or "Complete log" in line]
    assert len(project.ledger()) == 3
    results = (project.bench / "results.md").read_text()
    assert "Not finished" in results
    assert "3 scored, 0 unjudged, 0 discarded, 1 missing" in results

    project.configure(budget={"max_runs": 9})
    project.start("--cores", "1")
    assert len(set(project.ledger())) == len(project.ledger()) == 4
    assert "Not finished" not in (project.bench / "results.md").read_text()


def test_dollars_are_estimated_where_the_agent_shows_tokens_only_and_the_budget_counts_them(project: Project) -> None:
    tokens = {"input": 100_000, "cache_read": 1_000_000, "cache_write": 0, "output": 20_000}
    price = {"input": 1, "cache_read": 0.1, "cache_write": 9, "output": 5, "date": "2026-11", "source": "my contract"}
    project.behave(others=f"end {json.dumps({'tokens': tokens})}")
    project.configure(agent={"model": "fake-1"}, budget={"max_usd": 0.7}, prices={"FAKE-*": price})
    said = project.start("--cores", "1", fails=True)  # each run: 0.1 + 0.1 + 0.1
    assert "the budget is spent (0.90 of 0.7 US dollars)" in said
    basis = "fake-1: $1 input, $0.1 cache read, $9 cache write, $5 output per million tokens (my contract, 2026-11)"
    outcome = project.record("anna-with")["outcome"]
    assert (outcome["cost_usd"], outcome["cost_is_guess"], outcome["cost_basis"]) == (0.3, True, basis)
    for page in ("results.md", "report.html"):
        text = (project.bench / page).read_text()
        assert f"In 3 runs the cost is an estimate: {basis}." in text.replace("\\", "")
        assert "cost in US dollars, estimated" in text
    assert "spent $0.90, about $0.30 to come (estimated)" in line(Status(project.bench), 0, 1)

    project.configure(agent={"model": "fake-1"}, prices={"fake-1": {**price, "input": 2}})
    project.start("--cores", "1")
    assert len(project.ledger()) == 4, "other prices repeat no run"
    assert "| cost in US dollars, estimated | 0.4 | 0.4 |" in (project.bench / "results.md").read_text()
