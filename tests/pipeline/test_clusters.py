"""Runs on other machines, by `profiles/cluster`: as on one machine, whatever people edit and whatever is killed."""

import json
import os
import signal
from pathlib import Path

import pytest

from small_benchmark import CHECKOUT, RUNS, Project, living, wait_for

ON_CLUSTER = ("--workflow-profile", "profiles/cluster")
ALL = ["anna-with", "anna-without", "bert-with", "bert-without"]
KEY = "sk-on-no-disk-4711"


@pytest.fixture
def cluster(project: Project) -> Project:
    """A project in which the profile is found, as in a clone."""
    (project.folder / "profiles").symlink_to(CHECKOUT / "profiles")
    return project


def assert_pairs_began_together(project: Project, *tasks: str) -> None:
    for task in tasks:
        pair = [project.record(f"{task}-{condition}") for condition in ("with", "without")]
        assert max(run["arrived_at"] for run in pair) <= min(run["opened_at"] for run in pair)


def with_key_on_disk(folder: Path) -> list[Path]:
    return [
        path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


def test_a_cluster_gives_what_one_machine_gives_whatever_is_edited(
    cluster: Project, finished_once: Project
) -> None:
    cluster.behave(others="sleep 1")
    process = cluster.begin(*ON_CLUSTER, "--jobs", "2", env={"FAKE_SECRET": KEY})
    assert wait_for(lambda: len(cluster.ledger()) == 2, 120)
    cluster.configure(agent={"timeout_s": 1}, run_id="other", trials=9)
    (cluster.folder / "tasks.yaml").write_text("tasks: [half a line")
    assert [command for _, command in living(str(cluster.control)) if KEY in command] == []
    assert with_key_on_disk(cluster.folder) == []
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert output.count("preflight:") == 1
    assert_pairs_began_together(cluster, "anna", "bert")
    assert with_key_on_disk(cluster.folder) == []
    assert "[redacted: FAKE_SECRET]" in (cluster.bench / "runs" / "anna-with.md").read_text()
    assert (cluster.tables(), cluster.ledger()) == (finished_once.tables(), ALL)
    cluster.configure()
    cluster.write_tasks()
    assert "Nothing to be done" in cluster.start()
    assert "Nothing to be done" in cluster.start(*ON_CLUSTER)


def test_an_agent_ends_with_its_job_and_the_next_starts_make_this_run_alone(
    cluster: Project,
) -> None:
    cluster.write_tasks(["anna"])
    cluster.behave(anna_with="hang")
    process = cluster.begin(*ON_CLUSTER, target="bench/r/validity.csv")
    assert wait_for(
        lambda: cluster.ledger("end") == ["anna-without"] and "anna-with" in cluster.ledger(), 120
    )
    for pid, command in [
        *living(str(cluster.control))
    ]:  # the Snakemakes that the scheduler started for this run
        if "task=anna,condition=with " in command and "--mode" in command:
            os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=120)
    assert process.returncode == 2
    assert wait_for(lambda: not cluster.processes()), cluster.processes()
    before = cluster.files()
    for behaviour in ("empty", "answer"):  # the first is discarded, and made again
        cluster.behave(anna_with=behaviour)
        cluster.start(*ON_CLUSTER, *RUNS)
    assert cluster.ledger() == [*["anna-with"] * 3, "anna-without"]
    assert {name: cluster.files()[name] for name in before} == before
    (cluster.bench / "runs" / "anna-with.md").unlink()
    cluster.start(*ON_CLUSTER, *RUNS, "-F")
    assert (len(cluster.ledger()), cluster.reasons()) == (4, {})
    assert cluster.is_idle(*RUNS)


def test_jobs_outlive_a_killed_snakemake_and_the_next_start_waits_for_them(
    cluster: Project,
) -> None:
    cluster.write_tasks(["anna"])
    cluster.behave(others="sleep 6")
    process = cluster.begin(*ON_CLUSTER)
    assert wait_for(lambda: len(cluster.ledger()) == 2, 120)
    process.kill()
    process.communicate()
    cluster.start("--unlock")
    cluster.start(*ON_CLUSTER, *RUNS)
    assert (cluster.ledger(), cluster.reasons()) == (["anna-with", "anna-without"], {})


def test_a_spent_budget_keeps_the_jobs_that_are_left_from_starting_their_agents(
    cluster: Project,
) -> None:
    cluster.configure(budget={"max_runs": 2})
    output = cluster.start(*ON_CLUSTER, "--jobs", "2", fails=True)
    assert len(cluster.ledger()) == 2
    assert "the budget is spent" in output
    assert json.loads((cluster.bench / "spent.json").read_text())["runs"] == 2
