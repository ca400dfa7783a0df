"""The executor plug-in forks runs off a process that keeps their imports: whatever ends it, or them, nothing is lost,
and without it everything is the same."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lensbench.core.system.processes import WORKFLOW
from small_benchmark import CHECKOUT, RUNS, Project, living, wait_for

FOUR = ("anna", "bert", "carl", "dora")
ALL = sorted(f"{task}-{side}" for task in FOUR for side in ("with", "without"))
PROGRAM = "lensbench.runs.run"
VALIDITY = "bench/r/validity.csv"


def processes(project: Project, program: str) -> list[int]:
    return [pid for pid, command in living(str(project.control)) if f" -m {program} " in command]


def servers(project: Project) -> list[int]:
    return [
        pid
        for pid, line in living(str(project.control))
        if "snakemake_executor_plugin_lensbench/forks.py" in line
    ]


def test_a_fork_for_a_snakemake_that_was_killed_ends_without_a_word(tmp_path: Path) -> None:
    ours, theirs = socket.socketpair()
    command = [
        sys.executable,
        "-P",
        str(CHECKOUT / "scripts/snakemake_executor_plugin_lensbench/forks.py"),
    ]
    with subprocess.Popen(
        [*command, str(theirs.fileno())], pass_fds=[theirs.fileno()], stderr=subprocess.PIPE
    ) as forks:
        theirs.close()
        ours.sendall(
            json.dumps([[PROGRAM], str(tmp_path / "log"), {}, str(tmp_path)]).encode() + b"\n"
        )
        ours.close()
        assert forks.communicate(timeout=60)[1] == b""


def test_a_run_is_snakemakes_own_child_and_is_shown_as_the_command_that_makes_it(
    project: Project,
) -> None:
    project.behave(others="await go")
    process = project.begin(target=VALIDITY)
    assert wait_for(lambda: len(project.ledger()) == 4)
    runs = processes(project, PROGRAM)
    parents = [
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1]
        for pid in runs
    ]
    assert parents == [str(process.pid)] * 4
    (server,) = servers(project)
    assert len(os.listdir(f"/proc/{server}/task")) == 1, "a process with threads must not fork"
    command = Path(f"/proc/{runs[0]}/cmdline").read_bytes().rstrip(b"\0").decode().split("\0")
    (project.control / "go").touch()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert project.processes() == []
    again = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=True)
    assert "kept: an agent has answered" in again.stderr


@pytest.mark.parametrize("seed", range(2))
def test_when_the_process_is_killed_its_runs_go_on_and_the_others_are_made(
    seed: int, project: Project
) -> None:
    rng = random.Random(seed)
    project.write_tasks(FOUR)
    project.behave(others="sleep 0.5")
    process = project.begin(cores=2, target=VALIDITY)
    assert wait_for(lambda: servers(project), 60)
    if seed:
        assert wait_for(lambda: project.ledger())
        time.sleep(rng.random() * 2)
    (server,) = servers(project)
    os.kill(server, signal.SIGKILL)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert project.ledger() == project.ledger("end") == ALL
    assert (project.reasons(), project.processes()) == ({}, [])


def test_a_run_is_the_same_by_the_plug_in_and_by_its_command(project: Project) -> None:
    """The environment, the folder, the files, the log; and how it fails."""
    seen = project.control / "seen"
    write = "import json, os, sys; json.dump([dict(os.environ), os.getcwd(), os.umask(0)], open(sys.argv[1], 'a'))"
    setup = [sys.executable, "-c", write, str(seen)]
    project.write_tasks(("anna",))
    project.configure(conditions={"without": {}, "with": {"mcp": "mcp.json", "setup": setup}})
    log = project.bench / "logs" / "anna-with.log"
    made = []
    for executor in ("lensbench", "local"):
        project.start("--executor", executor, target=VALIDITY)
        environment, *rest = json.loads(seen.read_text())
        for name in ("_", "SHLVL", "OLDPWD", WORKFLOW):  # a shell's own, and Snakemake's process
            environment.pop(name, None)
        made.append(
            [environment, rest, log.read_text(), sorted(project.files()), project.reasons()]
        )
        seen.unlink()
        shutil.rmtree(project.bench / "attempts" / "anna-with")
        (project.bench / "runs" / "anna-with.md").unlink()
    forked, by_command = made
    assert [made.count(" answered after ") for made in (forked[2], by_command[2])] == [1, 1]
    assert [*forked[:2], *forked[3:]] == [*by_command[:2], *by_command[3:]]
    program = project.copy_program() / "scripts" / "lensbench" / "runs" / "run.py"
    program.write_text(
        program.read_text().replace(
            "    adopt_orphans()\n", "    sys.exit('error: it is broken')\n", 1
        )
    )
    for executor in ("lensbench", "local"):
        said = project.start("--executor", executor, *RUNS, fails=True)
        assert "Error in rule run" in said
        assert log.read_text() == "error: it is broken\n"
        assert "error: it is broken" in said, "the log of a failed run is shown"
        assert "Building DAG" not in said
    assert "Error in rule run" not in project.start("--quiet", *RUNS, fails=True)
