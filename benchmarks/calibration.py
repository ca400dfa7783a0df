"""How often the gate is right, on simulated runs with a known true effect.

    python benchmarks/calibration.py [--replications 2000] [--only REGEX] [--jobs 1]

A task has 2 to 5 criteria. Each is Met, Partial or Missed by the answer's knowledge: a normal variable with effects of
the task, the criterion, the treatment and chance. The baseline scores about 70%, half of the pairs of one trial tie,
and the standard deviation of their differences is 21 points. From the verdicts on, the code is that of real runs:
score_run, compare, estimate, look_result, decide.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from directions import CASES, alone, counted, in_waves
from habits import DEFAULTS, PEOPLE, RARE, UNKNOWABLE, seen
from scipy.optimize import brentq

from lensbench.core.numbers import exact, mean
from lensbench.core.system.files import write_atomic
from lensbench.scores import intervals
from lensbench.scores.account import Asked, draw_all
from lensbench.scores.gate import GateVerdict, decide, look_result
from lensbench.scores.scores import RunFacts, compare, score_run

COVERAGE = (0.935, 0.975)
"""Of an interval whose level is 95.5%."""
FALSE_GO = 0.025
RARE_GO = 0.05
SIZES = (12, 24, 48, 96)
BATCH = 100
"""Benchmarks simulated per batch."""

KNOWN, BY_TASK, BY_CRITERION, BY_CHANCE, PARTLY = 1.0, 1.2, 0.8, 0.55, 0.4
"""Mean and spread of an answer's knowledge, and the bound up to which a fact above 0 is only known in part."""
BY_EFFECT = 0.35
"""The spread of the treatment's effect over tasks."""


class World(NamedTuple):
    """The truth in a simulation."""

    shift: float = 0.0
    """The treatment's average effect on an answer's knowledge, over tasks."""
    spread: float = 0.0
    """The spread of the effect over tasks; 0 is the same condition twice (A/A)."""
    tasks: int = 48
    trials: int = 1
    repositories: int = 0
    """The number of repositories, which share half of the variance of the effect; 0: one for each task."""
    known: float = KNOWN
    """The mean knowledge of the baseline's answers."""


