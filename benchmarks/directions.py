"""Rows of calibration.py about both directions of the gate: rare heavy tasks, lost runs, edited criteria, other judges.

Scores are simulated by run; the decision is the product's own: ledger, readings, gate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
from habits import DEFAULTS, estimate_of, named

from lensbench.core.records import RunId
from lensbench.scores.account import Draw, shown_before
from lensbench.scores.differences import Comparison, overall
from lensbench.scores.estimates import look_at
from lensbench.scores.gate import decide, stopped
from lensbench.scores.intervals import Estimate
from lensbench.scores.readings import readings
from lensbench.scores.run_tables import Tables
from lensbench.scores.saving import Saving

Floats = np.ndarray[Any, Any]
RECORD: Any = SimpleNamespace(
    attempt=SimpleNamespace(started_at="2026-11-01T08:00:00Z"), answer_sha256=""
)
SavingOf = Callable[[int], Saving | None]


class Benchmark(NamedTuple):
    """A decision, and what a cluster-robust t test of level 95% alone would say."""

    verdict: str
    alone: str


class Case(NamedTuple):
    """A row: a benchmark, the verdicts that count, and its promise."""

    benchmark: Callable[[np.random.Generator], Benchmark]
    verdicts: Collection[str]
    at_most: float = 1.0
    """The share of these verdicts that is promised."""
    beside_t: float = 0.0
    """The least share of what the t test finds."""


def compared(
    treated: Sequence[float], base: Sequence[float], homes: Sequence[int] = (), **gate: Any
) -> Comparison:
    """The comparison of these scores, a task each; nan for a run without one. `homes`: the repositories."""
    names = [f"t{task:03}" for task in range(len(treated))]
    tasks = {
        name: {"repository": f"r{home}", "category": "Debug", "criteria": 5}
        for name, home in zip(names, homes or range(len(names)), strict=True)
    }
    plan: Any = {
        "order": names,
        "tasks": tasks,
        "trials": 1,
        "baseline": "without",
        "gate": {**DEFAULTS, **gate},
        "seed": 1,
        "agent": {"kind": "claude-code"},
    }
    scores: Any = {
        RunId(name, condition, 1): {
            "score": "" if score != score else str(round(score, 4)),
            "criteria": "5",
        }
        for condition, own in (("with", treated), ("without", base))
        for name, score in zip(names, own, strict=True)
    }
    records = dict.fromkeys(scores, RECORD)
    return Comparison(Tables(plan, [], scores, {}, [], [], records), "with", "without")


def alone(found: Estimate) -> str:
    """The verdict of the interval of level 95%."""
    if (
        found.low is None
        or found.high is None
        or found.low <= 0 <= DEFAULTS["effect"] / 100 <= found.high
    ):
        return "INCONCLUSIVE"
    return "HARM" if found.high < 0 else "NO-GO" if found.high < DEFAULTS["effect"] / 100 else "GO"


def decided(
    comparison: Comparison, repeated: Collection[int] = (), ledger: list[Draw] | None = None
) -> Benchmark:
    """The decision; `repeated` are the treatment's runs of these tasks. It is noted in the ledger."""
    found, ledger = overall(comparison), [] if ledger is None else ledger
    draw, look = look_at({"with": comparison}, {"with": found}, ledger, {"with": None})["with"]
    again = [RunId(f"t{task:03}", "with", 1) for task in repeated]
    others = readings(comparison, again, (), draw.seen, shown_before(ledger, "with", draw.seen))
    verdict = decide(found, DEFAULTS, look, (), [*others]).verdict
    ledger.append(draw)
    return Benchmark(verdict, alone(found))


