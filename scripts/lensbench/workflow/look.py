"""A look at the results after a wave: is the next wave needed, or is the verdict already clear (or out of reach)? The
stages after the runs are computed in the look's own folder, `looks/<look>/`, the evidence for the decision. Verdicts of
model judges are reused, never paid for twice."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from lensbench.core.conditions import compared
from lensbench.core.errors import UserError
from lensbench.core.rows import ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, write_json
from lensbench.core.system.program import run_program, stage_parser
from lensbench.core.tables import read_table
from lensbench.judging.verdicts import judge_all
from lensbench.plan.frozen import read_plan
from lensbench.plan.waves import look_file, restricted, waves
from lensbench.scores.estimates_file import LookFile, decided_by_gate
from lensbench.scores.gate_words import with_noun
from lensbench.scores.rescore import estimate_present
from lensbench.scores.run_tables import due_runs

_FOLDERS = (RunFolder.attempts, RunFolder.runs, RunFolder.judging, RunFolder.human)
_FILES = (RunFolder.tasks, RunFolder.tasks_beside, RunFolder.preflight, RunFolder.spent)
"""The files that a look shares with the run folder."""


def look(folder: Path, number: int, parallel: int) -> LookFile:
    """Looks at the first `number` waves (from 1) and writes looks/<number>.json. The next wave opens when a comparison
    of the gate needs it. An opened wave stays open, because that decision is final."""
    plan = read_plan(folder)
    if not 1 <= number < len(waves(plan)):
        raise UserError(
            f"{folder}: there is no look {number}; the plan has {len(waves(plan)) - 1} before the last wave"
        )
    own = RunFolder(folder).looks / str(number)
    _share(folder, own)
    write_json(
        RunFolder(own).plan, {**restricted(plan, number), "gate": plan["gate"] | {"looks": 1}}
    )
    estimates = estimate_present(own, lambda judge: judge_all(own, judge, parallel, counts=False))
    validity = read_table(RunFolder(own).validity, ValidityRow)
    due = sum(run.condition in compared(plan) for run in due_runs(own, plan, validity))
    results = {
        name: entry["looks"][-1]
        for name, entry in decided_by_gate(estimates["comparisons"]).items()
    }
    if due:
        why = (
            f"{with_noun(due, 'run')} of the waves so far must be repeated first, by the next start"
        )
        results = {name: result._replace(open=False, why=why) for name, result in results.items()}
    value: LookFile = {
        "look": number,
        "of": len(waves(plan)),
        "open": any(result.open for result in results.values()),
        "treatments": results,
    }
    write_json(look_file(folder, number), plain(value))
    for name, result in results.items():
        print(f"{name}, look {result.look} of {result.looks}: {result.why}", file=sys.stderr)
    return value


def _share(folder: Path, own: Path) -> None:
    """Links the shared files of the run folder into the look; relative, so that the folder can be moved."""
    own.mkdir(parents=True, exist_ok=True)
    for name in _FOLDERS:
        (folder / name).mkdir(
            exist_ok=True
        )  # otherwise the look would write its files next to the link
    for name in (*_FOLDERS, *_FILES, RunFolder.look_ledger):
        link = own / name
        if (name == RunFolder.look_ledger or (folder / name).exists()) and not link.is_symlink():
            link.symlink_to(os.path.relpath(folder / name, own))


def main() -> None:
    """Look at the results of the first waves."""
    parser = stage_parser(main.__doc__)
    parser.add_argument("--look", required=True, type=int, help="after how many waves")
    parser.add_argument(
        "--parallel", type=int, default=1, help="how many answers a model judge reads in parallel"
    )
    arguments = parser.parse_args()
    look(arguments.folder, arguments.look, arguments.parallel)


if __name__ == "__main__":
    run_program(main)
