"""Estimates the cost and duration of a benchmark before it starts, from earlier runs or else from a guess."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import Any, NamedTuple

from lensbench.core.run_folder import RunFolder

FEW = 5
"""With fewer runs than this, no price is computed from them."""


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


def price(agent: str, model: str, benches: Path) -> RunPrice:
    """The price of a run, from the finished runs of this agent and model below `benches` if there are enough."""
    if agent == "offline":
        return OFFLINE
    outcomes = [record for record in _records(agent, model, benches) if record["outcome"]["cost_usd"] is not None]
    if len(outcomes) < FEW:
        return PUBLISHED
    usd = mean(record["outcome"]["cost_usd"] for record in outcomes)
    seconds = mean(record["attempt"]["duration_s"] or 0 for record in outcomes)
    return RunPrice((usd, usd), (seconds, seconds), f"the mean of {len(outcomes)} runs in {benches} with this model")


def _records(agent: str, model: str, benches: Path) -> Iterator[dict[str, Any]]:
    """The records of all runs of `agent` with `model`; unreadable files are skipped."""
    for file in sorted(benches.glob("*/plan.json")):
        told = _read(file).get("agent", {})
        if (told.get("kind"), told.get("model")) == (agent, model):
            yield from filter(None, map(_read, sorted(RunFolder(file.parent).attempts.glob("**/record.json"))))


def _read(file: Path) -> dict[str, Any]:
    try:
        value: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value


def estimate(each: RunPrice, runs: int, at_once: int) -> str:
    """One sentence: the number of runs, their time and cost, and the source of the estimate."""
    ends = [runs * seconds / min(at_once, runs) / 60 for seconds in each.seconds]
    if not any(each.usd):
        most = math.ceil(ends[1])
        minutes = f"{most} minute{'s' if most > 1 else ''}"
        return f"{runs} runs, {at_once} at a time: at most {minutes}, and nothing to pay ({each.source})."
    minutes = _span(*ends)
    dollars = _span(*(runs * usd for usd in each.usd))
    return f"{runs} runs, {at_once} at a time: about {minutes} minutes and {dollars} US dollars ({each.source})."


def _span(low: float, high: float) -> str:
    ends = [f"{value:.2g}" if value < 10 else f"{value:.0f}" for value in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
