"""Two parts of a benchmark, joined: what docs/merging.md says, word for word."""

from __future__ import annotations

import subprocess
import sys

from small_benchmark import Project


def test_parts_that_were_made_apart_are_one_benchmark_and_only_what_is_due_is_made(project: Project) -> None:
    project.behave(bert_with="empty")
    for number in (1, 2):
        said = project.start("--config", f"part={number}/2", f"run_id=part{number}", target="validity")
        assert "2/2 runs | " in said
    assert project.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]
    command = [sys.executable, "-m", "lensbench.archive.merge", "bench/part1", "bench/part2", "--output", "bench/r"]
    said = subprocess.run(command, cwd=project.folder, check=True, capture_output=True, text=True).stdout
    assert said.splitlines() == [
        "bench/part1: 2 of 4 runs",
        "bench/part2: 2 of 4 runs",
        "bench/r is complete; continue with: snakemake --cores N --config run_id=r",
    ]
    before = project.files("runs", "records")
    project.clear_ledger()
    project.behave()
    project.start("--config", "run_id=r")
    assert project.ledger() == ["bert-with"]
    assert [row["status"] for row in project.table("validity")] == ["valid"] * 4
    after = project.files("runs", "records")
    assert {name for name in before if before[name] != after[name]} == {"runs/bert-with.md", "records/bert-with.json"}
    assert "Nothing to be done" in project.start("-n", "--config", "run_id=r")
