"""A file system without locks, as Lustre without `flock` and NFS without its lock service are: one line and a remedy."""

import errno
import fcntl
import os
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.core.records import Outcome
from lensbench.core.system.claim import at_work, claim
from lensbench.core.system.files import note_checksum
from lensbench.core.system.locks import is_held, lock, locked, try_lock
from lensbench.core.system.private_folders import private_folder
from lensbench.core.system.trial import try_folder
from lensbench.runs.start_gate import at_the_gate
from lensbench.runs.stopping import spend


@pytest.fixture(params=[errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def no_locks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: Any, kind: int) -> None:
        raise OSError(request.param, "no locks here")

    monkeypatch.setattr(fcntl, "flock", refuse)


def enter_gate(folder: Path) -> None:
    with at_the_gate(str(folder), "a", [], 0):
        pass


def hold(folder: Path) -> None:
    with locked(folder / "lock"):
        pass


USES = {
    "a start": claim,
    "a trial": try_folder,
    "the gate": enter_gate,
    "a cache": hold,
    "a checksum": lambda folder: note_checksum(folder, "a", b""),
    "the ledger": lambda folder: spend(folder, Outcome(), 0.0),
}


def test_who_works_on_a_folder_can_be_read_while_it_does(tmp_path: Path) -> None:
    claim(tmp_path)
    worker = at_work(tmp_path)
    assert worker is not None
    assert worker.process == os.getpid()


@pytest.mark.usefixtures("no_locks")
@pytest.mark.parametrize("use", USES)
def test_whatever_locks_names_the_folder_and_the_remedy(use: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        USES[use](tmp_path)
    said = str(refused.value)
    assert said.startswith(f"{tmp_path}: its file system has no file locks (no locks here); use ")
    assert "\n" not in said


@pytest.mark.usefixtures("no_locks")
def test_a_private_folder_without_locks_is_refused() -> None:
    with (
        pytest.raises(UserError, match="its file system has no file locks"),
        private_folder(),
    ):
        pass


@pytest.mark.usefixtures("no_locks")
def test_no_lock_is_held_where_there_are_none(tmp_path: Path) -> None:
    (tmp_path / "lock").touch()
    assert not is_held(str(tmp_path / "lock"))


def test_a_lock_is_held_until_its_file_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with path.open("w") as mine, path.open("w") as other:
        lock(mine)
        assert is_held(str(path))
        assert not try_lock(other)
    assert not is_held(str(path))


def test_a_trial_leaves_nothing_behind(tmp_path: Path) -> None:
    try_folder(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_trial_of_a_missing_folder_names_it(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=f"{tmp_path}/none: a file cannot be written"):
        try_folder(tmp_path / "none")
