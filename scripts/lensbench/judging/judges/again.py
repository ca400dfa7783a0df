"""Asks a judge again about criteria without a verdict, at the next start, a limited number of times.

The judging stage counts its rounds. The stage after it writes a note that is newer than the verdicts, so that Snakemake
judges again. (Snakemake touches the outputs of a job at its end, so the judging stage cannot write a newer file.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.core.tables import read_table
from lensbench.judging.judges import NOT_ASKED


def has_failed(rows: Iterable[VerdictRow]) -> bool:
    """True when there are failures that asking again may fix."""
    return any(row["failure"] and row["failure"] not in NOT_ASKED for row in rows)


def count_round(folder: Path, judge: str, rows: Iterable[VerdictRow]) -> None:
    """Counts a round that left criteria without a verdict; a complete round resets the count."""
    incomplete = has_failed(rows)
    if incomplete or rounds_of(folder, judge):
        write_json(_rounds(folder, judge), {"rounds": 1 + rounds_of(folder, judge) if incomplete else 0})


def rounds_of(folder: Path, judge: str) -> int:
    """How many rounds left criteria without a verdict."""
    try:
        return int(json.loads(_rounds(folder, judge).read_text(encoding="utf-8"))["rounds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def note(folder: Path, judge: str) -> Path:
    """The path of the note that triggers another round."""
    return RunFolder(folder).judge_verdicts / f"{judge}.again.json"


def leave_note(folder: Path, judge: str) -> None:
    """Writes the note if the judge's verdicts, which must exist, have failures."""
    if has_failed(read_table(RunFolder(folder).judge_verdicts / f"{judge}.csv", VerdictRow)):
        write_json(note(folder, judge), {"rounds": rounds_of(folder, judge)})


def _rounds(folder: Path, judge: str) -> Path:
    return RunFolder(folder).judging / f"{judge}.json"
