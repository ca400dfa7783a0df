"""Finds damaged files in a run folder: by the checksums in records and transcripts (gzip), and for all other files and
records in a list. A start checks only files whose size or timestamps changed since the last check; `lensbench fsck`
checks all of them."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import CheckFailed, UserError
from lensbench.core.records import RunId, from_json, run_of_stem, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import ANSWER, PATCH, RECORD, TRANSCRIPT, Entry, all_entries
from lensbench.core.system.files import read_checksums, was_noted, write_json
from lensbench.core.system.program import run_verb
from lensbench.core.system.progress import Progress

FOREIGN = "is another record than the one that was written here"
_CHUNK = 1 << 20


class Damage(NamedTuple):
    """A damaged file of the run folder."""

    name: str
    why: str
    entry: Entry | None = None
    """The attempt that the file belongs to; None for derived files."""
    run: RunId | None = None
    """The run whose copied answer this is."""


class FolderCheck:
    """The damaged and the intact files of a run folder. `index`: files that were intact at the last check; `own`: the
    user's own files, which may change."""

    def __init__(
        self, folder: Path, index: dict[str, list[int]] | None = None, own: Set[str] = frozenset()
    ) -> None:
        self.folder = folder
        self._own = own
        self.known = index or {}
        self._noted = read_checksums(folder)
        self.store = dict(all_entries(folder))
        self.whole: dict[str, list[int]] = {}
        self.damages = [*self._attempts(), *self._derived()]

    def _attempts(self) -> Iterator[Damage]:
        for stem, attempts in self.store.items():
            is_damaged = False
            for entry in attempts:
                damage = self._damage(stem, entry) if RECORD in entry.files else None
                if damage:
                    is_damaged = True
                    yield damage
            view = f"{RunFolder.runs}/{stem}.md"
            if not self._are_known(view) and not is_damaged:
                content = _content(self.folder / view)
                if content is not None and content != attempts[-1].answer.read_bytes():
                    yield Damage(view, "is not the answer in the store", run=run_of_stem(stem))

    def _damage(self, stem: str, entry: Entry) -> Damage | None:
        place = f"{RunFolder.attempts}/{stem}/{entry.number}"
        names = [f"{place}/{name}" for name in (RECORD, ANSWER, *({PATCH} & entry.files))]
        if not self._are_known(*names):
            problem = self._record_problem(stem, entry, names[0])
            if problem:
                name, why = problem
                return Damage(f"{place}/{name}", why, entry)
        transcript = f"{place}/{TRANSCRIPT}"
        if not self._are_known(transcript):
            why = _gzip_problem(entry.transcript)
            if why:
                return Damage(transcript, why, entry)
        return None

    def _record_problem(self, stem: str, entry: Entry, name: str) -> tuple[str, str] | None:
        try:
            content = entry.record.read_bytes()
            record = from_json(content.decode())
            if record.run.stem != stem:
                return RECORD, f"is the record of {record.run.stem}"
            if sha256(entry.answer.read_bytes()) != record.answer_sha256:
                return ANSWER, "is not the answer of its record"
            if record.patch_sha256 and sha256(entry.patch.read_bytes()) != record.patch_sha256:
                return PATCH, "is not the patch of its record"
        except (OSError, ValueError) as error:
            return RECORD, str(error)
        is_newest = self._noted.get(name) in (None, sha256(content))
        # a kill after the note of a teardown leaves the record as it was before
        if not is_newest and not was_noted(self.folder, name, content):
            return RECORD, FOREIGN
        return None

    def _derived(self) -> Iterator[Damage]:
        for name, checksum in self._noted.items():
            if name in self._own or name.endswith(f"/{RECORD}") or self._are_known(name):
                continue
            content = _content(self.folder / name)
            if content is not None and sha256(content) != checksum:
                yield Damage(name, "its checksum does not match")

    def _are_known(self, *names: str) -> bool:
        """True when all of these files exist and are unchanged since they were found intact. Notes them as intact; a
        file that turns out to be damaged is not written to the index."""
        are_known = True
        for name in names:
            try:
                state = os.stat(f"{self.folder}/{name}")
                # users cannot set the last one (ctime)
                self.whole[name] = [state.st_size, state.st_mtime_ns, state.st_ctime_ns]
            except OSError:
                are_known = False
            are_known &= name in self.whole and self.known.get(name) == self.whole[name]
        return are_known


def read_index(folder: Path) -> dict[str, list[int]]:
    """The files that were found intact, with their state; empty when the list cannot be read."""
    try:
        index = json.loads(RunFolder(folder).checked.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return index if isinstance(index, dict) else {}


def write_index(folder: Path, check: FolderCheck) -> None:
    for damage in check.damages:
        check.whole.pop(damage.name, None)
    if check.whole != check.known:
        write_json(RunFolder(folder).checked, check.whole)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
        return None


def _gzip_problem(path: Path) -> str:
    """Why a transcript is damaged; "" when it is intact or missing."""
    try:
        if not path.stat().st_size:
            return "is empty"
        with gzip.open(path) as file:
            while file.read(_CHUNK):
                pass
    except FileNotFoundError:
        return ""
    except (OSError, EOFError, zlib.error) as error:
        return f"is incomplete or corrupt ({error})"
    return ""


def check_all(folder: Path) -> None:
    """Read every file of a run folder and report the damaged ones; nothing is changed."""
    if not folder.is_dir():
        raise UserError(f"{folder}: is not a run folder; name one such as bench/<run_id>")
    with Progress(f"reading {folder}"):
        check = FolderCheck(folder)
    for damage in check.damages:
        print(f"{folder / damage.name}: {damage.why}")
    if check.damages:
        raise CheckFailed(f"{len(check.damages)} damaged files; the next start repairs what it can")
    print(f"{folder}: {len(check.whole)} files are intact")


if __name__ == "__main__":
    run_verb("fsck", check_all)
