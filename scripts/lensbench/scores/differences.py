"""A comparison of two conditions: the complete pairs of each quantity, and the estimates from them."""

from __future__ import annotations

import math
from collections import Counter
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
from lensbench.scores.quantities import QUANTITIES, Kind, Quantity
from lensbench.scores.run_tables import Tables, Value
from lensbench.scores.variance import Components, components

Name = TypeVar("Name")


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

    kind: Kind
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
        return bool(left_out(self.plan["conditions"], self.plan["baseline"], self.treatment))

    def name(self, condition: str) -> str:
        """What readers call a condition."""
        return display_name(self.plan["conditions"], self.plan["baseline"], condition)

    def whose(self, condition: str) -> str:
        """Whose runs those of a condition are, in a sentence."""
        return of_condition(self.plan["conditions"], self.plan["baseline"], condition)

    @property
    def repository_of(self) -> dict[str, str | None]:
        """The repository of every task; None if it names none."""
        return {name: task["repository"] for name, task in self.plan["tasks"].items()}

    @property
    def run_pairs(self) -> list[tuple[RunId, RunId]]:
        """The planned pairs by task and trial: the run of the treatment and that of the baseline."""
        return [
            (RunId(task, self.treatment, trial), RunId(task, self.baseline, trial))
            for task in self.plan["order"]
            for trial in range(1, self.plan["trials"] + 1)
        ]

    @property
    def runs(self) -> dict[str, list[RunId]]:
        """The planned runs of the treatment and of the baseline."""
        pairs = self.run_pairs
        return {
            self.treatment: [run for run, _ in pairs],
            self.baseline: [run for _, run in pairs],
        }

    def sides(self, value: Value) -> dict[str, list[tuple[Fraction | None, Fraction | None]]]:
        """The values of all planned pairs by task, in the order of the trials."""
        sides: dict[str, list[tuple[Fraction | None, Fraction | None]]] = {}
        for run, other in self.run_pairs:
            sides.setdefault(run.task, []).append((value(run), value(other)))
        return sides

    def pairs(self, value: Value) -> dict[str, list[Pair]]:
        """The values of the complete pairs by task; a task may have none."""
        return {
            task: [
                (treatment, base)
                for treatment, base in both
                if treatment is not None and base is not None
            ]
            for task, both in self.sides(value).items()
        }

    def known(self, value: Value) -> tuple[Known, Known]:
        """The values of the treatment and those of the baseline, paired or not."""
        treatment = {}
        baseline = {}
        for task, both in self.sides(value).items():
            treatment[task] = [own for own, _ in both if own is not None]
            baseline[task] = [base for _, base in both if base is not None]
        return treatment, baseline

    def over(
        self,
        values: Mapping[str, Sequence[Fraction | float]],
        tasks: Iterable[str],
        limit: float = math.inf,
        *,
        typical: bool = False,
        baselines: Mapping[str, SupportsFloat] | None = None,
    ) -> Estimate:
        """The estimate over the given tasks. `values` has one value for each complete pair of a task, at most
        `limit`; the extreme tasks do not count when it is to be `typical`. `baselines`: as in `estimate`."""
        tasks = list(tasks)
        return estimate(
            {task: sum(values[task]) / len(values[task]) for task in tasks if values[task]},
            {**dict.fromkeys(tasks), **self.repository_of},
            self.plan["gate"]["alpha"],
            len(tasks) * self.plan["trials"],
            self.plan["seed"],
            pairs=sum(len(values[task]) for task in tasks),
            power=self.plan["gate"]["power"],
            limit=limit,
            typical=typical,
            baselines=baselines,
        )

    def of_scores(
        self, values: Mapping[str, Sequence[Fraction | float]], tasks: Iterable[str]
    ) -> Estimate:
        """The estimate of differences of scores over the given tasks, with the baseline's scores. A task whose baseline
        has none counts as the mean of the others."""
        known = self.known(self.tables.score)[1]
        scores = {task: sum(own) / len(own) for task, own in known.items() if own}
        if not scores:
            return self.over(values, tasks, LARGEST)
        average = sum(scores.values()) / len(scores)
        baselines = {task: scores.get(task, average) for task in values}
        return self.over(values, tasks, LARGEST, baselines=baselines)


def differences(pairs: Mapping[str, Sequence[Pair]]) -> dict[str, list[Fraction]]:
    """Treatment minus baseline for each pair."""
    return {task: [treatment - base for treatment, base in both] for task, both in pairs.items()}


def scores(comparison: Comparison) -> Scores:
    """The delta of the score: overall, by category with Holm's p over the categories, and by repository."""
    values = differences(comparison.pairs(comparison.tables.score))

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
    values = differences(comparison.pairs(comparison.tables.score))
    return comparison.of_scores(values, comparison.plan["order"])


def groups(plan: Plan, key: Literal["category", "repository"]) -> dict[str, list[str]]:
    return grouped(plan["order"], lambda task: plan["tasks"][task][key] or "unknown")


