"""The runs of a benchmark that were borrowed from earlier ones."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lensbench.core.records import RunId, run_files, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json


def borrowed(folder: Path, runs: Iterable[RunId]) -> frozenset[RunId]:
    """The runs in a run folder that are still the borrowed ones; a repeated run is our own."""
    known = ever_borrowed(folder)
    return frozenset(run for run in runs if run.stem in known and digest(folder, run) == known[run.stem])


def ever_borrowed(folder: Path) -> dict[str, str]:
    """Stem -> hash of the record, for all runs that a run folder ever borrowed."""
    runs: dict[str, str] = read_json(RunFolder(folder).bank).get("runs", {})
    return runs


def lenders_of(folder: Path, runs: Iterable[RunId], only: str) -> dict[RunId, str]:
    """The run folders that borrowed runs are from; `only` where there was one, in older run folders."""
    known: dict[str, str] = read_json(RunFolder(folder).bank).get("lenders", {})
    return {run: known.get(run.stem, only) for run in runs}


def borrowed_further(folder: Path) -> dict[str, list[str]]:
    """The controls that hold further runs of earlier baselines, with their tasks."""
    found: dict[str, list[str]] = read_json(RunFolder(folder).bank).get("further", {})
    return found


def digest(folder: Path, run: RunId) -> str:
    """The hash of a run's record; "" when there is none."""
    try:
        return sha256(run_files(folder, run).record.read_bytes())
    except OSError:
        return ""
