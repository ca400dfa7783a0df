"""A derived folder is made anew as a whole."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_checksums, write_folder

PAGES = [("answers/a.html", "a \ud800"), ("answers/runs/t2/b.html", "b")]


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    write_folder(tmp_path, "answers", [("answers/old.html", "old")])
    RunFolder(tmp_path).checksums.write_text("")
    return tmp_path


def names(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_what_was_there_gives_way_to_the_new_files_and_nothing_else_is_left(bench: Path) -> None:
    write_folder(bench, "answers", PAGES)
    assert names(bench) == {".checksums", "answers/a.html", "answers/runs/t2/b.html"}
    assert (bench / "answers" / "a.html").read_text() == "a ?"


def test_what_was_written_is_noted(bench: Path) -> None:
    write_folder(bench, "answers", PAGES)
    assert read_checksums(bench) == {name: hashlib.sha256((bench / name).read_bytes()).hexdigest() for name, _ in PAGES}


def test_a_folder_that_cannot_be_finished_leaves_the_old_one(bench: Path) -> None:
    def broken() -> Iterator[tuple[str, str]]:
        yield PAGES[0]
        raise RuntimeError("no more")

    with pytest.raises(RuntimeError):
        write_folder(bench, "answers", broken())
    assert names(bench) == {".checksums", "answers/old.html"}
    assert read_checksums(bench) == {}
