"""Writes a set of change tasks: `lensbench generate --kind change ...`."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from lensbench.agents.sandbox import find_sandbox
from lensbench.core.errors import UserError
from lensbench.core.system.files import write_atomic
from lensbench.core.system.program import Parser
from lensbench.core.system.progress import Progress, say
from lensbench.plan.config import Config
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.changes.candidates import ChangeFate, Prover
from lensbench_tasks.changes.from_history import tasks_from_history
from lensbench_tasks.changes.from_releases import read_releases, tasks_between
from lensbench_tasks.changes.swebench import tasks_from_swebench
from lensbench_tasks.changes.writing import render_report, write_set
from lensbench_tasks.pin import pin
from lensbench_tasks.settings import sandbox_of

TRIED = 4
"""How many changes are tried for each wanted task."""


def add_options(parser: Parser) -> argparse._MutuallyExclusiveGroup:
    """Adds the options for change tasks; returns the group of options for the source of tasks."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--releases", help="two releases of a package: pypi:<name>@<earlier>..<later>, or npm:..."
    )
    where.add_argument(
        "--swebench", type=Path, help="a JSONL file in the format of SWE-bench; needs --mirrors"
    )
    parser.add_argument(
        "--mirrors", type=Path, help="with --swebench: the folder with clones of its repositories"
    )
    parser.add_argument(
        "--told", action="store_true", help="keep tasks whose prompt tells how to fix them"
    )
    parser.add_argument(
        "--environment",
        action="append",
        default=[],
        help="a command that installs the tests' dependencies",
    )
    parser.add_argument(
        "--command", default="", help="the command that runs the tests; test files are appended"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        help="time limit for the tests of a task, in seconds (default: 120; 1800 for --swebench)",
    )
    return where


def write_changes(arguments: argparse.Namespace, config: Config, progress: Progress) -> None:
    """Writes the set, its reference patches and its report. Raises UserError when no task is proven."""
    name = arguments.output.stem
    if arguments.output.exists():
        raise UserError(f"{arguments.output} exists: use another --output")
    timeout_s = arguments.timeout or (
        1800 if arguments.swebench else 120
    )  # as SWE-bench's own harness
    bench = Prover(
        find_sandbox(sandbox_of(config)),
        Path(config.cache),
        arguments.environment,
        arguments.command,
        timeout_s,
    )
    if not bench.sandbox.program:
        raise UserError(f"tests of changes {bench.sandbox.lack}")
    fates: list[ChangeFate] = []
    proven = 0
    report = arguments.output.with_suffix(".report.md")
    found = _untold(_source(name, arguments, bench), arguments.told)
    for fate in _tried(found, arguments.count):
        fates.append(fate)
        if fate.task:
            proven += 1
        progress.now(f"trying changes, {len(fates)} tried", proven, arguments.count)
        if fate.task:  # so that a kill loses one task
            write_set(
                name,
                fates,
                arguments.output,
                "Tasks whose answer is a change, proven when this was written.",
            )
        write_atomic(report, render_report(f"# Change tasks: {name}", fates))
    if not proven:
        counts = Counter(fate.reasons[0] for fate in fates)
        reasons = []
        for reason, count in counts.most_common(3):  # a problem of the project is said once
            reasons.append(f"{count} x {reason}")
        why = "; ".join(reasons) or "none is in a known language"
        raise UserError(f"none of the {len(fates)} tried changes gave a proven task: {why}")
    read_scenarios([str(arguments.output)])
    print(f"{arguments.output}: {proven} of {arguments.count} tasks; see {report} for the others")


def _source(name: str, arguments: argparse.Namespace, bench: Prover) -> Iterator[ChangeFate]:
    if arguments.releases:
        return tasks_between(read_releases(arguments.releases), bench)
    if arguments.swebench:
        if not arguments.mirrors:
            raise UserError(
                "--swebench needs --mirrors, the folder with clones of the repositories"
            )
        return tasks_from_swebench(arguments.swebench, arguments.mirrors, bench)
    if not arguments.repo:
        raise UserError("change tasks need --repo, --releases or --swebench")
    return tasks_from_history(name, pin(arguments.repo), bench)


def _untold(fates: Iterable[ChangeFate], keep: bool) -> Iterator[ChangeFate]:
    """The fates, where a task that is told how to fix it is dropped."""
    for fate in fates:
        if fate.task and fate.task.told and not keep:
            yield fate._replace(task=None, reasons=("its prompt tells the fix; --told keeps it",))
        else:
            yield fate


def _tried(fates: Iterable[ChangeFate], goal: int) -> Iterator[ChangeFate]:
    """The fates up to the wanted number of tasks, printed as they are found."""
    count = 0
    for number, fate in enumerate(fates, 1):
        say(f"{fate.id}: {'; '.join(fate.reasons) or 'proven'}", sys.stderr)
        yield fate
        count += fate.task is not None
        if count >= goal or number >= TRIED * goal:
            return
