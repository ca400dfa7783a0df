"""Estimates the cost and duration of a benchmark before it starts; `lensbench size --pilot` does it from its runs."""

from __future__ import annotations

import math
from typing import NamedTuple


class RunPrice(NamedTuple):
    """Cost and time of one run, as expected ranges (low, high), and the source of the figures."""

    usd: tuple[float, float]
    seconds: tuple[float, float]
    source: str


PUBLISHED = RunPrice(
    (0.04, 1.19),
    (136, 543),
    "a guess from four agents' cost per task in SWE-bench Verified, whatsthebestcodeagent.com; questions"
    " mostly take less, and the first runs will show",
)
OFFLINE = RunPrice((0, 0), (0.2, 10), "no model is asked")


def price(agent: str) -> RunPrice:
    """The price of a run, which the first runs will show: a guess, or nothing for the offline agent."""
    return OFFLINE if agent == "offline" else PUBLISHED


def estimate(each: RunPrice, runs: int, at_once: int) -> str:
    """One sentence: the number of runs, their time and cost, and the source of the estimate."""
    minutes = _span(*(math.ceil(runs * seconds / min(at_once, runs) / 60) for seconds in each.seconds))
    dollars = f"{_span(*(runs * usd for usd in each.usd))} US dollars" if any(each.usd) else "nothing to pay"
    return f"{runs} runs, {at_once} at a time: about {minutes} min and {dollars} ({each.source})."


def _span(low: float, high: float) -> str:
    ends = [f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
