"""The same on a real Slurm: Debian's, of two nodes on loopback (tools/slurm.sh), with Snakemake's own plugin."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_clusters import ALL, KEY, assert_pairs_began_together, with_key_on_disk

from small_benchmark import CHECKOUT, Project, living, wait_for

PYTHON = CHECKOUT / ".venv-slurm" / "bin" / "python"
LOGS = Path("/run/lensbench-slurm")
ON_SLURM = (
    "--workflow-profile",
    str(CHECKOUT / "profiles" / "slurm"),
    "--slurm-status-command",
    "squeue",
    "--slurm-init-seconds-before-status-checks",
    "1",
    "--seconds-between-status-checks",
    "1",
)

PACE = """\
import sys
if "snakemake" in sys.orig_argv:
    from snakemake_interface_executor_plugins.executors.remote import RemoteExecutor as Executor
    Executor.next_seconds_between_status_checks = property(lambda self: 1, lambda self, seconds: None)
"""
"""The plugin looks ten seconds later after each look at which no job has ended: here it looks each second."""

pytestmark = pytest.mark.xdist_group("slurm")


@pytest.fixture(scope="module")
def slurm() -> Iterator[None]:
    """A Slurm, for the tests of this file."""
    missing = [
        program for program in ("slurmctld", "slurmd", "munged") if not shutil.which(program)
    ]
    if missing or os.getuid() != 0:
        pytest.skip("needs root, and: apt-get install slurmctld slurmd slurm-client munge")
    if not PYTHON.exists():
        pytest.skip("needs .venv-slurm: make slurm")
    subprocess.run([CHECKOUT / "tools" / "slurm.sh", "start"], check=True)
    yield
    subprocess.run([CHECKOUT / "tools" / "slurm.sh", "stop"], check=True)


@pytest.fixture
def on_slurm(slurm: None, project: Project, tmp_path: Path) -> Project:
    (tmp_path / "sitecustomize.py").write_text(PACE)
    project.python, project.paths = str(PYTHON), (str(tmp_path),)
    return project


def jobs() -> dict[str, str]:
    """The jobs that are at work: run -> id."""
    listed = subprocess.run(
        ["squeue", "--noheader", "--states=R", "--format=%k %i"], capture_output=True, text=True
    )
    found = re.findall(r"^rule_run_wildcards__(\w+)_(\w+) (\d+)$", listed.stdout, re.MULTILINE)
    return {f"{task}-{condition}": number for task, condition, number in found}


def test_slurm_gives_what_one_machine_gives_after_a_killed_job_and_a_drained_node(
    on_slurm: Project, finished_once: Project
) -> None:
    on_slurm.behave(anna_with="hang", others="sleep 1")
    process = on_slurm.begin(*ON_SLURM, "--jobs", "2", env={"FAKE_SECRET": KEY})
    assert wait_for(lambda: "anna-with" in on_slurm.ledger(), 120)
    assert [command for _, command in living(str(on_slurm.control)) if KEY in command] == []
    assert with_key_on_disk(on_slurm.folder) == []
    subprocess.run(["scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test"], check=True)
    subprocess.run(["scancel", jobs()["anna-with"]], check=True)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 2, output
    assert output.count("preflight:") == 1
    assert wait_for(lambda: on_slurm.processes() == []), (
        on_slurm.processes()
    )  # Slurm says "cancelled" first
    assert on_slurm.ledger("end") == ["anna-without", "bert-with", "bert-without"]
    said = "".join(
        log.read_text() for log in (on_slurm.folder / ".snakemake" / "log").glob("*.log")
    )
    assert said.count("submitted with SLURM jobid") == 4
    assert_pairs_began_together(on_slurm, "bert")
    before = on_slurm.files()
    on_slurm.behave()
    on_slurm.start(*ON_SLURM, env={"FAKE_SECRET": KEY})
    subprocess.run(["scontrol", "update", "NodeName=n1", "State=RESUME"], check=True)
    assert on_slurm.ledger() == sorted([*ALL, "anna-with"])
    assert {name: on_slurm.files()[name] for name in before} == before
    assert [
        *with_key_on_disk(on_slurm.folder),
        *(log for log in LOGS.glob("*.log") if KEY in log.read_text()),
    ] == []
    assert on_slurm.tables() == finished_once.tables()
