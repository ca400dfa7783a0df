"""A comparison of two conditions: the complete pairs of each quantity, and the estimates from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Literal, SupportsFloat, TypeVar

from typing_extensions import TypedDict

from lensbench.core.conditions import Sides, display_name, left_out, of_condition
from lensbench.core.distributions import t_isf
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import RunId
from lensbench.core.rows import RunStatus
from lensbench.core.tables import grouped
from lensbench.judging.trust.bias import Mean
from lensbench.scores.account import SeenPair
from lensbench.scores.complete_tasks import Known, Pair
from lensbench.scores.intervals import LARGEST, Estimate, estimate, minimum_detectable
from lensbench.scores.quantities import QUANTITIES, Quantity, QuantityKind
from lensbench.scores.run_tables import RunValue, Tables
from lensbench.scores.variance import Components, components

_Name = TypeVar("_Name")
_TaskValues = Mapping[str, Sequence[Fraction | float]]


class Scores(TypedDict):
    """The delta of the score over all tasks, and over those of each category and repository."""

    overall: Estimate
    """Over all tasks, as shares of 1."""
    categories: dict[str, Estimate]
    """Category -> over its tasks."""
    repositories: dict[str, Estimate]
    """Repository -> over its tasks."""


class Effort(TypedDict):
    """The difference of a quantity other than the score."""

    kind: QuantityKind
    """How it is compared."""
    overall: Estimate
    """Of log ratios as a relative change; of counts without the extreme tasks."""


@dataclass(frozen=True)
class Comparison:
    """A treatment against the baseline, or against another treatment."""

    tables: Tables
    treatment: str
    baseline: str

    @property
    def plan(self) -> Plan:
        """The plan, as far as its waves are open."""
        return self.tables.plan

    @property
    def conditions(self) -> tuple[str, str]:
        return self.treatment, self.baseline

    @property
    def names(self) -> Sides:
        """What readers call the two conditions."""
        return Sides(self.name(self.treatment), self.name(self.baseline))

    @property
    def leaves_out(self) -> bool:
        """True when the treatment is to go without something (`without`), which an ablation asks."""
        return bool(left_out(self.plan, self.treatment))

    def name(self, condition: str) -> str:
        """What readers call a condition."""
        return display_name(self.plan, condition)

    def whose(self, condition: str) -> str:
        """Whose runs those of a condition are, in a sentence."""
        return of_condition(self.plan, condition)

    @property
    def repository_of(self) -> dict[str, str | None]:
        """The repository of every task; None if it names none."""
        return {name: task["repository"] for name, task in self.plan["tasks"].items()}

    @property
    def run_pairs(self) -> list[tuple[RunId, RunId]]:
        """The planned pairs by task and trial: the run of the treatment and that of the baseline."""
        return list(zip(self.planned(self.treatment), self.planned(self.baseline), strict=True))

    def complete_pairs(self, value: RunValue) -> dict[RunId, Pair]:
        """The values of the complete pairs, by the run of the treatment."""
        pairs = {}
        for run, other in self.run_pairs:
            treatment = value(run)
            base = value(other)
            if treatment is not None and base is not None:
                pairs[run] = (treatment, base)
        return pairs

    @property
    def runs(self) -> dict[str, list[RunId]]:
        """The planned runs of the treatment and of the baseline."""
        return {condition: self.planned(condition) for condition in self.conditions}

    def pairs(self, value: RunValue) -> dict[str, list[Pair]]:
        """The values of the complete pairs by task, in the order of the trials; a task may have none."""
        pairs: dict[str, list[Pair]] = {task: [] for task in self.plan["order"]}
        for run, pair in self.complete_pairs(value).items():
            pairs[run.task].append(pair)
        return pairs

    def deltas(self, value: RunValue) -> dict[str, list[Fraction]]:
        """Treatment minus baseline for each complete pair, by task."""
        return {
            task: [own - base for own, base in both] for task, both in self.pairs(value).items()
        }

    def known(self, value: RunValue) -> tuple[Known, Known]:
        """The values of the treatment and those of the baseline, paired or not."""
        return self._known(value, self.treatment), self._known(value, self.baseline)

    def _known(self, value: RunValue, condition: str) -> Known:
        known: dict[str, list[Fraction]] = {task: [] for task in self.plan["order"]}
        for run in self.planned(condition):
            found = value(run)
            if found is not None:
                known[run.task].append(found)
        return known

    def over(
        self,
        values: _TaskValues,
        tasks: Iterable[str],
        limit: float = math.inf,
        *,
        typical: bool = False,
        baselines: Mapping[str, SupportsFloat] | None = None,
    ) -> Estimate:
        """The estimate over the given tasks. `values` has one value for each complete pair of a task, at most
        `limit`; the extreme tasks do not count when it is to be `typical`. `baselines`: as in `estimate`."""
        values = {task: values[task] for task in tasks}
        return estimate(
            task_means(values),
            {**dict.fromkeys(values), **self.repository_of},
            self.plan["gate"]["alpha"],
            len(values) * self.plan["trials"],
            self.plan["seed"],
            pairs=sum(map(len, values.values())),
            power=self.plan["gate"]["power"],
            limit=limit,
            typical=typical,
            baselines=baselines,
        )

    def of_scores(self, values: _TaskValues, tasks: Iterable[str]) -> Estimate:
        """The estimate of differences of scores over the given tasks, with the baseline's scores. A task whose baseline
        has none counts as the mean of the others."""
        _, baseline = self.known(self.tables.score)
        scores = task_means(baseline)
        if not scores:
            return self.over(values, tasks, LARGEST)
        average = sum(scores.values()) / len(scores)
        baselines = {task: scores.get(task, average) for task in values}
        return self.over(values, tasks, LARGEST, baselines=baselines)

    def planned(self, condition: str) -> list[RunId]:
        """The planned runs of a condition, by task and trial."""
        trials = range(1, self.plan["trials"] + 1)
        return [RunId(task, condition, trial) for task in self.plan["order"] for trial in trials]


def task_means(values: _TaskValues) -> dict[str, Fraction | float]:
    """The mean of each task that has a value."""
    return {task: sum(trials) / len(trials) for task, trials in values.items() if trials}


def scores(comparison: Comparison) -> Scores:
    """The delta of the score: overall, by category with Holm's p over the categories, and by repository."""
    values = comparison.deltas(comparison.tables.score)

    def by(key: Literal["category", "repository"]) -> dict[str, Estimate]:
        return {
            name: comparison.over(values, tasks, LARGEST)
            for name, tasks in groups(comparison.plan, key).items()
        }

    return {
        "overall": overall(comparison),
        "categories": with_holm(by("category")),
        "repositories": by("repository"),
    }


