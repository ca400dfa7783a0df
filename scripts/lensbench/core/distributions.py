"""Probability distributions for intervals, p values and power, in double precision (formulas: dlmf.nist.gov). The tests
compare them with scipy, which is a third of the size of an installation, and takes longer to import than all stages
that need a distribution."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist

_PRECISE = 1e-16
_TINY = 1e-300
_NORMAL = NormalDist()


def norm_isf(tail: float) -> float:
    """The value that a standard normal variable exceeds with this probability."""
    return -_NORMAL.inv_cdf(tail) if 0 < tail < 1 else math.inf if tail <= 0 else -math.inf


def norm_sf(value: float) -> float:
    """The probability that a standard normal variable exceeds the value."""
    return math.erfc(value / math.sqrt(2)) / 2


def t_sf(value: float, df: float) -> float:
    """The probability that Student's t exceeds the value; with infinite degrees of freedom it is normal."""
    if df == math.inf:
        return norm_sf(value)
    square = value * value
    outside = _beta(df / (df + square), square / (df + square), df / 2, 0.5) / 2
    return outside if value >= 0 else 1 - outside


@lru_cache(maxsize=4096)
def t_isf(tail: float, df: float) -> float:
    """The value that Student's t exceeds with this probability, by Newton's method on the logarithms of both: there the
    tail is concave, so all steps but the first approach the root monotonically."""
    if df == math.inf:
        return norm_isf(tail)
    if tail > 0.5:
        return -t_isf(1 - tail, df)
    if tail in (0, 0.5):
        return 0.0 if tail else math.inf
    value = max(norm_isf(tail), 1e-9)
    constant = -_log_beta(df / 2, 0.5) - math.log(df) / 2
    for _ in range(100):
        beyond = t_sf(value, df)
        density = math.exp(constant - (df + 1) / 2 * math.log1p(value * value / df))
        factor = math.exp(min(math.log(beyond / tail) * beyond / (value * density), 50.0))
        value *= factor
        if abs(factor - 1) < 1e-14:
            break
    return value


def nct_cdf(value: float, df: float, shift: float) -> float:
    """The probability that a noncentral t is at most the value: a Poisson mixture of incomplete beta functions (Lenth,
    Applied Statistics 38, 1989, AS 243), summed where its weights are not negligible."""
    if value < 0:
        return 1 - nct_cdf(-value, df, -shift)
    square = value * value
    half = shift * shift / 2
    if square < _PRECISE**2:
        return norm_sf(shift)
    if not half:
        return 1 - t_sf(value, df)
    x = square / (df + square)
    y = df / (df + square)
    width = 12 * math.sqrt(half) + 40
    first = max(math.floor(half - width), 0)
    last = math.ceil(half + width)
    total = 0.0
    for start, sign in ((first + 0.5, 1.0), (first + 1.0, math.copysign(1.0, shift))):
        chance = _beta(x, y, start, df / 2)
        drop = (
            math.exp(start * math.log(x) + df / 2 * math.log(y) - _log_beta(start, df / 2)) / start
        )
        weight = math.exp((start - 0.5) * math.log(half) - half - math.lgamma(start + 0.5))
        for a in range(last - first):
            total += sign * weight * chance
            chance = chance - drop
            drop = drop * x * (start + a + df / 2) / (start + a + 1)
            weight *= half / (start + a + 0.5)
    return min(max(norm_sf(shift) + total / 2, 0.0), 1.0)


def f_sf(value: float, df1: float, df2: float) -> float:
    """The probability that an F variable is above a value."""
    rest = df1 * value + df2
    return _beta(df2 / rest, df1 * value / rest, df2 / 2, df1 / 2)


def chi2_ppf(share: float, df: float) -> float:
    """The value that a chi-squared variable is below with this probability."""
    return 2 * root(lambda x: _gamma(df / 2, x) - share, 0.0, df + 20 * math.sqrt(df) + 100)


def beta_ppf(share: float, a: float, b: float) -> float:
    """The value that a beta variable is below with this probability."""
    return root(lambda x: _beta(x, 1 - x, a, b) - share, 0.0, 1.0)


def _log_beta(a: float, b: float) -> float:
    """The logarithm of the beta function; by series 5.11.1 where the logarithms of two gammas nearly cancel."""
    a, b = max(a, b), min(a, b)
    if a < 500:
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    corrections = (1 / (a + b) - 1 / a) / 12 - (1 / (a + b) ** 3 - 1 / a**3) / 360
    return math.lgamma(b) - (a - 0.5) * math.log1p(b / a) - b * (math.log(a + b) - 1) - corrections


def _beta(x: float, y: float, a: float, b: float) -> float:
    """The regularised incomplete beta function of x, where y is 1 - x."""
    if x <= 0 or y <= 0:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta_fraction(y, x, b, a)
    return _beta_fraction(x, y, a, b)


def _beta_fraction(x: float, y: float, a: float, b: float) -> float:
    """The same below about the mean, where it converges: continued fraction 8.17.22 by Lentz's method."""
    logarithms = a * (math.log(x) if x < 0.5 else math.log1p(-y)) + b * (
        math.log(y) if y < 0.5 else math.log1p(-x)
    )
    c = 1.0
    d = 1 / (1 - (a + b) * x / (a + 1))
    fraction = 1 / (1 - (a + b) * x / (a + 1))
    for m in range(1, 100_000):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + term * d) or _TINY)
            c = (1 + term / c) or _TINY
            fraction *= c * d
        if abs(c * d - 1) < 4 * _PRECISE:
            break
    return fraction * math.exp(logarithms - _log_beta(a, b)) / a


def _gamma(a: float, x: float) -> float:
    """The regularised lower incomplete gamma function: series 8.11.4."""
    if x <= 0:
        return 0.0
    term = total = math.exp(a * math.log(x) - x - math.lgamma(a + 1))
    count = a
    while term > _PRECISE * total:
        count += 1
        term *= x / count
        total += term
    return total


def root(rising: Callable[[float], float], low: float, high: float) -> float:
    """The root of a rising function, by bisection."""
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if rising(middle) > 0 else (middle, high)
    return middle
