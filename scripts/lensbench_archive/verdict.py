"""Gives the verdict on scores that were made elsewhere: `lensbench verdict scores.csv` (docs/verdict.md).

The rows become an imported benchmark whose only judge repeats the given scores, so that the same stages score, compare
and decide as for any other. How the runs were made is unknown, and every output says so.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from lensbench.core.errors import UserError, printable
from lensbench.core.frozen_plan import GIVEN
from lensbench.core.records import Attempt, Outcome, Record, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed, write_atomic, write_json
from lensbench.core.system.program import Parser, run_program
from lensbench.core.tasks import Category, Criterion, Folder, Task
from lensbench.judging.judges import given as given_judge
from lensbench.plan.freeze import write_plan
from lensbench.plan.reading import load_config
from lensbench.plan.task_markdown import render
from lensbench.scores.estimates_file import EstimatesFile, decided_by_gate
from lensbench.scores.run_tables import ALL_KINDS
from lensbench_archive.given_scores import GivenRun, GivenScores, read_given
from lensbench_archive.import_runs import TASKS, fit_run_id, write_run
from lensbench_archive.rebuilding import rebuild

SCORES = "scores.csv"
"""The name of the given file in the run folder."""
_NO_CATEGORY = Category.TARGETED
"""A task needs one, and the file names none."""
_NOTE = f"The file names no categories: {_NO_CATEGORY} stands for none."


def record_of(given: GivenRun, answer: bytes) -> Record:
    """The record of a row, with all that is known."""
    seconds = None
    cost = None
    tokens = None
    if given.duration_s is not None:
        seconds = float(given.duration_s)
    if given.cost_usd is not None:
        cost = float(given.cost_usd)
    if given.tokens is not None:
        tokens = {ALL_KINDS: int(given.tokens)}
    return Record(
        task=given.run.task,
        condition=given.run.condition,
        trial=given.run.trial,
        source="imported",
        attempt=Attempt(1, "", seconds, 0.0, None, False),
        outcome=Outcome(cost_usd=cost, tokens=tokens),
        answer_sha256=sha256(answer),
        answer_bytes=len(answer),
    )


def write_benchmark(scores: GivenScores, original: Path, folder: Path) -> EstimatesFile:
    """Writes the run folder of given scores, with all results; the ledger of looks of an earlier one stays, because
    each verdict on more rows is a further look. Raises UserError when the folder is something else."""
    content = original.read_bytes()
    place = RunFolder(folder)
    _empty(folder)
    write_atomic(place.imported / SCORES, content)
    tasks = [_task(name, repository) for name, repository in scores.tasks.items()]
    write_atomic(place.imported / TASKS, render(tasks, "Tasks"))
    for given in scores.runs:
        answer = given_judge.answer(given.score, given.calls)
        write_run(folder, record_of(given, answer), answer)
    config = {
        "run_id": fit_run_id(folder.resolve().name),
        "scenarios": (place.imported / TASKS).as_posix(),
        "conditions": {name: {} for name in scores.conditions},
        "baseline": scores.conditions[0],
        "trials": scores.trials,
        "agent": {"kind": "none"},
        "judges": [GIVEN],
        "discards": {"max_rounds": 0},
        "imported": True,
        "warnings": [_NOTE],
    }
    write_plan(load_config(config), [], folder)
    write_json(place.repositories, {})
    rebuild(folder)
    return read_typed(place.estimates, EstimatesFile)


def _task(name: str, repository: str) -> Task:
    return Task(
        id=name,
        category=_NO_CATEGORY,
        repository=Folder(path=repository) if repository else None,
        prompt="The scores come from elsewhere, without the task's text.",
        criteria=(Criterion(text="The score is the one given."),),
    )


def _empty(folder: Path) -> None:
    """Deletes an earlier verdict's files, except the ledger."""
    place = RunFolder(folder)
    if folder.exists() and any(folder.iterdir()) and not (place.imported / SCORES).exists():
        raise UserError(
            f"{folder} is there and no earlier verdict on a file; name another --output"
        )
    for path in folder.iterdir() if folder.exists() else ():
        if path == place.look_ledger:
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()


def main() -> None:
    """Give the verdict on scores from elsewhere: columns task, condition, score, and if known trial, repository,
    cost_usd, tokens, duration_s, calls."""
    parser = Parser(prog="lensbench verdict", description=main.__doc__)
    parser.add_argument("scores", type=Path, help="a CSV with a row for each run (docs/verdict.md)")
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="the condition that the others are compared with (default: without, or baseline)",
    )
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FOLDER",
        help="the run folder to write (default: bench/<the file's name>)",
    )
    arguments = parser.parse_args()
    scores = read_given(arguments.scores, arguments.baseline)
    name = fit_run_id(arguments.scores.stem).rstrip("-") or "scores"
    folder = arguments.output or Path("bench", name)
    if not fit_run_id(folder.resolve().name):
        raise UserError(f"--output is {str(folder)!r}; name a folder with letters or digits")
    estimates = write_benchmark(scores, arguments.scores, folder)
    for estimate in decided_by_gate(estimates["comparisons"]).values():
        gate = estimate["gate"]
        print(printable(gate.sentence))
        if gate.needs:
            print(printable(f"Needed: {gate.needs}"))
        for note in gate.notes:
            print(printable(note))
    place = RunFolder(folder)
    print(f"written: {place.page}, {place.results}, {place.results_json}")


if __name__ == "__main__":
    run_program(main)
