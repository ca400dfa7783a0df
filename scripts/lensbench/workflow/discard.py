"""Discards a run by hand, or undoes that: `lensbench discard click-dbg-01-with --reason "..."`."""

from __future__ import annotations

from pathlib import Path

from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.records import RunId
from lensbench.core.rows import RunStatus, ScoreRow, ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import DISCARD, Discard, entries, rounds, run_files, show, view_of
from lensbench.core.system.claim import refuse_if_at_work
from lensbench.core.system.program import Parser, add_run_folder, run_folder, run_program
from lensbench.plan.waves import read_opened_plan
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.validity import planned_runs
from lensbench.scores.rescore import judge_present
from lensbench.scores.scores import rows_by_run, score_all
from lensbench.workflow.render import render_present


def discard(folder: Path, name: str, why: str) -> RunId:
    """Records the run as discarded by hand, with its current score. Raises UserError when it is not valid."""
    refuse_if_at_work(folder)
    run = _run_of(folder, name)
    judge_present(folder)
    score_all(folder)
    row = rows_by_run(RunFolder(folder).validity, ValidityRow)[run]
    if row["status"] != RunStatus.VALID:
        state = f"{row['status']} already"
        if row["reason"]:
            state += f": {row['reason']}"
        raise UserError(f"{run.stem} is {state}; only a run that counts can be discarded")
    score = rows_by_run(RunFolder(folder).scores, ScoreRow)[run]["score"]
    run_files(folder, run).discard(Discard(DiscardReason.BY_HAND, why, "person", score))
    view_of(folder, run).unlink(missing_ok=True)
    return run


def take_back(folder: Path, name: str) -> RunId:
    """Undoes a discard by hand. Raises UserError when the run was not discarded so, or was repeated since."""
    refuse_if_at_work(folder)
    run = _run_of(folder, name)
    last = None
    for entry, found in rounds(entries(folder, run)):
        if found.reason == DiscardReason.BY_HAND:
            last = entry
    if last is None:
        raise UserError(f"{run.stem} was not discarded by hand; nothing to undo")
    if last != run_files(folder, run):
        raise UserError(
            f"{run.stem} was repeated since it was discarded; the first answer is in {last.folder}"
        )
    (last.folder / DISCARD).unlink()
    show(folder, run)
    return run


def _run_of(folder: Path, name: str) -> RunId:
    """The planned run with that name; the path of one of its files is accepted, too."""
    stems = {run.stem: run for run in planned_runs(read_opened_plan(folder))}
    path = (
        Path(name.removeprefix(f"{folder}/")).with_suffix("")
        if name.endswith(".md")
        else Path(name)
    )
    stem = "/".join(part for part in path.parts if part != RunFolder.runs)
    if stem not in stems:
        hint = (
            did_you_mean(stem, stems)
            or f"; runs are named <task>-<condition>, such as {next(iter(stems))}"
        )
        raise UserError(f"{folder} has no run {name!r}{hint}")
    return stems[stem]


def main() -> None:
    """Discard a run by hand. The results list it with the reason, and show the delta as if the run counted.

    The next start repeats the run, like every discarded run.
    """
    parser = Parser(prog="lensbench discard", description=main.__doc__)
    parser.add_argument(
        "run",
        help="<task>-<condition>, t2/<task>-<condition> for trial 2, or the path of its answer",
    )
    add_run_folder(parser)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--reason", help="why the run must not count; shown in the results")
    what.add_argument(
        "--undo", action="store_true", help="undo the discard, unless the run was repeated since"
    )
    flags = parser.parse_intermixed_args()
    folder = run_folder(flags)
    if flags.undo:
        print(f"{take_back(folder, flags.run).stem} counts again")
    elif flags.reason.strip():
        print(
            f"{discard(folder, flags.run, flags.reason.strip()).stem} is discarded; the next start repeats it"
        )
    else:
        raise UserError("--reason is empty; say why the run must not count")
    render_present(folder)


if __name__ == "__main__":
    run_program(main)
