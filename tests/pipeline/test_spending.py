"""A budget, in a real Snakemake run: what is made, what is said, and how it goes on."""

import json
from typing import Any

from lensbench.workflow.status import Status, line
from small_benchmark import Project


def test_at_a_budget_no_run_starts_any_more_the_results_show_what_there_is_and_tokens_become_dollars(
    project: Project,
) -> None:
    tokens = {"input": 100_000, "cache_read": 1_000_000, "cache_write": 0, "output": 20_000}
    price = {
        "input": 1,
        "cache_read": 0.1,
        "cache_write": 9,
        "output": 5,
        "date": "2026-11",
        "source": "my contract",
    }
    project.behave(others=f"end {json.dumps({'tokens': tokens})}")

    def start(price: dict[str, Any], fails: bool = True, **budget: float) -> tuple[str, str]:
        project.configure(agent={"model": "fake-1"}, budget=budget, prices={"FAKE-*": price})
        said = project.start("--cores", "1", fails=fails)
        return said, (project.bench / "results.md").read_text()

    said, results = start(price, max_runs=2)
    assert (
        said.count("the budget is spent (2.00 of 2 attempts); raise budget.max_runs to continue")
        == 1
    )
    lines = said.splitlines()
    assert lines[-1].startswith("open bench/r/report.html"), "the page shows the missing runs, too"
    assert not [
        line for line in lines if "rror" in line or "jobid" in line or "Complete log" in line
    ]
    assert len(project.ledger()) == 2
    assert "Not finished" in results
    assert "2 scored, 0 unjudged, 0 discarded, 2 missing" in results

    said, results = start(price, max_usd=0.7)  # each run: 0.1 + 0.1 + 0.1
    assert "the budget is spent (0.90 of 0.7 US dollars)" in said
    assert len(project.ledger()) == 3
    basis = "fake-1: $1 input, $0.1 cache read, $9 cache write, $5 output per million tokens (my contract, 2026-11)"
    outcome = project.record("anna-with")["outcome"]
    assert (outcome["cost_usd"], outcome["cost_is_guess"], outcome["cost_basis"]) == (
        0.3,
        True,
        basis,
    )
    for text in (results, (project.bench / "report.html").read_text()):
        assert f"In 3 runs the cost is an estimate: {basis}." in text.replace("\\", "")
        assert "cost in US dollars, estimated" in text
    assert "spent $0.90, about $0.30 to come (estimated)" in line(Status(project.bench), 0, 1)

    _, results = start({**price, "input": 2}, fails=False, max_runs=9)
    assert len(set(project.ledger())) == len(project.ledger()) == 4, "other prices repeat no run"
    assert "Not finished" not in results
    assert "| cost in US dollars, estimated | 0.4 | 0.4 |" in results
