"""Writes a set of change tasks: `python -m lensbench.scenarios --kind change ...`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from lensbench.agents.sandbox import find_sandbox
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.terminal import printable
from lensbench.plan.task_files import read_scenarios
from lensbench.scenarios.author import asked_agent
from lensbench.scenarios.changes.agent_prompts import in_other_words
from lensbench.scenarios.changes.candidates import Bench, Fate
from lensbench.scenarios.changes.from_history import tasks_from_history
from lensbench.scenarios.changes.from_releases import read_releases, tasks_between
from lensbench.scenarios.changes.harbor import tasks_from_harbor
from lensbench.scenarios.changes.swebench import tasks_from_swebench
from lensbench.scenarios.changes.writing import render_report, write_set
from lensbench.scenarios.pin import pin
from lensbench.scenarios.settings import Settings

TRIED = 4
"""Changes that are tried for each task that is wanted."""


def add_options(parser: argparse.ArgumentParser) -> argparse._MutuallyExclusiveGroup:
    """The options of change tasks; returns the group of those that say where tasks come from."""
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--releases", help="two releases of a package: pypi:<name>@<earlier>..<later>, or npm:...")
    where.add_argument("--swebench", type=Path, help="a JSONL file as SWE-bench has it; needs --mirrors")
    where.add_argument("--harbor", type=Path, help="a task folder of Harbor or Terminal-Bench, or a folder of them")
    parser.add_argument("--mirrors", type=Path, help="folder with clones of the repositories that --swebench names")
    parser.add_argument("--environment", action="append", default=[], help="a command that installs what tests need")
    parser.add_argument("--command", default="", help="how tests are started; the files of tests follow")
    parser.add_argument(
        "--prompts", choices=("author", "agent"), default="author",
        help="who says what is wanted: the change's author, or the agent of --settings, which does not see the change",
    )  # fmt: skip
    parser.add_argument("--timeout", type=float, default=120.0, help="seconds that the tests of a task may take")
    return where


def write_changes(given: argparse.Namespace, settings: Settings) -> None:
    """Writes the set, its reference patches and its report. Raises UserError when no task holds."""
    name = given.output.stem
    bench = Bench(find_sandbox(settings.for_sandbox()), Path(settings.cache))
    if not bench.sandbox.program:
        raise UserError(f"hidden tests need a sandbox ({bench.sandbox.reason or 'sandbox: none'}); install bubblewrap")
    told = _source(name, given, bench)
    if given.prompts == "agent":
        told = in_other_words(told, asked_agent(settings, given.output.with_suffix(".transcripts")), bench)
    fates = list(_tried(told, given.tasks))
    if not any(fate.task for fate in fates):
        reasons = "; ".join(f"{fate.id}: {fate.reasons[0]}" for fate in fates[:3])
        raise UserError(f"no task holds, of {len(fates)} changes that were tried ({reasons or 'none asks for tests'})")
    write_set(name, fates, given.output, "Tasks whose answer is a change, proven when this was written.")
    report = given.output.with_suffix(".report.md")
    write_atomic(report, render_report(name, fates))
    read_scenarios([str(given.output)])
    count = sum(fate.task is not None for fate in fates)
    print(f"{given.output}: {count} of {given.tasks} tasks; {report} says what became of the others")


def _source(name: str, given: argparse.Namespace, bench: Bench) -> Iterator[Fate]:
    how = (bench, given.environment, given.command, given.timeout)
    if given.releases:
        return tasks_between(read_releases(given.releases), *how)
    if given.swebench:
        if not given.mirrors:
            raise UserError("--swebench needs --mirrors, the folder with clones of the repositories")
        return tasks_from_swebench(given.swebench, given.mirrors, *how)
    if given.harbor:
        return tasks_from_harbor(given.harbor, given.output, bench, given.timeout)
    return tasks_from_history(name, pin(given.repo), *how)


def _tried(fates: Iterable[Fate], wanted: int) -> Iterator[Fate]:
    """The fates up to the wanted number of tasks, told as they come."""
    kept = 0
    for number, fate in enumerate(fates, 1):
        print(printable(f"{fate.id}: {'; '.join(fate.reasons) or 'proven'}"), file=sys.stderr, flush=True)
        yield fate
        kept += fate.task is not None
        if kept >= wanted or number >= TRIED * wanted:
            return