def verdict_counts(world: World, replications: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """The numbers of Met and Partial criteria: arrays by replication, task, side (baseline first) and trial."""
    shape = (replications, world.tasks)
    known = (
        world.known
        + rng.normal(0, BY_TASK, shape)[..., None]
        + rng.normal(0, BY_CRITERION, (*shape, 5))
    )
    effect = rng.normal(0, 1, shape)
    if world.repositories:
        shared = rng.normal(0, 1, (replications, world.repositories))
        effect = (effect + shared[:, np.arange(world.tasks) % world.repositories]) / np.sqrt(2)
    added = np.stack([np.zeros(shape), world.shift + world.spread * effect], axis=-1)
    chance = rng.normal(0, BY_CHANCE, (*shape, 2, world.trials, 5))
    seen = known[:, :, None, None, :] + added[..., None, None] + chance
    asked = np.arange(5) < criteria_of(np.arange(world.tasks))[:, None, None, None]
    return ((seen > PARTLY) & asked).sum(-1), ((seen > 0) & (seen <= PARTLY) & asked).sum(-1)


def criteria_of(task: Any) -> Any:
    """2 to 5 criteria in turn, so that the tasks of a repository have different numbers of them."""
    return 2 + (task + task // 4) % 4


@lru_cache
def score_row(criteria: int, met: int, partial: int) -> Mapping[str, Any]:
    """The row of scores.csv of a run with these verdicts."""
    points = ["1"] * met + ["0.5"] * partial + ["0"] * (criteria - met - partial)
    run = {"task": "t", "condition": "c", "trial": "1", "status": "valid"}
    return score_run(run, [{"points": point} for point in points], criteria, None)


@lru_cache(maxsize=4096)
def delta(criteria: int, treatment: tuple[int, int], baseline: tuple[int, int]) -> Fraction:
    """The delta of a pair, from the Met and Partial verdicts of its runs."""
    treated, base = (
        RunFacts(score_row(criteria, *counts), None, None) for counts in (treatment, baseline)
    )
    difference = exact(compare(treated, base, ())["delta"])
    assert difference is not None
    return difference


Differences = dict[str, Fraction]


def benchmarks(world: World, replications: int, seed: int) -> Iterator[Differences]:
    """The differences of each benchmark: a number per task, over its trials."""
    rng = np.random.default_rng(seed)
    for _ in range(0, replications, BATCH):
        drawn = verdict_counts(world, BATCH, rng)
        met, partial = (counts.tolist() for counts in drawn)
        for benchmark in range(BATCH):
            yield {
                f"t{task:03}": task_difference(
                    criteria_of(task), met[benchmark][task], partial[benchmark][task]
                )
                for task in range(world.tasks)
            }


def task_difference(criteria: int, met: list[list[int]], partial: list[list[int]]) -> Fraction:
    """The mean over the trials of a task; `met` and `partial` by side, baseline first, and trial."""
    baselines, treatments = (
        list(zip(*counts, strict=True)) for counts in zip(met, partial, strict=True)
    )
    found = mean(delta(criteria, *pair) for pair in zip(treatments, baselines, strict=True))
    assert found is not None
    return found


@lru_cache
def shift_for(true: float, spread: float, known: float = KNOWN) -> float:
    """The effect on knowledge that gives a mean delta of `true`, a share of 1; estimated with half a million pairs."""
    scores = np.zeros((6, 6, 6))
    for criteria, met, partial in np.ndindex(6, 6, 6):
        if criteria >= 2 and met + partial <= criteria:
            scores[criteria, met, partial] = float(score_row(criteria, met, partial)["score"])

    def miss(shift: float) -> float:
        world = World(shift, spread, tasks=1000, known=known)
        criteria = criteria_of(np.arange(world.tasks))[:, None, None]
        draws = (verdict_counts(world, BATCH, np.random.default_rng(seed)) for seed in range(5))
        found = (scores[criteria, met, partial] for met, partial in draws)
        return (
            float(np.mean([each[:, :, 1].mean() - each[:, :, 0].mean() for each in found])) - true
        )

    return float(brentq(miss, -1, 2, xtol=1e-3))


def repository_of(world: World) -> dict[str, str]:
    """A repository for each task, or the shared ones in turn."""
    return {
        f"t{task:03}": f"r{task % (world.repositories or world.tasks)}"
        for task in range(world.tasks)
    }


class Outcome(NamedTuple):
    """The results of many benchmarks of one world."""

    replications: int
    verdicts: Counter[str]
    covered: int
    """The number of intervals that contain the true delta."""
    used: float
    """Tasks used on average."""
    alone: int = 0
    """The number of intervals of 1 - alpha that would be a GO without further conditions."""

    def share(self, verdict: str) -> float:
        """The share of this verdict."""
        return self.verdicts[verdict] / self.replications


def estimated(differences: Differences, world: World) -> intervals.Estimate:
    """The delta of a benchmark with its interval."""
    pairs = len(differences) * world.trials
    return intervals.estimate(
        differences, repository_of(world), pairs=pairs, limit=intervals.LARGEST
    )


def decided(found: intervals.Estimate, differences: Differences, world: World) -> GateVerdict:
    """The verdict of the first look."""
    drawn = draw_all([], {"with": Asked(seen(differences), DEFAULTS, 1.0)}, lambda *_: True)["with"]
    return decide(found, DEFAULTS, look_result(found, 1, 1, DEFAULTS, drawn.boundary))


def one_look(world: World, true: float, replications: int, seed: int = 1) -> Outcome:
    """Benchmarks with all runs at once."""
    verdicts: Counter[str] = Counter()
    covered = goes = 0
    for differences in benchmarks(world, replications, seed):
        estimate = estimated(differences, world)
        found = decided(estimate, differences, world)
        verdicts[found.verdict] += 1
        covered += (
            found.low is not None and found.high is not None and found.low <= true <= found.high
        )
        goes += alone(estimate) == "GO"
    return Outcome(verdicts.total(), verdicts, covered, world.tasks, goes)


def many_looks(
    world: World, looks: int, settings: Mapping[str, Any], replications: int, seed: int = 1
) -> Outcome:
    """Benchmarks that stop when the gate closes."""
    found = [
        in_waves(np.array([*differences.values()], dtype=float), looks, **settings)
        for differences in benchmarks(world, replications, seed)
    ]
    used = sum(tasks for _, tasks in found) / len(found)
    return Outcome(len(found), Counter(verdict for verdict, _ in found), 0, used)


def error(share: float, replications: int) -> float:
    """The Monte Carlo standard error of a share."""
    return float(np.sqrt(share * (1 - share) / replications))


def false_go(draws_go: Any, replications: int, seed: int = 1) -> float:
    """How often a server that does not help gets a GO."""
    rng = np.random.default_rng(seed)
    return sum(draws_go(rng) for _ in range(replications)) / replications


def null_worlds() -> Iterator[tuple[str, World]]:
    """Servers without an effect on average: on no task, different for each task, and similar within a repository."""
    for tasks in SIZES:
        yield f"A/A, {tasks} tasks x 1", World(tasks=tasks)
    nothing = World(shift_for(0, BY_EFFECT), BY_EFFECT)
    for tasks in SIZES:
        for trials in (1, 3):
            yield f"mean 0, {tasks} tasks x {trials}", nothing._replace(tasks=tasks, trials=trials)
    for tasks, shared in ((48, 6), (48, 12), (96, 16)):
        name = f"mean 0, {tasks} tasks x 1 in {shared} repositories"
        yield name, nothing._replace(tasks=tasks, repositories=shared)


def as_promised(found: Outcome) -> bool:
    """Coverage and false GO within their limits, with a margin of three Monte Carlo errors: there are many rows."""
    low, high = COVERAGE
    slack = 3 * error(1 - low, found.replications)
    covered = low - slack <= found.covered / found.replications <= high + slack
    return covered and found.share("GO") <= most(FALSE_GO, found.replications)


def most(promised: float, replications: int) -> float:
    """The largest share that is explained by chance."""
    return promised + 3 * error(promised, replications)


def in_a_word(measured: bool, explained: bool) -> str:
    """Whether a promise holds as measured, or only within three standard errors."""
    return "yes" if measured else "within the error" if explained else "NO"


class Row(NamedTuple):
    """A line of a table, and whether its promise holds."""

    line: str
    kept: bool = True


def nothing_to_find(name: str, replications: int) -> Row:
    """A server without an effect on average."""
    found = one_look(dict(null_worlds())[name], 0.0, replications)
    shares = (f"{found.share(verdict):.3f}" for verdict in ("GO", "HARM", "NO-GO", "INCONCLUSIVE"))
    kept = as_promised(found)
    covered = found.covered / found.replications
    return Row(
        f"| {name} | {covered:.3f} | {' | '.join(shares)} | {'yes' if kept else 'NO'} |", kept
    )


def habit(name: str, replications: int) -> Row:
    """A habit of users, with a server that does not help."""
    share = false_go({**PEOPLE, **RARE, **UNKNOWABLE}[name], replications)
    promised = FALSE_GO if name in PEOPLE else RARE_GO if name in RARE else 1.0
    kept = share <= most(promised, replications)
    word = in_a_word(share <= promised, kept) if promised < 1 else "nothing is promised"
    return Row(f"| {name} | {share:.3f} | {word} |", kept)


def power(name: str, replications: int) -> Row:
    """Servers that help, for one size of benchmark."""
    tasks, trials = map(int, name.removeprefix("power, ").split(" x "))
    cells = []
    for true in (0.05, 0.10, 0.15):
        found = one_look(
            World(shift_for(true, BY_EFFECT), BY_EFFECT, tasks, trials), true, replications
        )
        covered, alone = (count / replications for count in (found.covered, found.alone))
        cells.append(f"{found.share('GO'):.3f}, {alone:.3f} ({covered:.3f})")
    return Row(f"| {tasks} x {trials} | {' | '.join(cells)} |")


def looks(name: str, replications: int) -> Row:
    """45 tasks at most, for an effect of 10 points, with one look and with four."""
    settings, true = {"effect": 10, "power": 0.9}, float(name.rpartition(" ")[2]) / 100
    world = World(shift_for(true, BY_EFFECT), BY_EFFECT, 45)
    once, four = (many_looks(world, count, settings, replications) for count in (1, 4))
    shares = " | ".join(
        f"{found.share(verdict):.3f}" for verdict in ("GO", "HARM") for found in (once, four)
    )
    return Row(
        f"| {100 * true:+.0f} | {four.used:.1f} | {1 - four.used / world.tasks:.0%} | {shares} |"
    )


def direction(name: str, replications: int) -> Row:
    """A case of directions.py."""
    case = CASES[name]
    share, alone = counted(case, replications)
    least = case.beside_t * alone - 3 * error(alone, replications)
    kept = share <= most(case.at_most, replications) if not case.beside_t else share >= least
    promised = f"at least {case.beside_t:g} of t" if case.beside_t else f"at most {case.at_most:g}"
    word = in_a_word(
        share >= case.beside_t * alone if case.beside_t else share <= case.at_most, kept
    )
    return Row(f"| {name} | {share:.3f} | {alone:.3f} | {promised} | {word} |", kept)


class Section(NamedTuple):
    """A table: its head, the names of its rows, and the function for a row."""

    head: str
    names: Sequence[str]
    row: Callable[[str, int], Row]


def sections() -> list[Section]:
    """All tables."""
    sizes = [f"power, {tasks} x {trials}" for tasks in SIZES for trials in (1, 3)]
    return [
        Section(
            "Both directions\n\n| what | gate | t test alone | promised | as promised |\n"
            + "|---" * 5,
            [*CASES],
            direction,
        ),
        Section(
            "Nothing to find\n\n| truth | coverage | GO | HARM | NO-GO | INCONCLUSIVE | as promised |\n"
            + "|---" * 7,
            [name for name, _ in null_worlds()],
            nothing_to_find,
        ),
        Section(
            "What people do, with a server that does not help\n\n| what | GO | as promised |\n"
            + "|---" * 3,
            [*PEOPLE, *RARE, *UNKNOWABLE],
            habit,
        ),
        Section(
            "Something to find: share of GO, that of a 95% interval alone (coverage)\n\n"
            "| tasks x trials | +5 points | +10 | +15 |\n" + "|---" * 4,
            sizes,
            power,
        ),
        Section(
            "One look or four, at 45 tasks\n\n"
            "| true points | tasks used | saved | GO, 1 look | GO, 4 | HARM, 1 | HARM, 4 |\n"
            + "|---"
            * 7,
            [f"four looks or one, {true:+d}" for true in (-10, -5, 0, 5, 10, 15)],
            looks,
        ),
    ]


def hasten() -> None:
    """Fewer random draws: only SAVES asks for the floor, and the sign flips need no third decimal."""
    intervals.WEIGHTS, intervals.RESAMPLES = 9, 1_999


def main() -> None:
    """Prints how often the gate keeps its promises; exit code 1 when a promise is broken."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--replications", type=int, default=2000, help="benchmarks per row, in hundreds"
    )
    parser.add_argument("--only", default="", help="a regular expression for the names of rows")
    parser.add_argument(
        "--write",
        default="",
        help="a file that gets the tables, too, such as docs/measured/gate.md",
    )
    parser.add_argument(
        "--jobs", type=int, default=1, help="rows simulated at a time, each in its own process"
    )
    arguments = parser.parse_args()
    replications = max(arguments.replications // BATCH, 1) * BATCH
    only = f" --only '{arguments.only}'" * bool(arguments.only)
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
    )
    texts = [
        "# How often the gate is right",
        "",
        f"Written by `python benchmarks/calibration.py --replications {replications}{only} --write "
        f"docs/measured/gate.md`, at commit {commit.stdout.strip()}, {date.today()}.",
        f"{replications} benchmarks a row; error of a share near 0.025: {error(0.025, replications):.4f}, near 0.95: "
        f"{error(0.95, replications):.4f}.",
    ]

    def show(text: str) -> None:
        """Prints the text, and keeps what is known so far."""
        texts.append(text)
        print(text, flush=True)
        if arguments.write:
            write_atomic(Path(arguments.write), "\n".join(texts) + "\n")

    print(*texts, sep="\n")
    kept = True
    with ProcessPoolExecutor(arguments.jobs, initializer=hasten) as pool:
        started = [
            (section, [pool.submit(section.row, name, replications) for name in names])
            for section in sections()
            if (names := [name for name in section.names if re.search(arguments.only, name)])
        ]
        for section, rows in started:
            show(f"\n## {section.head}|")
            for row in rows:
                show(row.result().line)
                kept &= row.result().kept
    sys.exit(not kept)


if __name__ == "__main__":
    main()
