"""The answers to one question by condition, with the facts of each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import shown_names
from lensbench.core.frozen_plan import Plan
from lensbench.core.handed_over import read_answer
from lensbench.core.numbers import MISSING, rounded, seconds
from lensbench.core.records import Outcome, Record, RunId
from lensbench.core.rows import ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import read_records, run_files
from lensbench.core.tables import read_table
from lensbench.runs.reasons import REASONS
from lensbench.runs.reports import Report, parse_report


class Side(NamedTuple):
    """A run, as shown beside the others."""

    name: str
    """What readers call its condition."""
    facts: Mapping[str, str]
    """Name -> value, the same names on all sides."""
    files: tuple[str, ...]
    """The files that it read or, if that is unknown, those that it reported."""
    answer: str
    problem: str
    """Why this run would not count in a benchmark; empty when it would."""


def read_sides(folder: Path, plan: Plan, task: str) -> list[Side]:
    """The existing runs of a task, the baseline first."""
    rows = {
        row["condition"]: row
        for row in read_table(RunFolder(folder).validity, ValidityRow)
        if row["task"] == task
    }
    names = sorted(plan["conditions"], key=lambda name: name != plan["baseline"])
    records = read_records(folder, (RunId(task, name) for name in names))
    shown = shown_names(plan)
    return [
        _side(folder, record, shown[run.condition], rows[run.condition])
        for run, record in records.items()
    ]


def _side(folder: Path, record: Record, name: str, row: ValidityRow) -> Side:
    answer = read_answer(run_files(folder, record.run).answer)
    report, outcome = parse_report(answer), record.outcome
    files = outcome.files_read if outcome.files_read is not None else report.files_used
    problem = (
        f"{row['reason']}: {row['detail'] or REASONS[row['reason']].meaning}"
        if row["reason"]
        else ""
    )
    return Side(name, _facts(record, report), files or (), answer, problem)


def _facts(record: Record, report: Report) -> dict[str, str]:
    outcome, cost = record.outcome, record.outcome.cost_usd
    calls = None if outcome.calls is None else sum(call.count for call in outcome.calls)
    read = None if outcome.files_read is None else len(outcome.files_read)
    duration = record.attempt.duration_s
    return {
        "Tool calls": _told(calls, report.tool_calls),
        "Tools": _tools(outcome, report),
        "Files read": _told(read, report.files_read),
        "Duration": seconds(None if duration is None else Fraction(str(duration))),
        "Tokens": _tokens(outcome),
        "Cost": MISSING if cost is None else f"${cost:.4f}{' (estimated)' * outcome.cost_is_guess}",
        "Model": ", ".join(outcome.models or ()) or MISSING,
    }


def _told(count: int | None, claim: int | None) -> str:
    """The observed value, and the reported one if it differs."""
    if count is None:
        return MISSING if claim is None else f"{claim}, it says"
    return str(count) if claim in (None, count) else f"{count} (it says {claim})"


def _tools(outcome: Outcome, report: Report) -> str:
    if outcome.calls is None:
        return f"{', '.join(report.tools_used)}, it says" if report.tools_used else MISSING
    return ", ".join(f"{call.name} {call.count}" for call in outcome.calls) or "none"


def _tokens(outcome: Outcome) -> str:
    """Input tokens, including cached ones, and output tokens."""
    if not outcome.tokens:
        return MISSING
    into = sum(count for name, count in outcome.tokens.items() if name != "output")
    return f"{_thousands(into)} in, {_thousands(outcome.tokens.get('output', 0))} out"


def _thousands(count: int) -> str:
    return str(count) if count < 10_000 else f"{rounded(Fraction(count, 1000))}k"


def lines(question: str, sides: Sequence[Side]) -> Iterator[str]:
    """The question, the answers one below the other and, last to stay in view, the facts in a table."""
    yield from (question, "")
    for side in sides:
        files = ["Files", *(f"- {file}" for file in side.files), ""] if side.files else []
        yield from (
            f"── {side.name} ──",
            *files,
            "Answer",
            side.answer.strip() or "(empty)",
            "",
        )
    rows = [["", *(side.name for side in sides)]]
    rows += [[name, *(side.facts[name] for side in sides)] for name in sides[0].facts]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    for side in sides:
        if side.problem:
            yield f"{side.name}: a benchmark would not count this run. {side.problem}"
