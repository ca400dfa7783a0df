"""How often the gate is right, on simulated benchmarks with a known truth: error rates and power beside a plain t test.

    python benchmarks/calibration.py [--replications 2000] [--only REGEX] [--write docs/measured/gate.md]

Each row is a truth. Scores of a baseline and differences are drawn for thousands of benchmarks at once and decided by
lensbench's own rules (rules.py); rows about lost runs decide by the pipeline's records of attempts (lost_runs.py), a
benchmark at a time. A page is written whole, with command, commit and date.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import lost_runs
import numpy as np
from habits import DEFAULTS, PEOPLE, UNKNOWABLE

from lensbench.core.distributions import norm_sf, t_isf
from lensbench.core.frozen_plan import VerdictName
from lensbench.core.system.files import write_atomic
from lensbench.scores import intervals, rules
from lensbench.scores.intervals import Room, Rooms, standard_errors
from lensbench.scores.rules import (
    ANY_TASKS,
    BEST_TASKS,
    REPOSITORIES,
    Sample,
    given,
    sample,
)
from lensbench.scores.sequential import SHARE, EarlierLook, next_boundary

Floats = np.ndarray[Any, Any]
CHANCE = DEFAULTS["alpha"] / 2
"""The one-sided error of the first look."""
TASKS = (12, 24, 48)


class Drawn(NamedTuple):
    """Benchmarks, a row each; a column for each task."""

    differences: Floats
    baselines: Floats
    repositories: list[int] = []  # noqa: RUF012 (a tuple's default)


Draw = Callable[[np.random.Generator, int, int], Drawn]
"""From random numbers, benchmarks and tasks."""


def demo_baselines(rng: np.random.Generator, count: int, tasks: int) -> Floats:
    """About 55% on average, as in the demo."""
    scores: Floats = np.round(np.clip(rng.normal(0.55, 0.22, (count, tasks)), 0, 1) / 0.05) * 0.05
    return scores


def archive_baselines(rng: np.random.Generator, count: int, tasks: int) -> Floats:
    """About 82% on average, many complete, as in published runs."""
    partly = np.clip(rng.normal(0.7, 0.2, (count, tasks)), 0, 1)
    complete = rng.random((count, tasks)) < 0.4
    scores: Floats = np.round(np.where(complete, 1.0, partly) / 0.05) * 0.05
    return scores


BASELINES = {"55%": demo_baselines, "82%": archive_baselines}


def normal(mean: float, spread: float, kind: str = "55%") -> Draw:
    """Normal differences."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        differences = mean + rng.normal(0, spread, (count, tasks))
        return Drawn(differences, BASELINES[kind](rng, count, tasks))

    return draw


def tied(mean: float, ties: float, spread: float, kind: str = "82%") -> Draw:
    """This share of the differences is 0, the others lie around what makes up the mean, in steps of 5 points."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        moved = rng.random((count, tasks)) >= ties
        away = mean / (1 - ties)
        others = away + rng.normal(0, 1, (count, tasks)) * np.sqrt(
            max(spread**2 / (1 - ties) - ties * away**2, 0.0001)
        )
        differences = np.where(moved, np.round(np.clip(others, -1, 1) / 0.05) * 0.05, 0.0)
        return Drawn(differences, BASELINES[kind](rng, count, tasks))

    return draw


def by_items(shift: float, trials: int = 1) -> Draw:
    """Item response: four criteria a task, each met, partly met or missed by an answer's knowledge: effects of task,
    criterion, treatment and chance. A shift of 0.5 is a gain of about 10 points."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        known = 0.7 + rng.normal(0, 1.2, (count, tasks, 1)) + rng.normal(0, 0.8, (count, tasks, 4))
        effect = shift + (0.35 * rng.normal(0, 1, (count, tasks, 1)) if shift else 0.0)
        scores = []
        for added in (effect, 0.0):
            total = np.zeros((count, tasks))
            for _ in range(trials):
                seen = known + added + rng.normal(0, 0.55, (count, tasks, 4))
                points = np.where(seen > 0.4, 1.0, np.where(seen > 0, 0.5, 0.0))
                total += points.mean(axis=-1) / trials
            scores.append(total)
        return Drawn(scores[0] - scores[1], scores[1])

    return draw


