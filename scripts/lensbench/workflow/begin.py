"""What a start of Snakemake does before it decides what to make: it claims the run folder and repairs what is damaged.

A damaged run is set aside and made again, a damaged table is deleted and rebuilt from what it was made of, and what
nothing could make again is restored from its copy.
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
    """Claims the run folder, removes what a killed Snakemake locked in it, repairs what is dated wrong or damaged.

    `own` are files of the user's in it, which stay as they are.
    Raises UserError when another Snakemake is running on it, and for damage that cannot be repaired. A lock from
    another machine stays: whether that one is alive cannot be seen on every file system.
    """
    before = claim(folder, config.part)
    if before and before.host == socket.gethostname() and remove_locks(folder):
        _say(f"the Snakemake before this one was killed: removed its lock on {folder}")
    for made in (RunFolder(folder).runs, RunFolder(folder).records):
        forget_marks(made)
    date_back(folder)
    RunFolder(folder).checksums.touch()
    if not RunFolder(folder).preflight.exists():  # an input of rules, though a start that makes no run has none
        write_json(RunFolder(folder).preflight, {})
    check = Check(folder, read_index(folder), own)
    for damage in check.damages:
        _say(f"{folder / damage.name} is damaged ({damage.why}): {_repair(folder, damage, config)}")
    write_index(folder, check)


def foretell(config: Config, folder: Path, own: Set[str]) -> None:
    """Says what is damaged and changes nothing: for a dry run."""
    for damage in Check(folder, read_index(folder), own).damages:
        _say(
            f"{folder / damage.name} is damaged ({damage.why}): a start repairs it, which may make more than is listed"
        )


def leave(config: Config, folder: Path, own: Set[str]) -> None:
    """Does nothing: for whoever only looks."""


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _repair(folder: Path, damage: Damage, config: Config) -> str:
    """Repairs a damage and says how."""
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
    return f"this run is made again, what was there is in {RunFolder(folder).damaged}"


def _restore(folder: Path, name: str) -> str:
    """Restores a file that is kept twice; "" for others. When both are the same, what is wrong is the list."""
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
        shutil.rmtree(folder / top, ignore_errors=True)  # these are one output
    if top == RunFolder.looks:
        (folder / top / f"{rest.partition('/')[0].removesuffix('.json')}.json").unlink(missing_ok=True)
    if top == RunFolder.judging:  # or nobody would ask for it
        for table in RunFolder(folder).judge_verdicts.glob("*.csv"):
            table.unlink()
        shutil.rmtree(RunFolder(folder).guesses, ignore_errors=True)
    return "it is made anew from what it was made of"
