from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lensbench.core.records import Attempt, Record, RunId, run_files, to_json
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import write_atomic
from lensbench.runs.discards import (
    describes,
    discard_files,
    discard_files_of,
    file_discard,
    foreign_files,
    forget,
    is_discarded,
    read_discard,
)
from lensbench.runs.reasons import DiscardReason

RUN = RunId("a", "with")


def answer(folder: Path, run: RunId, text: str) -> None:
    files = run_files(folder, run)
    write_atomic(files.answer, text)
    write_atomic(files.record, to_json(Record(*run, "run", (Attempt(1, text, 1.0, 0.0, 0, False),))))


def contents(folder: Path) -> Iterator[tuple[str, bytes, int]]:
    for path in sorted((folder / "discards").rglob("*.*")):
        yield path.relative_to(folder).as_posix(), path.read_bytes(), path.stat().st_mtime_ns


def test_a_discard_keeps_the_answer_the_record_and_the_reason(tmp_path: Path) -> None:
    answer(tmp_path, RUN, "half an ans")
    filed = file_discard(tmp_path, RUN, "crashed", "exit code 1")
    assert (filed.number, filed.reason, filed.detail) == (1, "crashed", "exit code 1")
    assert (tmp_path / "discards/a-with-1.md").read_text() == "half an ans"
    assert read_discard(tmp_path / "discards/a-with-1.json") == filed
    assert filed.record["task"] == "a"
    assert is_discarded(tmp_path, RUN)


def test_a_run_is_filed_once(tmp_path: Path) -> None:
    answer(tmp_path, RUN, "x")
    first = file_discard(tmp_path, RUN, "empty", "")
    before = list(contents(tmp_path))
    assert file_discard(tmp_path, RUN, "crashed", "another reason") == first
    assert list(contents(tmp_path)) == before


def test_each_discard_has_a_number_of_its_own_and_none_is_overwritten(tmp_path: Path) -> None:
    for number in range(1, 13):
        answer(tmp_path, RUN, f"try {number}")
        assert not is_discarded(tmp_path, RUN)
        assert file_discard(tmp_path, RUN, "empty", "").number == number
    paths = discard_files_of(tmp_path, RUN)
    assert [path.stem for path in paths] == [f"a-with-{number}" for number in range(1, 13)]
    assert [path.with_suffix(".md").read_text() for path in paths] == [f"try {number}" for number in range(1, 13)]
    assert discard_files(tmp_path) == {"a-with": paths}


def test_runs_with_a_common_name_prefix_are_distinguished(tmp_path: Path) -> None:
    runs = [
        RunId("a", "with"), RunId("a-with-x", "without"), RunId("a-with", "with"), RunId("a-with-1", "with"),
        RunId("a", "with", 2), RunId("a", "with_more"), RunId("a-1", "with"), RunId("a", "w"), RunId("a", "with", 12),
    ]  # fmt: skip
    for run in runs:
        answer(tmp_path, run, run.stem)
        file_discard(tmp_path, run, "empty", "")
    for run in runs:
        assert [path.with_suffix(".md").read_text() for path in discard_files_of(tmp_path, run)] == [run.stem]
    assert {stem: len(paths) for stem, paths in discard_files(tmp_path).items()} == {run.stem: 1 for run in runs}


def test_trials_have_folders_of_their_own(tmp_path: Path) -> None:
    answer(tmp_path, RUN._replace(trial=2), "x")
    assert file_discard(tmp_path, RUN._replace(trial=2), "empty", "").path == tmp_path / "discards/t2/a-with-1.json"


def test_a_repeated_run_is_not_the_discarded_one(tmp_path: Path) -> None:
    answer(tmp_path, RUN, "first")
    path = file_discard(tmp_path, RUN, "empty", "").path
    answer(tmp_path, RUN, "second")
    assert not is_discarded(tmp_path, RUN)
    assert not describes(path, run_files(tmp_path, RUN).record)


def test_without_discards_there_are_none(tmp_path: Path) -> None:
    assert discard_files(tmp_path) == {}
    assert not is_discarded(tmp_path, RUN)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", "{}", '{"number": 1}', "[" * 100_000])
def test_a_damaged_discard_is_a_value_error(tmp_path: Path, text: str) -> None:
    answer(tmp_path, RUN, "x")
    path = tmp_path / "d.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r".+"):
        read_discard(path)
    assert not describes(path, run_files(tmp_path, RUN).record)


def test_what_is_no_discard_of_a_planned_run_is_foreign(tmp_path: Path) -> None:
    answer(tmp_path, RUN, "x")
    file_discard(tmp_path, RUN, "empty", "")
    assert foreign_files(tmp_path, [RUN.stem]) == []
    for name in ("notes.txt", "b-with-1.json", "t2/a-with-1.json", "a-with-2.md"):
        write_atomic(tmp_path / "discards" / name, "{}")
    assert foreign_files(tmp_path, [RUN.stem]) == ["a-with-2.md", "b-with-1.json", "notes.txt", "t2/a-with-1.json"]


def test_a_discard_that_is_forgotten_leaves_no_copy(tmp_path: Path) -> None:
    RunFolder(tmp_path).checksums.touch()
    answer(tmp_path, RUN, "x")
    filed = file_discard(tmp_path, RUN, DiscardReason.BY_HAND, "the machine slept", "0.5")
    assert read_discard(filed.path).score == "0.5"
    assert (RunFolder(tmp_path).copies / "discards" / "a-with-1.json").exists()
    forget(tmp_path, filed.path)
    assert not is_discarded(tmp_path, RUN)
    assert not list(tmp_path.rglob("a-with-1.*"))
