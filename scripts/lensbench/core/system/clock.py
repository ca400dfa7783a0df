"""Files dated in the future, as a clock leaves them that was ahead and was set right.

To Snakemake they are newer than everything that is made from them, at each start, until their time has come.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from contextlib import suppress
from itertools import chain
from pathlib import Path

from lensbench.core.run_folder import RunFolder

FOLDERS = (
    "", RunFolder.prompts, RunFolder.runs, RunFolder.records, RunFolder.discards, RunFolder.looks,
    RunFolder.judge_verdicts, RunFolder.guesses,
)  # fmt: skip
"""Of a run folder: those whose files are inputs of a rule. Trials have folders of their own below."""


def date_back(folder: Path) -> None:
    """Shifts future timestamps of what rules read in a run folder back, so that the newest is now."""
    now = time.time_ns()
    paths = chain.from_iterable(_inside(folder / name, name != "") for name in FOLDERS)
    ahead = {path: date for path in paths if (date := _date(path)) > now}
    for path, date in ahead.items():
        with suppress(OSError):  # nobody may write here
            os.utime(path, ns=(now, date - max(ahead.values()) + now))


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
