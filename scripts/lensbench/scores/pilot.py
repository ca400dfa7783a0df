"""Plans a benchmark from the standard deviation, the price and the time of a finished one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.numbers import dollars, mean
from lensbench.core.run_folder import RunFolder
from lensbench.core.run_status import RunStatus
from lensbench.core.system.files import read_json
from lensbench.judging.instrument_file import InstrumentData
from lensbench.scores.estimates_file import EstimatesData
from lensbench.scores.power import TRIALS, Spread, split, tasks_needed, upper_sd
from lensbench.scores.run_tables import read_tables
from lensbench.scores.sequential import FIRST


class Pilot(NamedTuple):
    """The figures of a treatment in a finished benchmark."""

    treatment: str
    tasks: int
    spread: Spread
    """The standard deviation of a task's difference, in points, including the effect of shared repositories."""
    measured: bool
    """False when the parts of the spread are assumed, because there was only one trial."""
    conditions: int
    """The number of runs of a task in one trial."""
    run_s: float
    """Seconds of a run, on average."""
    run_usd: float | None
    """Dollars of a run with its judging; None when the agent shows no price."""


def read_pilot(folder: Path, share: float) -> list[Pilot]:
    """A pilot for every treatment of a run folder. `share`, the share of the variance that is between tasks, is used if
    there was only one trial. Raises UserError when the folder has no results, or no spread."""
    tables = read_tables(folder)
    estimates = read_json(RunFolder(folder).estimates, EstimatesData, needed=True)["comparisons"]
    runs = [
        run
        for run, row in tables.scores.items()
        if row["status"] == RunStatus.SCORED and run.condition in tables.plan["conditions"]
    ]
    seconds, prices = mean(map(tables.duration, runs)), mean(map(tables.cost, runs))
    judges = read_json(RunFolder(folder).instrument, InstrumentData).get("judges", {}).values()
    judging = sum(Fraction(str(judge["cost_usd"] or 0)) for judge in judges)
    price = None if prices is None else float(prices + judging / len(runs))
    found = []
    for name, each in estimates.items():
        overall, sigma = each["score"]["overall"], each["variance"]["differences"]["sigma"]
        if not overall["se"]:
            raise UserError(f"{folder}: the differences of {name!r} have no spread to plan with; make more pairs")
        trials = tables.plan["trials"]
        seen = 100 * upper_sd(overall["se"] * math.sqrt(overall["n"]), overall["n"])
        spread = split(seen, trials, share)
        if sigma is not None:
            spread = Spread(math.sqrt(max(seen**2 - (100 * sigma) ** 2 / trials, 0)), 100 * sigma)
        found.append(
            Pilot(
                name,
                overall["n"],
                spread,
                sigma is not None,
                len(tables.plan["conditions"]),
                float(seconds or 0),
                price,
            )
        )
    return found


def plans(pilot: Pilot, effect: float, power: float, alpha: float, parallel: int) -> Iterator[str]:
    """One line for each number of trials: `88 runs (44 tasks x 1), about 41 USD, 5 h at 8 at a time`."""
    for trials in TRIALS:
        tasks = tasks_needed(pilot.spread.of(trials), effect, power, FIRST * alpha)
        runs = tasks * trials * pilot.conditions
        size = f"{tasks} tasks x {trials} trial{'' if trials == 1 else 's'} x {pilot.conditions} conditions"
        price = "at a price that the agent does not show"
        if pilot.run_usd is not None:
            price = f"about {_rounded_up(runs * pilot.run_usd)} USD"
        hours = _duration(math.ceil(runs / parallel) * pilot.run_s)
        yield f"{runs} runs ({size}), {price}, {hours} at {parallel} at a time: {100 * power:g} % to find +{effect:g}"


def _rounded_up(price: float) -> str:
    return str(math.ceil(price)) if price >= 1 else dollars(Fraction(str(round(price, 6))))


def _duration(seconds: float) -> str:
    hours, minutes = seconds / 3600, seconds / 60
    return f"{hours:.2g} h" if hours >= 1 else f"{max(math.ceil(minutes), 1)} min"


def pilot_text(folder: Path, effect: float, power: float, alpha: float, share: float, parallel: int) -> str:
    """The plans for every treatment of the benchmark in `folder`."""
    told = []
    for pilot in read_pilot(folder, share):
        parts = "measured" if pilot.measured else f"assumed: {100 * share:g} % of a trial's variance is the tasks' own"
        told.append(
            f"{pilot.treatment}: a task's difference spreads by up to {pilot.spread.of(1):.1f} points in one trial "
            f"(80 % upper bound after {pilot.tasks} tasks; the part that trials reduce is {parts})."
        )
        told.append("\n".join(f"- {line}" for line in plans(pilot, effect, power, alpha, parallel)))
    return "\n\n".join(told)
