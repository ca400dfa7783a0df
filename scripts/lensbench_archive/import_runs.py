"""Imports a finished run in the protocol's format (`finished_runs`) into a run folder, to be scored like our own.

It may break our rules: it is imported unchanged, and the results show a warning.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError, printable
from lensbench.core.records import Attempt, Record, RunId, cut_answer, sha256, to_json
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import new_entry, note_made, show
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.program import Parser, run_program
from lensbench.core.system.progress import Progress, step
from lensbench.core.tables import write_table
from lensbench.core.tasks import Folder, Task
from lensbench.plan.freeze import write_plan
from lensbench.plan.reading import load_config
from lensbench.plan.task_markdown import render
from lensbench.runs.reasons import answer_reason
from lensbench_archive.finished_runs import (
    BASELINE,
    Finished,
    Timed,
    find_warnings,
    read_finished,
    shown,
    text,
)
from lensbench_archive.published_scores import SCORE_COLUMNS, impossible, read_scores, rows_of

TASKS = "tasks.md"
"""The file with all tasks and their repositories, if there are several: the original files name none."""


def record_of(run: RunId, answer: bytes, timing: Timed | None, workspace: str = "") -> Record:
    """The record of an imported run, with all that is known: answer, row of timing.csv, and workspace."""
    kept = cut_answer(answer)
    reason, detail = answer_reason(text(answer)) or ("", "")
    seconds, number = timing or (None, 1)
    return Record(
        task=run.task,
        condition=run.condition,
        trial=run.trial,
        source="imported",
        attempt=Attempt(number, "", seconds, 0.0, None, False, reason, detail),
        answer_sha256=sha256(kept),
        answer_bytes=len(kept),
        answer_cut=len(answer) - len(kept),
        workspace=workspace,
    )


def import_run(
    source: Path, run_id: str, force: bool = False, scores: Path | None = None
) -> tuple[Path, list[str]]:
    """Imports the finished run in `source` into `bench/<run_id>`. Returns that folder and the warnings.

    Also writes the files of the stages before the runs (the plan, an empty list of repositories), so that Snakemake
    has nothing to do there. Raises UserError when the run folder already exists, unless it is an earlier import and
    `force` is set. `scores`: a file with scores that others published.
    """
    folder = Path("bench") / run_id
    _check_place(folder, source, force)
    old_run = read_finished(source)
    scores_by_run = read_scores(scores) if scores else {}
    warnings = [*find_warnings(old_run), *score_warnings(scores_by_run, old_run)]
    if folder.exists():
        shutil.rmtree(folder)
    for name, content in old_run.originals.items():
        write_atomic(RunFolder(folder).imported / name, content)
    if scores_by_run:
        write_table(RunFolder(folder).published, SCORE_COLUMNS, rows_of(scores_by_run))
    for written, (run, answer) in enumerate(old_run.answers.items()):
        step(f"writing {folder}", written, len(old_run.answers))
        timing = old_run.timing.runs.get((run.task, run.condition))
        record = record_of(run, answer, timing, old_run.workspaces[run.task])
        write_run(folder, record, cut_answer(answer))
    if len(set(old_run.workspaces.values())) > 1:
        write_atomic(
            RunFolder(folder).imported / TASKS, render(_with_repositories(old_run), "Tasks")
        )
    write_plan(load_config(_settings(old_run, folder, warnings)), [], folder)
    write_json(RunFolder(folder).repositories, {})
    return folder, warnings


def write_run(folder: Path, record: Record, answer: bytes) -> None:
    """Writes an answer from elsewhere as a run of the folder."""
    entry = new_entry(folder, record.run)
    write_atomic(entry.answer, answer)
    write_atomic(entry.record, to_json(record))
    note_made(folder, 1, entry)
    show(folder, record.run)


def score_warnings(scores: Mapping[tuple[str, str], Fraction], old_run: Finished) -> Iterator[str]:
    """The problems of published scores, one sentence each."""
    criteria = {task.id: len(task.criteria) for tasks in old_run.sets.values() for task in tasks}
    if strange := [*impossible(scores, criteria)]:
        yield f"Published scores that are impossible with the number of criteria: {', '.join(strange)}."
    runs = {(run.task, run.condition) for run in old_run.answers}
    if unknown := ["-".join(run) for run in scores if run not in runs]:
        yield shown(f"Published scores of runs that have no answer: {', '.join(unknown)}.")


def _with_repositories(old_run: Finished) -> Iterator[Task]:
    """The tasks with their repositories, since scores of tasks on the same repository are correlated."""
    for tasks in old_run.sets.values():
        yield from (
            task.model_copy(update={"repository": Folder(path=old_run.workspaces[task.id])})
            for task in tasks
        )


def _settings(old_run: Finished, folder: Path, warnings: list[str]) -> dict[str, Any]:
    names = [TASKS] if (RunFolder(folder).imported / TASKS).exists() else [*old_run.sets]
    sets = [(RunFolder(folder).imported / name).as_posix() for name in names]
    return {
        "run_id": folder.name,
        "scenarios": sets[0] if len(sets) == 1 else sets,
        "conditions": {name: {} for name in old_run.conditions},
        "baseline": BASELINE,
        "agent": {"kind": "none", "models": dict(old_run.timing.models)},
        "discards": {"max_rounds": 0},
        "imported": True,
        "warnings": warnings,
        "notes": _their_notes(old_run.said),
    }


def _their_notes(page: str) -> list[str]:
    """The mode and the changes of the run from a results.md in the protocol's format."""
    mode = re.search(r"^\*\*Mode\*\*: *(\S.*)$", page, re.MULTILINE)
    section = re.search(
        r"^#+ *Changes This Run *\n(.*?)(?=^#|\Z)", page, re.MULTILINE | re.DOTALL | re.IGNORECASE
    )
    changes = re.findall(r"^[-*] +(\S.*)$", section[1], re.MULTILINE) if section else []
    notes = [*([f"Mode: {mode[1]}"] if mode else []), *changes]
    return [shown(note.replace("**", "")) for note in notes]


