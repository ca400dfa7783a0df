"""Compares finished runs on the tasks that they share: `lensbench compare bench/a bench/b`.

The first run is the reference. Prints the differences, and writes comparison.md and comparison.json.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from lensbench import __version__
from lensbench.core.conditions import treatments
from lensbench.core.rows import RunStatus
from lensbench.core.system.files import plain, write_atomic, write_json
from lensbench.core.system.program import Parser, benchmark, run_program
from lensbench.results.compare import view
from lensbench.results.compare.differences import Shared, by_task, changes
from lensbench.results.compare.runs import FinishedRun, read_runs, shared_tasks
from lensbench.results.compare.settings import changed_settings, judge_names, models_of, notices
from lensbench.results.compare.view import ComparedRun, ComparedTreatment, ComparisonFile
from lensbench.results.markdown import render as render_markdown


def compare(runs: Sequence[FinishedRun]) -> ComparisonFile:
    """Everything in comparison.json; the first run is the reference. Raises UserError without a shared task."""
    tasks, left_out = shared_tasks(runs)
    overlap = Shared(runs, tasks)
    settings, same = changed_settings(runs, tasks)
    gate = overlap.reference.plan["gate"]
    return {
        "lensbench": __version__,
        "reference": overlap.reference.name,
        "alpha": gate["alpha"],
        "power": gate["power"],
        "runs": [_run(run, tasks) for run in runs],
        "tasks": tasks,
        "left_out": left_out,
        "unmatched": list(_unmatched(overlap)),
        "notices": notices(runs, settings),
        "changed": settings,
        "same": same,
        "treatments": [_treatment(overlap, name) for name in treatments(overlap.reference.plan)],
        "changes": changes(overlap),
    }


def _run(run: FinishedRun, tasks: Sequence[str]) -> ComparedRun:
    statuses = [row["status"] for key, row in run.tables.scores.items() if key.task in tasks]
    starts = [record.attempt.started_at for record in run.tables.valid if record.source == "run"]
    return ComparedRun(
        run.name, run.plan["run_id"], run.plan["agent"]["kind"], models_of(run), judge_names(run),
        min(starts, default=None), len(run.plan["order"]), run.plan["trials"], statuses.count(RunStatus.SCORED),
        len(statuses),
    )  # fmt: skip


def _unmatched(overlap: Shared) -> Iterator[str]:
    """Treatments that only one side has, one sentence each."""
    reference = overlap.reference
    for run in overlap.others:
        own = treatments(reference.plan)
        counterparts = {name: run.counterpart(name, reference) for name in own}
        for name in own:
            if counterparts[name] is None:
                yield f"{name} of {reference.name} is no treatment of {run.name}."
        for name in treatments(run.plan):
            if name not in counterparts.values():
                yield f"{name} of {run.name} is no treatment of {reference.name}."


def _treatment(overlap: Shared, name: str) -> ComparedTreatment:
    conditions = overlap.conditions(name)
    deltas = {run.name: overlap.own_delta(run, condition) for run, condition in conditions}
    return ComparedTreatment(
        name, {run.name: condition for run, condition in conditions}, deltas, by_task(overlap, name)
    )


def render(data: ComparisonFile, *, short: bool = False) -> str:
    """comparison.md; `short` leaves out the single tasks, for the terminal."""
    filters: dict[str, Callable[..., object]] = {
        "in_points": view.points, "cells": view.cells, "label": view.label, "says": partial(view.sentence, data),
    }  # fmt: skip
    values = {"data": data, "treatments": view.treatment_views(data), "short": short}
    return render_markdown(values, "comparison.md.j2", filters)


def write_comparison(folders: Sequence[Path], output: Path | None = None) -> None:
    """Writes both files into `output`, by default `comparisons/<names>` beside the first run; prints them."""
    data = compare(read_runs(folders))
    names = "-".join(folder.resolve().name for folder in folders)
    output = output or folders[0].resolve().parent / "comparisons" / names
    write_json(output / "comparison.json", plain(data))
    write_atomic(output / "comparison.md", render(data))
    print(render(data, short=True))
    print(f"open {output / 'comparison.md'}")


def main() -> None:
    """Reads the arguments, and compares the runs."""
    parser = Parser(prog="lensbench compare", description=__doc__)
    parser.add_argument(
        "runs", nargs="+", type=benchmark, help="run ids, or run folders bench/<run_id>; the first is the reference"
    )
    parser.add_argument("--output", type=Path, help="the folder to write to; bench/comparisons/<names> by default")
    arguments = parser.parse_args()
    run_program(lambda: write_comparison(arguments.runs, arguments.output))


if __name__ == "__main__":
    main()
