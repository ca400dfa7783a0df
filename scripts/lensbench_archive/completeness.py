"""Checks that an archive of unknown origin is complete according to its plan, and that stages can read its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import RunId, from_json, run_files, sha256
from lensbench.core.rows import ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.run_status import RunStatus
from lensbench.core.tables import read_table, run_of_row
from lensbench.plan.frozen import read_plan
from lensbench.runs.discards import discard_files
from lensbench_archive import RUN

_TASK = re.compile(r"[a-z0-9][a-z0-9-]{0,99}")
_CONDITION = re.compile(r"[a-z][a-z0-9_]{0,31}")
_JUDGE = re.compile(r"[a-z][a-z0-9-]{0,31}")
MAX_TRIALS = 99
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
        sound = all(pattern.fullmatch(name) for pattern, given in names for name in given)
        sound = sound and set(plan["order"]) == set(plan["tasks"]) and len(plan["order"]) == len(plan["tasks"])
        sound = sound and type(plan["trials"]) is int and 1 <= plan["trials"] <= MAX_TRIALS
    except (LookupError, TypeError, AttributeError):
        sound = False
    if not sound:
        raise UserError("run/plan.json: is not a plan written by lensbench")
    return plan


def foreign_files(data: Path, plan: Plan) -> Iterator[str]:
    """Files in the data folders of an archive that no figure uses."""
    planned = {
        path.relative_to(data / RUN).as_posix()
        for task in plan["tasks"]
        for condition in plan["conditions"]
        for trial in range(1, plan["trials"] + 1)
        for path in run_files(data / RUN, RunId(task, condition, trial))
    }
    for folder in (RunFolder.runs, RunFolder.records, RunFolder.transcripts):
        for path in sorted((data / RUN / folder).rglob("*")):
            name = path.relative_to(data / RUN).as_posix()
            if path.is_file() and name not in planned and name != RunFolder.timing:
                yield f"{RUN}/{name}: belongs to no planned run"
    for path in sorted(RunFolder(data / RUN).human.rglob("*")):
        if path.is_file() and (path.suffix != ".json" or path.parent.name != "human"):
            yield f"{path.relative_to(data)}: is no person's verdicts"


def unplanned_problems(data: Path, foreign: Sequence[str]) -> Iterator[str]:
    """Records of unplanned runs that do not match their answers."""
    for name in (told.partition(":")[0] for told in foreign):
        if name.startswith(f"{RUN}/records/"):
            stem = name.removeprefix(f"{RUN}/records/").removesuffix(".json")
            try:
                record = from_json((data / name).read_text(encoding="utf-8"))
                fits = sha256((RunFolder(data / RUN).runs / f"{stem}.md").read_bytes()) == record.answer_sha256
            except (OSError, ValueError):
                fits = False
            if not fits:
                yield f"{name}: belongs to no answer in the archive"


def missing_prompts(folder: Path, plan: Plan) -> Iterator[str]:
    """The prompts that differ from the plan."""
    for task, planned in plan["tasks"].items():
        path = RunFolder(folder).prompts / f"{task}.md"
        if not path.exists():
            yield f"run/prompts/{task}.md: is missing"
        elif sha256(path.read_bytes()) != planned["prompt_sha256"]:
            yield f"run/prompts/{task}.md: differs from the prompt in the plan"


def missing_runs(folder: Path, plan: Plan) -> Iterator[str]:
    """The planned runs that are neither present nor discarded, from validity.csv. Imported runs may be missing."""
    for row in read_table(RunFolder(folder).validity, ValidityRow) if not plan["imported"] else ():
        if row["status"] == RunStatus.MISSING:
            yield f"run/runs/{run_of_row(row).stem}.md: this planned run is missing and not discarded"


def discard_problems(folder: Path) -> Iterator[str]:
    """Discards that are incomplete, or that follow a missing one."""
    for stem, paths in discard_files(folder).items():
        for number, path in enumerate(paths, 1):
            expected = f"run/discards/{stem}-{number}.json"
            if path != RunFolder(folder).discards / f"{stem}-{number}.json":
                yield f"{expected}: is missing"
                break
            if problem := _discard_problem(path):
                yield f"{expected}: {problem}"


def _discard_problem(path: Path) -> str:
    try:
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        answer = sha256(path.with_suffix(".md").read_bytes())
        record = value["record"]
        written = json.dumps(record, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        if sha256(written.encode(errors="replace")) != value["record_sha256"]:
            return "its record was changed after it was filed"
        return "" if answer == record["answer_sha256"] else "its answer does not match its record"
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return "is an incomplete discard"
