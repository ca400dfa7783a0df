"""A look at the first waves of a benchmark that somebody built by hand."""

from pathlib import Path

from benches import Shape, make_bench
from lensbench.core.tables import read_table
from lensbench.plan.frozen import read_plan
from lensbench.plan.waves import waves
from lensbench.workflow.look import look


def test_a_look_counts_all_tasks_of_its_waves(tmp_path: Path) -> None:
    folder = make_bench(tmp_path / "r", Shape(tasks=8, looks=2, judges=("mechanical",)))
    assert look(folder, 1, 1)["of"] == 2
    first, _ = waves(read_plan(folder))
    pairs = read_table(folder / "looks" / "1" / "pairs.csv")
    assert {row["task"] for row in pairs} == {*first.tasks}
