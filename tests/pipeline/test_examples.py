"""The examples work as they stand, from the folder that holds them."""

import csv
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from programs import run_module
from services import free_port, listening
from small_benchmark import CHECKOUT


def started(folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """`lensbench run` with the config of an example, as its head says."""
    return run_module("lensbench", "run", "--cores", 2, "--configfile", f"examples/{name}/config.yaml", cwd=folder)


def run_example(folder: Path, name: str) -> list[dict[str, str]]:
    """The pairs of an example that was run to its end."""
    done = started(folder, name)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "bench" / name / "pairs.csv").open() as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(shutil.which("node") is None, reason="one of the servers is written for Node")
def test_two_servers_of_ones_own_against_none_and_against_each_other(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "examples", tmp_path / "examples")
    pairs = run_example(tmp_path, "own-server")
    assert {pair["treatment"] for pair in pairs} == {"python", "node"}
    assert all(pair["delta"] and pair["called"] == "yes" for pair in pairs)
    found = json.loads((tmp_path / "bench" / "own-server" / "results.json").read_text())
    assert len(found["estimates"]) == 3


def test_a_daemon_with_registration_of_each_folder(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "examples", tmp_path / "examples")
    port = free_port()
    entry = tmp_path / "examples" / "daemon" / "daemon.json"
    entry.write_text(entry.read_text().replace("4112", str(port)))
    with listening([sys.executable, tmp_path / "examples" / "daemon" / "daemon.py", str(port)], port):
        made = run_example(tmp_path, "daemon")
    assert all(pair["delta"] and pair["called_without_error"] == "yes" for pair in made)


def test_a_daemon_that_is_not_there_is_named_before_any_run(tmp_path: Path) -> None:
    shutil.copytree(CHECKOUT / "examples", tmp_path / "examples")
    done = started(tmp_path, "daemon")
    assert done.returncode == 1
    assert "start it: python3 examples/daemon/daemon.py" in done.stdout + done.stderr
    assert not list((tmp_path / "bench").rglob("runs/*.md"))
