"""Whatever is asked for, also a single file, the plan of the present settings comes first."""

import json
import shutil

from small_benchmark import RUNS, Project


def test_the_runs_of_one_task_are_made_alone_and_the_others_later(project: Project) -> None:
    said = project.start("--config", "only=[anna]")
    assert project.ledger() == ["anna-with", "anna-without"]
    assert len(project.table("pairs")) >= 1
    assert "Traceback" not in said
    assert "did you mean 'anna'?" in project.start("--config", "only=[ana]", fails=True)
    project.start(*RUNS)
    assert len(project.ledger()) == len(set(project.ledger())) > 2


def test_a_single_file_is_made_of_the_plan_of_the_present_settings_also_without_a_memory(finished: Project) -> None:
    shutil.rmtree(finished.folder / ".snakemake")
    finished.configure(trials=2)
    finished.start(target="bench/r/validity.csv")
    assert json.loads((finished.bench / "plan.json").read_text())["trials"] == 2
    assert len(finished.table("validity")) == 8
    assert len(finished.ledger()) == 4
