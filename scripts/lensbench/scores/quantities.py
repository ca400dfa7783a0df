"""The quantities of a run that are compared, in the order of their tables: one entry each, for every output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal, NamedTuple

from lensbench.core import numbers
from lensbench.core.records import RunId
from lensbench.scores.run_tables import ALL_KINDS, Tables

QuantityKind = Literal["share", "log ratio", "count", "difference"]
"""How a quantity is compared: shares of 1 in points; what is never 0 by its ratio, so that one slow task does not
outweigh the others; what may be 0 by the difference of the tasks without the extremes; another share by its mean."""
Amount = Callable[[Fraction | None], str]


class Quantity(NamedTuple):
    """A quantity of a run."""

    label: str
    of: Callable[[Tables, RunId], Fraction | None]
    """Its value; None where it is missing."""
    kind: QuantityKind = "count"
    amount: Amount = numbers.number
    difference: Amount = numbers.signed_number
    """A difference as it is shown; of ratios the relative change."""


def _share(label: str, of: Callable[[Tables, RunId], Fraction | None]) -> Quantity:
    return Quantity(label, of, "share", numbers.percent, numbers.points)


def _ratio(label: str, of: Callable[[Tables, RunId], Fraction | None], amount: Amount) -> Quantity:
    return Quantity(label, of, "log ratio", amount, numbers.change)


def _tokens(value: Fraction | None) -> str:
    if value is None:
        return numbers.MISSING
    return f"{int(numbers.rounded(value)):,}"


TOKEN_WEIGHTS = {
    "input": Fraction(1),
    "cache_read": Fraction(1, 10),
    "cache_write": Fraction(5, 4),
    "output": Fraction(5),
    ALL_KINDS: Fraction(1),
}
"""What a token of each kind costs, in tokens of input, by the list prices of most models."""


def _weighted(tokens: Mapping[str, int] | None) -> Fraction | None:
    if tokens is None:
        return None
    total = Fraction(0)
    for kind, weight in TOKEN_WEIGHTS.items():
        total += tokens.get(kind, 0) * weight
    return total


QUANTITIES: Mapping[str, Quantity] = {
    "score": _share("score", Tables.score),
    "complete": _share("complete (score of 80% or more)", Tables.complete),
    "duration_s": _ratio("duration", Tables.duration, numbers.seconds),
    "tokens_input": _ratio(
        "tokens in, cached ones included",
        lambda tables, run: tables.tokens(run, "input", "cache_read", "cache_write"),
        _tokens,
    ),
    "tokens_cached": Quantity(
        "tokens in, from the cache",
        lambda tables, run: tables.tokens(run, "cache_read"),
        amount=_tokens,
    ),
    "tokens_cache_write": Quantity(
        "tokens in, written to the cache",
        lambda tables, run: tables.tokens(run, "cache_write"),
        amount=_tokens,
    ),
    "tokens_output": _ratio(
        "tokens out", lambda tables, run: tables.tokens(run, "output"), _tokens
    ),
    "tokens_weighted": _ratio(
        "tokens, weighted by price", lambda tables, run: _weighted(tables.all_tokens(run)), _tokens
    ),
    "tokens_subagents": Quantity(
        "of these by sub-agents",
        lambda tables, run: _weighted(tables.of_subagents(run)),
        amount=_tokens,
    ),
    "first_cached": Quantity(
        "first request, from the cache",
        Tables.first_cached,
        "difference",
        numbers.percent,
        numbers.points,
    ),
    "cost_usd": _ratio("cost in US dollars", Tables.cost, numbers.dollars),
    "turns": _ratio("turns", Tables.turns, numbers.number),
    "tool_calls_reported": Quantity("tool calls, reported", Tables.reported_calls),
    "tool_calls_observed": Quantity("tool calls, observed", Tables.observed_calls),
    "files_read_reported": Quantity("files read, reported", Tables.reported_files),
    "files_read_observed": Quantity("files read, observed", Tables.observed_files),
}
