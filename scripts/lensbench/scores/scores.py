"""Scores runs, and compares the two runs of each pair (protocol, sections 3 and 4)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

from lensbench.core.conditions import treatments
from lensbench.core.frozen_plan import GIVEN, Plan
from lensbench.core.numbers import COMPLETE, decimal, exact, score_of
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Record, RunId
from lensbench.core.rows import (
    COUNTING,
    DecisionRow,
    PairRow,
    ReportRow,
    RunRow,
    RunStatus,
    ScoreRow,
    ValidityRow,
    columns,
)
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import read_records
from lensbench.core.tables import Cell, grouped, items, read_table, run_of_row, write_table, yes_no
from lensbench.plan.waves import read_opened_plan
from lensbench.runs.reasons import tools_of
from lensbench.runs.self_report import normalise_path

PAIR_COLUMNS = columns(PairRow)
_Row = TypeVar("_Row", bound=RunRow)


def score_run(
    validity: ValidityRow,
    decisions: Sequence[DecisionRow],
    criteria: int,
    duration_s: Fraction | None,
    is_given: bool = False,
) -> ScoreRow:
    """The row of a run. The score is missing when the run does not count, or a criterion is unjudged; one that
    `is_given` by others is not rounded."""
    values = [Fraction(row["points"]) for row in decisions if exact(row["points"]) is not None]
    total = sum(values, Fraction(0))
    status = validity["status"]
    score = None
    if status == RunStatus.VALID and len(values) != criteria:
        status = RunStatus.UNJUDGED
    elif status == RunStatus.VALID:
        status = RunStatus.SCORED
        score = total / criteria if is_given else score_of(values, criteria)
    return {
        "task": validity["task"],
        "condition": validity["condition"],
        "trial": validity["trial"],
        "criteria": str(criteria),
        "judged": str(len(values)),
        "points": decimal(total if values else None) or "",
        "score": decimal(score) or "",
        "complete": yes_no(None if score is None else score >= COMPLETE),
        "duration_s": decimal(duration_s, 3) or "",
        "status": status,
    }


def clean_duration(record: Record) -> Fraction | None:
    """Seconds of the attempt that gave the answer; None when the agent repeated requests, which prolongs it."""
    if record.outcome.api_retries or record.attempt.duration_s is None:
        return None
    return Fraction(str(record.attempt.duration_s))


def short_name(tool: str) -> str:
    """`lens_grep` for `mcp__lens__lens_grep`."""
    return tool.rpartition("__")[2]


class RunFacts:
    """The facts of one run of a pair that the comparison needs; each may be missing."""

    def __init__(self, score: ScoreRow, report: ReportRow | None, record: Record | None) -> None:
        self.counts = score["status"] in COUNTING
        self.score = exact(score["score"])
        self.outcome = record.seen if self.counts and record else None
        self.reported: Sequence[str] | None = None
        self.calls_reported: bool | None = None
        self.files: frozenset[str] | None = None
        if not self.counts or report is None or report["report_present"] != "yes":
            return
        self.reported = items(report["tools_used"])
        calls = report.get("server_calls")
        if calls:
            self.calls_reported = int(calls) > 0
        files = items(report["files_used"])
        if files is not None:
            workspace = record.workspace if record else ""
            self.files = frozenset(normalise_path(file, workspace) for file in files)


def compare(treatment: RunFacts, baseline: RunFacts, tools: Sequence[str]) -> dict[str, Cell]:
    """The comparison of a pair (protocol, section 4), as cells of pairs.csv; missing if either side is missing.

    `adopted` is what the agent reports, as in the protocol; `offered`, `called` and `called_without_error` are what was
    observed. A tool that was not offered to the run is never adopted, even if it is reported or called. If offered
    tools are not known, as in imported runs, reported calls of the server count as adoption, too. Diverged: the sets of
    cited files differ. Misdirected: diverged, and the treatment has the lower score.
    """
    delta = None
    if treatment.score is not None and baseline.score is not None:
        delta = treatment.score - baseline.score
    row: dict[str, Cell] = {
        "treatment_score": decimal(treatment.score),
        "baseline_score": decimal(baseline.score),
        "delta": decimal(delta),
        **dict.fromkeys(("diverged", "jaccard", "only_treatment_files", "misdirected")),
    }
    if treatment.files is not None and baseline.files is not None:
        union = treatment.files | baseline.files
        shared = treatment.files & baseline.files
        jaccard = Fraction(len(shared), len(union)) if union else Fraction(1)
        row["diverged"] = union != shared
        row["jaccard"] = decimal(jaccard, 4)
        row["only_treatment_files"] = sorted(treatment.files - baseline.files)
        if delta is not None:
            row["misdirected"] = union != shared and delta < 0
    return row | adoption_cells(treatment, tools)


def adoption_cells(side: RunFacts, tools: Sequence[str]) -> dict[str, Cell]:
    """What a run did with these tools of its condition; None where it is not known."""
    facts = ("adopted", "offered", "called", "called_without_error")
    row: dict[str, Cell] = dict.fromkeys(facts)
    report = side.reported
    offer = side.outcome.tools_offered if side.outcome else None
    present = [tool for tool in tools if offer is None or tool in offer]
    if report is not None:
        row["adopted"] = False
        for tool in tools:
            short = short_name(tool)
            mention = tool in report or (short in report and short not in (offer or ()))
            row.setdefault(f"adopted_{short}", False)
            if tool in present and mention:
                row[f"adopted_{short}"] = True
                row["adopted"] = True
    if side.calls_reported is not None and offer is None:
        row["adopted"] = side.calls_reported or bool(row["adopted"])
    if offer is not None:
        row["offered"] = bool(present)
    if side.outcome and side.outcome.calls is not None:
        calls = [call for call in side.outcome.calls if call.name in present]
        if calls or not side.outcome.hides_work:
            row["called"] = bool(calls)
            row["called_without_error"] = any(call.count > call.errors for call in calls)
    return row


def treatment_tools(
    plan: Plan, records: Iterable[Record], reports: Iterable[ReportRow], listing: Sequence[str] = ()
) -> list[str]:
    """The full names of the treatments' tools: those that agents show as offered, or else those in the
    `listing` of the servers in the preflight. Names that appear only in calls or reports are ignored.

    If no list is known, the called and reported tools; if no condition names its servers (imported runs), all MCP tools
    in reports.
    """
    servers: set[str] = set()
    for condition in plan["conditions"].values():
        servers.update(condition["servers"])
    offered: list[str] | None = None
    used: list[str] = []
    for record in records:
        if record.seen.tools_offered is not None:
            offered = [*(offered or []), *record.seen.tools_offered]
        used += (call.name for call in record.seen.calls or ())
    own = tools_of([*servers], listing if offered is None else offered)
    if own:
        return sorted(set(own))
    reported = [tool for report in reports for tool in items(report["tools_used"]) or ()]
    if not servers:
        return sorted({tool for tool in reported if tool.startswith("mcp__")})
    return sorted(set(tools_of([*servers], [*reported, *used])))


def tools_of_condition(plan: Plan, condition: str, tools: Sequence[str]) -> Sequence[str]:
    """The condition's tools among `tools`; all if no condition names its servers."""
    if any(other["servers"] for other in plan["conditions"].values()):
        return tools_of(plan["conditions"][condition]["servers"], tools)
    return tools


