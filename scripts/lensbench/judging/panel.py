"""The stage `panel`: collects the verdicts of all judges, and decides each criterion (`decisions`)."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import decimal
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow, ValidityRow, VerdictRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.program import run_stage
from lensbench.core.tables import joined, read_table, row_of_run, write_table, yes_no
from lensbench.judging.decisions import Decision, collect, decide, is_person
from lensbench.judging.judges import POINTS
from lensbench.plan.frozen import read_plan
from lensbench.plan.names import HUMAN

VERDICT_COLUMNS = columns(VerdictRow)
ESCALATION_COLUMNS = ("task", "trial", "condition", "criterion", "votes")


def judges_of(folder: Path, plan: Plan) -> list[str]:
    """The plan's judges, and every person with a file in human/."""
    names = [judge["name"] for judge in plan["judges"] if not is_person(judge["name"])]
    if not RunFolder(folder).human.exists():
        return names
    # It imports pydantic, which takes longer than this whole stage.
    from lensbench.judging.judges.human import human_judges

    return [*names, *human_judges(folder)]


def _decision_row(run: RunId, criterion: int, decision: Decision) -> DecisionRow:
    return {
        **row_of_run(run), "criterion": str(criterion), "verdict": decision.verdict,
        "points": decimal(POINTS.get(decision.verdict)) or "", "decided_by": decision.decided_by,
        "votes": joined(decision.votes), "disagreement": yes_no(decision.disagreement),
        "judges_verdict": decision.judges_verdict,
    }  # fmt: skip


def decide_all(folder: Path) -> None:
    """Reads verdicts/*.csv; writes verdicts.csv, decisions.csv and escalations.csv."""
    plan = read_plan(folder)
    verdicts = [
        row
        for judge in judges_of(folder, plan)
        for row in read_table(RunFolder(folder).judge_verdicts / f"{judge}.csv", VerdictRow)
    ]
    votes = collect(plan, read_table(RunFolder(folder).validity, ValidityRow), verdicts)
    decisions = [_decision_row(run, number, decide(by_judge)) for (run, number), by_judge in votes.items()]
    escalations = [row for row in decisions if row["disagreement"] == "yes" and row["decided_by"] != HUMAN]
    rows = [by_judge[judge] for by_judge in votes.values() for judge in sorted(by_judge)]
    write_table(RunFolder(folder).verdicts, VERDICT_COLUMNS, rows)
    write_table(RunFolder(folder).decisions, columns(DecisionRow), decisions)
    write_table(RunFolder(folder).escalations, ESCALATION_COLUMNS, escalations)


if __name__ == "__main__":
    run_stage(decide_all)
