"""Reading what an agent says about its own run: the `## Report` that the prompt asks for (protocol, section 3).

People's agents write it in many forms. What cannot be read for certain is missing (None), never 0 and never a guess.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from lensbench.core.records import RunId, run_files
from lensbench.core.rows import ReportRow, ValidityRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.run_status import RunStatus
from lensbench.core.system.program import run_stage
from lensbench.core.tables import read_table, write_table
from lensbench.runs.self_report.sections import fields_of, sections
from lensbench.runs.self_report.values import count, files, findings, lines_of, tools


@dataclass(frozen=True)
class Report:
    """The self-report of one answer. None is missing; an empty tuple is the agent's own "none"."""

    present: bool = False
    tool_calls: int | None = None
    tools_used: tuple[str, ...] | None = None
    files_read: int | None = None
    files_used: tuple[str, ...] | None = None
    findings: tuple[str, ...] = ()
    server_calls: int | None = None
    """`LENS calls` or `MCP calls`, which people's prompts ask for beside the protocol's fields."""


def parse_report(answer: str) -> Report:
    """The report in `answer`: the last section called Report that gives a value, wherever it stands.

    A field's first mention counts. The section ends at the next `#` or `##` heading, at a rule (`---`) after the
    first field, or with the code fence that it stands in.
    """
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
            findings(fields.get("findings")),
            count(fields.get("server_calls")),
        )
        if read != Report(True) and (section.certain or len(fields) > 1):
            report = read
    return report if report.present else Report(present)


def process_spans(answer: str, mark: str) -> list[tuple[int, int]]:
    """Where reports tell how the agent worked: pieces (start, end) of `answer`, ascending, apart by more than blanks.

    These are the title, the fields but for the findings with their values, and the name of the findings; in all
    sections that give such a field. A line that holds `mark` ends a section and begins none, so that an answer from
    which these pieces were cut has no further ones.
    """
    lines = answer.splitlines(keepends=True)
    starts = [0, *accumulate(map(len, lines))]
    spans: list[tuple[int, int]] = []
    for number, length in _process_lines(answer.splitlines(), mark):
        start, end = starts[number], starts[number] + length
        if spans and not answer[spans[-1][1] : start].strip():
            start = spans.pop()[0]
        spans.append((start, end))
    return spans


def _process_lines(lines: list[str], mark: str) -> Iterator[tuple[int, int]]:
    """The number of each line that tells of the work, and how many of its characters do."""
    for section in sections(lines, mark):
        fields = fields_of(section.lines)
        named = fields.pop("findings", None)
        if not fields or not (section.certain or named or len(fields) > 1):
            continue
        spoken = [line for found in fields.values() for line in lines_of(found)]
        told = {number: len(lines[number]) for line in spoken for number in range(line.first, line.last + 1)}
        if named and named.line.first == named.line.last:
            number, text = named.line.last, named.line.text
            told.setdefault(number, len(lines[number]) - len(text) + named.begins)
        yield from sorted({section.number: len(lines[section.number]), **told}.items())


def read_reports(folder: Path) -> None:
    """Reads the answers of all runs that count, and writes reports.csv."""
    rows = []
    for row in read_table(RunFolder(folder).validity, ValidityRow):
        if row["status"] == RunStatus.VALID:
            run = RunId(row["task"], row["condition"], int(row["trial"]))
            report = parse_report(run_files(folder, run).answer.read_text(errors="replace"))
            fields = {name: getattr(report, name) for name in columns(ReportRow)[4:]}
            rows.append({**run._asdict(), "report_present": report.present, **fields})
    write_table(RunFolder(folder).reports, columns(ReportRow), rows)


if __name__ == "__main__":
    run_stage(read_reports)