def in_repositories(mean: float, spread: float, repositories: int, share: float = 0.2) -> Draw:
    """Normal differences; tasks of a repository have this share of the variance in common."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        homes = np.arange(tasks) % repositories
        own = rng.normal(0, spread * share**0.5, (count, repositories))[:, homes]
        rest = rng.normal(0, spread * (1 - share) ** 0.5, (count, tasks))
        return Drawn(mean + own + rest, demo_baselines(rng, count, tasks), homes.tolist())

    return draw


def heavy_repositories(loss: float, repositories: int, sign: int = 1) -> Draw:
    """The share of REPOSITORIES loses this much, the others gain as much together; a `sign` of -1 is mirrored."""
    share = REPOSITORIES.share

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        homes = np.arange(tasks) % repositories
        heavy = rng.random((count, repositories)) < share
        own = np.where(heavy, -loss, share * loss / (1 - share))[:, homes]
        differences = sign * (own + rng.normal(0, 0.2, (count, tasks)))
        return Drawn(differences, demo_baselines(rng, count, tasks), homes.tolist())

    return draw


def all_lost(kind: str, spread: float, *, best: bool, sign: int = 1, mean: float = 0.0) -> Draw:
    """The share of ANY_TASKS, whichever, or that of BEST_TASKS, only among the tenth with the best baselines, loses all
    that it had; the others gain as much together. A `sign` of -1 is mirrored: it gains all that was left, above
    a `mean`."""
    tail = BEST_TASKS if best else ANY_TASKS

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        baselines = BASELINES[kind](rng, count, tasks)
        many = BASELINES[kind](rng, 1, 40_000)[0]
        bound = np.quantile(many, 0.9) if best else 0.0
        share = tail.share / float((many >= bound).mean())
        hit = (baselines >= bound) & (rng.random((count, tasks)) < share)
        lost = tail.share * float(many[many >= bound].mean())
        others = lost / (1 - tail.share) + rng.normal(0, spread, (count, tasks))
        differences = mean + sign * np.where(hit, -baselines, others)
        return Drawn(differences, baselines if sign > 0 else 1 - baselines)

    return draw


def skewed(share: float, loss: float, spread: float) -> Draw:
    """This share of the tasks loses so much, the others gain as much together."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        hit = rng.random((count, tasks)) < share
        others = share * loss / (1 - share) + rng.normal(0, spread, (count, tasks))
        return Drawn(np.where(hit, -loss, others), demo_baselines(rng, count, tasks))

    return draw


