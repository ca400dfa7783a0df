"""Checks that an archive of unknown origin is complete according to its plan, and that stages can read its files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lensbench.core import store
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import run_of_stem, sha256
from lensbench.core.rows import RunStatus, ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import DISCARD, RECORD, all_entries, view_of
from lensbench.core.tables import read_table, run_of_row
from lensbench.plan.frozen import read_plan
from lensbench.runs.validity import planned_runs
from lensbench_archive import RUN
from lensbench_archive.unpacking import files_in

_TASK = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_CONDITION = re.compile(r"[a-z][a-z0-9_]{0,31}")
_JUDGE = re.compile(r"[a-z][a-z0-9-]{0,31}")
MOST_TRIALS = 99
"""As in the config."""


def check_plan(folder: Path) -> Plan:
    """The plan of a run folder, in which names are checked to be no paths. Raises UserError when it is invalid."""
    plan = read_plan(folder)
    try:
        names = (
            (_TASK, [*plan["order"], *plan["tasks"]]),
            (_CONDITION, [plan["baseline"], *plan["conditions"]]),
            (_JUDGE, [judge["name"] for judge in plan["judges"]]),
        )
        sound = all(pattern.fullmatch(name) for pattern, group in names for name in group)
        sound = (
            sound
            and set(plan["order"]) == set(plan["tasks"])
            and len(plan["order"]) == len(plan["tasks"])
        )
        sound = sound and type(plan["trials"]) is int and 1 <= plan["trials"] <= MOST_TRIALS
    except (LookupError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise UserError("run/plan.json: is not a plan written by lensbench")
    return plan


def foreign_files(data: Path, plan: Plan) -> Iterator[str]:
    """Files in the data folders of an archive that no figure uses."""
    folder = data / RUN
    runs = planned_runs(plan)
    for name in store.foreign_files(folder, runs):
        yield f"{RUN}/{RunFolder.attempts}/{name}: belongs to no planned run"
    views = {view_of(folder, run) for run in runs} | {RunFolder(folder).timing}
    for path in files_in(RunFolder(folder).runs).values():
        if path not in views:
            yield f"{path.relative_to(data).as_posix()}: belongs to no planned run"
    for path in files_in(RunFolder(folder).human).values():
        if path.suffix != ".json" or path.parent.name != "human":
            yield f"{path.relative_to(data)}: is no person's verdicts"


def attempt_problems(folder: Path, plan: Plan) -> Iterator[str]:
    """Attempts that are incomplete or changed, or that the journals of the store do not list; views that differ."""
    journals = (
        path.read_text(encoding="utf-8") for path in RunFolder(folder).attempts.glob("made-*.csv")
    )
    journal = {line for text in journals for line in text.splitlines()}
    records = set()
    for stem, attempts in all_entries(folder):
        run = run_of_stem(stem)
        for entry in attempts:
            place = f"{stem}/{entry.number}"
            records |= {place} if RECORD in entry.files else set()
            try:
                entry.read_record(run)
                if DISCARD in entry.files:
                    entry.read_discard()
            except UserError as error:
                yield f"run/{str(error).removeprefix(f'{folder}/')}"
        view = view_of(folder, run)
        if view.exists() and view.read_bytes() != attempts[-1].answer.read_bytes():
            yield f"run/{view.relative_to(folder).as_posix()}: is not the answer in {RunFolder.attempts}/"
    stems = {run.stem for run in planned_runs(plan)}
    for place in sorted(journal - records):
        yield f"run/{RunFolder.attempts}/{place}/{RECORD}: is missing"
    for place in sorted(place for place in records - journal if place.rpartition("/")[0] in stems):
        yield f"run/{RunFolder.attempts}/{place}: is not listed in made-*.csv"


def missing_prompts(folder: Path, plan: Plan) -> Iterator[str]:
    for task, entry in plan["tasks"].items():
        path = RunFolder(folder).prompts / f"{task}.md"
        if not path.exists():
            yield f"run/prompts/{task}.md: is missing"
        elif sha256(path.read_bytes()) != entry["prompt_sha256"]:
            yield f"run/prompts/{task}.md: differs from the prompt in the plan"


def missing_runs(folder: Path, plan: Plan) -> Iterator[str]:
    """The planned runs that are neither present nor discarded, from validity.csv. Imported runs may be missing."""
    for row in read_table(RunFolder(folder).validity, ValidityRow) if not plan["imported"] else ():
        if row["status"] == RunStatus.MISSING:
            yield f"run/runs/{run_of_row(row).stem}.md: this planned run is missing and not discarded"
