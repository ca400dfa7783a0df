"""What lensbench rests on inside Snakemake: each test shows what would break, on a small workflow of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from snakemake.exceptions import WorkflowError

from lensbench.workflow import snakemake_inside

USES = "from lensbench.workflow import snakemake_inside\n"
PAID = """
rule all:
    input: "made.txt"
rule made:
    input: "source.txt"
    output: "made.txt"
    shell: "echo paid > {output}"
"""
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
    print("rules:", *sorted(snakemake_inside.rules_to_run(workflow)))
    print("three seats:", "3" in str(workflow.global_resources["seats"]))
    print("limited after:", workflow.scheduler.job_rate_limiter is not None)
"""
MANY = """
rule all:
    input: expand("{i}.txt", i=range(12))
rule job:
    output: "{i}.txt"
    priority: lambda wildcards: int(wildcards.i)
    shell: "echo {wildcards.i} >> order; touch {output}"
onstart:
    snakemake_inside.look_ahead(workflow, 3)
    print("looked at:", sorted(job.priority for job in workflow.scheduler.open_jobs))
"""
PIPED = """
rule end:
    input: "piped.txt", expand("{i}.txt", i=range(20))
    output: "end.txt"
    shell: "cat {input} > {output}"
rule piped:
    output: pipe("piped.txt")
    shell: "echo piped > {output}"
rule plain:
    output: "{i}.txt"
    shell: "echo {wildcards.i} > {output}"

class Counted(dict):
    times = 0
    def items(self):
        Counted.times += 1
        return super().items()

def found(dag):
    job = next(job for job in dag.jobs if job.rule.name == "end")
    dag.dependencies[job], Counted.times = Counted(dag.dependencies[job]), 0
    return [str(path) for path in job.input if job.is_pipe_or_service_input(path)], Counted.times

onstart:
    print("before:", *found(workflow.dag))
    snakemake_inside.find_pipes_once()
    print("after:", *found(workflow.dag))
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
INNER = """
SAID = "said by the inner one"
snakemake_inside.share_names(workflow, SAID=SAID)
rule inner:
    output: "inner.txt"
    shell: "echo {SAID} > {output}"
"""
OUTER = """
module other:
    snakefile: "inner.smk"
use rule * from other
rule all:
    default_target: True
    input: "inner.txt"
"""


def snakemake(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "snakemake", "--cores", "1", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("is_trusted", [True, False])
def test_an_output_that_is_dated_before_its_input_is_kept(tmp_path: Path, is_trusted: bool) -> None:
    source = tmp_path / "source.txt"
    source.write_text("x")
    os.utime(source, (time.time() + 86400,) * 2)  # as a clock leaves it that was ahead and was set right
    trusting = f"{USES}snakemake_inside.trust_the_clock()\n" if is_trusted else ""
    (tmp_path / "Snakefile").write_text(trusting + PAID)
    ended = snakemake(tmp_path)
    assert (ended.returncode == 0, (tmp_path / "made.txt").exists()) == (is_trusted, is_trusted), ended.stderr


def test_the_rate_limit_goes_and_resources_and_rules_are_known(tmp_path: Path) -> None:
    added = "snakemake_inside.add_resources(workflow, {'seats': 3})\n"
    (tmp_path / "Snakefile").write_text(USES + added + LIMITED)
    ended = snakemake(tmp_path, "--max-jobs-per-timespan", "100/1s")
    assert ended.returncode == 0, ended.stderr
    said = ended.stdout.splitlines()
    assert [line for line in said if line.startswith(("limited", "rules", "three"))] == [
        "limited: True", "rules: all made", "three seats: True", "limited after: False",
    ]  # fmt: skip


def test_the_scheduler_looks_at_the_next_jobs_alone_and_makes_all(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(USES + MANY)
    ended = snakemake(tmp_path, "--scheduler", "greedy")
    assert ended.returncode == 0, ended.stderr
    assert "looked at: [9, 10, 11]" in ended.stdout
    assert [int(line) for line in (tmp_path / "order").read_text().split()] == [*range(11, -1, -1)]


def test_pipes_are_looked_for_once_and_found_as_before(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(USES + PIPED)
    ended = snakemake(tmp_path, "--cores", "2")
    assert ended.returncode == 0, ended.stderr
    assert "before: ['piped.txt'] 21" in ended.stdout
    assert "after: ['piped.txt'] 1\n" in ended.stdout
    assert (tmp_path / "end.txt").read_text().startswith("piped\n0\n")


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


def test_commands_of_a_module_use_the_names_that_are_shared(tmp_path: Path) -> None:
    (tmp_path / "inner.smk").write_text(USES + INNER)
    (tmp_path / "Snakefile").write_text(OUTER)
    ended = snakemake(tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "inner.txt").read_text() == "said by the inner one\n"


def test_a_killed_start_leaves_locks_that_name_its_outputs(tmp_path: Path) -> None:
    kill = 'rule made:\n    output: "bench/r/made.txt"\n    shell: "kill -9 {SNAKEMAKE}"\n'
    (tmp_path / "Snakefile").write_text(f"import os\nSNAKEMAKE = os.getpid()\n{kill}")
    assert snakemake(tmp_path).returncode < 0
    assert "LockException" in snakemake(tmp_path).stderr
    assert snakemake_inside.remove_locks(Path("bench/r"), tmp_path / snakemake_inside.LOCKS)
    (tmp_path / "Snakefile").write_text('rule made:\n    output: "bench/r/made.txt"\n    shell: "echo x > {output}"\n')
    assert snakemake(tmp_path, "--rerun-incomplete").returncode == 0


def test_a_removed_name_is_reported_with_the_version_that_has_it() -> None:
    with pytest.raises(WorkflowError, match=r"no object.needrun_jobs, which lensbench uses; install"):
        snakemake_inside.rules_to_run(type("Workflow", (), {"dag": object()})())
