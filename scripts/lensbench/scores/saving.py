"""Whether a treatment saves: it needs less of one quantity, and its answers are no worse (docs/decisions/saves.md).

SAVES is an intersection-union test (Berger, Technometrics 24, 1982): each of its parts is tested at the level of the
look, and all of them must hold. The typical task needs less: the whole interval of the mean log ratio lies beyond
`least`. So does the bill: the interval of the ratio of the totals lies below 1. The answers need the score's interval
above -`margin`, and what `rules` asks about heavy losses. COSTS is mirrored: the bill's interval lies above 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import NamedTuple

from lensbench.agents.prices import priced
from lensbench.core.distributions import norm_sf, t_isf
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.numeric import Bools, Floats, np
from lensbench.core.records import Record, RunId
from lensbench.scores.differences import Comparison, log_ratios
from lensbench.scores.intervals import Estimate
from lensbench.scores.quantities import QUANTITIES
from lensbench.scores.rules import Sample, sample_of
from lensbench.scores.run_tables import RunValue

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
    bills: Sequence[Estimate]
    """By how much the treatment's total is below the baseline's, as a share of it: of what `saved` is of."""

    def is_cheaper(self, boundary: float) -> bool:
        """True when the saving is shown: of the typical task, and of all together."""
        return all(is_beyond(mean, boundary) for mean in (*self.saved, *self.bills))

    def is_dearer(self, boundary: float) -> bool:
        """True when the treatment needs more, by more than `least`, and all tasks together need more."""
        is_more = is_beyond(self.added, boundary)
        return is_more and all(is_beyond(bill, boundary, -1) for bill in self.bills)


class _Amounts(NamedTuple):
    """What runs needed of a quantity."""

    name: str
    """Its key in QUANTITIES."""
    comparison: Comparison
    others: Mapping[RunId, Sequence[Record | None]]
    """As in `saving_of`."""

    def counted(self, run: RunId) -> Fraction | None:
        """By the attempt that counts."""
        return QUANTITIES[self.name].of(self.comparison.tables, run)

    def attempted(self, run: RunId) -> Fraction | None:
        """By all attempts."""
        counted = self.counted(run)
        if counted is None:
            return None
        unknown = Fraction(0)
        if run.condition == self.comparison.treatment:
            unknown = counted
        total = counted
        for record in self.others.get(run, ()):
            amount = self._of(record) if record else None
            total += unknown if amount is None else amount
        return total

    def _of(self, record: Record) -> Fraction | None:
        prices = self.comparison.plan.get("prices", {})
        outcome = priced(record.outcome, prices, record.attempt.day)
        tried = {record.run: replace(record, outcome=outcome)}
        tables = self.comparison.tables._replace(records=tried)
        return QUANTITIES[self.name].of(tables, record.run)


def is_beyond(mean: Estimate, boundary: float, sign: int = 1) -> bool:
    """True when a mean is shown to be above 0, or with a `sign` of -1 below it."""
    return mean.sd is not None and bool(beyond(sample_of(mean), norm_sf(boundary), sign)[0])


def beyond(found: Sample, chance: float, sign: int = 1) -> Bools:
    """Where means are shown to be above 0, or with a `sign` of -1 below it: by the interval, and where values are
    skewed by the empirical likelihood too. Equal values have no interval; the sign test decides."""
    far = t_isf(chance, found.df)
    delta = sign * found.delta
    moved = (delta > far * found.se) & ~(sign * found.root < far)
    alike = (delta > 0) & (0.5**found.tasks <= chance)
    return np.where(found.se > 0, moved, alike)


def saving_of(
    comparison: Comparison, settings: GateSettings, others: Mapping[RunId, Sequence[Record | None]]
) -> Saving | None:
    """What the treatment saves; None where no quantity is asked for, or where a run that counts lacks it. `others` are
    the attempts that did not count; what one without a record (None) used is as much as the run that counts for the
    treatment, and nothing for the baseline."""
    tables = comparison.tables
    runs = [record.run for record in tables.valid if record.condition in comparison.conditions]
    for name in quantities_of(settings):
        amounts = _Amounts(name, comparison, others)
        if all(map(amounts.counted, runs)):
            break
    else:
        return None
    pairs = comparison.pairs(amounts.counted)
    if not any(pairs.values()):
        return None
    values: list[RunValue] = [amounts.counted]
    if any(map(others.get, runs)):
        values.append(amounts.attempted)
    label = name.partition("_")[0]
    if name == "cost_usd" and any(tables.records[run].outcome.cost_is_guess for run in runs):
        label = f"estimated {label}"
    return Saving(
        label=label,
        change=comparison.over(log_ratios(pairs), comparison.plan["order"]),
        saved=[_excess(comparison, value, settings, 1) for value in values],
        added=_excess(comparison, amounts.counted, settings, -1),
        bills=[bill(comparison, value) for value in values],
    )


def _excess(comparison: Comparison, value: RunValue, settings: GateSettings, sign: int) -> Estimate:
    """By how much the saving, or with a `sign` of -1 the increase, exceeds `least`; as log ratios."""
    least = math.log1p(-sign * settings["least"] / 100)
    values = {}
    for task, ratios in log_ratios(comparison.pairs(value)).items():
        values[task] = [sign * (least - ratio) for ratio in ratios]
    return comparison.over(values, values)


def bill(comparison: Comparison, value: RunValue) -> Estimate:
    """By how much the treatment's total lies below the baseline's, as a share of it."""
    pairs = {task: both for task, both in comparison.pairs(value).items() if both}
    treated = []
    base = []
    for both in pairs.values():
        own, other = zip(*both, strict=True)
        treated.append(float(sum(own)))
        base.append(float(sum(other)))
    if not sum(base):
        return Estimate()
    values = {}
    for task, share in zip(pairs, shares_saved(treated, base), strict=True):
        values[task] = [share] * len(pairs[task])
    return comparison.over(values, values)


def shares_saved(treated: Sequence[float] | Floats, base: Sequence[float] | Floats) -> Floats:
    """A value for each task (the last axis), whose mean is the share of the baseline's total that the treatment saves.
    Their standard error is that of a ratio of totals (Cochran, Sampling Techniques, 1977, section 6.4)."""
    own = np.asarray(treated, dtype=float)
    other = np.asarray(base, dtype=float)
    ratio = own.sum(axis=-1, keepdims=True) / other.sum(axis=-1, keepdims=True)
    shares: Floats = 1 - ratio + (ratio * other - own) / other.mean(axis=-1, keepdims=True)
    return shares
