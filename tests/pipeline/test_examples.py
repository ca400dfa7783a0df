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


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder that holds the examples."""
    shutil.copytree(CHECKOUT / "examples", tmp_path / "examples")
    return tmp_path


def started(folder: Path, name: str, task: str) -> subprocess.CompletedProcess[str]:
    """`lensbench run` with the config of an example, as its head says, and one of its tasks."""
    config = f"examples/{name}/config.yaml"
    return run_module(
        "lensbench", "run", "--cores", 2, "--configfile", config, "--only", task, cwd=folder
    )


def run_example(folder: Path, name: str, task: str) -> list[dict[str, str]]:
    """The pairs of a task of an example that was run to its end."""
    done = started(folder, name, task)
    assert done.returncode == 0, done.stdout + done.stderr
    with (folder / "bench" / name / "pairs.csv").open() as file:
        return [pair for pair in csv.DictReader(file) if pair["task"] == task]


@pytest.mark.skipif(shutil.which("node") is None, reason="one of the servers is written for Node")
def test_two_servers_of_ones_own_against_none_and_against_each_other(here: Path) -> None:
    pairs = run_example(here, "own-server", "shop-dbg-01")
    assert {pair["treatment"] for pair in pairs} == {"python", "node"}
    assert all(pair["delta"] and pair["called"] == "yes" for pair in pairs)
    found = json.loads((here / "bench" / "own-server" / "results.json").read_text())
    assert len(found["estimates"]) == 3


def test_a_daemon_is_named_before_any_run_while_it_is_not_there_and_then_registers_each_folder(
    here: Path,
) -> None:
    port = free_port()
    entry = here / "examples" / "daemon" / "daemon.json"
    entry.write_text(entry.read_text().replace("4112", str(port)))
    done = started(here, "daemon", "shop-exp-01")
    assert done.returncode == 2
    assert "start it: python3 examples/daemon/daemon.py" in done.stdout + done.stderr
    assert not list((here / "bench").rglob("runs/*.md"))
    with listening([sys.executable, here / "examples" / "daemon" / "daemon.py", str(port)], port):
        (made,) = run_example(here, "daemon", "shop-exp-01")
    assert made["delta"]
    assert made["called_without_error"] == "yes"