def _check_place(folder: Path, source: Path, force: bool) -> None:
    if not source.is_dir():
        raise UserError(f"{source}: is not a folder; give the folder of a finished run")
    if not folder.exists():
        return
    if not force:
        raise UserError(
            f"{folder} already exists; use another name with --run-id, or replace an import with --force"
        )
    if not RunFolder(folder).imported.is_dir():
        raise UserError(
            f"{folder} is not an import, and only imports are replaced; use another name with --run-id"
        )
    if source.resolve().is_relative_to(folder.resolve()):
        raise UserError(
            f"{source} is in the folder that --force would replace; use another name with --run-id"
        )


def fit_run_id(name: str) -> str:
    """`name` reduced to a valid run_id; "" when nothing is left."""
    return re.sub(r"[^A-Za-z0-9-]+", "-", name).lstrip("-")[:64]


def main() -> None:
    """Import a finished run into bench/<run_id>, to be judged and reported without running an agent."""
    parser = Parser(prog="lensbench import", description=main.__doc__)
    parser.add_argument(
        "folder", type=Path, help="a finished run: scenarios*.md, runs/*.md, runs/timing.csv"
    )
    parser.add_argument("--run-id", help="default: the folder's name, made fit")
    parser.add_argument(
        "--scores",
        type=Path,
        help="published scores to compare with: the run's results.md, or a CSV",
    )
    parser.add_argument(
        "--force", action="store_true", help="replace an earlier import with this name"
    )
    arguments = parser.parse_args()
    name = arguments.run_id
    run_id = fit_run_id(arguments.folder.resolve().name).rstrip("-") if name is None else name
    if not run_id or run_id != fit_run_id(run_id):
        raise UserError(f"--run-id is {run_id!r}; use letters, digits and '-' only, at most 64")
    try:
        with Progress(f"reading {arguments.folder}"):
            folder, warnings = import_run(
                arguments.folder, run_id, arguments.force, arguments.scores
            )
    except OSError as error:
        raise UserError(f"{error.filename}: {error.strerror}") from None
    for warning in warnings:
        print(printable(f"warning: {warning}"), file=sys.stderr)
    print(f"imported into {folder}; next: lensbench run --configfile {RunFolder(folder).config}")


if __name__ == "__main__":
    run_program(main)
