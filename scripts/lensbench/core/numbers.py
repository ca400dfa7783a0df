"""Exact means, and the common functions for rounding and formatting numbers. Exact fractions are rounded half away from
zero: Python's `round` turns 12.5 into 12, and floats depend on the machine."""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from lensbench.core.errors import UserError

MISSING = "—"
COMPLETE = Fraction(4, 5)
"""A task is complete at this score (protocol, section 4)."""


def mean(values: Iterable[Fraction | None]) -> Fraction | None:
    """The mean of the values that are not None; None when there are none."""
    there = [value for value in values if value is not None]
    return sum(there, Fraction(0)) / len(there) if there else None


def rounded(value: Fraction, digits: int = 0) -> str:
    """The value with `digits` decimals, half away from zero; never a negative zero."""
    whole = (2 * abs(value.numerator) * 10**digits + value.denominator) // (2 * value.denominator)
    text = str(whole).rjust(digits + 1, "0")
    sign = "-" if value < 0 and whole else ""
    return f"{sign}{text[:-digits]}.{text[-digits:]}" if digits else sign + text


def nearest_5_percent(share: Fraction) -> Fraction:
    """A share rounded to the nearest 5% (protocol, section 4)."""
    return Fraction(int(share * 20 + Fraction(1, 2)), 20)


def score_of(points: Iterable[Fraction], criteria: int) -> Fraction:
    """The score of an answer: points by criteria, to the nearest 5% (protocol, section 4), as a share of 1."""
    return nearest_5_percent(sum(points, Fraction(0)) / criteria)


_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,15})?")


@lru_cache(maxsize=1 << 16)
def exact(text: str) -> Fraction | None:
    """The number in a table's cell, as `decimal` writes it; None for an empty one. Raises UserError for other text."""
    if text and not _NUMBER.fullmatch(text):
        raise UserError(
            f"a table has {text[:40]!r} where a number must be; delete the file to rebuild it"
        )
    return Fraction(text) if text else None


def decimal(value: Fraction | None, digits: int = 6) -> str | None:
    """The number as a table's cell, without trailing zeros; None stays None."""
    if value is None:
        return None
    text = rounded(value, digits)
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(value: Fraction) -> str:
    """With one decimal, and none where it is 0."""
    return rounded(value, 1).removesuffix(".0")


def percent(share: Fraction | None) -> str:
    """A share of 1 as a percentage."""
    return MISSING if share is None else f"{_short(Fraction(rounded(share, 6)) * 100)}%"


def signed_number(delta: Fraction | None) -> str:
    """A difference of counts, with its sign."""
    return number(delta) if delta is None or delta <= 0 else f"+{number(delta)}"


def points(delta: Fraction | float | None, unit: str = " points") -> str:
    """A difference of shares in points, with its sign and one decimal: `+4.0 points`.

    It is rounded from the six decimals of the tables, so that every output shows the same number."""
    if delta is None:
        return MISSING
    text = rounded(Fraction(rounded(Fraction(delta), 6)) * 100, 1)
    return f"{'' if text == '0.0' or delta < 0 else '+'}{text}{unit}"


def interval(
    low: Fraction | float | None, high: Fraction | float | None, unit: str = " points"
) -> str:
    """An interval of differences of shares, in points: `-1.0 to +4.0 points`."""
    return MISSING if low is None or high is None else f"{points(low, '')} to {points(high, unit)}"


def seconds(value: Fraction | None) -> str:
    """A duration: whole seconds, one decimal below ten."""
    return MISSING if value is None else f"{rounded(value, 0 if abs(value) >= 10 else 1)}s"


def number(value: Fraction | None) -> str:
    """A count or a mean of counts: one decimal, and none when it is whole."""
    if value is None:
        return MISSING
    return rounded(value, 0 if value.denominator == 1 else 1)


def multiple(share: Fraction | float) -> str:
    """The ratio of a relative change, with two digits: `8.1` for +709%."""
    ratio = 1 + Fraction(str(share))
    if ratio < 1:
        return rounded(ratio, 2)
    return rounded(ratio, 1 if ratio < 10 else 0)


def reaches_double(share: Fraction | float, high: Fraction | float | None) -> bool:
    """True where a relative change, or the upper end of its interval, is read more easily as a ratio."""
    return share >= 1 or (high is not None and high >= 1)


def change_interval(
    low: Fraction | float | None, high: Fraction | float | None, unit: str = " times"
) -> str:
    """An interval of relative changes: `-5% to +12%`, or as ratios if it reaches the double: `7.2 to 9.1 times`."""
    if low is None or high is None:
        return MISSING
    if high < 1:
        return f"{change(low)} to {change(high)}"
    return f"{multiple(low)} to {multiple(high)}{unit}"


def change(share: Fraction | float | None) -> str:
    """A relative change as a percentage, with its sign; whole from 10% on, and from the double on as `2.0 times`."""
    if share is None:
        return MISSING
    if share >= 1:
        return f"{multiple(share)} times"
    share = Fraction(str(share))
    text = _short(share * 100) if abs(share) < Fraction(1, 10) else rounded(share * 100)
    return f"{'+' if share > 0 and text != '0' else ''}{text}%"


def dollars(value: Fraction | None) -> str:
    """A price with enough decimals that it is not shown as 0."""
    return (
        decimal(value, 2 if value >= 1 else 4 if value >= Fraction(1, 100) else 6) or ""
        if value is not None
        else MISSING
    )
