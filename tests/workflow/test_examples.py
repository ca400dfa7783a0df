"""The examples work as they stand, from the folder that holds them."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HOUSE = Path(__file__).parents[2]


@pytest.mark.skipif(shutil.which("node") is None, reason="one of the servers is written for Node")
def test_two_servers_of_ones_own_against_none_and_against_each_other(tmp_path: Path) -> None:
    shutil.copytree(HOUSE / "examples", tmp_path / "examples")
    command = [sys.executable, "-P", "-m", "lensbench", "run", "--cores", "2"]
    done = subprocess.run(
        [*command, "--configfile", "examples/own-server/config.yaml"],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(HOUSE / "scripts")}, capture_output=True, text=True,
        timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    folder = tmp_path / "bench" / "own-server"
    with (folder / "pairs.csv").open() as file:
        pairs = list(csv.DictReader(file))
    assert {pair["treatment"] for pair in pairs} == {"python", "node"}
    assert all(pair["delta"] and pair["called"] == "yes" for pair in pairs)
    assert len(json.loads((folder / "results.json").read_text())["contrasts"]) == 1
