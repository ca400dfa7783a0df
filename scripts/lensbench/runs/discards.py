"""Invalid runs: each is kept with its reason under `discards/`, and is never overwritten or deleted."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

from lensbench.core.records import RunId, run_files, sha256, trial_folder
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic, write_json

_NAME = re.compile(r"(?:t(?P<trial>\d+)/)?(?P<stem>.+)-(?P<number>\d+)\.json$")


class FiledAttempt(TypedDict):
    """The parts of an attempt that are read from a discard."""

    attempt: int
    started_at: str
    duration_s: float | None


class FiledRecord(TypedDict):
    """The parts of a record that are read from a discard."""

    task: str
    condition: str
    trial: int
    attempts: Sequence[FiledAttempt]
    answer_sha256: str


@dataclass(frozen=True)
class Discard:
    """A discarded run: its number (from 1) and the hash of its record, which identifies it."""

    path: Path
    number: int
    record_sha256: str
    reason: str
    detail: str
    record: FiledRecord
    """The discarded run's record as plain data."""
    score: str = ""
    """For a run discarded by hand: its score at that time, as in scores.csv."""


_FIELDS = ("number", "record_sha256", "reason", "detail", "record")


def discard_files(folder: Path) -> dict[str, list[Path]]:
    """The discard files of each run (by its stem), oldest first; no file is opened."""
    base = RunFolder(folder).discards
    found: dict[str, list[tuple[int, Path]]] = {}
    for path in base.glob("**/*.json"):
        name = _NAME.match(path.relative_to(base).as_posix())
        if name:
            stem = f"{trial_folder(int(name['trial'] or 1))}{name['stem']}"
            found.setdefault(stem, []).append((int(name["number"]), path))
    return {stem: [path for _, path in sorted(items)] for stem, items in sorted(found.items())}


def read_discard(path: Path) -> Discard:
    """A discard from its file. Raises ValueError or OSError when it cannot be read."""
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return Discard(path, **{name: value[name] for name in _FIELDS}, score=str(value.get("score", "")))
    except (KeyError, TypeError, RecursionError) as error:
        raise ValueError(f"is not a discard: {error}") from None


def is_discarded(folder: Path, run: RunId) -> bool:
    """True when the current files of the run are those of a discarded one."""
    paths = discard_files_of(folder, run)
    return bool(paths) and describes(paths[-1], run_files(folder, run).record)


def discard_files_of(folder: Path, run: RunId) -> list[Path]:
    """The discards of one run, oldest first."""
    start = len(run.stem.rpartition("/")[2]) + 1
    numbered = RunFolder(folder).discards.glob(f"{run.stem}-*.json")
    return sorted((path for path in numbered if path.stem[start:].isdecimal()), key=_number)


def _number(path: Path) -> int:
    return int(path.stem.rpartition("-")[2])


def describes(discard: Path, record: Path) -> bool:
    """True when the discard refers to this record."""
    try:
        return read_discard(discard).record_sha256 == sha256(record.read_bytes())
    except (OSError, ValueError):
        return False


def file_discard(folder: Path, run: RunId, reason: str, detail: str, score: str | None = None) -> Discard:
    """Files the current run under the next number; filing the same run again changes nothing.

    `score` is stored for a run discarded by hand; "" when it has no score.
    """
    files = run_files(folder, run)
    record = files.record.read_bytes()
    earlier = discard_files_of(folder, run)
    if earlier and describes(earlier[-1], files.record):
        return read_discard(earlier[-1])
    number = _number(earlier[-1]) + 1 if earlier else 1
    path = RunFolder(folder).discards / f"{run.stem}-{number}.json"
    write_atomic(path.with_suffix(".md"), files.answer.read_bytes())
    value = {"number": number, "reason": reason, "detail": detail, "record_sha256": sha256(record)}
    if score is not None:
        value["score"] = score
    write_json(path, {**value, "record": json.loads(record)})
    return read_discard(path)


def forget(folder: Path, discard: Path) -> None:
    """Removes a discard, with its answer and the copies of both."""
    for file in (discard, discard.with_suffix(".md")):
        file.unlink(missing_ok=True)
        (RunFolder(folder).copies / file.relative_to(folder)).unlink(missing_ok=True)


def foreign_files(folder: Path, stems: Iterable[str]) -> list[str]:
    """Files in discards/ that belong to no discard of these runs, by their paths there."""
    filed, base = discard_files(folder), RunFolder(folder).discards
    known = {file for stem in stems for path in filed.get(stem, ()) for file in (path, path.with_suffix(".md"))}
    there = (path for path in base.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(path.relative_to(base).as_posix() for path in there if path not in known)
