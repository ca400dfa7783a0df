"""Asking a judge again that left criteria without a verdict: by the next start, a bounded number of times.

The judging stage counts its rounds; the stage after it leaves a note, newer than the verdicts, which Snakemake sees.
(Snakemake touches what a job has made when the job ends, so the judging stage cannot leave anything newer itself.)
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.core.tables import read_table
from lensbench.judging.judges import NOT_ASKED


def has_failed(rows: Iterable[Mapping[str, Any]]) -> bool:
    """True when asking again may help."""
    return any(row["failure"] and row["failure"] not in NOT_ASKED for row in rows)


def count_round(folder: Path, judge: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Counts a round that left criteria without a verdict; one that left none begins the count anew."""
    failed = has_failed(rows)
    if failed or rounds_of(folder, judge):
        write_json(_rounds(folder, judge), {"rounds": 1 + rounds_of(folder, judge) if failed else 0})


def rounds_of(folder: Path, judge: str) -> int:
    """How often the judge left criteria without a verdict."""
    try:
        return int(json.loads(_rounds(folder, judge).read_text())["rounds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def note(folder: Path, judge: str) -> Path:
    """The note that asks for another round."""
    return RunFolder(folder).judge_verdicts / f"{judge}.again.json"


def leave_note(folder: Path, judge: str) -> None:
    """Leaves the note if the judge's verdicts, which must be there, have failures."""
    if has_failed(read_table(RunFolder(folder).judge_verdicts / f"{judge}.csv", VerdictRow)):
        write_json(note(folder, judge), {"rounds": rounds_of(folder, judge)})


def _rounds(folder: Path, judge: str) -> Path:
    return RunFolder(folder).judging / f"{judge}.json"
