"""Relative changes as people read them."""

import pytest

from lensbench.core.numbers import change, change_interval


@pytest.mark.parametrize(
    ("share", "shown"),
    [
        (None, "—"),
        (0.0, "0%"),
        (-0.25, "-25%"),
        (0.034, "+3.4%"),
        (0.994, "+99%"),
        (1.0, "2.0 times"),
        (7.09, "8.1 times"),
        (15.2, "16 times"),
    ],
)
def test_from_the_double_on_a_change_is_a_ratio(share: float | None, shown: str) -> None:
    assert change(share) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (None, 1.0, "—"),
        (-0.05, 0.12, "-5% to +12%"),
        (6.2, 8.06, "7.2 to 9.1 times"),
        (-0.1, 1.4, "0.90 to 2.4 times"),
    ],
)
def test_both_ends_of_an_interval_have_the_same_unit(
    low: float | None, high: float | None, shown: str
) -> None:
    assert change_interval(low, high) == shown
