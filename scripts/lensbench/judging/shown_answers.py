"""The answers for judges: those of valid runs, blinded, with opaque names, in random order.

Every judge, including people, sees the same text (protocol, section 4).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from lensbench.core.conditions import treatments
from lensbench.core.frozen_plan import HUMAN, TESTS, Plan
from lensbench.core.handed_over import read_answer
from lensbench.core.numbers import exact
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Record, RunId, from_json, sha256
from lensbench.core.rows import RunStatus, ValidityRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import run_files
from lensbench.core.tables import read_table, run_of_row
from lensbench.core.tasks import Task
from lensbench.judging.blinding import (
    Blinded,
    blind,
    hidden_names,
    opaque_id,
    order,
    without_report,
)
from lensbench.judging.judges import Judgement
from lensbench.plan.frozen import frozen_tasks
from lensbench.plan.task_files import read_scenarios

MOST_SHOWN_CHARS = 60_000
"""No judge reads more characters of an answer."""
READ_AHEAD = 4
"""How far beyond the shown text blinding searches; limited, because 5 MB of newlines took 43 s."""


@dataclass(frozen=True)
class ShownAnswer:
    """One blinded answer."""

    id: str
    """A name that reveals neither task nor condition."""
    run: RunId
    text: str
    """The blinded text, without the end of a very long answer."""
    blinded: Blinded
    pair_complete: bool
    """True when the baseline's run is valid, too, or for the baseline a treatment's."""


JudgedCriterion = tuple[ShownAnswer, int, Judgement]
"""An answer, the number of a criterion, and what a judge says of it."""


def read_tasks(folder: Path) -> dict[str, Task]:
    """The tasks of a run folder with their current criteria."""
    return {
        task.id: task for task in read_scenarios([str(frozen_tasks(folder))], imported=True).tasks
    }


def read_shown_answers(folder: Path, plan: Plan, tasks: Mapping[str, Task]) -> list[ShownAnswer]:
    """The blinded answers of all valid runs, in a random order fixed by the seed."""
    runs = _counting(folder, tasks)
    tools = {*PreflightFindings.read(folder).listing}
    for run in runs:
        record = from_json(run_files(folder, run).record.read_text(encoding="utf-8"))
        tools.update(_offered(record))
    masks = {name: hidden_names(plan, tools, tasks[name]) for name in {run.task for run in runs}}
    return _shown(folder, plan, runs, lambda run, answer: blind(answer, masks[run.task]))


def read_named_answers(folder: Path, plan: Plan, tasks: Mapping[str, Task]) -> list[ShownAnswer]:
    """The same answers for patterns, which names cannot bias: without the self-report but with all names."""
    return _shown(folder, plan, _counting(folder, tasks), lambda _, answer: without_report(answer))


def _counting(folder: Path, tasks: Mapping[str, Task]) -> list[RunId]:
    rows = read_table(RunFolder(folder).validity, ValidityRow)
    valid = (run_of_row(row) for row in rows if row["status"] == RunStatus.VALID)
    return [run for run in valid if run.task in tasks]


def _shown(
    folder: Path, plan: Plan, runs: Sequence[RunId], show: Callable[[RunId, str], Blinded]
) -> list[ShownAnswer]:
    counting = set(runs)
    baseline = plan["baseline"]

    def has_partner(run: RunId) -> bool:
        others = treatments(plan) if run.condition == baseline else [baseline]
        return any(run._replace(condition=other) in counting for other in others)

    by_name: dict[str, ShownAnswer] = {}
    for run in runs:
        answer = read_answer(run_files(folder, run).answer)
        view = show(run, answer[: READ_AHEAD * MOST_SHOWN_CHARS])
        name = opaque_id(plan["seed"], run, answer)
        by_name[name] = ShownAnswer(name, run, view.text[:MOST_SHOWN_CHARS], view, has_partner(run))
    return [by_name[name] for name in order(by_name, plan["seed"])]


def _offered(record: Record) -> Iterator[str]:
    """The tools that were offered to or called by a run."""
    yield from record.seen.tools_offered or ()
    for call in record.seen.calls or ():
        yield call.name


Group = tuple[str, int]
"""A task and a trial, with the runs of all conditions."""


def sampled_pairs(plan: Plan, groups: Iterable[Group]) -> frozenset[Group]:
    """The `groups` that people judge completely: the share `judging.human_sample`, rounded up, or all when people are
    the only judges. Each is drawn by seed independently of the others."""
    share = exact(str(plan["judging"]["human_sample"])) or Fraction(0)
    if all(judge["name"] in (HUMAN, TESTS) for judge in plan["judges"]):
        share = Fraction(1)

    def draw(group: Group) -> str:
        return sha256(f"{plan['seed']} human sample {group}".encode())

    ranking = sorted(set(groups), key=draw)
    return frozenset(ranking[: math.ceil(share * len(ranking))])
