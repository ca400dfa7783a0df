"""Prepares a run folder before Snakemake plans its jobs: claims it, repairs damage, and follows the store. A damaged
attempt is discarded, a table rebuilt, and what cannot be rebuilt is restored from its copy."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import chain
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.records import from_json, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import (
    DISCARD,
    RECORD,
    Entry,
    Store,
    all_entries,
    journal_of,
    show,
    stale_views,
    withdraw,
)
from lensbench.core.system.claim import claim
from lensbench.core.system.files import note_checksum, read_checksums, write_atomic, write_json
from lensbench.core.system.trial import try_machine
from lensbench.runs.stopping import spend_elsewhere
from lensbench.workflow.damage import FOREIGN, Damage, FolderCheck, read_index, write_index
from lensbench.workflow.schedule import Schedule


def begin(schedule: Schedule, is_dry: bool = False) -> Store:
    """Claims the run folder, and repairs wrong timestamps and damaged files; returns its store. A dry run only reports
    them. Raises UserError when another start is running on it, and for damage that cannot be repaired."""
    folder = schedule.folder
    if not is_dry:
        claim(folder)
        try_machine(folder)
        RunFolder(folder).checksums.touch()
        RunFolder(folder).attempts.mkdir(exist_ok=True)
        if not RunFolder(
            folder
        ).preflight.exists():  # rules have it as an input, but not every start writes it
            write_json(RunFolder(folder).preflight, {})
    check = FolderCheck(folder, read_index(folder), schedule.own)
    if not is_dry:
        date_back(folder, {name: mtime for name, (_, mtime, _) in check.whole.items()})
    for damage in check.damages:
        repair = (
            "a start repairs it, which may add jobs to this list"
            if is_dry
            else _repair(schedule, damage)
        )
        _say(f"{folder / damage.name} is damaged ({damage.why}): {repair}")
    if is_dry:
        return check.store
    write_index(folder, check)
    return dict(all_entries(folder)) if check.damages else check.store


def follow_store(schedule: Schedule, is_dry: bool) -> None:
    """Brings journals and views in line with the store, which others may have changed; says which runs a start repeats,
    which answers come back, and which judges are asked again. A dry run only says so."""
    if not is_dry:
        attempts = [
            (stem, entry)
            for stem, own in schedule.store.items()
            for entry in own
            if RECORD in entry.files
        ]
        count_foreign(schedule.folder, attempts)
        _write_journals(schedule, attempts)
        plan = RunFolder(schedule.folder).plan
        if plan.exists() and not Path(schedule.plan_mark).exists():
            os.utime(plan, (1, 1))  # of other settings: any target rewrites it
    find = stale_views if is_dry else withdraw
    for run in find(schedule.folder, schedule.runs, schedule.max_rounds, schedule.store):
        _say(
            f"{run.stem}: its answer does not count in {RunFolder(schedule.folder).attempts}; a start repeats it"
        )
    if names := [run.stem for run in schedule.missing_runs if not schedule.needs_agent(run)]:
        _say(
            f"from {RunFolder(schedule.folder).attempts}, without an agent: {', '.join(names)}. To repeat a run:"
            " lensbench discard"
        )
    for judge in schedule.judging.incomplete:  # files of people that are damaged are said here
        _say(f"{judge} left criteria without a verdict; a start asks again")
        if not is_dry:  # the verdicts that it gave are stored
            (RunFolder(schedule.folder).judge_verdicts / f"{judge}.csv").unlink(missing_ok=True)


def _write_journals(schedule: Schedule, attempts: list[tuple[str, Entry]]) -> None:
    """Rewrites the journals that do not list the attempts in the store."""
    journals = {wave: set[str]() for wave in range(1, len(schedule.waves) + 1)}
    runs = {run.stem: run for run in schedule.runs}
    for stem, entry in attempts:
        if stem in runs:
            journals[schedule.wave_of(runs[stem])].add(f"{stem}/{entry.number}\n")
    for wave, lines in journals.items():
        path = journal_of(schedule.folder, wave)
        if (
            not path.exists()
            or set(path.read_text(encoding="utf-8").splitlines(keepends=True)) != lines
        ):
            write_atomic(path, "".join(sorted(lines)))


def count_foreign(folder: Path, attempts: Iterable[tuple[str, Entry]]) -> None:
    """Adds what attempts cost that were copied here from another machine: those whose records were not noted here."""
    checksums = read_checksums(folder)
    is_list_lost = RunFolder(folder).spent.exists() and not any(
        name.endswith(f"/{RECORD}") for name in checksums
    )
    for stem, entry in attempts:
        if (name := f"{RunFolder.attempts}/{stem}/{entry.number}/{RECORD}") not in checksums:
            content = entry.record.read_bytes()
            record = from_json(content.decode())
            if record.source == "run" and not is_list_lost:
                hours = (record.attempt.duration_s or 0) / 3600
                spend_elsewhere(folder, name, record.outcome, hours)
            note_checksum(folder, name, content)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _repair(schedule: Schedule, damage: Damage) -> str:
    """Repairs a damaged file; returns a message that says how."""
    folder = schedule.folder
    name = damage.name
    if damage.run:
        show(folder, damage.run)
        return "restored from the store"
    if not damage.entry:
        return _restore(folder, name) or _delete(folder, name)
    if damage.why == FOREIGN:
        raise UserError(
            f"{folder / name} {FOREIGN}: two machines made this attempt. Restore the one that was here, or remove"
            f" {damage.entry.folder} to take neither"
        )
    if schedule.config.agent.kind == "none":
        raise UserError(
            f"{folder / name} is damaged ({damage.why}), and agent.kind is 'none'; restore the file, or import the run"
            " again"
        )
    counts = damage.entry.counts
    damage.entry.set_aside(f"{name} is damaged: {damage.why}")
    return (
        "this run is repeated, and the damaged files stay" if counts else "it is discarded already"
    )


def _restore(folder: Path, name: str) -> str:
    """Restores a file from its copy; "" for files without one. If both are equal, its noted checksum was wrong."""
    copy = RunFolder(folder).copies / name
    if not copy.exists():
        return _restore_plan(folder, name)
    content = copy.read_bytes()
    if content != (folder / name).read_bytes():
        shutil.copyfile(copy, folder / name)
    note_checksum(folder, name, content)
    return "restored from its copy"


def _restore_plan(folder: Path, name: str) -> str:
    """Restores the plan from the same one in the store, or the other way round; "" for other files."""
    plans = [RunFolder(folder).plan, *RunFolder(folder).attempts.glob("plan-*.json")]
    for plan in plans if folder / name in plans else ():
        if plan.exists() and sha256(plan.read_bytes()) == read_checksums(folder).get(name):
            shutil.copyfile(plan, folder / name)
            return f"restored from {plan}"
    return ""


def _delete(folder: Path, name: str) -> str:
    top, _, rest = name.partition("/")
    if name.endswith(f"/{DISCARD}"):
        raise UserError(
            f"{folder / name} is damaged, and so is its copy; restore it, or delete it, and the attempt counts again"
        )
    (folder / name).unlink(missing_ok=True)
    if top in (RunFolder.answers, RunFolder.prompts):
        shutil.rmtree(
            folder / top, ignore_errors=True
        )  # Snakemake treats the whole folder as one output
    if top == RunFolder.looks:
        (folder / top / f"{rest.partition('/')[0].removesuffix('.json')}.json").unlink(
            missing_ok=True
        )
    if top == RunFolder.judging:  # otherwise no rule would request it
        for table in RunFolder(folder).judge_verdicts.glob("*.csv"):
            table.unlink()
    return "it is rebuilt from its inputs"


FLAT = ("", RunFolder.runs, RunFolder.attempts)
FOLDERS = (
    RunFolder.frozen_settings,
    RunFolder.prompts,
    RunFolder.changes,
    RunFolder.tests,
    RunFolder.looks,
    RunFolder.judge_verdicts,
)
"""The folders whose files are inputs of a rule; those of trials are below them."""


def date_back(folder: Path, run_dates: Mapping[str, int]) -> None:
    """Shifts future timestamps of rule inputs (`run_dates`: those of runs, in ns) back, the newest to now."""
    now = time.time_ns()
    paths = chain.from_iterable(
        _inside(folder / name, name in FOLDERS) for name in (*FLAT, *FOLDERS)
    )
    ahead = {f"{folder}/{name}": date for name, date in run_dates.items() if date > now}
    for path in paths:
        date = _date(path)
        if date > now:
            ahead[path] = date
    newest = max(ahead.values(), default=now)
    for path, date in ahead.items():
        with suppress(OSError):  # a read-only folder
            os.utime(path, ns=(now, date - newest + now))


def _inside(folder: Path, recursive: bool) -> Iterable[str]:
    for place, _, files in os.walk(folder):
        yield place
        yield from (f"{place}/{name}" for name in files)
        if not recursive:
            return


def _date(path: str) -> int:
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
