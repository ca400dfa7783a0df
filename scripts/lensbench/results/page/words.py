"""The Jinja environment of the page, with formats of numbers and escaping of all values."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jinja2 import Environment
from markupsafe import Markup, escape

from lensbench.core import numbers
from lensbench.core.system.templates import template_environment
from lensbench.results.charts.parts import sign, signed
from lensbench.results.markdown import FILTERS
from lensbench.results.presented import FEWEST_TASKS
from lensbench.scores.quantities import QUANTITIES


def page_environment() -> Environment:
    """The Jinja environment of the page's templates."""
    environment = template_environment(html=True)
    environment.filters |= {
        "minus": lambda text: text.replace("-", "\u2212"),
        "percent": _exactly(numbers.percent), "seconds": _exactly(numbers.seconds), "number": _exactly(numbers.number),
        "points": _exactly(numbers.points), "sign": sign, "yes_no": lambda cell: cell or numbers.MISSING,
        "as_points": lambda share: None if share is None else share * 100,
        "signed": lambda value: numbers.MISSING if value is None else signed(value),
        "decimal": lambda value, digits: numbers.MISSING if value is None else f"{value:.{digits}f}",
        "whole": lambda value: numbers.MISSING if value is None else f"{value:.0f}%",
        "code": _with_code, **FILTERS,
    }  # fmt: skip
    environment.globals |= {"quantities": tuple(QUANTITIES), "fewest_tasks": FEWEST_TASKS}  # JSON has lost the order
    return environment


def _exactly(show: Callable[[Fraction | None], str]) -> Callable[[Any], str]:
    """A filter that formats numbers from JSON and tables as exact numbers, with U+2212 as the minus."""
    return lambda value: show(None if value in (None, "") else Fraction(str(value))).replace("-", "\u2212")


def _with_code(text: str) -> Markup:
    """The text with `commands` as code elements."""
    return Markup(re.sub("`([^`]+)`", r"<code>\1</code>", str(escape(text))))
