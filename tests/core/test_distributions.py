"""The distributions against scipy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from lensbench.core.distributions import chi2_ppf, nct_cdf, norm_isf, norm_sf, t_isf, t_sf

FREEDOM = st.floats(0, 5).map(lambda digits: 10**digits)
TAILS = st.floats(-15, -0.001).map(lambda digits: 10**digits)


def close(value: float, abs: float = 0.0) -> object:
    return pytest.approx(value, rel=1e-10, abs=abs)


@given(TAILS)
def test_what_a_normal_deviate_exceeds(tail: float) -> None:
    assert norm_isf(tail) == close(-special.ndtri(tail), abs=1e-15)


@given(st.floats(-8, 37))
def test_how_likely_a_normal_deviate_exceeds_a_number(value: float) -> None:
    assert norm_sf(value) == close(special.ndtr(-value))


@given(TAILS, FREEDOM)
def test_what_students_t_exceeds(tail: float, df: float) -> None:
    assert t_isf(tail, df) == close(-special.stdtrit(df, tail), abs=1e-12)


@given(
    st.floats(-100, 100).filter(lambda value: abs(value) > 1e-3), FREEDOM
)  # scipy rounds x / (1 + tiny) to 1
def test_how_likely_students_t_exceeds_a_number(value: float, df: float) -> None:
    wanted = float(special.stdtr(df, -value))
    assert t_sf(value, df) == close(wanted, abs=1e-300)


@given(
    st.floats(-12, 40).filter(lambda value: abs(value) > 1e-6),
    st.integers(1, 2000),
    st.floats(-1, 45),
)
def test_how_likely_a_noncentral_t_is_at_most_a_number(value: float, df: int, shift: float) -> None:
    wanted = float(stats.nct.cdf(value, df, shift))
    assert nct_cdf(value, df, shift) == pytest.approx(
        0.0 if math.isnan(wanted) else wanted, abs=1e-10
    )  # tiny: NaN


@given(st.floats(0.001, 0.999), st.integers(1, 5000))
def test_the_quantiles_of_chi_squared(share: float, df: int) -> None:
    assert chi2_ppf(share, df) == close(special.chdtri(df, 1 - share))


def test_the_ends_of_the_quantiles_and_endless_degrees_of_freedom() -> None:
    assert (t_isf(0.025, math.inf), t_sf(-1.5, math.inf)) == (norm_isf(0.025), norm_sf(-1.5))
    assert t_isf(0.025, 1e9) == pytest.approx(norm_isf(0.025), rel=1e-8)
    assert (t_isf(0, 3), t_isf(0.5, 3), t_isf(1, 3)) == (math.inf, 0, -math.inf)
    assert (norm_isf(0), norm_isf(1)) == (math.inf, -math.inf)
    assert t_sf(1e-9, 1) == pytest.approx(0.5 - math.atan(1e-9) / math.pi, abs=1e-16)
    assert (t_sf(0, 3), t_sf(1e200, 3), nct_cdf(0, 5, 1.5)) == (0.5, 0, norm_sf(1.5))
