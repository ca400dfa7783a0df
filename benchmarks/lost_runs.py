"""Benchmarks with runs that failed, decided from what the pipeline leaves of them: rows of calibration.py.

Attempts and discards are files of a store, read by the product's `starts_of`; scores are a comparison, and its readings
and the verdict are the product's own. Only scores are drawn.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from habits import DEFAULTS

from lensbench.core.distributions import norm_isf
from lensbench.core.records import RunId
from lensbench.core.store import Discard, new_entry
from lensbench.core.system.files import write_atomic
from lensbench.runs.made_with import starts_of
from lensbench.runs.reasons import DiscardReason
from lensbench.scores.differences import Comparison, overall
from lensbench.scores.gate import decide, look_result
from lensbench.scores.readings import readings
from lensbench.scores.run_tables import Tables

Floats = np.ndarray[Any, Any]
TREATMENT, BASELINE = "with", "without"
BOUNDARY = norm_isf(DEFAULTS["alpha"] / 2)


class Drawn(NamedTuple):
    """Benchmarks, a row each; a column for each task."""

    treatment: Floats
    """The scores that count."""
    baseline: Floats
    failed: Mapping[str, Floats]
    """By condition, where the first attempt failed."""
    given_up: bool = False
    """Those runs have no score; else they were made again."""
    reason: DiscardReason = DiscardReason.CRASHED


Draw = Callable[[np.random.Generator, int, int], Drawn]
"""From random numbers, benchmarks and tasks."""


def answers(rng: np.random.Generator, own: Floats, gain: float) -> Floats:
    """Scores of answers to tasks that score `own` on average, in steps of 5 points."""
    scores = np.clip(own + gain + rng.normal(0, 0.15, own.shape), 0, 1)
    return np.asarray(np.round(scores / 0.05) * 0.05)


def fail_badly(share: float) -> Draw:
    """This share of the treatment's first attempts fails where they go badly, and is made again. It has no effect."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        own = rng.normal(0.65, 0.2, (count, tasks))
        first, base, second = (answers(rng, own, 0.0) for _ in range(3))
        order = first + rng.normal(0, 0.05, own.shape)
        failed = order.argsort(axis=1).argsort(axis=1) < rng.binomial(tasks, share, count)[:, None]
        return Drawn(np.where(failed, second, first), base, {TREATMENT: failed})

    return draw


def fail_at_random(
    share: float,
    *,
    given_up: bool = False,
    reason: DiscardReason = DiscardReason.CRASHED,
) -> Draw:
    """This share of the first attempts of both conditions fails. The treatment gains 10 points."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        own = rng.normal(0.65, 0.2, (count, tasks))
        treatment = answers(rng, own, 0.1)
        base = answers(rng, own, 0.0)
        failed = {name: rng.random(own.shape) < share for name in (TREATMENT, BASELINE)}
        return Drawn(treatment, base, failed, given_up, reason)

    return draw


def one_fails(*, given_up: bool) -> Draw:
    """One run of the treatment fails, whichever. The treatment gains 10 points."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        drawn = fail_at_random(0.0, given_up=given_up)(rng, count, tasks)
        failed = np.zeros((count, tasks), bool)
        failed[:, 0] = True
        return drawn._replace(failed={TREATMENT: failed})

    return draw


