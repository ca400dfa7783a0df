"""The store of paid answers, `attempts/<run>/<n>/`: each start of an agent is an entry, written once, never replaced.

The files of an entry are its state (`state_of`), so no process has to be told what another one did:

    transcript.jsonl.gz, answer.md    when the agent has ended, in this order
    patch.diff                        change tasks
    record.json                       last, after all checks; without it the attempt was cut short
    discard.json                      later, if the attempt must not count

What a kill leaves, by where it comes: before answer.md an empty entry, whose cost is unknown; before record.json an
attempt that was cut short, which the next start discards; between the note of a record in `.checksums` and the record,
the same; before a failed teardown is added, a record without it; before discard.json, an attempt that the next
`validity` discards. None is booked twice. The kills are in tests/runs/test_runs.py and, between stages, in
tests/pipeline/test_store_scenarios.py.

No rule of Snakemake owns these files (docs/decisions/store.md). It makes `runs/<run>.md`, a copy of the
answer that counts (`show`, `withdraw`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Literal, NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.records import Record, RunId, from_json, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.locks import lock

ANSWER = "answer.md"
RECORD = "record.json"
DISCARD = "discard.json"
TRANSCRIPT = "transcript.jsonl.gz"
PATCH = "patch.diff"
DAMAGED = "damaged-record.json"
NAMES = frozenset((ANSWER, RECORD, DISCARD, TRANSCRIPT, PATCH, DAMAGED))
CUT_SHORT = "harness_failed"
"""The reason of an attempt that was cut short after its agent had ended, or whose files were damaged since."""


class State(StrEnum):
    """What a run needs next."""

    MISSING = "missing"
    """No agent has answered."""
    CUT_SHORT = "cut short"
    """The agent's answer was never checked."""
    COUNTS = "counts"
    DISCARDED = "discarded"
    """It is repeated."""
    GIVEN_UP = "given up"
    """It was discarded more than `max_rounds` times."""

    @property
    def is_final(self) -> bool:
        """True when no agent is asked again."""
        return self in (State.COUNTS, State.GIVEN_UP)


class Discard(NamedTuple):
    """Why an attempt must not count."""

    reason: str
    detail: str
    by: Literal["runner", "validity", "person"]
    score: str = ""
    """For an attempt discarded by a person: its score at that time, as in scores.csv."""
    spends_round: bool = True
    """False when the model's service was overloaded or asked for a pause: the run has failed at nothing."""

    @property
    def ends_round(self) -> bool:
        """False for an attempt that the runner repeated at once: the attempts of one start count once."""
        return self.by != "runner" or self.reason == CUT_SHORT


class Entry(NamedTuple):
    """An attempt of a run: its folder, and the names of the files in it."""

    folder: Path
    files: frozenset[str] = frozenset()

    @property
    def number(self) -> int:
        """From 1."""
        return int(self.folder.name)

    @property
    def answer(self) -> Path:
        return self.folder / ANSWER

    @property
    def record(self) -> Path:
        return self.folder / RECORD

    @property
    def transcript(self) -> Path:
        return self.folder / TRANSCRIPT

    @property
    def patch(self) -> Path:
        """The path of what the agent changed, in change tasks."""
        return self.folder / PATCH

    @property
    def counts(self) -> bool:
        """True when the attempt was checked, and not discarded."""
        return RECORD in self.files and DISCARD not in self.files

    def read_record(self, run: RunId) -> Record | None:
        """The record of this attempt of `run`, if any. Raises UserError for damaged files and a changed answer."""
        if RECORD not in self.files:
            return None
        try:
            record = from_json(self.record.read_text(encoding="utf-8"))
            if record.run != run or sha256(self.answer.read_bytes()) != record.answer_sha256:
                raise ValueError("is not of the answer beside it")
            return record
        except (OSError, ValueError) as error:
            raise UserError(
                f"{self.record}: {error}; delete {self.folder} to have this run made again"
            ) from None

    def read_discard(self) -> Discard:
        """The discard of this attempt. Raises UserError when it cannot be read."""
        path = self.folder / DISCARD
        try:
            return Discard(**json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, LookupError, TypeError, RecursionError) as error:
            raise UserError(
                f"{path}: is not a discard ({error}); restore the file, or delete it, and the attempt counts again"
            ) from None

    def discard(self, discard: Discard) -> Entry:
        """The entry with `discard`; a discard that is there already stays."""
        if not (path := self.folder / DISCARD).exists():
            write_json(path, discard._asdict())
        return self._replace(files=self.files | {DISCARD})

    def set_aside(self, why: str) -> None:
        """Discards a damaged attempt; its files stay, and its record is no record any more."""
        self.discard(Discard(CUT_SHORT, why, "runner"))
        self.record.replace(self.folder / DAMAGED)


Store = Mapping[str, Sequence[Entry]]
"""Run -> its attempts that have an answer, by the run's stem."""


def all_records(folder: Path) -> Iterator[tuple[Entry, Record]]:
    """The attempts of all runs that have an intact record, with it."""
    for _, attempts in all_entries(folder):
        for entry in attempts:
            with suppress(OSError, ValueError):
                yield entry, from_json(entry.record.read_text(encoding="utf-8"))


def entries(folder: Path, run: RunId) -> list[Entry]:
    """The attempts of a run that have an answer, oldest first."""
    return _entries(f"{RunFolder(folder).attempts}/{run.stem}")


def all_entries(folder: Path) -> Iterator[tuple[str, list[Entry]]]:
    """The stem and the attempts of every run that has one; two folder listings for each run."""
    top = str(RunFolder(folder).attempts)
    return (
        (stem, attempts) for stem in sorted(_stems(top)) if (attempts := _entries(f"{top}/{stem}"))
    )


