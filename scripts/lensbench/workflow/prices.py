"""Estimates the cost and duration of a benchmark before it starts; `lensbench size --pilot` does it from its runs."""

import math

MOST_USD = 1.19
"""The highest expected cost of a run."""
_PUBLISHED = (
    "a guess from four agents' cost per task in SWE-bench Verified, whatsthebestcodeagent.com; questions take less"
)


def estimate(agent: str, runs: int, at_once: int) -> str:
    """One sentence: the number of runs, their time and cost, and the source of the estimate."""
    seconds, dollars = (136.0, 543.0), f"{_span(runs * 0.04, runs * MOST_USD)} US dollars ({_PUBLISHED})"
    if agent == "offline":
        seconds, dollars = (0.2, 10), "nothing to pay (no model is asked)"
    minutes = _span(*(math.ceil(runs * duration / min(at_once, runs) / 60) for duration in seconds))
    return f"{runs} runs, {at_once} at a time: about {minutes} min and {dollars}."


def _span(low: float, high: float) -> str:
    ends = [f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
