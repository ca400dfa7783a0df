"""What lensbench rests on inside Snakemake: each test shows what would break, on a small workflow of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from snakemake.exceptions import WorkflowError

from lensbench.workflow import snakemake_inside

USES = "from lensbench.workflow import snakemake_inside\n"
LIMITED = """
rule all:
    input: "made.txt"
rule made:
    output: "made.txt"
    resources: seats=1
    shell: "echo x > {output}"
onstart:
    print("limited:", workflow.scheduler.job_rate_limiter is not None)
    snakemake_inside.lift_rate_limit(workflow)
    print("three seats:", "3" in str(workflow.global_resources["seats"]))
    print("limited after:", workflow.scheduler.job_rate_limiter is not None)
"""
TAKEN = """
class Done:
    pid = 0
    def wait(self):
        return 3 if "third" in self.command else 0
def take(command, environment):
    print("given:", command, environment["OMP_NUM_THREADS"])
    if "first" not in command:
        taken = Done()
        taken.command = command
        if "second" in command:
            open("second.txt", "w").write("made without a shell")
        return taken
rule all:
    input: "first.txt", "second.txt", "third.txt"
rule made:
    output: "{name}.txt"
    wildcard_constraints: name="first|second|third"
    shell: "echo made by a shell > {output}"
onstart:
    snakemake_inside.start_commands(take)
"""


def snakemake(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_rate_limit_goes_and_resources_are_known(tmp_path: Path) -> None:
    added = "snakemake_inside.add_resources(workflow, {'seats': 3})\n"
    (tmp_path / "Snakefile").write_text(USES + added + LIMITED)
    ended = snakemake(tmp_path, "--max-jobs-per-timespan", "100/1s")
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.splitlines()
    assert [line for line in said if line.startswith(("limited", "three"))] == [
        "limited: True", "three seats: True", "limited after: False",
    ]  # fmt: skip


def test_commands_can_be_taken_over_and_keep_their_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(USES + TAKEN)
    ended = snakemake(tmp_path, "--keep-going", "--scheduler", "greedy")
    given = {line for line in ended.stdout.splitlines() if line.startswith("given:")}
    assert given == {
        f"given: set -euo pipefail;  echo made by a shell > {name}.txt 1" for name in ("first", "second", "third")
    }
    assert (tmp_path / "first.txt").read_text() == "made by a shell\n"
    assert (tmp_path / "second.txt").read_text() == "made without a shell"
    assert ended.returncode == 1
    assert not (tmp_path / "third.txt").exists()


def test_a_removed_name_is_reported_with_the_version_that_has_it() -> None:
    with pytest.raises(WorkflowError, match=r"no object.job_rate_limiter, which lensbench uses; install"):
        snakemake_inside.lift_rate_limit(type("Workflow", (), {"scheduler": object()})())