def overall(comparison: Comparison) -> Estimate:
    values = comparison.deltas(comparison.tables.score)
    return comparison.of_scores(values, comparison.plan["order"])


def groups(plan: Plan, key: Literal["category", "repository"]) -> dict[str, list[str]]:
    return grouped(plan["order"], lambda task: plan["tasks"][task][key] or "unknown")


def with_holm(family: Mapping[_Name, Estimate]) -> dict[_Name, Estimate]:
    """The estimates with p values that hold for all of them together (Holm, Scand. J. Statist. 6, 1979)."""
    p_values = {name: result.p for name, result in family.items() if result.p is not None}
    holm: dict[_Name, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        adjusted = (len(p_values) - rank) * p_values[name]
        largest = max(largest, min(1.0, adjusted))
        holm[name] = largest
    return {name: replace(result, p_holm=holm.get(name)) for name, result in family.items()}


def measures(comparison: Comparison) -> dict[str, Effort]:
    """The differences of all quantities except shares; ratios are given as relative changes."""
    efforts: dict[str, Effort] = {}
    for name, quantity in QUANTITIES.items():
        if quantity.kind != "share":
            efforts[name] = {"kind": quantity.kind, "overall": _effort(comparison, quantity)}
    return efforts


def _effort(comparison: Comparison, quantity: Quantity) -> Estimate:
    order = comparison.plan["order"]
    value = partial(quantity.of, comparison.tables)
    if quantity.kind == "log ratio":
        return as_change(comparison.over(log_ratios(comparison.pairs(value)), order))
    return comparison.over(comparison.deltas(value), order, typical=quantity.kind == "count")


def log_ratios(pairs: Mapping[str, Sequence[Pair]]) -> dict[str, list[float]]:
    """log(treatment / baseline) for each pair without a 0."""
    ratios = {}
    for task, both in pairs.items():
        positive = [pair for pair in both if min(pair) > 0]
        ratios[task] = [math.log(treatment / base) for treatment, base in positive]
    return ratios


def as_change(ratio: Estimate) -> Estimate:
    """An estimate of a log ratio with delta, interval and minimum detectable effect as relative changes (0.1 is 10%
    more). `se` and `sd` remain those of the logarithms."""
    return replace(
        ratio,
        delta=_change(ratio.delta),
        low=_change(ratio.low),
        high=_change(ratio.high),
        mde=_change(ratio.mde),
    )


def _change(log_ratio: float | None) -> float | None:
    """The relative change; None when it overflows."""
    if log_ratio is None:
        return None
    try:
        return math.expm1(log_ratio)
    except OverflowError:
        return None


def variance(comparison: Comparison) -> dict[str, Components]:
    """The components of the differences and of each condition's scores, over all trials."""
    treatment, baseline = comparison.known(comparison.tables.score)
    pairs = comparison.deltas(comparison.tables.score)
    values = {"differences": pairs, "treatment": treatment, "baseline": baseline}
    return {name: components(by_task) for name, by_task in values.items()}


def missing(comparison: Comparison) -> dict[str, dict[str, int]]:
    statuses = (RunStatus.DISCARDED, RunStatus.MISSING, RunStatus.UNJUDGED)
    counts: dict[str, dict[str, int]] = {
        condition: dict.fromkeys(statuses, 0) for condition in comparison.conditions
    }
    for run, row in comparison.tables.scores.items():
        if run.condition in counts and row["status"] in statuses:
            counts[run.condition][row["status"]] += 1
    return counts


def corrected_by_people(raw: Estimate, mean: Mean, alpha: float, power: float) -> Estimate | None:
    """The estimate corrected for the errors of the judges, with the error of the correction; None if people have judged
    too few tasks.

    `mean` is the corrected delta of judge_reliability.json, which assumes that tasks are independent. If tasks share
    repositories, its standard error is increased by the same factor as that of all tasks (the design effect), and it
    has at most their degrees of freedom.
    """
    if mean.value is None or mean.se is None or not (raw.se and raw.df and raw.sd):
        return None
    design_effect = raw.se * math.sqrt(raw.n) / raw.sd
    se = mean.se * max(1.0, design_effect)
    df = min(mean.n - 1, raw.df)
    margin = t_isf(alpha / 2, df) * se
    floor = raw.floor
    if floor is not None:
        floor = floor + mean.value - margin - (raw.low or -LARGEST)
    return replace(
        raw,
        delta=mean.value,
        se=se,
        df=df,
        people=mean.n,
        root=None,
        floor=floor,
        method=f"{raw.method}, corrected by people",
        low=max(mean.value - margin, -LARGEST),
        high=min(mean.value + margin, LARGEST),
        mde=minimum_detectable(se, df, alpha, power),
    )


def seen_pairs(comparison: Comparison) -> dict[str, SeenPair]:
    """The complete pairs by task and trial, for the error account."""
    tables = comparison.tables
    pairs = {}
    for run, (treatment, base) in comparison.complete_pairs(tables.score).items():
        other = run._replace(condition=comparison.baseline)
        identities = (tables.identity(run), tables.identity(other))
        criteria = tables.plan["tasks"][run.task].get("criteria_sha256", "")[:10]
        pairs[f"{run.task}/{run.trial}"] = SeenPair(str(treatment - base), identities, criteria)
    return pairs


def fraction(comparison: Comparison) -> float:
    """The share of the complete pairs among those that are complete or can still be completed."""
    tables = comparison.tables
    complete = len(seen_pairs(comparison))
    if not complete:
        return 0.0
    may_count = {*tables.due, *(record.run for record in tables.valid)}
    possible = sum(may_count.issuperset(pair) for pair in comparison.run_pairs)
    planned = comparison.plan.get("look", {}).get("share", 1)
    return complete / possible * planned
