"""Asks the judges about every criterion of every answer that counts (protocol, section 4)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lensbench.figures import decimal
from lensbench.judges import POINTS, mechanical
from lensbench.judges.normalising import normalise
from lensbench.plan import read_plan
from lensbench.program import run_stage
from lensbench.records import RunId, run_files
from lensbench.scenario_files import read_scenarios
from lensbench.scenarios import Task
from lensbench.tables import read_table, write_table

COLUMNS = (
    "task", "condition", "trial", "criterion", "judge", "verdict", "points", "evidence", "position", "reason",
    "version",
)  # fmt: skip


def verdicts(run: RunId, task: Task, answer: str) -> Iterator[dict[str, Any]]:
    """A row for each criterion of a run; criteria are numbered from 1."""
    text = normalise(answer)
    for number, criterion in enumerate(task.criteria, 1):
        judgement = mechanical.judge(criterion, text)
        yield {
            **run._asdict(), "criterion": number, "judge": mechanical.NAME, "verdict": judgement.verdict.value,
            "points": decimal(POINTS.get(judgement.verdict)), "evidence": judgement.evidence,
            "position": judgement.position, "reason": judgement.reason, "version": mechanical.VERSION,
        }  # fmt: skip


def judge_runs(folder: Path) -> None:
    """Reads the criteria, validity.csv and the answers, and writes verdicts.csv."""
    plan = read_plan(folder)
    tasks = {task.id: task for task in read_scenarios([str(folder / "scenarios.md")], imported=True).tasks}
    rows: list[dict[str, Any]] = []
    for row in read_table(folder / "validity.csv"):
        if row["status"] == "valid" and row["task"] in plan["tasks"]:
            run = RunId(row["task"], row["condition"], int(row["trial"]))
            answer = run_files(folder, run).answer.read_text(errors="replace")
            rows += verdicts(run, tasks[run.task], answer)
    write_table(folder / "verdicts.csv", COLUMNS, rows)


if __name__ == "__main__":
    run_stage(judge_runs)
