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
    cast: list[str] = []
    persons: list[Verdict] = []
    judges: list[Verdict] = []
    for judge in sorted(votes):
        if votes[judge]["failure"] not in NOT_ASKED:
            verdict = Verdict(votes[judge]["verdict"])
            cast.append(f"{judge}={verdict}")
            voters = persons if is_person(judge) else judges
            voters.append(verdict)
    by_persons = _given(persons)
    by_judges = _given(judges)
    judges_verdict = Verdict.UNJUDGED
    if 2 * len(by_judges) > len(judges):
        judges_verdict = majority(by_judges)
    verdict = majority(by_persons) if by_persons else judges_verdict
    if verdict is Verdict.UNJUDGED:
        decided_by = ""
    elif by_persons:
        decided_by = HUMAN
    else:
        decided_by = "single" if len(judges) == 1 else "majority"
    return {
        **row_of_run(run),
        "criterion": str(criterion),
        "verdict": verdict,
        "points": _points(verdict, votes),
        "decided_by": decided_by,
        "votes": joined(cast),
        "disagreement": yes_no(len(set(by_persons)) > 1 or len(set(by_judges)) > 1),
        "judges_verdict": judges_verdict,
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
    strictest_first = sorted(verdicts, key=lambda verdict: POINTS[verdict])
    counts = Counter(strictest_first).most_common(1)
    return counts[0][0] if counts else Verdict.UNJUDGED


def rest_on_drafts(votes: Mapping[str, VerdictRow]) -> bool:
    """True when a draft pattern voted on a criterion that no person has judged."""
    has_draft = False
    for judge, row in votes.items():
        if row["verdict"] == Verdict.UNJUDGED:
            continue
        if is_person(judge):
            return False
        has_draft = has_draft or row["version"].endswith(DRAFTED)
    return has_draft


def _undecided(row: DecisionRow) -> DecisionRow:
    """The row without what counts; the votes stay, as in verdicts.csv."""
    return {**row, "verdict": Verdict.UNJUDGED, "points": "", "decided_by": ""}


Votes = dict[Key, dict[str, VerdictRow]]
"""(Run, criterion) -> judge -> row of verdicts.csv."""


def collect(plan: Plan, validity: Iterable[ValidityRow], rows: Iterable[VerdictRow]) -> Votes:
    """All criteria of all valid runs, in the plan's order, with the rows of their judges by name."""
    runs = [run_of_row(row) for row in validity if row["status"] == RunStatus.VALID]
    runs.sort(key=lambda run: (plan["order"].index(run.task), run.trial))
    votes: Votes = {}
    for run in runs:
        for number in range(1, plan["tasks"][run.task]["criteria"] + 1):
            votes[run, number] = {}
    for row in rows:
        # verdicts may refer to answers that were discarded since, or to removed criteria
        key = key_of(row)
        if key in votes:
            votes[key][row["judge"]] = row
    return votes


VERDICT_COLUMNS = columns(VerdictRow)
_ESCALATION_COLUMNS = ("task", "trial", "condition", "criterion", "votes")


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
    place = RunFolder(folder)
    plan = read_plan(folder)
    verdicts: list[VerdictRow] = []
    for judge in judges_of(folder, plan):
        verdicts += read_table(place.judge_verdicts / f"{judge}.csv", VerdictRow)
    votes = collect(plan, read_table(place.validity, ValidityRow), verdicts)
    has_drafts = any(map(rest_on_drafts, votes.values()))
    rows: list[VerdictRow] = []
    decisions: list[DecisionRow] = []
    escalations: list[DecisionRow] = []
    for (run, number), by_judge in votes.items():
        rows += [by_judge[judge] for judge in sorted(by_judge)]
        decision = decide(run, number, by_judge)
        if has_drafts:
            decision = _undecided(decision)
        decisions.append(decision)
        if decision["disagreement"] == "yes" and decision["decided_by"] != HUMAN:
            escalations.append(decision)
    write_table(place.verdicts, VERDICT_COLUMNS, rows)
    write_table(place.decisions, columns(DecisionRow), decisions)
    write_table(place.escalations, _ESCALATION_COLUMNS, escalations)


if __name__ == "__main__":
    run_stage(decide_all)