def failures_that_pay(share: float) -> Draw:
    """This share of the treatment's runs crashes for good where the baseline is good; the others gain as much."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        own = rng.normal(0.65, 0.2, (count, tasks))
        base = answers(rng, own, 0.0)
        failed = (own > 0.65) & (rng.random(own.shape) < 2 * share)
        lost = share * float(base[own > 0.65].mean())
        return Drawn(answers(rng, own, lost / (1 - share)), base, {TREATMENT: failed}, True)

    return draw


def shares(draw: Draw, count: int, tasks: int) -> tuple[float, float]:
    """How often a GO is given, and how often without the rule on lost runs."""
    rng = np.random.default_rng(1)
    drawn = draw(rng, count, tasks)
    verdicts = []
    with tempfile.TemporaryDirectory() as folder:
        for row in range(count):
            verdicts.append(decided(Path(folder) / "bench", drawn, row))
    ruled, alone = np.mean(verdicts, axis=0)
    return float(ruled), float(alone)


def decided(folder: Path, drawn: Drawn, row: int) -> tuple[bool, bool]:
    """Whether a benchmark gets a GO, with the rule on lost runs and without it."""
    comparison = compared(drawn, row)
    found = overall(comparison)
    look = look_result(found, 1, 1, DEFAULTS, BOUNDARY)
    if decide(found, DEFAULTS, look).verdict != "GO":
        return False, False
    runs = comparison.runs
    for condition, failed in drawn.failed.items():
        for task in np.flatnonzero(failed[row]):
            leave_discard(folder, runs[condition][task], drawn.reason)
    starts = [starts_of(folder, own) for own in runs.values()]
    shutil.rmtree(folder, ignore_errors=True)
    others = [*readings(comparison, starts, (), {}, ())]
    return decide(found, DEFAULTS, look, (), others).verdict == "GO", True


def leave_discard(folder: Path, run: RunId, reason: DiscardReason) -> None:
    """What the pipeline leaves of an attempt that failed."""
    entry = new_entry(folder, run)
    write_atomic(entry.answer, "")
    entry.discard(Discard(reason, "", "validity"))


def compared(drawn: Drawn, row: int) -> Comparison:
    """The comparison of a benchmark's scores."""
    scores: dict[RunId, Any] = {}
    names = [f"t{task:03}" for task in range(drawn.baseline.shape[1])]
    for condition, values in ((TREATMENT, drawn.treatment), (BASELINE, drawn.baseline)):
        lost: Sequence[bool] = np.zeros(len(names), bool).tolist()
        if drawn.given_up and condition in drawn.failed:
            lost = drawn.failed[condition][row].tolist()
        for name, value, is_lost in zip(names, values[row], lost, strict=True):
            text = "" if is_lost else f"{value:.2f}"
            scores[RunId(name, condition, 1)] = {"score": text}
    plan: Any = {
        "agent": {"kind": "codex"},
        "order": names,
        "tasks": {name: {"repository": name} for name in names},
        "trials": 1,
        "baseline": BASELINE,
        "gate": DEFAULTS,
        "seed": 1,
    }
    return Comparison(Tables(plan, (), scores, {}, (), (), {}), TREATMENT, BASELINE)


PAID = "crash for good where the baseline is good, the others gain as much"
ROWS: dict[str, tuple[Draw, float | None]] = {
    **{
        f"nothing; {share}% of the treatment's runs crash where they go badly": (
            fail_badly(share / 100),
            0.03,
        )
        for share in (5, 7, 10, 15, 25)
    },
    **{
        f"nothing; {share}% of the treatment's runs {PAID}": (failures_that_pay(share / 100), None)
        for share in (5, 10, 20)
    },
    "gain of 10; no run fails": (fail_at_random(0.0), None),
    "gain of 10; one run of the treatment crashes and is made again": (
        one_fails(given_up=False),
        None,
    ),
    "gain of 10; one run of the treatment is given up": (one_fails(given_up=True), None),
    **{
        f"gain of 10; {share}% of the runs of both conditions crash and are made again": (
            fail_at_random(share / 100),
            None,
        )
        for share in (3, 5, 10)
    },
    "gain of 10; 5% of the runs of both conditions are given up": (
        fail_at_random(0.05, given_up=True),
        None,
    ),
    "gain of 10; the service fails in 5% of the runs of both conditions": (
        fail_at_random(0.05, reason=DiscardReason.API_ERROR),
        None,
    ),
}
"""Truths, and the share of a false GO that is promised."""
