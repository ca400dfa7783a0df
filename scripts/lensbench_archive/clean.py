"""Says what of a finished benchmark could go, and what its numbers rest on: `lensbench clean` (docs/faults.md).

Transcripts of attempts that validity discarded, copies of repositories that can be fetched again, and folders that
killed runs left. Nothing that any figure, judge or page of a counting run needs is ever removed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import printable
from lensbench.core.frozen_plan import Repositories
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import DISCARD, TRANSCRIPT, all_entries
from lensbench.core.system.claim import refuse_if_at_work
from lensbench.core.system.files import read_json
from lensbench.core.system.private_folders import abandoned, remove_abandoned
from lensbench.core.system.program import Parser, add_run_folder, run_folder, run_program
from lensbench.core.system.trees import remove_tree
from lensbench.results.page.page import write_page
from lensbench_archive.unpacking import files_in

KEPT_FILES = (
    RunFolder.attempts,
    RunFolder.runs,
    RunFolder.judging,
    RunFolder.human,
    RunFolder.changes,
    RunFolder.imported,
)
"""What numbers rest on."""
FETCHED = {"git", "pypi", "npm"}
"""Kinds of sources that give the same files again; a folder of this machine may have changed."""


class Removable(NamedTuple):
    """Files that could go."""

    what: str
    paths: list[Path]

    @property
    def size(self) -> int:
        """Bytes."""
        return sum(map(_size, self.paths))


def removable(folder: Path) -> Iterator[Removable]:
    """What no number of the benchmark rests on."""
    yield Removable("transcripts of discarded attempts", [*_transcripts(folder)])
    yield Removable("copies of repositories, fetched again when needed", [*_copies(folder)])
    left = map(Path, abandoned(tempfile.gettempdir()))
    yield Removable("folders that killed runs left", [*left])


def _transcripts(folder: Path) -> Iterator[Path]:
    """Those of attempts that were discarded, except by a person, who may take it back."""
    for _, attempts in all_entries(folder):
        for entry in attempts:
            is_discarded = {DISCARD, TRANSCRIPT} <= entry.files
            if is_discarded and entry.read_discard().by != "person":
                yield entry.transcript


def _copies(folder: Path) -> Iterator[Path]:
    """The trees that no other benchmark beside this one uses."""
    shared: set[str] = set()
    for path in folder.parent.glob(f"*/{RunFolder.repositories}"):
        if path.parent != folder:
            shared |= _trees(path).keys()
    for tree, source in _trees(RunFolder(folder).repositories).items():
        if source.keys() & FETCHED and tree not in shared and Path(tree).is_dir():
            yield Path(tree)


def _trees(path: Path) -> dict[str, Mapping[str, object]]:
    """Tree -> its source."""
    repositories: Repositories = read_json(path)
    facts = repositories.values()
    return {fact["tree"]: fact.get("source", {}) for fact in facts if "tree" in fact}


def _size(path: Path) -> int:
    files = files_in(path).values() if path.is_dir() else [path]
    return sum(file.lstat().st_size for file in files)


def shown(size: int) -> str:
    """A number of bytes for people."""
    return f"{size / 1e6:,.1f} MB"


def clean(folder: Path, found: list[Removable]) -> None:
    """Removes what was found, and rewrites the pages, which may link to it."""
    for removable_files in found:
        for path in removable_files.paths:
            if path.name == TRANSCRIPT:
                path.unlink()
            elif path.parent != Path(tempfile.gettempdir()):
                remove_tree(str(path))
    remove_abandoned(tempfile.gettempdir())
    if RunFolder(folder).page.exists():
        write_page(folder)


def main() -> None:
    """Show what of a finished benchmark could go, and what its numbers rest on; --yes removes the former."""
    parser = Parser(prog="lensbench clean", description=main.__doc__)
    add_run_folder(parser)
    parser.add_argument("--yes", action="store_true", help="remove what could go")
    arguments = parser.parse_args()
    folder = run_folder(arguments)
    refuse_if_at_work(folder)
    found = [*removable(folder)]
    sizes = [entry.size for entry in found]
    word = "could go"
    if arguments.yes:
        clean(folder, found)
        word = "removed"
    for entry, size in zip(found, sizes, strict=True):
        print(printable(f"{word}: {shown(size):>10}  {entry.what}: {len(entry.paths)}"))
    for name in KEPT_FILES:
        if (folder / name).exists():
            print(printable(f"kept: {shown(_size(folder / name)):>10}  {name}/"))
    if not arguments.yes and any(sizes):
        print(f"remove it: lensbench clean {folder} --yes")


if __name__ == "__main__":
    run_program(main)
