"""The formatted figures of a treatment: one table, used by every output.

Averages are over complete pairs, so that a difference equals that of the averages shown. Time, tokens and cost have two
figures: the change of a task, a geometric mean, and that of the total. Of counts it is that of the middle tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from lensbench.core import numbers
from lensbench.scores.quantities import QUANTITIES

if TYPE_CHECKING:
    from lensbench.results.results_file import Figure
    from lensbench.scores.estimates_file import Compared
    from lensbench.scores.intervals import Estimate
    from lensbench.scores.measures import Measure

FEWEST_TASKS_OF_GROUP = 5
"""Categories and repositories of fewer tasks have no interval, which would cover most of the possible range."""


class ShownDifference(NamedTuple):
    """The difference in score that every output shows, as a share of 1."""

    delta: float | None
    """Corrected by what people say, where it is."""
    low: float | None
    """The interval of the gate, of its level, if it decides."""
    high: float | None
    corrected: bool


def shown_difference(comparison: Compared) -> ShownDifference:
    """The difference that belongs to the verdict on a comparison, or that of a single question where there is none."""
    corrected = comparison.get("corrected")
    gate = comparison.get("gate")
    estimate = corrected or comparison["score"]["overall"]
    ends = (gate.low, gate.high) if gate and gate.low is not None else (estimate.low, estimate.high)
    return ShownDifference(estimate.delta, *ends, bool(corrected))


def presented(
    measures: Mapping[str, Measure[Fraction]],
    estimates: Compared,
    cost_label: str = QUANTITIES["cost_usd"].label,
) -> dict[str, Figure]:
    """The figures of all quantities with a value in any run, of differences with one above 0; numbers are exact."""
    overall = {name: effect["overall"] for name, effect in estimates["measures"].items()}
    overall |= {
        "score": estimates["score"]["overall"],
        "complete": estimates["complete"]["overall"],
    }
    figures = {}
    for name, quantity in QUANTITIES.items():
        sides = {measures[name]["treatment"], measures[name]["baseline"]} - {None}
        if any(sides) or (sides and quantity.kind in ("share", "log ratio")):
            figures[name] = _figure(name, measures[name], overall[name])
    if "score" in figures:
        difference = shown_difference(estimates)
        figures["score"]["change"] = numbers.points(difference.delta)
        figures["score"]["interval"] = numbers.interval(difference.low, difference.high)
        if difference.corrected:
            figures["score"]["label"] += " (change corrected by people)"
    if "cost_usd" in figures:
        figures["cost_usd"]["label"] = cost_label
    return figures


def times(ratio: Fraction) -> str:
    """A ratio, with two decimals below ten."""
    return numbers.decimal(ratio, 2 if ratio < 10 else 1) or ""


def _figure(name: str, measure: Measure[Fraction], overall: Estimate) -> Figure:
    quantity = QUANTITIES[name]
    label = quantity.label
    treatment = measure["treatment"]
    baseline = measure["baseline"]
    if measure["pairs"]:
        treatment = measure["paired_treatment"]
        baseline = measure["paired_baseline"]
    delta, low, high = map(_exactly, (overall.delta, overall.low, overall.high))
    total = ""
    change = quantity.difference(delta)
    if quantity.kind == "share":
        change = quantity.difference(measure["delta"])
        between = numbers.interval(low, high)
    elif quantity.kind == "log ratio":
        between = numbers.change_interval(low, high)
        if delta is not None and numbers.reaches_double(delta, high):
            change = f"{numbers.multiple(delta)} times"
        total = _total(measure)
    else:
        between = f"{quantity.difference(low)} to {quantity.difference(high)}"
        if low is None or high is None:
            between = numbers.MISSING
    if quantity.kind == "count":
        label += " (mean of the middle tasks)"
    return {
        "label": label,
        "treatment": _counted(name, measure["pairs"], treatment) or quantity.amount(treatment),
        "baseline": _counted(name, measure["pairs"], baseline) or quantity.amount(baseline),
        "change": change,
        "interval": between,
        "total": total,
        "tasks": measure["pairs"],
    }


def _exactly(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(str(value))


def _counted(name: str, pairs: int, share: Fraction | None) -> str:
    """How many tasks are complete, such as `2/2 (100%)`; "" when several trials give a fraction."""
    if name != "complete" or not pairs or share is None:
        return ""
    count = share * pairs
    return f"{count}/{pairs} ({numbers.percent(share)})" if count.denominator == 1 else ""


def _total(measure: Measure[Fraction]) -> str:
    treatment = measure["paired_treatment"]
    baseline = measure["paired_baseline"]
    if not measure["pairs"] or treatment is None or not baseline:
        return ""
    ratio = f"{times(treatment / baseline)} times"
    most = measure["largest"]
    if measure["pairs"] == 1 or most is None:
        return ratio
    return f"{ratio}; largest task {numbers.percent(most)}"
