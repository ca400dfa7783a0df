"""The data of a treatment for the page, in the units shown: percent and points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from lensbench.core.conditions import CLOSED_BOOK
from lensbench.core.numbers import exact, mean
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow, PairRow, ValidityRow, VerdictRow
from lensbench.core.tables import items, run_of_pair
from lensbench.core.tasks import Task
from lensbench.results.charts.scores import Dumbbell, ForestLine
from lensbench.results.page.places import pair_address
from lensbench.results.presented import FEWEST_TASKS, shown_difference
from lensbench.results.results_file import Results
from lensbench.runs.citations import CitedSource
from lensbench.scores.estimates_file import Compared
from lensbench.scores.intervals import Estimate
from lensbench.scores.run_tables import Tables

WORST = 5
"""The number of regressions shown in full."""


class Inputs(NamedTuple):
    """The input data of the page."""

    tables: Tables
    results: Results[float]
    """results.json."""
    validity: Mapping[RunId, ValidityRow]
    """The rows of validity.csv, by run."""
    decisions: Mapping[RunId, Sequence[DecisionRow]]
    """The rows of decisions.csv, by run, in the order of the criteria."""
    verdicts: Mapping[RunId, Sequence[VerdictRow]]
    """The rows of verdicts.csv, by run."""
    tasks: Mapping[str, Task]
    citations: Mapping[str, Sequence[CitedSource]] = MappingProxyType({})
    """The source lines cited in answers, by the stem of the run (runs/citations.py)."""


class TaskRow(NamedTuple):
    """A task's scores over its complete pairs, in percent; the difference in points."""

    task: str
    category: str
    baseline: float
    treatment: float
    delta: float
    address: str


def treatments(inputs: Inputs) -> list[str]:
    """The conditions that are compared with the baseline, without the closed-book control."""
    control = CLOSED_BOOK if inputs.tables.plan.get("controls", {}).get("closed_book") else None
    return [name for name in inputs.results["treatments"] if name != control]


def task_rows(inputs: Inputs, treatment: str) -> list[TaskRow]:
    """The tasks with at least one complete pair, the greatest gain first."""
    rows = []
    for task, pairs in _pairs_by_task(inputs, treatment).items():
        complete = [pair for pair in pairs if pair["delta"]]
        if complete:
            before = _percent(mean(exact(pair["baseline_score"]) for pair in complete))
            after = _percent(mean(exact(pair["treatment_score"]) for pair in complete))
            delta = _percent(mean(exact(pair["delta"]) for pair in complete))
            category = inputs.tables.plan["tasks"][task]["category"]
            place = pair_address(task, int(complete[0]["trial"]))
            rows.append(TaskRow(task, category, before or 0, after or 0, delta or 0, place))
    return sorted(rows, key=lambda row: (-row.delta, row.task))


def unpaired_tasks(inputs: Inputs, treatment: str) -> list[str]:
    """The tasks without a complete pair."""
    pairs = _pairs_by_task(inputs, treatment)
    return [task for task, rows in pairs.items() if not any(row["delta"] for row in rows)]


def _pairs_by_task(inputs: Inputs, treatment: str) -> dict[str, list[PairRow]]:
    found: dict[str, list[PairRow]] = {task: [] for task in inputs.tables.plan["order"]}
    for pair in inputs.tables.pairs:
        if pair["treatment"] == treatment:
            found[pair["task"]].append(pair)
    return found


def _percent(share: Fraction | float | None) -> float | None:
    return None if share is None else round(float(share) * 100, 4)


def dumbbell_rows(rows: Sequence[TaskRow], ends: int) -> tuple[list[Dumbbell], str]:
    """The tasks in the chart (all, or the first and the last `ends`), and a sentence about those in between."""
    shown = [Dumbbell(row.task, row.baseline, row.treatment, row.delta, row.address) for row in rows]
    if len(shown) <= 2 * ends:
        return shown, ""
    hidden = shown[ends:-ends]
    counts = (
        sum(row.delta > 0 for row in hidden),
        sum(row.delta == 0 for row in hidden),
        sum(row.delta < 0 for row in hidden),
    )
    words = "{} better, {} equal, {} worse".format(*counts)
    return shown[:ends] + shown[-ends:], f"… {len(hidden)} tasks between them: {words}"