def run_files(folder: Path, run: RunId) -> Entry:
    """The newest attempt of a run that has an answer; an entry without files when there is none."""
    attempts = entries(folder, run)
    return attempts[-1] if attempts else Entry(RunFolder(folder).attempts / run.stem / "1")


def read_records(folder: Path, runs: Iterable[RunId]) -> dict[RunId, Record]:
    """The newest records of the runs that have one. Raises UserError for a damaged file or a changed answer."""
    return {run: record for run in runs if (record := run_files(folder, run).read_record(run))}


def state_of(attempts: Sequence[Entry], max_rounds: int) -> State:
    """Whether a run counts, from its attempts that have an answer, oldest first. The newest one decides."""
    if not attempts:
        return State.MISSING
    if attempts[-1].counts:
        return State.COUNTS
    if DISCARD not in attempts[-1].files:
        return State.CUT_SHORT
    return State.GIVEN_UP if rounds_spent(attempts) > max_rounds else State.DISCARDED


def rounds_spent(attempts: Iterable[Entry]) -> int:
    """How many of `max_rounds` the discards of a run have used."""
    return sum(discard.spends_round for _, discard in rounds(attempts))


def rounds(attempts: Iterable[Entry]) -> list[tuple[Entry, Discard]]:
    """The discarded attempts of a run that ended a round: those that the runner repeated at once are none."""
    discards = ((entry, entry.read_discard()) for entry in attempts if DISCARD in entry.files)
    return [(entry, discard) for entry, discard in discards if discard.ends_round]


def new_entry(folder: Path, run: RunId) -> Entry:
    """A new entry for the next attempt of a run; its number is used by no other process."""
    top = RunFolder(folder).attempts / run.stem
    top.mkdir(parents=True, exist_ok=True)
    number = max(map(int, filter(str.isdecimal, _names(str(top)))), default=0)
    while True:
        number += 1
        with suppress(FileExistsError):
            (top / str(number)).mkdir()
            return Entry(top / str(number))


def view_of(folder: Path, run: RunId) -> Path:
    """The file in which people and Snakemake see the answer of a run."""
    return RunFolder(folder).runs / f"{run.stem}.md"


def show(folder: Path, run: RunId) -> None:
    """Copies the newest answer of a run into its view. No link: Snakemake changes the times of its outputs."""
    write_atomic(view_of(folder, run), run_files(folder, run).answer.read_bytes())


def shown_stems(folder: Path) -> frozenset[str]:
    """The stems of the runs whose answers are shown, by folder listings: no file is opened."""
    return frozenset(
        stem[:-3] for stem in _stems(str(RunFolder(folder).runs)) if stem.endswith(".md")
    )


def stale_views(
    folder: Path, runs: Iterable[RunId], max_rounds: int, store: Store | None = None
) -> list[RunId]:
    """The runs that are to be repeated, although an answer is shown."""
    stems = shown_stems(folder)
    store = dict(all_entries(folder)) if store is None else store
    views = [(run, stem) for run in runs if (stem := run.stem) in stems]
    return [run for run, stem in views if not state_of(store.get(stem, ()), max_rounds).is_final]


def withdraw(
    folder: Path, runs: Iterable[RunId], max_rounds: int, store: Store | None = None
) -> list[RunId]:
    """Removes the views of runs that are to be repeated, so that Snakemake misses them; returns these runs."""
    due = stale_views(folder, runs, max_rounds, store)
    for run in due:
        view_of(folder, run).unlink(missing_ok=True)
    return due


def foreign_files(folder: Path, runs: Iterable[RunId]) -> list[str]:
    """Files in attempts/ that belong to no attempt of these runs, by their paths there."""
    top = RunFolder(folder).attempts
    stems = {run.stem for run in runs}

    def is_known(path: Path) -> bool:
        stem, _, number = path.parent.relative_to(top).as_posix().rpartition("/")
        own = path.parent == top and (path.name.startswith(("made-", "plan-")))
        return own or (stem in stems and number.isdecimal() and path.name in NAMES)

    there = (path for path in top.rglob("*") if path.is_file() and not path.name.startswith("."))
    return sorted(path.relative_to(top).as_posix() for path in there if not is_known(path))


def journal_of(folder: Path, wave: int) -> Path:
    """The list of all attempts with a record of the runs of a wave (from 1): an input of the stages after the runs."""
    return RunFolder(folder).attempts / f"made-{wave}.csv"


def note_made(folder: Path, wave: int, entry: Entry) -> None:
    """Adds an attempt to the journal. Before its record is written: a line too many is removed by the next start."""
    line = f"{entry.folder.relative_to(RunFolder(folder).attempts).as_posix()}\n"
    with open(journal_of(folder, wave), "a", encoding="utf-8") as journal:
        lock(journal)
        journal.write(line)


def _entries(top: str) -> list[Entry]:
    numbers = sorted(filter(str.isdecimal, _names(top)), key=int)
    listings = ((f"{top}/{number}", _names(f"{top}/{number}")) for number in numbers)
    return [Entry(Path(place), frozenset(names)) for place, names in listings if ANSWER in names]


def _stems(top: str) -> Iterator[str]:
    """The names in a folder, and in its folders of trials."""
    for name in _names(top):
        is_trial = name[:1] == "t" and name[1:].isdecimal()
        yield from (f"{name}/{inner}" for inner in _names(f"{top}/{name}")) if is_trial else (name,)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except (FileNotFoundError, NotADirectoryError):
        return []
