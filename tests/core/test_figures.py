from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction as F

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core import numbers as figures
from lensbench.core.errors import UserError

numbers = st.fractions(-(10**6), 10**6, max_denominator=10**6)
tenths = st.decimals(-(10**6), 10**6, places=4, allow_nan=False)


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (F(309, 2), 0, "155"),
        (F(361, 2), 0, "181"),
        (F(21, 4), 1, "5.3"),
        (F(25, 2), 0, "13"),
        (F(-25, 2), 0, "-13"),
        (F(1, 3), 2, "0.33"),
        (F(2, 3), 2, "0.67"),
        (F(-1, 3), 0, "0"),
        (F(-1, 1000), 2, "0.00"),
        (F(0), 0, "0"),
        (F(1, 20), 1, "0.1"),
        (F(-1, 20), 1, "-0.1"),
        (F(999, 100), 1, "10.0"),
        (F(10**40), 0, "1" + "0" * 40),
        (F(10**40), 2, "1" + "0" * 40 + ".00"),
        (F(1005, 1000), 2, "1.01"),
    ],
)
def test_numbers_are_rounded_half_away_from_zero_on_exact_values(
    value: F, digits: int, shown: str
) -> None:
    assert figures.rounded(value, digits) == shown


@given(tenths, st.integers(0, 3))
def test_rounding_is_that_of_school_arithmetic(value: Decimal, digits: int) -> None:
    expected = value.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)
    assert Decimal(figures.rounded(F(value), digits)) == expected


@pytest.mark.parametrize(
    ("share", "rounded"),
    [
        ("1/8", "15/100"),
        ("3/8", "40/100"),
        ("7/8", "90/100"),
        ("1/3", "35/100"),
        ("2/3", "65/100"),
        ("1/6", "15/100"),
        ("4/5", "80/100"),
        ("0", "0"),
        ("1", "1"),
        ("17/40", "45/100"),
        ("31/40", "80/100"),
        ("77/100", "75/100"),
    ],
)
def test_scores_go_to_the_nearest_5_percent_and_halves_go_up(share: str, rounded: str) -> None:
    assert figures.nearest_5_percent(F(share)) == F(rounded)


def test_a_mean_ignores_what_is_missing_and_a_mean_of_nothing_is_missing() -> None:
    assert figures.mean([F(1), None, F(2)]) == F(3, 2)
    assert figures.mean([None]) is None
    assert figures.mean([]) is None


@pytest.mark.parametrize(
    "show", [figures.percent, figures.points, figures.seconds, figures.number, figures.change]
)
def test_a_missing_value_is_a_dash_and_never_0(show) -> None:  # type: ignore[no-untyped-def]
    assert show(None) == figures.MISSING


@pytest.mark.parametrize(
    ("shown", "expected"),
    [
        (figures.percent(F(1, 8)), "12.5%"),
        (figures.percent(F(3, 4)), "75%"),
        (figures.points(F(1, 8)), "+12.5 points"),
        (figures.points(F(-1, 8)), "-12.5 points"),
        (figures.points(F(1, 10000)), "0.0 points"),
        (figures.points(F(-1, 10000)), "0.0 points"),
        (figures.points(0.1625), "+16.3 points"),
        (figures.points(0.16249999999999998), figures.points(F(13, 80))),
        (figures.interval(0.054, F(1, 3)), "+5.4 to +33.3 points"),
        (figures.interval(None, 0.1), figures.MISSING),
        (figures.seconds(F("8.04")), "8.0s"),
        (figures.seconds(F("180.5")), "181s"),
        (figures.number(F(59, 2)), "29.5"),
        (figures.number(F(3)), "3"),
        (figures.signed_number(F(3)), "+3"),
        (figures.signed_number(F(-3, 2)), "-1.5"),
        (figures.change(F(256 - 181, 181)), "+41%"),
        (figures.change(F(-1, 1000)), "-0.1%"),
        (figures.change(F(-1, 10000)), "0%"),
        (figures.dollars(F("0.003")), "0.003"),
        (figures.dollars(F("0.0000312")), "0.000031"),
        (figures.dollars(F("0.1234567")), "0.1235"),
        (figures.dollars(F("41.254")), "41.25"),
        (figures.dollars(None), figures.MISSING),
    ],
)
def test_figures_are_written_as_people_read_them(shown: str, expected: str) -> None:
    assert shown == expected


@pytest.mark.parametrize(
    ("share", "high", "is_ratio"),
    [(1, None, True), (F(99, 100), None, False), (F(3, 4), 1, True), (F(3, 4), F(99, 100), False)],
)
def test_a_change_is_a_ratio_where_it_or_the_end_of_its_interval_reaches_the_double(
    share: F, high: F | None, is_ratio: bool
) -> None:
    assert figures.reaches_double(share, high) is is_ratio


@given(st.integers(-(10**9), 10**9).map(lambda value: F(value, 10**6)))
def test_a_number_survives_its_table_cell(value: F) -> None:
    cell = figures.decimal(value)
    assert cell is not None
    assert figures.exact(cell) == value


@pytest.mark.parametrize(
    "text",
    ["x", "1/0", "nan", "inf", "1e9", "1e999999999", "0.", "--1", " 1", "1,5", "٣", "9" * 99],
)
def test_a_cell_that_is_no_number_is_a_clear_error(text: str) -> None:
    with pytest.raises(UserError, match="where a number must be"):
        figures.exact(text)


def test_an_empty_cell_is_missing() -> None:
    assert figures.exact("") is None
    assert figures.decimal(None) is None
