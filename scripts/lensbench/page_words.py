"""How the templates of the page write numbers, and that they escape everything."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from lensbench import figures
from lensbench.chart_parts import sign, signed
from lensbench.house import TEMPLATES
from lensbench.page_judges import coefficient, coefficient_interval


def page_environment() -> Environment:
    """The Jinja environment of the page's templates."""
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        autoescape=True,
    )  # fmt: skip
    environment.filters |= {
        "percent": _exactly(figures.percent), "seconds": _exactly(figures.seconds), "number": _exactly(figures.number),
        "points": _exactly(figures.points), "sign": sign, "share": _share, "minute": _minute, "yes_no": _yes_no,
        "signed": lambda value: figures.MISSING if value is None else signed(value),
        "decimal": lambda value, digits: figures.MISSING if value is None else f"{value:.{digits}f}",
        "whole": lambda value: figures.MISSING if value is None else f"{value:.0f}%",
        "sum_values": lambda counts: sum(counts.values()),
        "coefficient": coefficient, "coefficient_interval": coefficient_interval,
    }  # fmt: skip
    return environment


def _exactly(show: Callable[[Fraction | None], str]) -> Callable[[Any], str]:
    """A format of exact numbers, for numbers as JSON and the tables have them; with a real minus."""
    return lambda value: show(None if value in (None, "") else Fraction(str(value))).replace("-", "\u2212")


def _share(counts: dict[str, int]) -> str:
    return f"{counts['runs']}/{counts['of']}" if counts["of"] else figures.MISSING


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


def _yes_no(cell: str) -> str:
    return cell or figures.MISSING
