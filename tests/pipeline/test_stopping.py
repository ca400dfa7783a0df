"""However Snakemake or a run is ended: nothing is left running, nothing is half written, nothing is paid for twice; and
one Snakemake at a time works on a run folder."""

import os
import random
import re
import signal
import sys
import time
from base64 import b64decode
from pathlib import Path
from threading import Lock

import pytest
from test_repeating import bytes_of

from lensbench.core.records import RunId
from lensbench.core.store import State, entries, run_files, state_of
from lensbench.workflow.start import ends_without_waiting
from programs import run_module
from small_benchmark import RUNS, SCORED, TASKS, Project, living, wait_for


def unfinished(project: Project) -> list[Path]:
    return [path for path in project.folder.rglob("*") if path.name.endswith(".tmp")]


def runners(project: Project) -> list[int]:
    return [pid for pid, command in living(str(project.control)) if "lensbench.runs.run" in command]


def test_a_signal_s_handler_may_wait_for_what_it_interrupts() -> None:
    lock, outcomes = Lock(), list[bool]()
    before = signal.signal(signal.SIGTERM, lambda *_: outcomes.append(lock.acquire(timeout=2)))
    try:
        ends_without_waiting(signal.SIGTERM)
        with lock:
            os.kill(os.getpid(), signal.SIGTERM)
        assert wait_for(lambda: outcomes)
        assert outcomes == [True]
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.mark.parametrize("seed", range(2))
def test_after_a_kill_at_any_moment_the_valid_runs_stand_and_only_the_others_are_made(
    seed: int, project: Project, finished_once: Project
) -> None:
    rng = random.Random(seed)
    sleep = f"sleep {rng.random() * 2:.2f}"
    project.behave(anna_with="hang", anna_without=sleep, bert_with="children 3", bert_without=sleep)
    process = project.begin()
    assert wait_for(lambda: len(project.ledger()) >= (0 if seed == 0 else 4))
    time.sleep(rng.random() * 2.5)
    process.kill()
    process.communicate()
    assert wait_for(lambda: not project.processes()), project.processes()
    assert unfinished(project) == []
    runs = [RunId(task, condition) for task in TASKS for condition in ("with", "without")]
    valid = [run.stem for run in runs if run_files(project.bench, run).counts]
    unchecked = [
        run
        for run in runs
        if state_of(entries(project.bench, run), max_rounds=3) == State.CUT_SHORT
    ]
    marks = [
        mark for mark in (project.folder / ".snakemake" / "incomplete").rglob("*") if mark.is_file()
    ]
    noted = {
        b64decode(mark.name).decode() for mark in marks if mark.name != "migration_underway"
    }  # jobs in flight
    views = project.files("runs")
    noticed = {name: content for name, content in views.items() if f"bench/r/{name}" not in noted}
    before = project.files()
    started = project.ledger()

    project.behave()
    project.start(*SCORED)
    after = project.files()
    assert {name: after[name] for name in noticed} == noticed
    names = [name for name in before if re.split(r"[/.]", name)[1] in valid]
    assert {name: after[name][0] for name in names} == {name: before[name][0] for name in names}
    again = project.ledger()
    for run in valid:
        assert again.count(run) == started.count(run) == 1
    validity, *others = finished_once.tables()
    for row in validity:
        if RunId(row["task"], row["condition"]) in unchecked:
            row["discards"] = "harness_failed"
    assert project.tables() == [validity, *others]


def test_snakemake_that_is_asked_to_end_lets_the_runs_in_flight_finish(project: Project) -> None:
    project.behave(others="sleep 2")
    process = project.begin(cores=2, target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 2)
    process.terminate()
    said, _ = process.communicate(timeout=60)
    assert (process.returncode != 0, "2 missing" in said) == (True, True)
    assert (project.processes(), len(project.ledger("end"))) == ([], 2)
    before = project.files()
    project.behave()
    project.start(*RUNS)
    assert project.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]
    assert {name: project.files()[name] for name in before} == before