def with_holm(family: Mapping[Name, Estimate]) -> dict[Name, Estimate]:
    """The estimates with p values that hold for all of them together (Holm, Scand. J. Statist. 6, 1979)."""
    p_values = {name: result.p for name, result in family.items() if result.p is not None}
    holm: dict[Name, float] = {}
    largest = 0.0
    for rank, name in enumerate(sorted(p_values, key=p_values.__getitem__)):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        holm[name] = largest
    return {name: replace(result, p_holm=holm.get(name)) for name, result in family.items()}


def measures(comparison: Comparison) -> dict[str, Effort]:
    """The differences of all quantities except shares; ratios are given as relative changes."""
    order = comparison.plan["order"]

    def overall(quantity: Quantity) -> Estimate:
        pairs = comparison.pairs(partial(quantity.of, comparison.tables))
        if quantity.kind == "log ratio":
            return as_change(comparison.over(log_ratios(pairs), order))
        return comparison.over(differences(pairs), order, typical=quantity.kind == "count")

    efforts = {name: quantity for name, quantity in QUANTITIES.items() if quantity.kind != "share"}
    return {
        name: {"kind": quantity.kind, "overall": overall(quantity)}
        for name, quantity in efforts.items()
    }


def log_ratios(pairs: Mapping[str, Sequence[Pair]]) -> dict[str, list[float]]:
    """log(treatment / baseline) for each pair without a 0."""
    return {
        task: [math.log(treatment / base) for treatment, base in both if treatment > 0 and base > 0]
        for task, both in pairs.items()
    }


def as_change(ratio: Estimate) -> Estimate:
    """An estimate of a log ratio with delta, interval and minimum detectable effect as relative changes (0.1 is 10%
    more). `se` and `sd` remain those of the logarithms."""
    delta, low, high, mde = map(_change, (ratio.delta, ratio.low, ratio.high, ratio.mde))
    return replace(ratio, delta=delta, low=low, high=high, mde=mde)


def _change(log_ratio: float | None) -> float | None:
    """The relative change; None when it overflows."""
    try:
        return None if log_ratio is None else math.expm1(log_ratio)
    except OverflowError:
        return None


def variance(comparison: Comparison) -> dict[str, Components]:
    """The components of the differences and of each condition's scores, over all trials."""
    treatment, baseline = comparison.known(comparison.tables.score)
    pairs = differences(comparison.pairs(comparison.tables.score))
    values = {"differences": pairs, "treatment": treatment, "baseline": baseline}
    return {name: components(by_task) for name, by_task in values.items()}


def missing(comparison: Comparison) -> dict[str, dict[str, int]]:
    counts = Counter(
        (run.condition, row["status"]) for run, row in comparison.tables.scores.items()
    )
    return {
        condition: {
            status: counts[condition, status]
            for status in (RunStatus.DISCARDED, RunStatus.MISSING, RunStatus.UNJUDGED)
        }
        for condition in comparison.conditions
    }


def corrected_by_people(raw: Estimate, mean: Mean, alpha: float, power: float) -> Estimate | None:
    """The estimate corrected for the errors of the judges, with the error of the correction; None if people have judged
    too few tasks.

    `mean` is the corrected delta of instrument.json, which assumes that tasks are independent. If tasks share
    repositories, its standard error is increased by the same factor as that of all tasks (the design effect), and it
    has at most their degrees of freedom.
    """
    if mean.value is None or mean.se is None or not (raw.se and raw.df and raw.sd):
        return None
    se = mean.se * max(1.0, raw.se * math.sqrt(raw.n) / raw.sd)
    df = min(mean.n - 1, raw.df)
    margin = float(t_isf(alpha / 2, df)) * se
    return replace(
        raw,
        delta=mean.value,
        se=se,
        df=df,
        people=mean.n,
        root=None,
        floor=None
        if raw.floor is None
        else raw.floor + mean.value - margin - (raw.low or -LARGEST),
        method=f"{raw.method}, corrected by people",
        low=max(mean.value - margin, -LARGEST),
        high=min(mean.value + margin, LARGEST),
        mde=minimum_detectable(se, df, alpha, power),
    )


def seen_pairs(comparison: Comparison) -> dict[str, SeenPair]:
    """The complete pairs by task and trial, for the error account."""
    tables = comparison.tables
    pairs = {}
    for both in comparison.run_pairs:
        task, _, trial = both[0]
        treatment, base = map(tables.score, both)
        if treatment is not None and base is not None:
            identities = tuple(map(tables.identity, both))
            criteria = tables.plan["tasks"][task].get("criteria_sha256", "")[:10]
            pairs[f"{task}/{trial}"] = SeenPair(str(treatment - base), identities, criteria)
    return pairs


def fraction(comparison: Comparison) -> float:
    """The share of the complete pairs among those that are complete or can still be completed."""
    tables = comparison.tables
    complete = len(seen_pairs(comparison))
    if not complete:
        return 0.0
    may_count = {*tables.due, *(record.run for record in tables.valid)}
    possible = sum(may_count.issuperset(pair) for pair in comparison.run_pairs)
    return complete / possible * comparison.plan.get("look", {}).get("share", 1)
