"""The answers to one question by condition, with the facts of each run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import shown_names
from lensbench.core.handed_over import read_answer
from lensbench.core.numbers import MISSING
from lensbench.core.records import RunId
from lensbench.core.store import run_files
from lensbench.core.tables import run_of_row
from lensbench.runs.reasons import REASONS
from lensbench.runs.reports import parse_report
from lensbench.scores.quantities import QUANTITIES
from lensbench.scores.run_tables import Tables, read_tables


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


def read_sides(folder: Path) -> list[Side]:
    """The runs of the only task that left an answer, the baseline first."""
    tables = read_tables(folder)
    baseline = tables.plan["baseline"]
    sides = []
    for row in sorted(tables.validity, key=lambda row: row["condition"] != baseline):
        run = run_of_row(row)
        record = tables.records.get(run)
        if record is None:
            continue
        answer = read_answer(run_files(folder, run).answer)
        files = record.outcome.files_read
        if files is None:
            files = parse_report(answer).files_used or ()
        problem = ""
        if row["reason"]:
            problem = f"{row['reason']}: {row['detail'] or REASONS[row['reason']].meaning}"
        name = shown_names(tables.plan)[run.condition]
        sides.append(Side(name, _facts(tables, run), files, answer, problem))
    return sides


def _facts(tables: Tables, run: RunId) -> dict[str, str]:
    """The quantities of a run, what it called, and the model."""
    outcome = tables.records[run].outcome
    facts = {label: amount(of(tables, run)) for label, of, _, amount, _ in QUANTITIES.values()}
    if outcome.calls is not None:
        facts["tools"] = ", ".join(f"{call.name} {call.count}" for call in outcome.calls) or "none"
    facts["model"] = ", ".join(outcome.models or ()) or MISSING
    if outcome.cost_is_guess:
        facts["cost"] = "estimated"
    return facts


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
    names = dict.fromkeys(name for side in sides for name in side.facts)
    for name in names:
        shown = [side.facts.get(name, MISSING) for side in sides]
        if set(shown) != {MISSING}:
            rows.append([name, *shown])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()
    for side in sides:
        if side.problem:
            yield f"{side.name}: a benchmark would not count this run. {side.problem}"