def test_a_stage_after_the_runs_ends_with_the_start_that_is_asked_to_end(project: Project) -> None:
    project.start(*RUNS)
    before = project.files()
    asked = project.control / "asked"
    code = f"import pathlib, time; pathlib.Path({str(asked)!r}).touch(); time.sleep(600)"
    command = [sys.executable, "-I", "-c", code, "{prompt_file}"]
    judge = {
        "name": "slow",
        "agent": {"kind": "command", "command": command, "timeout_s": 600},
    }
    project.configure(judges=[judge])
    process = project.begin()
    assert wait_for(asked.exists)
    process.terminate()
    said, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in said
    assert wait_for(lambda: not project.processes()), project.processes()
    assert project.files() == before
    assert unfinished(project) == []


def test_control_c_ends_all_runs_a_killed_runner_fails_its_run_alone_and_the_next_start_makes_them(
    project: Project,
) -> None:
    project.behave(anna_with="hang", anna_without="children 600", bert_with="sleep 600")
    process = project.begin(target="bench/r/validity.csv")
    answered = project.bench / "attempts" / "bert-without" / "1" / "record.json"
    assert wait_for(lambda: answered.exists() and len(project.ledger()) == 4)
    os.killpg(process.pid, signal.SIGINT)
    process.communicate(timeout=60)
    assert wait_for(lambda: not project.processes()), project.processes()
    assert unfinished(project) == []

    project.behave(anna_with="sleep 600")
    process = project.begin(*RUNS)
    assert wait_for(lambda: project.ledger("end") == ["anna-without", "bert-with", "bert-without"])
    assert wait_for(lambda: len(runners(project)) == 1)
    os.kill(runners(project)[0], signal.SIGKILL)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 2
    assert "bench/r/logs/anna-with.log" in output
    assert wait_for(lambda: not project.processes()), project.processes()

    before = project.files()
    project.behave()
    project.start(*RUNS)
    asked = ["anna-with"] * 3 + ["anna-without"] * 2 + ["bert-with"] * 2 + ["bert-without"]
    assert (project.ledger(), project.reasons()) == (asked, {})
    assert {name: project.files()[name] for name in before} == before


def test_a_clock_that_was_ahead_costs_no_answer(project: Project) -> None:
    """Snakemake deletes the outputs of a job whose inputs are dated later, here in the middle of the runs: the copies."""
    project.behave(others="sleep 2")
    process = project.begin(target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 4, 90)
    later = time.time() + 3600
    for name in ("plan.json", "repositories.json", "prompts"):
        os.utime(project.bench / name, (later, later))
    process.communicate(timeout=120)
    assert project.start(*RUNS).count("without an agent") == 1
    before = project.files()
    for path in project.bench.rglob("*"):
        os.utime(path, (later, later))
    project.start(*RUNS)
    assert bytes_of(project.files()) == bytes_of(before)
    assert len(project.ledger()) == 4


REFUSED = "Another start is running on bench/r (process "


def status(project: Project) -> str:
    return run_module("lensbench.workflow.status", "bench/r", cwd=project.folder).stdout


def test_a_second_snakemake_on_one_run_is_refused_in_a_sentence_and_one_beside_it_is_not(
    project: Project,
) -> None:
    project.behave(others="sleep 600")
    first = project.begin(target="bench/r/validity.csv")
    assert wait_for(lambda: len(project.ledger()) == 4, 90)
    shown = status(project)
    assert f": running (process {first.pid} on " in shown
    assert "running now: anna-with, anna-without, bert-with, bert-without" in shown
    refused = project.start(target="bench/r/validity.csv", fails=True)
    assert f"{REFUSED}{first.pid} on " in refused
    assert "--config run_id=<a new name>" in refused
    assert "Traceback" not in refused
    assert REFUSED not in project.start("-n")

    project.behave()
    project.start("--config", "run_id=beside", target="bench/beside/validity.csv")
    assert first.poll() is None
    assert REFUSED in project.start(target="bench/r/validity.csv", fails=True)
    assert project.ledger("end") == ["anna-with", "anna-without", "bert-with", "bert-without"]
    first.kill()
    first.communicate()
    assert ": not running" in status(project)
