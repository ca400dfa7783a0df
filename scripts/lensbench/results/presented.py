"""The formatted figures of a treatment: one table, used by every output.

Averages are over complete pairs, so that a difference equals the difference of the averages shown. Relative quantities
(time, tokens, cost) have two figures: the typical change, a geometric mean over tasks with its interval, and the total,
which is what users pay, and which a single task may dominate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from lensbench.core import numbers

if TYPE_CHECKING:
    from lensbench.results.results_file import MeasureData
    from lensbench.scores.estimates_file import ComparisonData, EffortData

LABELS = {
    "score": "score",
    "complete": "complete (score of 80% or more)",
    "duration_s": "duration",
    "first_token_s": "time to the model's first word",
    "outside_agent_s": "time outside the agent's own count",
    "tokens_input": "tokens in, cached ones included",
    "tokens_cached": "tokens in, from the cache",
    "tokens_output": "tokens out",
    "cost_usd": "cost in US dollars",
    "turns": "turns",
    "tool_calls_reported": "tool calls, reported",
    "tool_calls_observed": "tool calls, observed",
    "files_read_reported": "files read, reported",
    "files_read_observed": "files read, observed",
}
"""The quantities, in the order of the table."""
FEWEST_TASKS = 5
"""Categories and repositories of fewer tasks have no interval, which would cover most of the possible range."""


class Figure(NamedTuple):
    """A formatted quantity; unknown values are a dash."""

    label: str
    treatment: str
    """The average over complete pairs; if there are none, over all runs with a value."""
    baseline: str
    change: str
    """Points for shares, the typical relative change for relative quantities, else the difference."""
    interval: str
    """The interval of `change`, in the same unit."""
    total: str
    """For relative quantities, the ratio of the totals and the share of the largest task; else empty."""
    tasks: int
    """The number of complete pairs."""


def presented(measures: Mapping[str, MeasureData[Fraction]], estimates: ComparisonData) -> dict[str, Figure]:
    """The figures of all quantities with a value in any run; numbers are exact, `estimates` belong to a comparison."""
    estimated: dict[str, EffortData] = {
        "score": {"kind": "share", "overall": estimates["score"]["overall"]},
        "complete": {"kind": "share", "overall": estimates["complete"]["overall"]},
        **estimates["measures"],
    }
    return {
        name: _figure(name, measures[name], estimated[name])
        for name in LABELS
        if measures[name]["treatment"] is not None or measures[name]["baseline"] is not None
    }


def times(ratio: Fraction) -> str:
    """A ratio, with two decimals below ten."""
    return numbers.decimal(ratio, 2 if ratio < 10 else 1) or ""


def _figure(name: str, measure: MeasureData[Fraction], estimated: EffortData) -> Figure:
    amount, kind, overall = _AMOUNTS.get(name, numbers.number), estimated["kind"], estimated["overall"]
    treatment, baseline = measure["treatment"], measure["baseline"]
    if measure["pairs"]:
        treatment, baseline = measure["paired_treatment"], measure["paired_baseline"]
    change = _CHANGES[kind] if name not in _SIGNED else _SIGNED[name]
    low, high, delta = (
        None if value is None else Fraction(str(value)) for value in (overall["low"], overall["high"], overall["delta"])
    )
    return Figure(
        LABELS[name],
        _counted(name, measure["pairs"], treatment) or amount(treatment),
        _counted(name, measure["pairs"], baseline) or amount(baseline),
        change(measure["delta"] if kind == "share" else delta),
        numbers.MISSING if low is None or high is None else f"{change(low)} to {change(high)}",
        _total(measure) if kind == "log ratio" else "",
        measure["pairs"],
    )


def _counted(name: str, pairs: int, share: Fraction | None) -> str:
    """How many tasks are complete, such as `2/2 (100%)`; "" when several trials give a fraction."""
    if name != "complete" or not pairs or share is None:
        return ""
    count = share * pairs
    return f"{count}/{pairs} ({numbers.percent(share)})" if count.denominator == 1 else ""


def _total(measure: MeasureData[Fraction]) -> str:
    treatment, baseline = measure["paired_treatment"], measure["paired_baseline"]
    if not measure["pairs"] or treatment is None or not baseline:
        return ""
    ratio = f"x{times(treatment / baseline)}"
    most = measure["largest"]
    return ratio if measure["pairs"] == 1 or most is None else f"{ratio}; largest task {numbers.percent(most)}"


def _tokens(value: Fraction | None) -> str:
    return numbers.MISSING if value is None else f"{int(numbers.rounded(value)):,}"


def _signed_seconds(value: Fraction | None) -> str:
    return f"{'+' if value is not None and value > 0 else ''}{numbers.seconds(value)}"


_AMOUNTS: Mapping[str, Callable[[Fraction | None], str]] = {
    **dict.fromkeys(("score", "complete"), numbers.percent),
    **dict.fromkeys(("duration_s", "first_token_s", "outside_agent_s"), numbers.seconds),
    **dict.fromkeys(("tokens_input", "tokens_cached", "tokens_output"), _tokens),
    "cost_usd": numbers.dollars,
}
_SIGNED: Mapping[str, Callable[[Fraction | None], str]] = {"outside_agent_s": _signed_seconds}
_CHANGES: Mapping[str, Callable[[Fraction | None], str]] = {
    "share": numbers.points, "log ratio": numbers.change, "difference": numbers.signed_number,
}  # fmt: skip
