"""What the runs needed, as a table of the page: averages, changes and their intervals as words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from lensbench.core import numbers
from lensbench.results.charts.parts import signed

NAMES = {
    "complete": "complete (score of 80% or more)",
    "duration_s": "duration",
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


def _tokens(value: Fraction | None) -> str:
    return numbers.MISSING if value is None else f"{round(value):,}"


_AMOUNTS: Mapping[str, Callable[[Fraction | None], str]] = {
    "complete": numbers.percent,
    "duration_s": numbers.seconds,
    **dict.fromkeys(("tokens_input", "tokens_cached", "tokens_output"), _tokens),
    "cost_usd": lambda value: numbers.MISSING if value is None else numbers.rounded(value, 3),
}


class MeasureRow(NamedTuple):
    """A quantity over complete pairs, in words."""

    name: str
    baseline: str
    treatment: str
    change: str
    interval: str
    tasks: int


def measure_rows(measures: Mapping[str, Any], estimates: Mapping[str, Any]) -> list[MeasureRow]:
    """The quantities that at least one pair has. `measures` are those of results.json.

    Ratios are averaged as such, so a change is not that of the two averages beside it. Without an estimate it is.
    """
    estimated = {"complete": estimates.get("complete"), **(estimates.get("measures") or {})}
    return [
        _row(name, measures[name], estimated.get(name) or {})
        for name in NAMES
        if name in measures and measures[name]["pairs"]
    ]


def _row(name: str, measure: Mapping[str, Any], estimated: Mapping[str, Any]) -> MeasureRow:
    amount = _AMOUNTS.get(name, numbers.number)
    overall = estimated.get("overall") or {}
    kind = "share" if name == "complete" else estimated.get("kind", "difference")
    known = overall.get("low") is not None and overall.get("high") is not None
    delta = overall.get("delta") if overall else measure["delta"]
    return MeasureRow(
        NAMES[name],
        amount(_exact(measure["paired_baseline"])),
        amount(_exact(measure["paired_treatment"])),
        _change(delta, kind),
        f"{_number(overall['low'], kind)} to {_change(overall['high'], kind)}" if known else numbers.MISSING,
        measure["pairs"],
    )


def _exact(value: float | None) -> Fraction | None:
    return None if value is None else Fraction(str(value))


def _change(value: float | None, kind: str) -> str:
    """With its unit: points for shares, percent for ratios, none for everything else."""
    unit = {"share": " points", "log ratio": "%"}.get(kind, "")
    return numbers.MISSING if value is None else _number(value, kind) + unit


def _number(value: float, kind: str) -> str:
    return signed(value) if kind == "difference" else signed(100 * value, 0)