def interval_rows(found: Compared) -> list[ForestLine]:
    """The estimates: overall, then by category, then by repository."""
    score = found["score"]
    named = [("all tasks", "overall", score["overall"])]
    named += [(name, "category", value) for name, value in score["categories"].items()]
    repositories = sorted(score["repositories"].items(), key=_most_tasks_first)
    named += [(name, "repository", value) for name, value in repositories]
    return [
        ForestLine(name, kind, value.n, _percent(value.delta) or 0, *_ends(kind, value))
        for name, kind, value in named
        if value.delta is not None
    ]


def _ends(kind: str, value: Estimate) -> tuple[float | None, float | None]:
    """The ends of an interval, None for a group with too few tasks."""
    if kind != "overall" and value.n < FEWEST_TASKS:
        return None, None
    return _percent(value.low), _percent(value.high)


def estimate_of(found: Compared, row: ForestLine) -> Estimate:
    """The estimate behind a line of the forest plot."""
    score = found["score"]
    if row.kind == "overall":
        return score["overall"]
    return (score["categories"] if row.kind == "category" else score["repositories"])[row.label]


def _most_tasks_first(item: tuple[str, Estimate]) -> tuple[int, str]:
    name, value = item
    return -value.n, name


class Bottom(NamedTuple):
    """The overall difference that the verdict is based on, in points."""

    verdict: str
    sentence: str
    needs: str
    notes: Sequence[str]
    delta: float | None
    low: float | None
    high: float | None
    effect: float
    mde: float | None
    scope: str
    clusters: int
    """The number of repositories in the tasks."""
    confidence: str
    """The level of the interval, such as 95%; empty without one."""


def bottom_line(inputs: Inputs, treatment: str) -> Bottom:
    """The gate's verdict and its numbers."""
    found = inputs.results["estimates"][treatment]
    gate, difference = found["gate"], shown_difference(found)
    sentence = gate.sentence.removeprefix(f"{gate.verdict}: ")
    shown = found["corrected"] or found["score"]["overall"]
    return Bottom(
        gate.verdict,
        sentence[:1].upper() + sentence[1:],
        gate.needs,
        gate.notes,
        _percent(difference.delta),
        _percent(difference.low),
        _percent(difference.high),
        inputs.tables.plan["gate"]["effect"],
        _percent(shown.mde),
        shown.scope,
        shown.clusters,
        f"{100 * found['level']:.4g}%",
    )


class ChangedVerdict(NamedTuple):
    """A criterion with a better verdict in one run of a pair than in the other."""

    number: int
    text: str
    baseline: str
    treatment: str


class Regression(NamedTuple):
    """A pair that the treatment lost, with the criteria that differ; scores in percent."""

    task: str
    trial: int
    baseline: float | None
    treatment: float | None
    delta: float | None
    adopted: str
    misdirected: str
    only_treatment_files: Sequence[str] | None
    lost: Sequence[ChangedVerdict]
    address: str


def regressions(inputs: Inputs, treatment: str) -> list[Regression]:
    """The pairs with the greatest losses, the worst first."""
    lost = [pair for pair in inputs.tables.pairs if pair["treatment"] == treatment and (exact(pair["delta"]) or 0) < 0]
    lost.sort(key=lambda pair: (exact(pair["delta"]) or 0, pair["task"], int(pair["trial"])))
    return [_regression(inputs, pair) for pair in lost[:WORST]]


def _regression(inputs: Inputs, pair: PairRow) -> Regression:
    run = run_of_pair(pair)
    both = (
        inputs.decisions.get(run._replace(condition=inputs.tables.plan["baseline"]), ()),
        inputs.decisions.get(run, ()),
    )
    texts = criteria_of(inputs, run.task)
    lost = [
        ChangedVerdict(
            int(before["criterion"]), texts.get(int(before["criterion"]), ""), before["verdict"], after["verdict"]
        )
        for before, after in zip(*both, strict=False)
        if before["points"] and after["points"] and (exact(after["points"]) or 0) < (exact(before["points"]) or 0)
    ]
    return Regression(
        run.task, run.trial, _percent(exact(pair["baseline_score"])), _percent(exact(pair["treatment_score"])),
        _percent(exact(pair["delta"])), pair["adopted"], pair["misdirected"], items(pair["only_treatment_files"]),
        lost, pair_address(run.task, run.trial),
    )  # fmt: skip


def criteria_of(inputs: Inputs, task: str) -> dict[int, str]:
    """The texts of a task's criteria by their number."""
    known = inputs.tasks.get(task)
    return {number: criterion.text for number, criterion in enumerate(known.criteria, 1)} if known else {}
