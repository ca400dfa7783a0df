"""From a repository to a first benchmark: the two commands of the README, and nothing else is touched by the first."""

from __future__ import annotations

import yaml

from small_benchmark import Project
from stock import with_history


def test_a_repository_becomes_a_task_set_and_the_set_a_benchmark(finished: Project) -> None:
    with_history(finished.folder / "stock")
    before = finished.files(".")
    finished.configure(agent={"kind": "offline"}, repo="stock", tasks=4)  # other settings than those of the benchmark
    output = finished.start(target="scenarios")
    assert "scenarios/stock.yaml: " in output
    assert "open bench" not in output
    assert finished.files(".") == before
    assert {path.name for path in (finished.folder / "scenarios").iterdir()} >= {"stock.yaml", "stock.review.html"}
    assert "Nothing to be done" in finished.start(target="scenarios")

    assert "prompt and repo are for `snakemake eval` and `snakemake scenarios`" in finished.start(
        "--forceall", fails=True
    )
    assert finished.files(".") == before

    names = [task["id"] for task in yaml.safe_load((finished.folder / "scenarios" / "stock.yaml").read_text())["tasks"]]
    finished.configure(scenarios="scenarios/stock.yaml", run_id="first")
    finished.start()
    rows = (finished.folder / "bench" / "first" / "validity.csv").read_text().splitlines()[1:]
    assert {row.split(",")[0] for row in rows} == set(names)


def test_a_config_may_name_the_set_before_it_is_written(project: Project) -> None:
    with_history(project.folder / "stock")
    project.configure(agent={"kind": "offline"}, scenarios="scenarios/stock.yaml", repo="stock", tasks=4)
    assert "there is no" not in project.start(target="scenarios")
    assert (project.folder / "scenarios" / "stock.yaml").exists()
    (project.folder / "scenarios" / "stock.yaml").unlink()
    project.configure(prompt="where is the cart?", repo="stock")
    assert "eval.html" in project.start(target="eval")


def test_without_a_repository_it_is_asked_for(project: Project) -> None:
    assert "name a repository: snakemake scenarios --config repo=" in project.start(target="scenarios", fails=True)
    assert not (project.bench / "plan.json").exists()
