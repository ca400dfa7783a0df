"""Combines the verdicts of several judges for each criterion (protocol, section 4).

A person's verdict decides; otherwise the judges' majority does, and a tie goes to the stricter verdict. A failed judge
has no vote: unless more than half of the judges that were asked gave a verdict, the criterion stays unjudged.

As long as a draft pattern has a part in any decision, nothing is decided: whoever accepts or repairs drafts must not
know what that does to a condition (docs/judges.md).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lensbench.core.frozen_plan import GIVEN, HUMAN, TESTS, Plan
from lensbench.core.numbers import decimal
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow, RunStatus, ValidityRow, VerdictRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.program import run_stage
from lensbench.core.tables import joined, read_table, row_of_run, run_of_row, write_table, yes_no
from lensbench.judging.judges import DRAFTED, NOT_ASKED, POINTS, Verdict
from lensbench.plan.frozen import read_plan

Key = tuple[RunId, int]
"""A run and the number of a criterion."""


def key_of(row: VerdictRow | DecisionRow) -> Key:
    return run_of_row(row), int(row["criterion"])


def is_person(judge: str) -> bool:
    """True when the judge's name is that of a person."""
    return judge == HUMAN or judge.startswith(f"{HUMAN}-")


def decide(run: RunId, criterion: int, votes: Mapping[str, VerdictRow]) -> DecisionRow:
    """The decision on one criterion of one run, from its rows of verdicts.csv by judge."""
    verdicts = {
        judge: Verdict(votes[judge]["verdict"])
        for judge in sorted(votes)
        if votes[judge]["failure"] not in NOT_ASKED
    }
    of_judges = [verdict for judge, verdict in verdicts.items() if not is_person(judge)]
    persons = _given(verdict for judge, verdict in verdicts.items() if is_person(judge))
    judges = _given(of_judges)
    by_judges = majority(judges) if 2 * len(judges) > len(of_judges) else Verdict.UNJUDGED
    verdict = majority(persons) if persons else by_judges
    decided_by = HUMAN if persons else "single" if len(of_judges) == 1 else "majority"
    return {
        **row_of_run(run),
        "criterion": str(criterion),
        "verdict": verdict,
        "points": _points(verdict, votes),
        "decided_by": "" if verdict is Verdict.UNJUDGED else decided_by,
        "votes": joined(f"{judge}={vote}" for judge, vote in verdicts.items()),
        "disagreement": yes_no(len(set(persons)) > 1 or len(set(judges)) > 1),
        "judges_verdict": by_judges,
    }


def _points(verdict: Verdict, votes: Mapping[str, VerdictRow]) -> str:
    """The points of the verdict; of that by tests, or from elsewhere, their share."""
    measured = votes.get(TESTS) or votes.get(GIVEN)
    if measured and verdict == measured["verdict"]:
        return measured["points"]
    return decimal(POINTS.get(verdict)) or ""


def _given(verdicts: Iterable[Verdict]) -> list[Verdict]:
    return [verdict for verdict in verdicts if verdict is not Verdict.UNJUDGED]


def majority(verdicts: Sequence[Verdict]) -> Verdict:
    """The most frequent verdict, the stricter one of a tie; Unjudged when there is none."""
    counts = Counter(verdicts)
    return min(
        counts, key=lambda verdict: (-counts[verdict], POINTS[verdict]), default=Verdict.UNJUDGED
    )


def rest_on_drafts(votes: Mapping[str, VerdictRow]) -> bool:
    """True when a draft pattern voted on a criterion that no person has judged."""
    given = {judge: row for judge, row in votes.items() if row["verdict"] != Verdict.UNJUDGED}
    if any(map(is_person, given)):
        return False
    return any(row["version"].endswith(DRAFTED) for row in given.values())


def undecided(row: DecisionRow) -> DecisionRow:
    """The row without what counts; the votes stay, as in verdicts.csv."""
    return {**row, "verdict": Verdict.UNJUDGED, "points": "", "decided_by": ""}


Votes = dict[Key, dict[str, VerdictRow]]
"""(Run, criterion) -> judge -> row of verdicts.csv."""


def collect(plan: Plan, validity: Iterable[ValidityRow], rows: Iterable[VerdictRow]) -> Votes:
    """All criteria of all valid runs, in the plan's order, with the rows of their judges by name."""
    place = {task: number for number, task in enumerate(plan["order"])}
    runs = [run_of_row(row) for row in validity if row["status"] == RunStatus.VALID]
    runs.sort(key=lambda run: (place[run.task], run.trial))
    votes: Votes = {
        (run, number): {}
        for run in runs
        for number in range(1, plan["tasks"][run.task]["criteria"] + 1)
    }
    for row in rows:
        # verdicts may refer to answers that were discarded since, or to removed criteria
        if (key := key_of(row)) in votes:
            votes[key][row["judge"]] = row
    return votes


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


def decide_all(folder: Path) -> None:
    """Reads verdicts/*.csv; writes verdicts.csv, decisions.csv and escalations.csv."""
    plan = read_plan(folder)
    verdicts = [
        row
        for judge in judges_of(folder, plan)
        for row in read_table(RunFolder(folder).judge_verdicts / f"{judge}.csv", VerdictRow)
    ]
    votes = collect(plan, read_table(RunFolder(folder).validity, ValidityRow), verdicts)
    decisions = [decide(run, number, by_judge) for (run, number), by_judge in votes.items()]
    if any(map(rest_on_drafts, votes.values())):
        decisions = [undecided(row) for row in decisions]
    escalations = [
        row for row in decisions if row["disagreement"] == "yes" and row["decided_by"] != HUMAN
    ]
    rows = [by_judge[judge] for by_judge in votes.values() for judge in sorted(by_judge)]
    write_table(RunFolder(folder).verdicts, VERDICT_COLUMNS, rows)
    write_table(RunFolder(folder).decisions, columns(DecisionRow), decisions)
    write_table(RunFolder(folder).escalations, ESCALATION_COLUMNS, escalations)


if __name__ == "__main__":
    run_stage(decide_all)
