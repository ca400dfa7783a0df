"""Programs that are forked off a process which keeps their imports: whatever ends it, or them, nothing is lost."""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.system.processes import WORKFLOW
from lensbench.workflow import preloaded
from lensbench.workflow.preloaded import SHELL_OPTIONS, Preloaded, read_command
from lensbench.workflow.start import PYTHON
from small_benchmark import CHECKOUT, Project, living, wait_for

FOUR = ("anna", "bert", "carl", "dora")
ALL = sorted(f"{task}-{side}" for task in FOUR for side in ("with", "without"))
ALIVE_AFTER_KILL_S = 5
PROGRAM = "lensbench.runs.run"
RUN = f"exec {PYTHON} {PROGRAM} --folder bench/r --task anna --condition with"


def processes(project: Project, program: str) -> list[int]:
    return [pid for pid, command in living(str(project.control)) if f" -m {program} " in command]


def loaded(project: Project) -> list[int]:
    return processes(project, preloaded.__name__)


def kill(*pids: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


@pytest.fixture
def here(project: Project, monkeypatch: pytest.MonkeyPatch) -> Project:
    """A planned project whose folder this process works in, as Snakemake does."""
    project.start(target="bench/r/repositories.json")
    (project.bench / "logs").mkdir(exist_ok=True)
    monkeypatch.chdir(project.folder)
    for name, value in {WORKFLOW: str(os.getpid()), "PYTHONPATH": str(CHECKOUT / "scripts")}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FAKE_CONTROL", str(project.control))
    return project


def test_a_run_is_snakemakes_own_child_and_is_shown_as_the_command_that_makes_it(project: Project) -> None:
    project.behave(others="await go")
    process = project.begin(target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 4)
    runs = processes(project, PROGRAM)
    assert [parent_of(pid) for pid in runs] == [process.pid] * 4
    (loader,) = loaded(project)
    assert len(os.listdir(f"/proc/{loader}/task")) == 1, "a process with threads must not fork"
    command = Path(f"/proc/{runs[0]}/cmdline").read_bytes().rstrip(b"\0").decode().split("\0")
    (project.control / "go").touch()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert project.processes() == []
    again = subprocess.run(command, cwd=project.folder, capture_output=True, text=True, check=True)
    assert "kept: an agent has answered" in again.stderr


@pytest.mark.parametrize("seed", range(4))
def test_when_the_loaded_process_is_killed_its_runs_go_on_and_the_others_are_made_all_the_same(
    seed: int, project: Project
) -> None:
    rng = random.Random(seed)
    project.write_tasks(FOUR)
    project.behave(others="sleep 0.5")
    process = project.begin(cores=2, target="bench/r/validity.csv")
    assert wait_for(lambda: loaded(project), 60)
    if seed:
        assert wait_for(lambda: project.ledger())
        time.sleep(rng.random() * 2)
    kill(*loaded(project))
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert project.ledger() == project.ledger("end") == ALL
    assert project.reasons() == {}
    assert project.processes() == []


@pytest.mark.parametrize("first", ["snakemake", "loaded", "together"])
def test_when_both_are_killed_no_agent_is_left(first: str, project: Project) -> None:
    project.behave(anna_with="hang", others="children 600")
    process = project.begin(target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 4)
    victims = [process.pid, *loaded(project)]
    for pid in victims if first == "snakemake" else reversed(victims):
        kill(pid)
        time.sleep(0 if first == "together" else 0.5)
    process.communicate()
    assert wait_for(lambda: not project.processes(), ALIVE_AFTER_KILL_S), project.processes()
    project.behave()
    project.start()
    assert project.reasons() == {}
    assert project.ledger() == sorted([*ALL[:4], *ALL[:4]])


def test_a_run_has_the_environment_and_the_folder_that_its_command_would_give_it(project: Project) -> None:
    seen = project.control / "seen"
    write = "import json, os, sys; json.dump([dict(os.environ), os.getcwd(), os.umask(0)], open(sys.argv[1], 'a'))"
    setup = [sys.executable, "-c", write, str(seen)]
    conditions = {"without": {}, "with": {"mcp": "mcp.json", "setup": setup}}
    project.write_tasks(("anna",))
    project.configure(conditions=conditions)
    project.start(target="bench/r/validity.csv")
    forked = json.loads(seen.read_text())
    seen.unlink()
    shutil.rmtree(project.attempt("anna-with"))
    process = project.begin(target="bench/r/validity.csv")
    assert wait_for(lambda: loaded(project), 60)
    kill(*loaded(project))
    process.communicate(timeout=60)
    by_command = json.loads(seen.read_text())
    for environment, _, _ in (forked, by_command):
        for name in ("_", "SHLVL", "OLDPWD", WORKFLOW):  # a shell's own, and Snakemake's process
            environment.pop(name, None)
    assert forked == by_command


def test_a_run_starts_through_it_with_its_own_log_and_says_how_it_ended(here: Project) -> None:
    here.behave(anna_with="sleep 60")
    loader = Preloaded(PYTHON)
    failing = loader.start(f"set -euo pipefail;  {RUN.replace('anna', 'nobody')} 2> 'bench/r/logs/a log'", os.environ)
    assert failing
    assert failing.wait() == 1
    assert (here.bench / "logs" / "a log").read_text().startswith("error: bench/r has no plan for nobody-with")
    for end, code in (("terminate", 128 + signal.SIGTERM), ("kill", -signal.SIGKILL)):
        here.clear_ledger()
        run = loader.start(f"{RUN} 2> bench/r/logs/anna-with.log", os.environ)
        assert run
        assert wait_for(here.ledger)
        getattr(run, end)()
        assert run.wait() == code
        assert wait_for(lambda: len(list(living(str(here.control)))) == 1, ALIVE_AFTER_KILL_S)
    loader.end()


def test_every_program_of_ours_starts_through_it_and_fails_as_its_command_would(here: Project) -> None:
    loader = Preloaded(PYTHON)
    for program, said in {
        "runs.stages --folder bench/nothing": "error: bench/nothing/plan.json: cannot be read",
        "runs.stages": "usage: python -P -m lensbench.runs.stages",
        "runs.nothing --folder bench/r": "No module named lensbench.runs.nothing",
    }.items():
        command = f"exec {PYTHON} lensbench.{program} 2> log"
        forked = loader.start(command, os.environ)
        assert forked
        code, told = forked.wait(), Path("log").read_text(encoding="utf-8")
        assert said in told
        assert subprocess.call(command, shell=True) == code != 0
        assert said in Path("log").read_text(encoding="utf-8")
    assert loader.run("lensbench.runs.stages", "--folder", "bench/nothing") == 1
    (pid,) = loaded(here)
    assert len(os.listdir(f"/proc/{pid}/task")) == 1
    assert loader.start(f"{RUN} 2> log | tee other", os.environ) is None, "a shell is needed"
    loader.end()
    assert loader.run("lensbench.runs.stages", "--folder", "bench/nothing") == 1, "started as it stands"


@given(st.lists(st.text("ab \n'\"$`;>|&\\\\é2", max_size=8), max_size=4), st.integers(0, 2))
def test_arguments_are_those_that_a_shell_would_pass_on(arguments: list[str], gap: int) -> None:
    gaps = " " * (gap + 1)
    command = (
        f"{SHELL_OPTIONS}  exec {PYTHON} lensbench.{gaps.join(map(shlex.quote, ['runs.run', *arguments]))}{gaps}2> log"
    )
    told = read_command(f"exec {PYTHON} lensbench.", command)
    assert told == {"program": PROGRAM, "arguments": arguments, "log": "log"}


@pytest.mark.parametrize(
    "command",
    [
        "exec true 2> log",
        f"exec {PYTHON} json.tool --folder bench/r 2> log",
        f"exec {PYTHON} lensbench/runs/run.py --folder bench/r 2> log",
        RUN,
        f"{RUN} 2> log | tee other",
        f"{RUN} > out 2> log",
        f"{RUN} 2> log.$(date +%s)",
        f"{RUN} --trial $TRIAL 2> log",
        f"{RUN}; echo 2> log",
        f"{RUN} --trial '1 2> log",
        f"source activate && {RUN} 2> log",
    ],
)
def test_a_command_that_needs_a_shell_is_left_to_the_shell(command: str) -> None:
    assert read_command(f"exec {PYTHON} lensbench.", command) == {}


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_process_that_does_not_answer_is_given_up(
    here: Project, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preloaded, "PATIENCE_S", 1.0)
    loader = Preloaded(PYTHON)
    assert wait_for(lambda: loaded(here))
    (pid,) = loaded(here)
    os.kill(pid, number)
    for _ in range(2):
        assert loader.start(f"{RUN} 2> log", os.environ) is None
    assert not Path(f"/proc/{pid}").exists()
