"""Complete tasks (a score of 80% or more): gained and lost ones, and reliability.

A value is 1 for a complete run and 0 for another, in the order of the trials.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import comb
from typing import NotRequired

from typing_extensions import TypedDict

from lensbench.core.numbers import mean

Pair = tuple[Fraction, Fraction]
"""The values of the treatment and of the baseline."""
Known = Mapping[str, Sequence[Fraction]]
"""The values of one condition by task; trials without a value are omitted."""


class McNemar(TypedDict):
    """The pairs of complete tasks and the test of their difference; only the reason where there is no test."""

    treatment_only: NotRequired[int]
    """Tasks that only the treatment completes."""
    baseline_only: NotRequired[int]
    """Tasks that only the baseline completes."""
    both: NotRequired[int]
    """Tasks that both complete."""
    neither: NotRequired[int]
    """Tasks that neither completes."""
    exact_p: NotRequired[float]
    """Two-sided."""
    reason: str
    """Why there is no test; empty where there is one."""


PassRates = TypedDict("PassRates", {"pass^k": Fraction | None, "pass@k": Fraction | None})


class Reliability(TypedDict):
    """How likely k trials of a task are complete: all of them, and at least one."""

    k: int
    """How many trials."""
    tasks: int
    """Tasks with so many trials in both conditions."""
    treatment: PassRates
    """`pass^k`: all are complete; `pass@k`: at least one is; shares of 1."""
    baseline: PassRates
    """The same of the baseline."""


def mcnemar(pairs: Mapping[str, Sequence[Pair]], trials: int) -> McNemar:
    """McNemar's exact test of the tasks that one side completes; with several trials it does not apply."""
    if trials > 1:
        return {
            "reason": "the trials of a task are not independent, so McNemar's test does not fit several trials"
        }
    every = chain.from_iterable(pairs.values())
    counts = Counter((int(own), int(base)) for own, base in every)
    gains = counts[1, 0]
    losses = counts[0, 1]
    changes = gains + losses
    tail = sum(comb(changes, k) for k in range(min(gains, losses) + 1))
    return {
        "treatment_only": gains,
        "baseline_only": losses,
        "both": counts[1, 1],
        "neither": counts[0, 0],
        "exact_p": min(1.0, 2 * tail / 2**changes),
        "reason": "",
    }


def mid_p(gains: int, losses: int) -> float:
    """The mid-p of McNemar's test, which counts a result as far as the one found half: the exact p rejects too seldom
    (Fagerland, Lydersen and Laake, BMC Medical Research Methodology 13, 2013)."""
    changes = gains + losses
    fewer = min(gains, losses)
    if not changes:
        return 1.0
    if gains == losses:
        return 1 - comb(changes, fewer) / float(2 ** (changes + 1))
    tail = sum(comb(changes, k) for k in range(fewer))
    return (2 * tail + comb(changes, fewer)) / float(2**changes)


def reliability(treatment: Known, baseline: Known, trials: int) -> list[Reliability]:
    """The probability that k trials of a task are all complete (pass^k, Yao and others 2024, arXiv 2406.12045), and
    that at least one is (pass@k, Chen and others 2021, arXiv 2107.03374): unbiased estimates for k from 1 to `trials`,
    over the tasks for which both conditions have k values."""
    rows = []
    for k in range(1, trials + 1):
        tasks = [task for task in treatment if min(len(treatment[task]), len(baseline[task])) >= k]
        new = _pass_rates([treatment[task] for task in tasks], k)
        old = _pass_rates([baseline[task] for task in tasks], k)
        rows.append(Reliability(k=k, tasks=len(tasks), treatment=new, baseline=old))
    return rows


def _pass_rates(tasks: Sequence[Sequence[Fraction]], k: int) -> PassRates:
    every = []
    some = []
    for values in tasks:
        ways = comb(len(values), k)
        hits = int(sum(values))
        every.append(Fraction(comb(hits, k), ways))
        some.append(1 - Fraction(comb(len(values) - hits, k), ways))
    return {"pass^k": mean(every), "pass@k": mean(some)}
