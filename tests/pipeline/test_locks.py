"""Who works on a run folder: one Snakemake at a time. A killed one is in nobody's way (test_stopping.py)."""

from programs import run_module
from small_benchmark import Project, wait_for

REFUSED = "Another start is running on bench/r (process "


def status(project: Project) -> str:
    return run_module("lensbench.workflow.status", "bench/r", cwd=project.folder).stdout


def test_a_second_snakemake_on_one_run_is_refused_in_a_sentence_and_one_beside_it_is_not(project: Project) -> None:
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
