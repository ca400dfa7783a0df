"""What a killed program leaves is found and removed by the next one; what a living one has is left alone."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from lensbench.core.system.private_folders import PREFIX, remove_abandoned

PROGRAM = """
import os, subprocess, sys, time
from lensbench.core.system.private_folders import private_folder
with private_folder() as folder:
    home = os.path.join(folder, "session", "home")
    os.makedirs(home)
    child = subprocess.Popen(["sleep", "600"], env={"HOME": home, "PATH": os.environ["PATH"]}, start_new_session=True)
    print(child.pid, flush=True)
    time.sleep(float(sys.argv[1]))
"""


@contextmanager
def program(
    place: Path, seconds: float = 600
) -> Iterator[tuple[subprocess.Popen[str], psutil.Process]]:
    """A program at work in a private folder in `place`, and the process that it started there."""
    command = [sys.executable, "-c", PROGRAM, str(seconds)]
    process = subprocess.Popen(
        command, env={**os.environ, "TMPDIR": str(place)}, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    child = psutil.Process(int(process.stdout.readline()))
    try:
        yield process, child
    finally:
        process.kill()
        with suppress(psutil.NoSuchProcess):
            child.kill()
        process.communicate(timeout=20)


def folders(place: Path) -> list[Path]:
    return list(place.glob(f"{PREFIX}*"))


def test_a_folder_is_left_alone_in_use_and_gone_afterwards(tmp_path: Path) -> None:
    with program(tmp_path, seconds=0) as (process, _):
        assert process.wait(20) == 0
        assert folders(tmp_path) == []
    with program(tmp_path) as (_, child):
        remove_abandoned(str(tmp_path))
        assert len(folders(tmp_path)) == 1
        assert child.is_running()


def test_what_a_killed_program_left_is_removed_with_its_processes(tmp_path: Path) -> None:
    with program(tmp_path) as (process, child):
        process.kill()
        process.wait()
        assert [folder.stat().st_mode & 0o077 for folder in folders(tmp_path)] == [0]
        assert child.is_running()
        remove_abandoned(str(tmp_path))
        assert folders(tmp_path) == []
        assert psutil.wait_procs([child], timeout=20)[1] == []


@pytest.mark.parametrize("content", [(), ("repo",)])
def test_a_folder_of_somebody_else_is_left_alone(content: tuple[str, ...], tmp_path: Path) -> None:
    """One that has no lock: it is just being made, or it is not ours at all."""
    folder = tmp_path / f"{PREFIX}other"
    folder.mkdir()
    for name in content:
        (folder / name).mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(folder)
    remove_abandoned(str(tmp_path))
    assert len(folders(tmp_path)) == 2
