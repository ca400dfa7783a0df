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

FEWEST_TASKS = 5
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
    corrected, gate = comparison.get("corrected"), comparison.get("gate")
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
    figures = {
        name: _figure(name, measures[name], overall[name])
        for name, quantity in QUANTITIES.items()
        if any(
            side or (side is not None and quantity.kind in ("share", "log ratio"))
            for side in (measures[name]["treatment"], measures[name]["baseline"])
        )
    }
    if "score" in figures:
        difference = shown_difference(estimates)
        figures["score"]["change"] = numbers.points(difference.delta)
        figures["score"]["interval"] = numbers.interval(difference.low, difference.high)
        figures["score"]["label"] += " (change corrected by people)" if difference.corrected else ""
    if "cost_usd" in figures:
        figures["cost_usd"]["label"] = cost_label
    return figures


def times(ratio: Fraction) -> str:
    """A ratio, with two decimals below ten."""
    return numbers.decimal(ratio, 2 if ratio < 10 else 1) or ""


def _figure(name: str, measure: Measure[Fraction], overall: Estimate) -> Figure:
    quantity = QUANTITIES[name]
    treatment, baseline = measure["treatment"], measure["baseline"]
    if measure["pairs"]:
        treatment, baseline = measure["paired_treatment"], measure["paired_baseline"]
    low, high, delta = (
        None if value is None else Fraction(str(value))
        for value in (overall.low, overall.high, overall.delta)
    )
    show = quantity.difference
    between = numbers.MISSING if low is None or high is None else f"{show(low)} to {show(high)}"
    if quantity.kind == "share":
        between = numbers.interval(low, high)
    elif quantity.kind == "log ratio":
        between = numbers.change_interval(low, high)
    return {
        "label": f"{quantity.label}{' (mean of the middle tasks)' * (quantity.kind == 'count')}",
        "treatment": _counted(name, measure["pairs"], treatment) or quantity.amount(treatment),
        "baseline": _counted(name, measure["pairs"], baseline) or quantity.amount(baseline),
        "change": show(measure["delta"] if quantity.kind == "share" else delta),
        "interval": between,
        "total": _total(measure) if quantity.kind == "log ratio" else "",
        "tasks": measure["pairs"],
    }


def _counted(name: str, pairs: int, share: Fraction | None) -> str:
    """How many tasks are complete, such as `2/2 (100%)`; "" when several trials give a fraction."""
    if name != "complete" or not pairs or share is None:
        return ""
    count = share * pairs
    return f"{count}/{pairs} ({numbers.percent(share)})" if count.denominator == 1 else ""


def _total(measure: Measure[Fraction]) -> str:
    treatment, baseline = measure["paired_treatment"], measure["paired_baseline"]
    if not measure["pairs"] or treatment is None or not baseline:
        return ""
    ratio = f"{times(treatment / baseline)} times"
    most = measure["largest"]
    return (
        ratio
        if measure["pairs"] == 1 or most is None
        else f"{ratio}; largest task {numbers.percent(most)}"
    )
