"""Whether a treatment saves: it needs less of one quantity, and its answers are no worse.

SAVES is an intersection-union test (Berger, Technometrics 24, 1982): each of its parts is tested at the level of the
look, and all of them must hold. The quantity needs the whole interval of the mean log ratio beyond `least`; the answers
need the score's interval above -`margin`, and what `objections` asks about heavy losses.

GO and SAVES share the look's error `a` for false good news. If answers are worse by the margin or more, both need a
false "no worse", which is tested at `a` (a gatekeeper: Dmitrienko, Offen and Westfall, Statistics in Medicine 22,
2003). If they are not, "cheaper" gets PART of `a` and "better" the rest, or all of it once "cheaper" is shown (weighted
Holm, Scandinavian Journal of Statistics 6, 1979). Without a quantity, or with `saves: none`, a GO has all of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from lensbench.agents.prices import priced
from lensbench.core.distributions import norm_isf, norm_sf, t_isf
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.records import Record, RunId
from lensbench.scores.differences import Comparison, log_ratios
from lensbench.scores.intervals import UNSEEN, Estimate
from lensbench.scores.quantities import QUANTITIES
from lensbench.scores.run_tables import Value
from lensbench.scores.sequential import interval_at

PART = 0.1
"""The share of the error that "cheaper" gets: savings that matter are far larger than their standard error."""
_KEYS = {
    "cost": ("cost_usd", "tokens_weighted"),
    "tokens": ("tokens_weighted",),
    "duration": ("duration_s",),
}


def quantities_of(settings: GateSettings) -> Sequence[str]:
    """The keys of QUANTITIES for `gate.saves`: the first that every run has is compared."""
    return _KEYS.get(settings["saves"], [key for key in QUANTITIES if key == settings["saves"]])


class Saving(NamedTuple):
    """A quantity of a treatment against the baseline, over the pairs of the tasks."""

    label: str
    """The quantity, such as `estimated cost`."""
    change: Estimate
    """Of the log ratios."""
    saved: Sequence[Estimate]
    """By how much the saving exceeds `least`, as log ratios: over the runs that count, and where there are other
    attempts, over all."""
    added: Estimate
    """By how much the increase exceeds `least`."""
    total: float
    """The treatment's total divided by the baseline's."""

    def is_cheaper(self, boundary: float) -> bool:
        """True when the saving is shown at its part of the look's error."""
        return self.total < 1 and all(
            is_positive(surplus, cheaper(boundary)) for surplus in self.saved
        )

    def is_dearer(self, boundary: float) -> bool:
        """True when the treatment needs more, by more than `least`."""
        return is_positive(self.added, boundary)


def cheaper(boundary: float) -> float:
    """The boundary of "cheaper"."""
    return norm_isf(PART * norm_sf(boundary))


def better(boundary: float, saving: Saving | None) -> float:
    if saving is None or saving.is_cheaper(boundary):
        return boundary
    return norm_isf((1 - PART) * norm_sf(boundary))


def is_positive(mean: Estimate, boundary: float) -> bool:
    """True when a mean is shown to be above 0: by its interval, and where values are skewed by the empirical likelihood
    too. Equal values have no interval; the sign test decides."""
    chance = norm_sf(boundary)
    if mean.sd == 0:
        return (mean.delta or 0.0) > 0 and 0.5**mean.n <= chance
    interval = interval_at(mean, boundary, math.inf)
    if interval is None or interval[0] <= 0:
        return False
    return mean.root is None or mean.root >= t_isf(chance, mean.df or math.inf)


def saving_of(
    comparison: Comparison, settings: GateSettings, others: Mapping[RunId, Sequence[Record | None]]
) -> Saving | None:
    """What the treatment saves; None where no quantity is asked for, or where a run that counts lacks it. `others` are
    the attempts that did not count; what one without a record (None) used is as much as the run that counts for the
    treatment, and nothing for the baseline."""
    tables, prices = comparison.tables, comparison.plan.get("prices", {})
    runs = [record.run for record in tables.valid if record.condition in comparison.conditions]
    name = next(
        (
            name
            for name in quantities_of(settings)
            if all(QUANTITIES[name].of(tables, run) for run in runs)
        ),
        "",
    )
    value: Value = partial(QUANTITIES[name].of, tables) if name else lambda _: None
    pairs = comparison.pairs(value)
    if not any(pairs.values()):
        return None

    def with_others(run: RunId) -> Fraction | None:
        own = value(run)
        if own is None:
            return None
        unknown = own if run.condition == comparison.treatment else Fraction(0)
        tries = (
            record and replace(record, outcome=priced(record.outcome, prices))
            for record in others.get(run, ())
        )
        costs = (
            QUANTITIES[name].of(tables._replace(records={run: one}), run) if one else None
            for one in tries
        )
        return own + sum((unknown if cost is None else cost for cost in costs), Fraction(0))

    def beyond(value: Value, sign: int) -> Estimate:
        ratios = log_ratios(comparison.pairs(value))
        share = math.log1p(-sign * settings["least"] / 100)
        return comparison.over(
            {task: [sign * (share - log) for log in own] for task, own in ratios.items()}, ratios
        )

    treatment, base = zip(*(pair for both in pairs.values() for pair in both), strict=True)
    has_others = any(others.get(run) for run in runs)
    is_guess = name == "cost_usd" and any(tables.records[run].outcome.cost_is_guess for run in runs)
    return Saving(
        f"{'estimated ' * is_guess}{name.partition('_')[0]}",
        comparison.over(log_ratios(pairs), comparison.plan["order"]),
        [beyond(quantity, 1) for quantity in ([value, with_others] if has_others else [value])],
        beyond(value, -1),
        float(sum(treatment) / sum(base)),
    )


def tasks_for_no_worse(sd: float, margin: float, delta: float, power: float, chance: float) -> int:
    """The number of tasks that show with this power that answers are less than `margin` worse, when the true difference
    is `delta`, in shares of 1. `chance` is the error of the interval; the floor is a corrected normal quantile here."""
    tasks, far = math.ceil(math.log(chance) / math.log1p(-margin)), norm_isf(UNSEEN)
    while True:
        se, weight = sd / math.sqrt(tasks), 1 / tasks
        spread = math.hypot(se, weight)
        floor = weight + far * spread + (far**2 - 1) / 3 * weight**3 / spread**2
        room = margin + delta - max(t_isf(chance, tasks - 1) * se, floor)
        if room > 0 and (not se or norm_sf(-room / se) >= power):
            return tasks
        tasks = max(tasks + 1, math.ceil(tasks * 1.01))