def in_waves(
    differences: Floats,
    looks: int,
    saving: SavingOf = lambda tasks: None,
    homes: Sequence[int] = (),
    **gate: Any,
) -> tuple[str, int]:
    """The verdict on tasks in waves, and how many of them it took. `saving`: what the first tasks save."""
    half, ledger = differences / 2, list[Draw]()
    for look, tasks in enumerate(len(half) * np.arange(1, looks + 1) // looks, 1):
        own = compared(
            [*(0.5 + half[:tasks])], [*(0.5 - half[:tasks])], homes[:tasks], looks=looks, **gate
        )
        own.plan["look"] = {"taken": look, "of": looks, "share": float(tasks / len(half))}
        found, needed = overall(own), saving(tasks)
        draw, result = look_at({"with": own}, {"with": found}, ledger, {"with": needed})["with"]
        verdict = decide(found, own.plan["gate"], result, saving=needed).verdict
        ledger.append(draw)
        if not stopped(result, verdict).open:
            break
    return verdict, int(tasks)


def of_differences(differences: Floats, homes: Sequence[int] = ()) -> Benchmark:
    """The decision on these differences."""
    half = differences / 2
    return decided(compared([*(0.5 + half)], [*(0.5 - half)], homes))


def heavy(
    tasks: int, spread: float, sign: int, mean: float = 0.0
) -> Callable[[np.random.Generator], Benchmark]:
    """5% of the tasks lose 95 points (`sign` 1) or gain as much (-1), the others 5 in the other direction."""

    def benchmark(rng: np.random.Generator) -> Benchmark:
        others = 0.05 + rng.normal(0, spread, tasks)
        return of_differences(mean + sign * np.where(rng.random(tasks) < 0.05, -0.95, others))

    return benchmark


def unequal(tasks: int) -> Callable[[np.random.Generator], Benchmark]:
    """A fifth of eight repositories loses 24 points, the others gain 6."""

    def benchmark(rng: np.random.Generator) -> Benchmark:
        homes = np.arange(tasks) % 8
        own = np.where(rng.random(8) < 0.2, -0.24, 0.06)
        return of_differences(own[homes] + rng.normal(0, 0.2, tasks), homes.tolist())

    return benchmark


def normal(
    tasks: int, mean: float, spread: float, repositories: int = 0
) -> Callable[[np.random.Generator], Benchmark]:
    """Normal differences; repositories share a third of the variance."""

    def benchmark(rng: np.random.Generator) -> Benchmark:
        if not repositories:
            return of_differences(mean + rng.normal(0, spread, tasks))
        homes = np.arange(tasks) % repositories
        own = rng.normal(0, spread / 3**0.5, repositories)[homes] + rng.normal(
            0, spread * (2 / 3) ** 0.5, tasks
        )
        return of_differences(mean + own, homes.tolist())

    return benchmark


def skewed(tasks: int) -> Callable[[np.random.Generator], Benchmark]:
    """Exponential losses with a mean of 20 points, below a gain of 20."""
    return lambda rng: of_differences(0.2 - np.minimum(rng.exponential(0.2, tasks), 1.2))


def runs(
    rng: np.random.Generator, tasks: int, gain: float = 0.0
) -> tuple[Floats, Floats, Callable[[], Floats]]:
    """The scores of both conditions, and another run of the treatment."""
    own = rng.normal(0.65, 0.2, tasks)

    def again(more: float = gain) -> Floats:
        return np.asarray(
            np.round(np.clip(own + more + rng.normal(0, 0.15, tasks), 0, 1) / 0.05) * 0.05
        )

    return again(), again(0.0), again


def crash(
    tasks: int, share: float, *, for_good: bool
) -> Callable[[np.random.Generator], Benchmark]:
    """The treatment does nothing; this share of its runs crashes where they go badly, and is made again, or not."""

    def benchmark(rng: np.random.Generator) -> Benchmark:
        treated, base, again = runs(rng, tasks)
        lost = np.argsort(treated + rng.normal(0, 0.05, tasks))[: rng.binomial(tasks, share)]
        treated[lost] = np.nan if for_good else again()[lost]
        return decided(compared([*treated], [*base]), lost.tolist())

    return benchmark


def compensated(
    tasks: int, share: float, *, for_good: bool
) -> Callable[[np.random.Generator], Benchmark]:
    """The same where the baseline is good; the gains of the other runs make up for it, on average."""
    often, lost = 0.580, 0.7586  # how often a baseline is good, and what it scores then

    def benchmark(rng: np.random.Generator) -> Benchmark:
        base = np.clip(rng.normal(0.6, 0.25, tasks), 0, 1)
        crashed = (base > 0.55) & (rng.random(tasks) < share / often)
        treated = base + lost * share / (1 - share) + rng.normal(0, 0.15, tasks)
        if for_good:
            treated[crashed] = np.nan
        return decided(compared([*treated], [*base]), np.flatnonzero(crashed).tolist())

    return benchmark


def one_missing(rng: np.random.Generator) -> Benchmark:
    """A gain of 10, and one of the treatment's runs is missing for good; the t test has all runs."""
    treated, base, _ = runs(rng, 24, 0.1)
    whole = decided(compared([*treated], [*base]))
    return decided(compared([np.nan, *treated[1:]], [*base]))._replace(alone=whole.alone)


def none_missing(rng: np.random.Generator) -> Benchmark:
    """The same with all runs."""
    treated, base, _ = runs(rng, 24, 0.1)
    return decided(compared([*treated], [*base]))


def edited(times: int) -> Callable[[np.random.Generator], Benchmark]:
    """24 tasks; while inconclusive, the criteria of the three worst pairs are edited until these are equal."""

    def benchmark(rng: np.random.Generator) -> Benchmark:
        treated, base, _ = runs(rng, 24)
        ledger: list[Draw] = []
        for _ in range(times + 1):
            found = decided(compared([*treated], [*base]), ledger=ledger)
            if found.verdict != "INCONCLUSIVE":
                break
            worst = np.argsort(treated - base)[:3]
            treated[worst] = base[worst]
        return found

    return benchmark


def many_judges(rng: np.random.Generator) -> Benchmark:
    """Four judges with errors of their own, one after another, until one gives a GO."""
    treated, base, _ = runs(rng, 24)
    ledger: list[Draw] = []
    for _ in range(4):
        one, other = (np.clip(own + rng.normal(0, 0.1, 24), 0, 1) for own in (treated, base))
        found = decided(compared([*one], [*other]), ledger=ledger)
        if found.verdict == "GO":
            break
    return found


def twelve_then_24(rng: np.random.Generator) -> Benchmark:
    """A gain of 10: 12 tasks, and 12 more while inconclusive; the t test has all 24."""
    values, ledger = 0.1 + rng.normal(0, 0.25, 24), []  # type: ignore[var-annotated]
    whole = alone(estimate_of(named(values)))
    for count in (12, 24):
        half = values[:count] / 2
        found = decided(compared([*(0.5 + half)], [*(0.5 - half)]), ledger=ledger)
        if found.verdict != "INCONCLUSIVE":
            break
    return found._replace(alone=whole)


FALSE, TAILS, GO, HARM = 0.03, 0.05, ("GO",), ("HARM",)
CASES: dict[str, Case] = {
    **{
        f"rare heavy {'losses' if sign > 0 else 'gains'}, spread {spread}, {tasks} tasks: {verdict}": Case(
            heavy(tasks, spread / 100, sign), (verdict,), TAILS
        )
        for sign, verdict in ((1, "GO"), (-1, "HARM"))
        for spread in (5, 10, 18)
        for tasks in (12, 24, 48)
    },
    **{
        f"rare heavy gains above a mean of 5, spread 10, {tasks} tasks: NO-GO or HARM": Case(
            heavy(tasks, 0.1, -1, 0.05), ("NO-GO", "HARM"), TAILS
        )
        for tasks in (12, 24)
    },
    **{
        f"a fifth of 8 repositories loses 24, the others gain 6, {tasks} tasks: GO": Case(
            unequal(tasks), GO, TAILS
        )
        for tasks in (48, 96, 192)
    },
    "exponential losses, 5 tasks: GO": Case(skewed(5), GO, FALSE),
    "nothing, 48 tasks in 6 repositories: GO": Case(normal(48, 0.0, 0.2, 6), GO, FALSE),
    "nothing, 48 tasks in 6 repositories: HARM": Case(normal(48, 0.0, 0.2, 6), HARM, FALSE),
    **{
        f"{share}% of the treatment's runs crash where they go badly, {'for good' if good else 'made again'}, "
        f"{tasks} tasks: GO": Case(crash(tasks, share / 100, for_good=good), GO, FALSE)
        for good in (False, True)
        for share in (5, 10, 25)
        for tasks in (24, 48)
    },
    **{
        f"{share}% of the treatment's runs crash, {'for good' if good else 'made again'}, the others gain as much, "
        f"{tasks} tasks: GO": Case(compensated(tasks, share / 100, for_good=good), GO, TAILS)
        for good in (False, True)
        for share in (5, 10, 20)
        for tasks in (24, 48)
    },
    "criteria of the three worst pairs edited once: GO": Case(edited(1), GO, FALSE),
    "criteria of the three worst pairs edited three times: GO": Case(edited(3), GO, FALSE),
    "judges changed until one gives a GO, four of them: GO": Case(many_judges, GO, FALSE),
    "an even gain of 10, spread 5, 24 tasks: GO": Case(normal(24, 0.1, 0.05), GO, beside_t=0.85),
    "an even loss of 10, spread 5, 24 tasks: HARM": Case(
        normal(24, -0.1, 0.05), HARM, beside_t=0.85
    ),
    "a gain of 10, spread 25, 24 tasks: GO": Case(normal(24, 0.1, 0.25), GO, beside_t=0.85),
    "a loss of 10, spread 25, 24 tasks: HARM": Case(normal(24, -0.1, 0.25), HARM, beside_t=0.85),
    "a gain of 10, spread 20, 48 tasks in 6 repositories: GO": Case(
        normal(48, 0.1, 0.2, 6), GO, beside_t=0.85
    ),
    "a gain of 10, spread 20, 48 tasks in 12 repositories: GO": Case(
        normal(48, 0.1, 0.2, 12), GO, beside_t=0.85
    ),
    "a gain of 10, all runs of 24 tasks: GO": Case(none_missing, GO, beside_t=0.85),
    "a gain of 10, one of 24 runs missing: GO": Case(one_missing, GO, beside_t=0.6),
    "a gain of 10, spread 25, 12 tasks and 12 more: GO": Case(twelve_then_24, GO, beside_t=0.6),
}
"""The rows by name."""


def counted(case: Case, replications: int, seed: int = 1) -> tuple[float, float]:
    """The share of the case's verdicts, and that of the t test alone."""
    rng = np.random.default_rng(seed)
    found = [case.benchmark(rng) for _ in range(replications)]
    return tuple(
        float(Fraction(sum(each[side] in case.verdicts for each in found), replications))
        for side in (0, 1)
    )  # type: ignore[return-value]
