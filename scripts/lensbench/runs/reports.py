"""Parses the `## Report` section in which agents describe their own run (protocol, section 3).

Agents write it in many forms. A value that cannot be read with certainty is missing (None), never 0 or a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from lensbench.core.handed_over import read_answer
from lensbench.core.records import RunId
from lensbench.core.rows import ReportRow, RunStatus, ValidityRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import run_files
from lensbench.core.tables import read_table, write_table
from lensbench.runs.self_report import count, fields_of, files, lines_of, sections, tools


@dataclass(frozen=True)
class Report:
    """The self-report of one answer. None: missing; an empty tuple: the agent wrote "none"."""

    present: bool = False
    tool_calls: int | None = None
    tools_used: tuple[str, ...] | None = None
    files_read: int | None = None
    files_used: tuple[str, ...] | None = None
    server_calls: int | None = None
    """`LENS calls` or `MCP calls`, which some prompts request in addition to the protocol's fields."""


def parse_report(answer: str) -> Report:
    """The report in `answer`: its last section titled Report that has a value. The first mention of a field counts."""
    present = False
    report = Report()
    for section in sections(answer.splitlines()):
        present = present or section.certain
        fields = fields_of(section.lines)
        read = Report(
            True,
            count(fields.get("tool_calls")),
            tools(fields.get("tools_used")),
            count(fields.get("files_read")),
            files(fields.get("files_used")),
            count(fields.get("server_calls")),
        )
        if read != Report(True) and (section.certain or len(fields) > 1):
            report = read
    return report if report.present else Report(present)


def process_spans(answer: str, mark: str) -> list[tuple[int, int]]:
    """The spans (start, end) of `answer` in which reports describe the agent's work, in order, more than whitespace
    apart: title and fields, of the findings the name alone. A line with `mark` ends a section and starts none."""
    lines = answer.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    spans: list[tuple[int, int]] = []
    for number, length in _process_lines(answer.splitlines(), mark):
        start = starts[number]
        end = starts[number] + length
        if spans and not answer[spans[-1][1] : start].strip():
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _process_lines(lines: list[str], mark: str) -> Iterator[tuple[int, int]]:
    """The number of each line that describes the work, and how many of its characters do."""
    for section in sections(lines, mark):
        fields = fields_of(section.lines)
        findings_field = fields.pop("findings", None)
        if not fields or not (section.certain or findings_field or len(fields) > 1):
            continue
        spoken = [line for field in fields.values() for line in lines_of(field)]
        counts = {
            number: len(lines[number])
            for line in spoken
            for number in range(line.first, line.last + 1)
        }
        if findings_field and findings_field.line.first == findings_field.line.last:
            number = findings_field.line.last
            text = findings_field.line.text
            counts.setdefault(number, len(lines[number]) - len(text) + findings_field.begins)
        yield from sorted({section.number: len(lines[section.number]), **counts}.items())


def read_reports(folder: Path) -> None:
    """Reads the answers of all valid runs, and writes reports.csv."""
    rows = []
    for row in read_table(RunFolder(folder).validity, ValidityRow):
        if row["status"] == RunStatus.VALID:
            run = RunId(row["task"], row["condition"], int(row["trial"]))
            report = parse_report(read_answer(run_files(folder, run).answer))
            fields = {name: getattr(report, name) for name in columns(ReportRow)[4:]}
            rows.append({**run._asdict(), "report_present": report.present, **fields})
    write_table(RunFolder(folder).reports, columns(ReportRow), rows)