def read_present_records(folder: Path, validity: Iterable[ValidityRow]) -> dict[RunId, Record]:
    present = (run_of_row(row) for row in validity if row["status"] != RunStatus.MISSING)
    return read_records(folder, present)


def rows_by_run(path: Path, row: type[_Row]) -> dict[RunId, _Row]:
    """The rows of a table of runs; raises as `read_table`."""
    return {run_of_row(line): line for line in read_table(path, row)}


def score_all(folder: Path) -> dict[RunId, Record]:
    """Writes scores.csv and pairs.csv from the tables and the records; returns the records."""
    files = RunFolder(folder)
    plan = read_opened_plan(folder)
    validity = read_table(files.validity, ValidityRow)
    records = read_present_records(folder, validity)
    reports = rows_by_run(files.reports, ReportRow)
    decisions = grouped(read_table(files.decisions, DecisionRow), run_of_row)
    is_given = any(judge["name"] == GIVEN for judge in plan["judges"])
    scores: dict[RunId, ScoreRow] = {}
    for row in validity:
        run = run_of_row(row)
        duration_s = clean_duration(records[run]) if row["status"] == RunStatus.VALID else None
        criteria = plan["tasks"][run.task]["criteria"]
        scores[run] = score_run(row, decisions.get(run, []), criteria, duration_s, is_given)
    listing = PreflightFindings.read(folder).listing
    tools = treatment_tools(plan, records.values(), reports.values(), listing)
    sides = {}
    for run, score in scores.items():
        sides[run] = RunFacts(score, reports.get(run), records.get(run))
    write_table(files.scores, columns(ScoreRow), scores.values())
    _write_pairs(files.pairs, plan, sides, tools)
    return records


def _write_pairs(
    path: Path, plan: Plan, sides: Mapping[RunId, RunFacts], tools: Sequence[str]
) -> None:
    adoptions = dict.fromkeys(f"adopted_{short_name(tool)}" for tool in tools)
    pairs = []
    for run, side in sides.items():
        if run.condition in treatments(plan):
            base = sides[run._replace(condition=plan["baseline"])]
            of_condition = tools_of_condition(plan, run.condition, tools)
            names = {"task": run.task, "trial": run.trial, "treatment": run.condition}
            pairs.append({**adoptions, **names, **compare(side, base, of_condition)})
    place = PAIR_COLUMNS.index("adopted") + 1
    write_table(path, [*PAIR_COLUMNS[:place], *adoptions, *PAIR_COLUMNS[place:]], pairs)
