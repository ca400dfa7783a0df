"""The distributions that the tables after the runs need, by scipy.special.

scipy.stats has them too, from the same functions. Importing it takes three times as long as all that is computed here.
"""

from __future__ import annotations

from typing import Any


def t_isf(tail: Any, df: float) -> Any:
    """What Student's t exceeds with this probability."""
    from scipy.special import stdtrit

    return -stdtrit(df, tail)


def t_sf(value: float, df: float) -> float:
    """How likely Student's t exceeds the value."""
    from scipy.special import stdtr

    return float(stdtr(df, -value))


def nct_cdf(value: float, df: float, shift: float) -> float:
    """How likely a noncentral t is at most the value."""
    from scipy.special import nctdtr

    return float(nctdtr(df, shift, value))


def norm_isf(tail: float) -> float:
    """What a normal deviate exceeds with this probability."""
    from scipy.special import ndtri

    return float(-ndtri(tail))


def norm_sf(value: Any) -> Any:
    """How likely a normal deviate exceeds the value."""
    from scipy.special import ndtr

    return ndtr(-value)


def beta_ppf(share: float, a: float, b: float) -> float:
    """What a beta variable stays below with this probability."""
    from scipy.special import betaincinv

    return float(betaincinv(a, b, share))


def chi2_ppf(share: float, df: float) -> float:
    """What a chi-squared variable stays below with this probability."""
    from scipy.special import chdtri

    return float(chdtri(df, 1 - share))
