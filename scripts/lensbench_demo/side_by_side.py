"""The answers to one question by condition, with the facts of each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import shown_names
from lensbench.core.frozen_plan import Plan
from lensbench.core.handed_over import read_answer
from lensbench.core.numbers import MISSING, seconds
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
    names = sorted(plan["conditions"], key=lambda name: name != plan["baseline"])
    reasons = {}
    for row in read_table(RunFolder(folder).validity, ValidityRow):
        if row["reason"]:
            detail = row["detail"] or REASONS[row["reason"]].meaning
            reasons[row["condition"]] = f"{row['reason']}: {detail}"
    sides = []
    for run, record in read_records(folder, (RunId(task, name) for name in names)).items():
        answer = read_answer(run_files(folder, run).answer)
        report = parse_report(answer)
        files = record.outcome.files_read
        sides.append(
            Side(
                name=shown_names(plan)[run.condition],
                facts=_facts(record, report),
                files=report.files_used or () if files is None else files,
                answer=answer,
                problem=reasons.get(run.condition, ""),
            )
        )
    return sides


def _facts(record: Record, report: Report) -> dict[str, str]:
    """What is known of a run; what only its report says, as that."""
    outcome = record.outcome
    if outcome.calls is None:
        calls = _said(report.tool_calls)
        tools = _said(", ".join(report.tools_used or ()) or None)
    else:
        calls = str(sum(call.count for call in outcome.calls))
        tools = ", ".join(f"{call.name} {call.count}" for call in outcome.calls) or "none"
    read = outcome.files_read
    duration = record.attempt.duration_s
    cost = MISSING if outcome.cost_usd is None else f"${outcome.cost_usd:.4f}"
    if outcome.cost_is_guess:
        cost += " (estimated)"
    return {
        "Tool calls": calls,
        "Tools": tools,
        "Files read": _said(report.files_read) if read is None else str(len(read)),
        "Duration": seconds(None if duration is None else Fraction(str(duration))),
        "Tokens": _tokens(outcome),
        "Cost": cost,
        "Model": ", ".join(outcome.models or ()) or MISSING,
    }


def _said(claim: int | str | None) -> str:
    return MISSING if claim is None else f"{claim}, it says"


def _tokens(outcome: Outcome) -> str:
    """Input tokens, including cached ones, and output tokens."""
    if not outcome.tokens:
        return MISSING
    written = outcome.tokens.get("output", 0)
    return f"{sum(outcome.tokens.values()) - written:,} in, {written:,} out"


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
    for name in sides[0].facts:
        rows.append([name, *(side.facts[name] for side in sides)])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
    for side in sides:
        if side.problem:
            yield f"{side.name}: a benchmark would not count this run. {side.problem}"
