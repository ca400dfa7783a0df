"""On macOS without a container, what is not Linux-only works: here with a Python that has nothing of Linux."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

DARWIN = Path(__file__).parents[1] / "support" / "darwin"
PROGRAMS = ("git", "sh", "bash", "uname", "ps")


@pytest.fixture
def mac(tmp_path: Path) -> dict[str, str]:
    """The environment of a machine without bubblewrap and /proc."""
    binaries = tmp_path / "bin"
    binaries.mkdir()
    for name in PROGRAMS:
        for place in ("/bin", "/usr/bin"):
            if Path(place, name).exists() and not (binaries / name).exists():
                (binaries / name).symlink_to(Path(place, name))
    path = f"{Path(sys.executable).parent}:{binaries}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(DARWIN), "HOME": str(tmp_path)}


def start(arguments: Sequence[str], folder: Path, env: dict[str, str]) -> str:
    """The output of a verb, which ends well."""
    command = [sys.executable, "-P", "-m", "lensbench", *arguments]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_pretence_has_nothing_of_linux(mac: dict[str, str], tmp_path: Path) -> None:
    probe = "import os, sys; print(sys.platform, hasattr(os, 'pidfd_open'), os.path.exists('bwrap')); open('/proc/self/stat')"
    done = subprocess.run(
        [sys.executable, "-P", "-c", probe], cwd=tmp_path, env=mac, capture_output=True, text=True
    )
    assert done.stdout == "darwin False False\n"
    assert "FileNotFoundError" in done.stderr


@pytest.mark.workflow
def test_the_demo_runs_and_doctor_says_what_is_not_there(
    mac: dict[str, str], tmp_path: Path
) -> None:
    said = start(["run", "--cores", "2", "--only", "click-chg-01"], tmp_path, mac)
    assert "open bench/demo/report.html" in said
    results = json.loads((tmp_path / "bench" / "demo" / "results.json").read_text())
    assert {run["status"] for run in results["runs"] if run["task"] == "click-chg-01"} == {"scored"}
    assert "Traceback" not in said
    assert "bubblewrap is for Linux" in start(["doctor"], tmp_path, mac)


@pytest.mark.workflow
def test_a_tee_passes_messages_on_and_ends_with_its_server(
    mac: dict[str, str], tmp_path: Path
) -> None:
    message = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}\n'
    command = [sys.executable, "-P", "-m", "lensbench.agents.tee", "--", "cat"]
    (tmp_path / "bin" / "cat").symlink_to("/bin/cat")
    done = subprocess.run(
        command, cwd=tmp_path, env=mac, input=message, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, message, "")
    rows = [json.loads(line) for line in (tmp_path / "taps.jsonl").read_text().splitlines()]
    assert [row["method"] for row in rows if row["method"] == "ping"] == ["ping", "ping"]
