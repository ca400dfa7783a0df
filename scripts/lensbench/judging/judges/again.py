"""Asks a judge again about criteria without a verdict, at the next start, a limited number of times.

The judging stage counts its rounds. A start deletes the table of an incomplete round, so that Snakemake judges again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from lensbench.core.rows import VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_json
from lensbench.judging.judges import NOT_ASKED


def count_round(folder: Path, judge: str, rows: Iterable[VerdictRow]) -> None:
    """Counts a round with failures that asking again may fix; a complete round resets the count."""
    is_incomplete = any(row["failure"] and row["failure"] not in NOT_ASKED for row in rows)
    if is_incomplete or rounds_of(folder, judge):
        write_json(_rounds(folder, judge), {"rounds": 1 + rounds_of(folder, judge) if is_incomplete else 0})


def rounds_of(folder: Path, judge: str) -> int:
    """How many rounds in a row left criteria without a verdict, up to the last one."""
    try:
        return int(json.loads(_rounds(folder, judge).read_text(encoding="utf-8"))["rounds"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def _rounds(folder: Path, judge: str) -> Path:
    return RunFolder(folder).judging / f"{judge}.json"
