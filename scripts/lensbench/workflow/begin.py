"""Prepares a run folder before Snakemake plans its jobs: claims the folder and repairs damaged files.

A damaged run is set aside and repeated, a damaged table is deleted and rebuilt from its inputs, and a file that cannot
be rebuilt is restored from its copy.
"""

from __future__ import annotations

import shutil
import socket
import sys
from collections.abc import Set
from pathlib import Path

from lensbench.core.errors import UserError
from lensbench.core.run_folder import RunFolder, names_of_run
from lensbench.core.system.claim import claim
from lensbench.core.system.clock import date_back
from lensbench.core.system.files import note_checksum, write_json
from lensbench.plan.config import Config
from lensbench.workflow.damage import Check, Damage, read_index, write_index
from lensbench.workflow.snakemake_inside import forget_marks, remove_locks


def begin(config: Config, folder: Path, own: Set[str]) -> None:
    """Claims the run folder, removes stale Snakemake locks, and repairs wrong timestamps and damaged files.

    `own`: the user's own files in the folder, which are left unchanged.
    Raises UserError when another Snakemake is running on it, and for damage that cannot be repaired. A lock from
    another machine stays, because not every file system shows whether its owner is alive.
    """
    before = claim(folder)
    if before and before.host == socket.gethostname() and remove_locks(folder):
        _say(f"the previous Snakemake was killed; removed its lock on {folder}")
    for made in (RunFolder(folder).runs, RunFolder(folder).records):
        forget_marks(made)
    date_back(folder)
    RunFolder(folder).checksums.touch()
    if not RunFolder(
        folder
    ).preflight.exists():  # rules have it as an input, but a start without new runs does not write it
        write_json(RunFolder(folder).preflight, {})
    check = Check(folder, read_index(folder), own)
    for damage in check.damages:
        _say(f"{folder / damage.name} is damaged ({damage.why}): {_repair(folder, damage, config)}")
    write_index(folder, check)


def foretell(config: Config, folder: Path, own: Set[str]) -> None:
    """Reports damaged files and changes nothing: for a dry run."""
    for damage in Check(folder, read_index(folder), own).damages:
        _say(f"{folder / damage.name} is damaged ({damage.why}): a start repairs it, which may add jobs to this list")


def leave(config: Config, folder: Path, own: Set[str]) -> None:
    """Does nothing: for commands that only read."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _repair(folder: Path, damage: Damage, config: Config) -> str:
    """Repairs a damaged file; returns a message that says how."""
    if damage.run:
        if config.agent.kind == "none":
            raise UserError(
                f"{folder / damage.name} is damaged ({damage.why}), and agent.kind is 'none'; restore the file, or"
                " import the run again"
            )
        return _set_aside(folder, damage.run)
    return _restore(folder, damage.name) or _delete(folder, damage.name)


def _set_aside(folder: Path, stem: str) -> str:
    for name in names_of_run(stem):
        if (folder / name).exists():
            (RunFolder(folder).damaged / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).replace(RunFolder(folder).damaged / name)
    return f"this run is repeated; the old files are in {RunFolder(folder).damaged}"


def _restore(folder: Path, name: str) -> str:
    """Restores a file from its copy; "" for files without one. If both are equal, its noted checksum was wrong."""
    copy = RunFolder(folder).copies / name
    if not copy.exists():
        return ""
    content = copy.read_bytes()
    if content != (folder / name).read_bytes():
        shutil.copyfile(copy, folder / name)
    note_checksum(folder, name, content)
    return "restored from its copy"


def _delete(folder: Path, name: str) -> str:
    top, _, rest = name.partition("/")
    if top == RunFolder.discards:
        raise UserError(
            f"{folder / name} is damaged, and so is its copy; restore it, or delete it to forget the discard"
        )
    (folder / name).unlink(missing_ok=True)
    if top in (RunFolder.answers, RunFolder.prompts):
        shutil.rmtree(folder / top, ignore_errors=True)  # Snakemake treats the whole folder as one output
    if top == RunFolder.looks:
        (folder / top / f"{rest.partition('/')[0].removesuffix('.json')}.json").unlink(missing_ok=True)
    if top == RunFolder.judging:  # otherwise no rule would request it
        for table in RunFolder(folder).judge_verdicts.glob("*.csv"):
            table.unlink()
        shutil.rmtree(RunFolder(folder).guesses, ignore_errors=True)
    return "it is rebuilt from its inputs"
