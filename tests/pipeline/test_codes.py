"""The exit codes of a start: 0 done, 1 the verdict is in `fail_on`, 2 it could not run, 130 interrupted."""

import os
import signal

from small_benchmark import Project, wait_for


def test_all_that_is_done_ends_with_0_and_a_verdict_that_fails_with_1(finished: Project) -> None:
    assert finished.begin().wait(120) == 0
    assert finished.begin("--config", "fail_on=INCONCLUSIVE").wait(120) == 1


def test_a_job_that_fails_ends_with_2(finished: Project) -> None:
    stage = finished.copy_program() / "scripts" / "lensbench" / "results" / "citations.py"
    stage.write_text("raise SystemExit(1)\n", encoding="utf-8")
    (finished.bench / "citations.json").unlink()
    assert finished.begin().wait(120) == 2


def test_an_interrupted_start_ends_with_130(project: Project) -> None:
    project.behave(others="hang")
    start = project.begin()
    assert wait_for(project.ledger)
    os.killpg(start.pid, signal.SIGINT)
    assert start.wait(120) == 130
    assert wait_for(lambda: not project.processes())
