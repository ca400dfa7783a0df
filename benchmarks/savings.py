"""How often SAVES is right, on simulated tasks with a known true loss and a known true saving.

    python benchmarks/savings.py [--replications 1000] [--only REGEX]

The decision is the product's own, from the estimates on. Beside it stands the plain rule of two tests: both t intervals
of 95%, one above -10 points, one below 10% less. Exit code 1 when a row lies above its promise by more than three
standard errors, or a power below its aim.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from directions import in_waves

from lensbench.scores import intervals
from lensbench.scores.intervals import LARGEST, Estimate, estimate
from lensbench.scores.saving import Saving

Floats = np.ndarray[Any, Any]
MARGIN, LEAST = 0.1, math.log(0.9)


class Drawn(NamedTuple):
    """A benchmark: differences of scores, log ratios of the quantity, those of all attempts, and the repositories."""

    scores: Floats
    ratios: Floats
    attempts: Floats | None = None
    homes: Sequence[int] = ()


class Row(NamedTuple):
    """A row: the benchmark, the verdicts that are counted, and the promise: at most, or at least."""

    draw: Callable[[np.random.Generator], Drawn]
    verdicts: Sequence[str]
    at_most: float = 1.0
    at_least: float = 0.0
    looks: int = 1


def over(values: Floats, homes: Sequence[int], limit: float = math.inf) -> Estimate:
    """The estimate of a value for each task."""
    named = {f"t{task:03}": float(value) for task, value in enumerate(values)}
    places = dict(zip(named, [f"r{home}" for home in homes] or named, strict=True))
    return estimate(named, places, seed=1, limit=limit)


def saving_of(drawn: Drawn, tasks: int) -> Saving:
    """What the first tasks save."""
    homes, ratios = drawn.homes[:tasks], drawn.ratios[:tasks]
    every = [ratios] if drawn.attempts is None else [ratios, drawn.attempts[:tasks]]
    return Saving(
        "cost",
        over(ratios, homes),
        [over(LEAST - each, homes) for each in every],
        over(ratios - math.log(1.1), homes),
        float(np.exp(ratios).mean()),
    )


def verdicts(drawn: Drawn, looks: int) -> tuple[str, bool]:
    """The verdict, and whether the plain rule would give SAVES on all tasks."""
    verdict, _ = in_waves(drawn.scores, looks, partial(saving_of, drawn), drawn.homes)
    score, change = over(drawn.scores, drawn.homes, LARGEST), over(drawn.ratios, drawn.homes)
    plain_score = score.low if score.sd else score.delta
    plain_cost = change.high if change.sd else change.delta
    return verdict, (plain_score or 0.0) > -MARGIN and (plain_cost or 0.0) < LEAST


def saves(rng: np.random.Generator, tasks: int, share: float = 0.6, spread: float = 0.5) -> Floats:
    """Log ratios with this geometric mean."""
    return math.log(share) + rng.normal(0, spread, tasks)


def tenth_lost(tasks: int, spread: float) -> Row:
    """A tenth of the tasks loses everything; the others differ by chance: a loss of 10 points."""

    def draw(rng: np.random.Generator) -> Drawn:
        others = np.clip(rng.normal(0, spread, tasks), -1, 1)
        return Drawn(np.where(rng.random(tasks) < 0.1, -1.0, others), saves(rng, tasks))

    return Row(draw, ("GO", "SAVES"), 0.05)


def lost(name: str, tasks: int) -> Row:
    """A loss of 10 points on average, of another shape."""

    def draw(rng: np.random.Generator) -> Drawn:
        shapes: dict[str, Callable[[], Floats]] = {
            "normal, spread 25": lambda: rng.normal(-0.1, 0.25, tasks),
            "all or nothing, both ways": lambda: rng.choice(
                [-1.0, 0.0, 1.0], tasks, p=[0.2, 0.7, 0.1]
            ),
            "from a ceiling, exponential": lambda: -np.minimum(rng.exponential(0.1, tasks), 1),
            "in each of 5 criteria of a perfect answer": lambda: -rng.binomial(5, 0.1, tasks) / 5,
        }
        return Drawn(shapes[name](), saves(rng, tasks))

    return Row(draw, ("GO", "SAVES"), 0.025)


def lost_by_repository(tasks: int, repositories: int, *, heavy: bool) -> Row:
    """A loss of 10 points, alike in a repository: a third of the variance, or a fifth of them loses 24 more."""

    def draw(rng: np.random.Generator) -> Drawn:
        homes = np.arange(tasks) % repositories
        own = rng.normal(0, 0.2 / 3**0.5, repositories)
        if heavy:
            own = np.where(rng.random(repositories) < 0.2, -0.24, 0.06)
        scores = -0.1 + own[homes] + rng.normal(0, 0.2 * (1 if heavy else (2 / 3) ** 0.5), tasks)
        return Drawn(scores, saves(rng, tasks), None, homes.tolist())

    return Row(draw, ("GO", "SAVES"), 0.05 if heavy else 0.025)


def not_cheaper(name: str, tasks: int) -> Row:
    """Equal answers, and a saving of exactly 10%."""

    def draw(rng: np.random.Generator) -> Drawn:
        scores, attempts = rng.normal(0, 0.1, tasks), None
        ratios = saves(rng, tasks, 0.9)
        if name == "heavy tails: a run in twenty costs ten times as much":
            runs = rng.normal(0, 0.6, (2, tasks)) + np.where(
                rng.random((2, tasks)) < 0.05, math.log(10), 0
            )
            ratios = LEAST + runs[0] - runs[1]
        if name == "a tenth of the tasks costs five times as much":
            dear = rng.random(tasks) < 0.1
            ratios = LEAST + np.where(dear, 0.9, -0.1) * math.log(5) + rng.normal(0, 0.2, tasks)
        if name == "a quarter of the runs crashes, is paid for, and is made again":
            attempts = LEAST + rng.normal(0, 0.3, tasks)
            crashed = rng.random(tasks) < 0.25
            attempts = attempts + np.where(crashed, 0.75, -0.25) * math.log(2)
            ratios = attempts - np.where(crashed, math.log(2), 0)
        return Drawn(scores, ratios, attempts)

    return Row(draw, ("SAVES",), 0.025)


def neither(tasks: int) -> Row:
    """No difference, and a saving of exactly 10%: good news of any kind is false."""
    return Row(
        lambda rng: Drawn(rng.normal(0, 0.2, tasks), saves(rng, tasks, 0.9)), ("GO", "SAVES"), 0.025
    )


def equal(tasks: int, spread: float, at_least: float = 0.0, share: float = 0.6) -> Row:
    """Equal answers on average, and a saving."""
    return Row(
        lambda rng: Drawn(rng.normal(0, spread, tasks), saves(rng, tasks, share)),
        ("SAVES",),
        1.0,
        at_least,
    )


ROWS: dict[str, Row] = {
    **{
        f"a tenth loses everything, the others spread by {100 * spread:g}, {tasks} tasks": tenth_lost(
            tasks, spread
        )
        for spread in (0.0, 0.12, 0.25)
        for tasks in (12, 24, 36, 48, 96)
    },
    **{
        f"10 lost: {name}, {tasks} tasks": lost(name, tasks)
        for name in (
            "normal, spread 25",
            "all or nothing, both ways",
            "from a ceiling, exponential",
            "in each of 5 criteria of a perfect answer",
        )
        for tasks in (48, 96)
    },
    "10 lost, 48 tasks in 6 repositories": lost_by_repository(48, 6, heavy=False),
    "10 lost, 96 tasks in 8 repositories": lost_by_repository(96, 8, heavy=False),
    "a fifth of 8 repositories loses 24 more, 96 tasks": lost_by_repository(96, 8, heavy=True),
    **{
        f"10% saved: {name}, {tasks} tasks": not_cheaper(name, tasks)
        for name in (
            "normal",
            "heavy tails: a run in twenty costs ten times as much",
            "a tenth of the tasks costs five times as much",
            "a quarter of the runs crashes, is paid for, and is made again",
        )
        for tasks in (48, 96)
    },
    "no difference, and 10% saved, 48 tasks: GO or SAVES": neither(48),
    **{
        f"power: 40% saved, spread {100 * spread:g}, {tasks} tasks": equal(tasks, spread, aim)
        for spread, tasks, aim in (
            (0.25, 48, 0.55),
            (0.25, 96, 0.9),
            (0.12, 48, 0.9),
            (0.0, 40, 0.95),
        )
    },
    "power: 25% saved, spread 25, 96 tasks": equal(96, 0.25, share=0.75),
    "four looks, a tenth loses everything, the others spread by 0, 96 tasks": tenth_lost(
        96, 0.0
    )._replace(looks=4),
    "four looks, 10 lost: normal, spread 25, 96 tasks": lost("normal, spread 25", 96)._replace(
        looks=4
    ),
    "four looks, 10% saved: normal, 96 tasks": not_cheaper("normal", 96)._replace(looks=4),
    "four looks, no difference, and 10% saved, 48 tasks: GO or SAVES": neither(48)._replace(
        looks=4
    ),
    "four looks, power: 40% saved, spread 25, 96 tasks": equal(96, 0.25, 0.9)._replace(looks=4),
    "four looks, power: 40% saved, spread 12, 48 tasks": equal(48, 0.12, 0.9)._replace(looks=4),
}
"""The rows by name; 40% is saved where nothing else is said."""


def main() -> None:
    """Print how often SAVES is given, a row for each truth."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=1000, help="benchmarks per row")
    parser.add_argument("--only", default="", help="a regular expression for the names of rows")
    arguments = parser.parse_args()
    count, kept = arguments.replications, True
    intervals.RESAMPLES, intervals.WEIGHTS = (
        199,
        2999,
    )  # sign flips decide nothing here; fewer weights are quicker
    print("| truth | SAVES or GO | plain rule | promised | as promised |\n|---|--:|--:|---|---|")
    for name, row in ROWS.items():
        if not re.search(arguments.only, name):
            continue
        rng = np.random.default_rng(1)
        found = [verdicts(row.draw(rng), row.looks) for _ in range(count)]
        told = Counter(verdict for verdict, _ in found)
        share = sum(told[verdict] for verdict in row.verdicts) / count
        error = 3 * math.sqrt(max(share * (1 - share), row.at_most * (1 - row.at_most)) / count)
        ok = row.at_least - error <= share <= row.at_most + error
        kept &= ok
        promise = (
            f"at least {row.at_least:g}"
            if row.at_least
            else f"at most {row.at_most:g}" * (row.at_most < 1)
        )
        plain = sum(is_plain for _, is_plain in found) / count
        print(
            f"| {name} | {share:.3f} | {plain:.3f} | {promise} | {'yes' if ok else 'NO'} |",
            flush=True,
        )
    sys.exit(not kept)


if __name__ == "__main__":
    main()