def exponential(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
    """Exponential losses with a mean of 20 points, below a gain of 20."""
    losses = np.minimum(rng.exponential(0.2, (count, tasks)), 1.2)
    return Drawn(0.2 - losses, demo_baselines(rng, count, tasks))


class Row(NamedTuple):
    """A truth, the verdict that counts, and the promise about its share."""

    draw: Draw
    tasks: int
    verdict: VerdictName = "GO"
    at_most: float = 1.0


FALSE = 0.03
"""What docs/gate.md promises without an effect."""


def shares(row: Row, count: int) -> tuple[float, float]:
    """How often the gate gives the verdict, and how often a plain interval of 95% would."""
    rng = np.random.default_rng(1)
    drawn = row.draw(rng, count, row.tasks)
    found = sample(*drawn, with_floor=row.verdict == "SAVES")
    return float(given(row.verdict, found, CHANCE, DEFAULTS).mean()), float(
        plain(row.verdict, found, drawn).mean()
    )


def plain(verdict: VerdictName, found: Sample, drawn: Drawn) -> Floats:
    """Where the t interval of level 95% alone allows the verdict."""
    error = standard_errors(drawn.differences, drawn.repositories or range(found.tasks))
    bound = {"NO-GO": -DEFAULTS["effect"] / 100, "SAVES": DEFAULTS["margin"] / 100}
    sign = 1 if verdict in ("GO", "SAVES") else -1
    far = sign * found.delta + bound.get(verdict, 0.0) if verdict != "NO-GO" else 0.05 - found.delta
    allowed: Floats = far > t_isf(0.025, error.df) * error.se
    return allowed


def errors() -> Iterator[tuple[str, Row]]:
    """Truths without an effect on average."""
    for tasks in (*TASKS, 96):
        for verdict in ("GO", "HARM"):
            yield f"A/A, {tasks} tasks: {verdict}", Row(by_items(0.0), tasks, verdict, FALSE)
    for tasks in TASKS:
        for share in (0.5, 0.66):
            name = f"nothing, {share:.0%} ties, {tasks} tasks: GO"
            yield name, Row(tied(0.0, share, 0.25), tasks, "GO", FALSE)
    for repositories, tasks in ((6, 48), (8, 48), (12, 48), (16, 96)):
        name = f"nothing, {tasks} tasks in {repositories} repositories: GO"
        yield name, Row(in_repositories(0.0, 0.2, repositories, 0.33), tasks, "GO", FALSE)
    any_tasks = f"any {ANY_TASKS.share:.0%}"
    best_tasks = f"{BEST_TASKS.share:.0%} of the best"
    for kind in BASELINES:
        for spread in (0.05, 0.1, 0.18):
            for tasks in TASKS:
                text = f"baseline {kind}, spread {100 * spread:g}, {tasks} tasks"
                draw = all_lost(kind, spread, best=False)
                row = Row(draw, tasks, "GO", ANY_TASKS.promise)
                yield f"{any_tasks} lose all, {text}: GO", row
                draw = all_lost(kind, spread, best=True)
                row = Row(draw, tasks, "GO", BEST_TASKS.promise)
                yield f"{best_tasks} lose all, {text}: GO", row
    for tasks in TASKS:
        draw = all_lost("55%", 0.1, best=False, sign=-1)
        row = Row(draw, tasks, "HARM", ANY_TASKS.promise)
        yield f"{any_tasks} gain all that is left, {tasks} tasks: HARM", row
        draw = all_lost("55%", 0.1, best=False, sign=-1, mean=0.05)
        name = f"{any_tasks} gain all that is left, above a gain of 5, {tasks} tasks: NO-GO"
        yield name, Row(draw, tasks, "NO-GO", ANY_TASKS.promise)
    for tasks in (24, 48, 96):
        name = f"a fifth of 8 repositories loses 24, {tasks} tasks: GO"
        yield name, Row(heavy_repositories(0.24, 8), tasks, "GO", REPOSITORIES.promise)
        name = f"a fifth of 8 repositories gains 24, {tasks} tasks: HARM"
        draw = heavy_repositories(0.24, 8, -1)
        yield name, Row(draw, tasks, "HARM", REPOSITORIES.promise)
    for tasks in (8, 10, 12, 24, 36, 48):
        name = f"a fifth of the tasks loses 40, {tasks} tasks: GO"
        tail = BEST_TASKS if tasks < 24 else ANY_TASKS
        yield name, Row(skewed(0.2, 0.4, 0.05), tasks, "GO", tail.promise)
    for tasks in (24, 48):
        yield (
            f"exponential losses, {tasks} tasks: GO",
            Row(exponential, tasks, "GO", ANY_TASKS.promise),
        )


SHAPES: dict[str, Draw] = {
    "normal, spread 10, gain of 6": normal(0.06, 0.1),
    "normal, spread 15, gain of 10": normal(0.1, 0.15),
    "normal, spread 25, gain of 10": normal(0.1, 0.25),
    "archive-like, 50% ties, spread 25, gain of 10": tied(0.1, 0.5, 0.25),
    "archive-like, 66% ties, spread 19, gain of 10": tied(0.1, 0.66, 0.19),
    "item response, 1 trial, gain of about 10": by_items(0.5),
    "item response, 3 trials, gain of about 10": by_items(0.5, 3),
    "8 repositories, spread 20, gain of 10": in_repositories(0.1, 0.2, 8),
    "12 repositories, spread 20, gain of 10": in_repositories(0.1, 0.2, 12),
}


def power_table(count: int, only: str) -> Iterator[str]:
    """The share of GO beside that of the plain t test, and their mean ratio."""
    sizes = (12, 24, 36, 48)
    yield f"| truth | {' | '.join(f'{tasks} tasks' for tasks in sizes)} |"
    yield "|---|" + "--:|" * len(sizes)
    ratios: dict[int, list[float]] = {tasks: [] for tasks in sizes}
    for name, draw in SHAPES.items():
        if not re.search(only, name):
            continue
        cells = []
        for tasks in sizes:
            gate, alone = shares(Row(draw, tasks), count)
            ratios[tasks].append(gate / max(alone, 1 / count))
            cells.append(f"{gate:.2f} of {alone:.2f}")
        yield f"| {name} | {' | '.join(cells)} |"
    means = (f"**{np.mean(own):.2f}**" if own else "" for own in ratios.values())
    yield f"| mean ratio | {' | '.join(means)} |"


def error_table(count: int, only: str) -> Iterator[str]:
    """How often a verdict is false."""
    yield "| truth | gate | t test alone | promised | as promised |"
    yield "|---|--:|--:|--:|---|"
    for name, row in errors():
        if not re.search(only, name):
            continue
        gate, alone = shares(row, count)
        slack = 3 * float(np.sqrt(row.at_most * (1 - row.at_most) / count))
        word = "yes"
        if gate > row.at_most:
            word = "within the error" if gate <= row.at_most + slack else "NO"
        yield f"| {name} | {gate:.3f} | {alone:.3f} | {row.at_most:g} | {word} |"


def lost_table(count: int, only: str) -> Iterator[str]:
    """Runs that failed, decided from the records that they leave."""
    yield "| truth | 24 tasks | without the rule | 48 tasks | without the rule | promised |"
    yield "|---|--:|--:|--:|--:|--:|"
    for name, (draw, promise) in lost_runs.ROWS.items():
        if not re.search(only, name):
            continue
        cells = []
        for tasks in (24, 48):
            cells += [f"{share:.3f}" for share in lost_runs.shares(draw, count, tasks)]
        promised = "" if promise is None else f"at most {promise}"
        yield f"| {name} | {' | '.join(cells)} | {promised} |"


def repaired(missed: float) -> Draw:
    """Item response: the baseline's scores and the differences, twice the tasks. The second half is the same benchmark
    before patterns were repaired, each of which misses this share of the facts, in both conditions."""

    def draw(rng: np.random.Generator, count: int, tasks: int) -> Drawn:
        known = 0.7 + rng.normal(0, 1.2, (count, tasks, 1)) + rng.normal(0, 0.8, (count, tasks, 4))
        effect = 0.5 + 0.35 * rng.normal(0, 1, (count, tasks, 1))
        sides = []
        for added in (effect, 0.0):
            seen = known + added + rng.normal(0, 0.55, known.shape)
            points = np.where(seen > 0.4, 1.0, np.where(seen > 0, 0.5, 0.0))
            is_found = rng.random(points.shape) >= missed
            before = (points * is_found).mean(axis=-1)
            sides.append(np.concatenate([points.mean(axis=-1), before], axis=1))
        return Drawn(sides[0] - sides[1], sides[1])

    return draw


def repair_table(count: int, only: str) -> Iterator[str]:
    """A GO after patterns were repaired: with their figures shown before, both must give it."""
    yield "| truth | figures shown before | not shown |\n|---|--:|--:|"
    for missed in (0.08, 0.15, 0.3):
        for tasks in (24, 48):
            name = f"gain of about 10; patterns that miss {missed:.0%} are repaired, {tasks} tasks"
            if not re.search(only, name):
                continue
            drawn = repaired(missed)(np.random.default_rng(1), count, tasks)
            go = [
                given(
                    "GO",
                    sample(drawn.differences[:, part], drawn.baselines[:, part]),
                    CHANCE,
                    DEFAULTS,
                )
                for part in (slice(tasks), slice(tasks, None))
            ]
            yield f"| {name} | {(go[0] & go[1]).mean():.2f} | {go[0].mean():.2f} |"


NEVER = ANY_TASKS._replace(chance=2.0)
"""A tail that no verdict rests on."""
WITHOUT: dict[str, dict[str, Any]] = {
    "heavy tails: any tasks": {"ANY_TASKS": NEVER},
    "heavy tails: tasks with the best baselines": {"BEST_TASKS": NEVER},
    "heavy tails: repositories": {"REPOSITORIES": NEVER},
    "heavy tails: all of these": {
        "ANY_TASKS": NEVER,
        "BEST_TASKS": NEVER,
        "REPOSITORIES": NEVER,
    },
    "empirical likelihood": {},
    "fewest tasks": {"FEWEST_TASKS": 0},
    "before: a task may lose 95 points": {"BEST_TASKS": NEVER},
    "before: the first interval has 96.5%": {},
}
"""Names of rules.py that a rule rests on, with values that leave it out, or that were there before."""


def changed(name: str, verdict: VerdictName, found: Sample) -> Floats:
    """Where the verdict is given without a rule."""
    chance = 0.0175 if "96.5%" in name else CHANCE
    if name == "empirical likelihood":
        found = found._replace(root=np.full(found.delta.shape, np.nan))
    if "95 points" in name:
        whole = Room(*(np.full(found.delta.shape, value) for value in (0.95, 1.0, 0.95)))
        found = found._replace(rooms=Rooms(whole, whole))
    with ExitStack() as stack:
        for constant, value in WITHOUT[name].items():
            stack.enter_context(mock.patch.object(rules, constant, value))
        return np.asarray(given(verdict, found, chance, DEFAULTS))


def rule_table(count: int, only: str) -> Iterator[str]:
    """What each rule prevents and costs: how the shares of all rows above change when it alone is left out."""
    powers = [
        (f"{name}, {tasks} tasks", Row(draw, tasks))
        for name, draw in SHAPES.items()
        for tasks in (12, 24, 36, 48)
    ]
    prevented: dict[str, list[tuple[float, str]]] = {name: [] for name in WITHOUT}
    cost: dict[str, list[tuple[float, str]]] = {name: [] for name in WITHOUT}
    broken = dict.fromkeys(WITHOUT, 0)
    for rows, into in (([*errors()], prevented), (powers, cost)):
        for title, row in rows:
            found = sample(*row.draw(np.random.default_rng(1), count, row.tasks))
            own = float(given(row.verdict, found, CHANCE, DEFAULTS).mean())
            for name in WITHOUT:
                other = float(changed(name, row.verdict, found).mean())
                into[name].append((other - own, title))
                broken[name] += other > row.at_most + 0.01 >= own
    yield "| left out, or as before | error: mean | worst row | promises that break | power: mean | most |"
    yield "|---|--:|---|--:|--:|---|"
    for name in WITHOUT:
        if not re.search(only, name):
            continue
        cells = []
        for changes in (prevented[name], cost[name]):
            mean = np.mean([change for change, _ in changes])
            most, title = max(changes, key=lambda change: abs(change[0]))
            cells.append(f"{mean:+.3f} | {most:+.3f}, {title}")
        yield f"| {name} | {cells[0]} | {broken[name]} | {cells[1]} |"


PATHS = ((24,), (12, 24), (24, 48), (24, 48, 72), (12, 24, 36, 48, 60, 72))
"""Tasks at each look, of a benchmark that grows while inconclusive."""


def looks_table(count: int, only: str) -> Iterator[str]:
    """Benchmarks that grow until there is a GO."""
    yield "| tasks at each look | levels | nothing: GO | gain of 10, spread 25: GO | all at once |"
    yield "|---|---|--:|--:|--:|"
    for sizes in PATHS:
        if not re.search(only, " ".join(map(str, sizes))):
            continue
        limits: list[float] = []
        left = DEFAULTS["alpha"] / SHARE
        spend = DEFAULTS["alpha"]
        for place, tasks in enumerate(sizes):
            before = None
            if limits:
                before = EarlierLook(limits[-1], float(np.sqrt(sizes[place - 1] / tasks)))
            limits.append(next_boundary(spend, before))
            left -= spend
            spend = SHARE * left
        cells = []
        for mean in (0.0, 0.1):
            rng = np.random.default_rng(1)
            drawn = normal(mean, 0.25)(rng, count, sizes[-1])
            found = np.zeros(count, bool)
            for tasks, limit in zip(sizes, limits, strict=True):
                own = sample(drawn.differences[:, :tasks], drawn.baselines[:, :tasks])
                found |= given("GO", own, norm_sf(limit), DEFAULTS)
            cells.append(float(found.mean()))
        at_once = given("GO", sample(*drawn), CHANCE, DEFAULTS).mean()
        levels = ", ".join(f"{100 * (1 - 2 * norm_sf(limit)):.4g}%" for limit in limits)
        yield f"| {', '.join(map(str, sizes))} | {levels} | {cells[0]:.3f} | {cells[1]:.3f} | {at_once:.3f} |"


def habit_table(count: int, only: str) -> Iterator[str]:
    """What people do with a server that does not help; with the product's ledger, so fewer benchmarks."""
    few = max(count // 10, 1)
    yield f"{few} benchmarks a row."
    yield ""
    yield "| habit | GO | promised | as promised |\n|---|--:|--:|---|"
    for promise, habits in ((DEFAULTS["alpha"] / SHARE / 2, PEOPLE), (1.0, UNKNOWABLE)):
        slack = 3 * float(np.sqrt(promise * (1 - promise) / few))
        for name, go in habits.items():
            if not re.search(only, name):
                continue
            rng = np.random.default_rng(1)
            found = sum(go(rng) for _ in range(few)) / few
            word = (
                "NO"
                if found > promise + slack
                else "within the error"
                if found > promise
                else "yes"
            )
            promised = f"{promise:.3f}" if promise < 1 else "nothing"
            yield f"| {name} | {found:.3f} | {promised} | {word} |"


TABLES = {
    "Nothing to find": error_table,
    "Something to find: GO of the gate, of a plain t test": power_table,
    "What each rule prevents and costs": rule_table,
    "Runs that failed": lost_table,
    "Patterns that were repaired": repair_table,
    "Benchmarks that grow": looks_table,
    "What people do, with a server that does not help": habit_table,
}


def main() -> None:
    """Print how often the gate keeps its promises; exit code 1 when one is broken."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=2000, help="benchmarks per row")
    parser.add_argument("--only", default="", help="a regular expression for the names of rows")
    parser.add_argument("--write", type=Path, help="a file that gets the page, too")
    arguments = parser.parse_args()
    count = arguments.replications
    intervals.SIGN_FLIPS, intervals.FLOOR_WEIGHTS = 199, 9  # figures that decide nothing here
    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], capture_output=True, text=True, check=True
    )
    command = " ".join(["python", "benchmarks/calibration.py", *sys.argv[1:]])
    lines = [
        "# How often the gate is right",
        "",
        f"Written by `{command}`, at commit {commit.stdout.strip()}, {datetime.now(UTC):%Y-%m-%d}.",
        f"{count} benchmarks a row; the standard error of a share near 0.025 is {(0.0244 / count) ** 0.5:.4f}, near 0.5"
        f" {0.5 / count**0.5:.3f}. The effect is {DEFAULTS['effect']} points, alpha {DEFAULTS['alpha']}.",
    ]
    print(*lines, sep="\n", flush=True)
    for title, table in TABLES.items():
        head = ["", f"## {title}", ""]
        print(*head, sep="\n")
        lines += head
        for line in table(count, arguments.only):
            print(line, flush=True)
            lines.append(line)
    if arguments.write:
        write_atomic(arguments.write, "\n".join(lines) + "\n")
    sys.exit(any(line.endswith("| NO |") for line in lines))


if __name__ == "__main__":
    main()
