"""Finds damaged files in a run folder: files whose content is not what was written.

Paid results carry their own checksums: a record has its own and the answer's, a transcript that of gzip. The checksums
of all other files are noted in a list when they are written. A start checks only files whose size or timestamps changed
since the last check; `lensbench fsck` checks all of them.
"""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Set
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.records import from_json, sha256
from lensbench.core.run_folder import RunFolder, names_of_run
from lensbench.core.system.files import read_checksums, write_json
from lensbench.core.system.program import run_verb

_CHUNK = 1 << 20


class Damage(NamedTuple):
    """A damaged file of the run folder."""

    name: str
    why: str
    run: str = ""
    """The stem of the run that the file belongs to; empty for derived files."""


class Check:
    """The damaged and the intact files of a run folder.

    `known`: files that were intact at the last check; `own`: the user's own files, which may change.
    """

    def __init__(self, folder: Path, known: dict[str, list[int]] | None = None, own: Set[str] = frozenset()) -> None:
        self.folder = folder
        self._own = own
        self._known = known or {}
        self.whole: dict[str, list[int]] = {}
        self.damages = [*self._runs(), *self._derived()]

    def _runs(self) -> Iterator[Damage]:
        has_patches = RunFolder(self.folder).patches.is_dir()
        for stem in _stems(RunFolder(self.folder).records):
            answer, record, transcript, patch = names_of_run(stem)
            if not self._are_known(record, answer) and (found := self._record(stem, record, answer)):
                yield Damage(*found, run=stem)
            if not self._are_known(transcript) and (why := _gzip_problem(self.folder / transcript)):
                yield Damage(transcript, why, run=stem)
            if has_patches and not self._are_known(patch) and (why := self._patch_problem(record, patch)):
                yield Damage(patch, why, run=stem)

    def _record(self, stem: str, record_name: str, answer_name: str) -> tuple[str, str] | None:
        try:
            record = from_json((self.folder / record_name).read_text(encoding="utf-8"))
            answer = (self.folder / answer_name).read_bytes()
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            return record_name, str(error)
        if record.run.stem != stem:
            return record_name, f"is the record of {record.run.stem}"
        return None if sha256(answer) == record.answer_sha256 else (answer_name, "is not the answer of its record")

    def _patch_problem(self, record_name: str, patch_name: str) -> str:
        try:
            wanted = from_json((self.folder / record_name).read_text(encoding="utf-8")).patch_sha256
        except (OSError, ValueError):
            return ""  # the record itself is damaged, or gone
        content = _content(self.folder / patch_name)
        return "is not the patch of its record" if wanted and (content is None or sha256(content) != wanted) else ""

    def _derived(self) -> Iterator[Damage]:
        for name, checksum in read_checksums(self.folder).items():
            if name not in self._own and not self._are_known(name):
                content = _content(self.folder / name)
                if content is not None and sha256(content) != checksum:
                    yield Damage(name, "its checksum does not match")

    def _are_known(self, *names: str) -> bool:
        """True when all of these files exist and are unchanged since they were found intact. Notes them as intact; a
        file that turns out to be damaged is not written to the index."""
        now = {name: state for name in names if (state := _state(f"{self.folder}/{name}"))}
        self.whole |= now
        return len(now) == len(names) and all(self._known.get(name) == state for name, state in now.items())


def read_index(folder: Path) -> dict[str, list[int]]:
    """The files that were found intact, with their state; empty when the list cannot be read."""
    try:
        found = json.loads(RunFolder(folder).checked.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def write_index(folder: Path, check: Check) -> None:
    """Writes the list of intact files."""
    damaged = {damage.name for damage in check.damages}
    whole = {name: state for name, state in check.whole.items() if name not in damaged}
    if whole != read_index(folder):
        write_json(RunFolder(folder).checked, whole)


def _stems(records: Path) -> Iterator[str]:
    for top, folders, files in os.walk(records):
        folders.sort()
        below = os.path.relpath(top, records)
        prefix = "" if below == "." else f"{below}/"
        yield from (f"{prefix}{name.removesuffix('.json')}" for name in sorted(files) if name.endswith(".json"))


def _state(path: str) -> list[int] | None:
    """Size and timestamps of a file. The last one (ctime) cannot be set by users."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return [found.st_size, found.st_mtime_ns, found.st_ctime_ns]


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
    check = Check(folder)
    for damage in check.damages:
        print(f"{folder / damage.name}: {damage.why}")
    if check.damages:
        raise UserError(f"{len(check.damages)} damaged files; the next start of Snakemake repairs what it can")
    print(f"{folder}: {len(check.whole)} files are intact")


if __name__ == "__main__":
    run_verb("fsck", check_all)
