"""Files of a run folder that were changed: a start finds each, names it alone, and brings back what it can."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from test_schedule import RUN, begun, config, finish, schedule_of  # noqa: F401 (a fixture)

from handmade import file_discard
from lensbench.core.system.files import write_atomic
from lensbench.workflow.begin import begin
from lensbench.workflow.damage import FolderCheck, read_index
from lensbench.workflow.schedule import Schedule

ATTEMPT = "attempts/t0-with/1"
FILES = {
    "the plan": "plan.json",
    "the plan in the store": "attempts/plan-1-*.json",
    "a view": "runs/t0-with.md",
    "a record": f"{ATTEMPT}/record.json",
    "an answer": f"{ATTEMPT}/answer.md",
    "a transcript": f"{ATTEMPT}/transcript.jsonl.gz",
    "a discard": "attempts/t1-with/1/discard.json",
    "a table": "verdicts.csv",
}


@pytest.fixture
def schedule(config: dict[str, Any]) -> Schedule:  # noqa: F811 (the fixture)
    """That of a run folder which a start has found intact."""
    begin(schedule_of(config))
    folder = begun(config).folder
    other = RUN._replace(task="t1")
    finish(schedule_of(config), other)
    file_discard(folder, other, "empty", "")
    (folder / ATTEMPT / "transcript.jsonl.gz").write_bytes(gzip.compress(b""))
    write_atomic(folder / "verdicts.csv", "run\n")
    schedule = schedule_of(config)
    begin(schedule)
    return schedule


def change(folder: Path, pattern: str) -> tuple[Path, bytes]:
    """Changes the first byte of the file; returns its path and what it had."""
    (path,) = folder.glob(pattern)
    content = path.read_bytes()
    path.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    return path, content


def test_an_intact_folder_has_no_damage(schedule: Schedule) -> None:
    assert FolderCheck(schedule.folder).damages == []


def test_what_was_found_intact_is_not_read_again(
    schedule: Schedule, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = read_index(schedule.folder)
    monkeypatch.setattr(Path, "read_bytes", fail)
    assert FolderCheck(schedule.folder, known).damages == []


def fail(path: Path) -> bytes:
    raise AssertionError(path)


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("file", FILES)
def test_a_changed_file_is_named_and_no_other(
    schedule: Schedule, file: str, is_known: bool
) -> None:
    path, _ = change(schedule.folder, FILES[file])
    check = FolderCheck(schedule.folder, read_index(schedule.folder) if is_known else {})
    assert [damage.name for damage in check.damages] == [
        path.relative_to(schedule.folder).as_posix()
    ]


@pytest.mark.parametrize("file", ["the plan", "the plan in the store", "a view", "a discard"])
def test_what_is_there_twice_is_restored(schedule: Schedule, file: str) -> None:
    path, before = change(schedule.folder, FILES[file])
    begin(schedule)
    assert path.read_bytes() == before


@pytest.mark.parametrize("file", ["a record", "an answer", "a transcript"])
def test_a_run_with_a_changed_file_is_repeated(schedule: Schedule, file: str) -> None:
    change(schedule.folder, FILES[file])
    (entry,) = begin(schedule)[RUN.stem]
    assert not entry.counts


def test_a_changed_table_is_removed_so_that_it_is_rebuilt(schedule: Schedule) -> None:
    path, _ = change(schedule.folder, FILES["a table"])
    begin(schedule)
    assert not path.exists()
