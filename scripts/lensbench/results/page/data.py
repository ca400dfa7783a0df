"""The data of a treatment for the page; charts have theirs in the units shown: percent and points."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple, SupportsFloat

from lensbench.core.records import RunId, trial_folder
from lensbench.core.rows import DecisionRow, PairRow, ValidityRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import items, run_of_pair
from lensbench.core.tasks import Task
from lensbench.results.charts import Dumbbell, ForestLine
from lensbench.results.citations import CitedSource
from lensbench.results.lost_pairs import kinds_in_words, lost_criteria
from lensbench.results.presented import FEWEST_TASKS_OF_GROUP
from lensbench.results.results_file import Results
from lensbench.scores.differences import Comparison
from lensbench.scores.estimates_file import Compared
from lensbench.scores.intervals import Estimate
from lensbench.scores.run_tables import Tables

MOST_LOSSES = 10
"""The number of losses shown in full."""


class Inputs(NamedTuple):
    """The input data of the page."""

    tables: Tables
    results: Results[float]
    validity: Mapping[RunId, ValidityRow]
    decisions: Mapping[RunId, Sequence[DecisionRow]]
    """The rows of decisions.csv, by run, in the order of the criteria."""
    verdicts: Mapping[RunId, Sequence[VerdictRow]]
    tasks: Mapping[str, Task]
    citations: Mapping[str, Sequence[CitedSource]]
    """The source lines cited in answers, by the stem of the run (results/citations.py)."""


def task_rows(inputs: Inputs, treatment: str) -> tuple[list[Dumbbell], list[str]]:
    """The scores of the tasks with a complete pair, the greatest gain first; and the tasks without one."""
    tables = inputs.tables
    comparison = Comparison(tables, treatment, tables.plan["baseline"])
    complete = comparison.complete_pairs(tables.score)
    rows = []
    others = []
    for task, pairs in comparison.pairs(tables.score).items():
        if not pairs:
            others.append(task)
            continue
        new = sum(own for own, _ in pairs) / Fraction(len(pairs))
        old = sum(base for _, base in pairs) / Fraction(len(pairs))
        trial = next(run.trial for run in complete if run.task == task)
        address = pair_address(task, trial)
        rows.append(Dumbbell(task, _percent(old), _percent(new), _percent(new - old), address))
    return sorted(rows, key=lambda row: (-row.delta, row.task)), others


def _percent(share: SupportsFloat) -> float:
    return round(float(share) * 100, 4)


def ends_of(rows: Sequence[Dumbbell], ends: int) -> tuple[Sequence[Dumbbell], str]:
    """The tasks in the chart (all, or the first and the last `ends`), and a sentence about those in between."""
    if len(rows) <= 2 * ends:
        return rows, ""
    middle = rows[ends:-ends]
    better = sum(row.delta > 0 for row in middle)
    worse = sum(row.delta < 0 for row in middle)
    words = f"{better} better, {len(middle) - better - worse} equal, {worse} worse"
    return [*rows[:ends], *rows[-ends:]], f"… {len(middle)} tasks between them: {words}"


def interval_rows(estimates: Compared) -> list[ForestLine]:
    """The lines of the forest plot: overall, by category, by repository."""
    score = estimates["score"]
    repositories = sorted(score["repositories"].items(), key=lambda item: (-item[1].n, item[0]))
    groups = [
        ("all tasks", "overall", score["overall"]),
        *((name, "category", own) for name, own in score["categories"].items()),
        *((name, "repository", own) for name, own in repositories),
    ]
    return [_forest_line(*group) for group in groups if group[2].delta is not None]


def _forest_line(name: str, kind: str, own: Estimate) -> ForestLine:
    low = high = None
    if (
        own.low is not None
        and own.high is not None
        and (kind == "overall" or own.n >= FEWEST_TASKS_OF_GROUP)
    ):
        low = _percent(own.low)
        high = _percent(own.high)
    return ForestLine(name, kind, own.n, _percent(own.delta or 0.0), low, high)


class Loss(NamedTuple):
    """A pair that the treatment lost."""

    pair: PairRow
    verdicts: Sequence[tuple[str, str, str]]
    """The criteria that the baseline met better: the text, its verdict and the treatment's."""
    files: Sequence[str]
    """What only the treatment cites."""
    kinds: Sequence[str]
    """What is so in the treatment's run."""


def losses(inputs: Inputs, treatment: str) -> list[Loss]:
    """The first MOST_LOSSES lost pairs, in the order of results.json."""
    if treatment not in inputs.results["losses"]:
        return []
    rows = {run_of_pair(pair): pair for pair in inputs.tables.pairs}
    found = []
    for lost in inputs.results["losses"][treatment]["pairs"][:MOST_LOSSES]:
        run = RunId(lost["task"], treatment, lost["trial"])
        texts = criteria_of(inputs, run.task)
        verdicts = lost_criteria(inputs.decisions, run, inputs.tables.plan["baseline"])
        criteria = []
        for number, (before, after) in verdicts.items():
            criteria.append((texts.get(number) or f"criterion {number}", before, after))
        files = items(rows[run]["only_treatment_files"]) or ()
        found.append(Loss(rows[run], criteria, files, kinds_in_words(lost)))
    return found


def criteria_of(inputs: Inputs, task: str) -> dict[int, str]:
    """The texts of a task's criteria by their number."""
    if task not in inputs.tasks:
        return {}
    criteria = inputs.tasks[task].criteria
    return {number: criterion.text for number, criterion in enumerate(criteria, 1)}


def stem(task: str, trial: int) -> str:
    """The name of a task's page in a trial: `<task>`, in `t2/` for trial 2 and so on, like the answers."""
    return f"{trial_folder(trial)}{re.sub('[^A-Za-z0-9._-]', '_', task)}"


def pair_address(task: str, trial: int) -> str:
    return f"{RunFolder.answers}/{stem(task, trial)}.html"


def run_address(run: RunId) -> str:
    """The path of a run's page; it cannot collide with a task's."""
    return f"{RunFolder.answers}/runs/{stem(run.task, run.trial)}-{run.condition}.html"
