"""A matrix of models by `lensbench run --matrix`: a benchmark for each, none paid for twice."""

import csv
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from small_benchmark import CHECKOUT, TASKS, Project, wait_for

pytestmark = pytest.mark.workflow
RUNS = 2 * len(TASKS)
"""Of one cell."""


def begin(project: Project) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "lensbench", "run", "--cores", "2", "--matrix"]
    environment = {
        **os.environ,
        "PYTHONPATH": str(CHECKOUT / "scripts"),
        "FAKE_CONTROL": str(project.control),
        "FAKE_SECRET": "none",
    }
    return subprocess.Popen(
        [*command, "model=one,two"],
        cwd=project.folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def test_every_cell_is_run_once_though_somebody_interrupts_it_and_a_table_has_them(
    project: Project,
) -> None:
    project.behave(anna_with="hang")
    first = begin(project)
    assert wait_for(lambda: "anna-with" in project.ledger(), 60)
    first.send_signal(signal.SIGINT)
    said, _ = first.communicate(timeout=120)
    assert first.returncode == 130, said
    assert wait_for(lambda: not project.processes())
    assert "2 of 2" not in said
    finished = project.ledger("end")

    project.behave()
    project.clear_ledger()
    second = begin(project)
    said, _ = second.communicate(timeout=240)
    assert second.returncode == 0, said
    assert "1 of 2: one (bench/r-one)" in said
    assert "2 of 2: two (bench/r-two)" in said
    assert len(project.ledger()) == 2 * RUNS - len(finished)
    with Path(project.folder, "bench", "r-table", "table.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        assert [row["benchmark"] for row in csv.DictReader(file)] == ["r-one", "r-two"]

    project.clear_ledger()
    third = begin(project)
    said, _ = third.communicate(timeout=240)
    assert third.returncode == 0, said
    assert project.ledger() == []
