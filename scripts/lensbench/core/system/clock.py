"""Fixes timestamps in the future, which result from a clock that was ahead.

For Snakemake they are newer than everything built from them, at each start, until that time is reached.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from lensbench.core.run_folder import RunFolder

FLAT = ("", RunFolder.runs, RunFolder.attempts)
FOLDERS = (
    RunFolder.frozen_settings, RunFolder.prompts, RunFolder.changes, RunFolder.tests, RunFolder.looks,
    RunFolder.judge_verdicts, RunFolder.guesses,
)  # fmt: skip
"""The folders whose files are inputs of a rule; those of trials are below them."""


def date_back(folder: Path, run_dates: Mapping[str, int]) -> None:
    """Shifts future timestamps of rule inputs back, so that the newest is now. `run_dates`: the files of runs, and when
    they were modified, in ns."""
    now = time.time_ns()
    paths = chain.from_iterable(_inside(folder / name, name in FOLDERS) for name in (*FLAT, *FOLDERS))
    dates = {f"{folder}/{name}": date for name, date in run_dates.items() if date > now}
    ahead = dates | {path: date for path in paths if (date := _date(path)) > now}
    newest = max(ahead.values(), default=now)
    for path, date in ahead.items():
        with suppress(OSError):  # a read-only folder
            os.utime(path, ns=(now, date - newest + now))


def _inside(folder: Path, recursive: bool) -> Iterable[str]:
    for place, _, files in os.walk(folder):
        yield place
        yield from (f"{place}/{name}" for name in files)
        if not recursive:
            return


def _date(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
