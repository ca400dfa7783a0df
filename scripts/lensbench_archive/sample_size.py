"""Computes how many tasks, repositories and trials a decision needs, before any run is paid for, by the gate."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple, cast

from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings
from lensbench.core.numbers import dollars, mean
from lensbench.core.rows import RunStatus
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_typed
from lensbench.core.system.program import Parser, benchmark, configs, positive, run_program
from lensbench.core.tasks import Task
from lensbench.judging.trust import ReliabilityFile
from lensbench.plan.config import Gate
from lensbench.plan.reading import read_file
from lensbench.plan.task_files import read_scenarios
from lensbench.scores.adoption import tasks_for_adoption
from lensbench.scores.estimates_file import EstimatesFile, decided_by_gate
from lensbench.scores.gate_words import with_noun
from lensbench.scores.intervals import Estimate
from lensbench.scores.needed import ASSUMED_BASELINES, MOST_TASKS, Truth, power_of, tasks_for
from lensbench.scores.power import FEWEST_REPOSITORIES, tasks_needed, upper_sd
from lensbench.scores.run_tables import read_tables
from lensbench.scores.saving import quantities_of

SIZES = (12, 24, 48, 96)
ICC = 0.14
"""The share of the variance that tasks of a repository have in common: an assumption."""
TRIALS = (1, 2, 3, 5)
"""The numbers of trials that are planned for."""
DEFAULTS = cast("GateSettings", Gate().model_dump())
"""The gate of a benchmark that is not configured yet."""
ADOPTIONS = ((0.2, 0.5), (0.2, 0.8), (0.5, 0.9))
"""Shares of runs that call the tools, before and after a change of their words."""

POINTS_NEEDED = "of points, from 1 to 100: a share such as 0.3 is 30 points"


class Spread(NamedTuple):
    """The standard deviation of a task's difference, in points, in two parts: between tasks and between trials."""

    tasks: float
    """Standard deviation of the tasks' true differences."""
    trials: float
    """Standard deviation of a task's difference from trial to trial."""

    def of(self, trials: int) -> float:
        """The standard deviation of a task's difference, averaged over its trials."""
        return math.sqrt(self.tasks**2 + self.trials**2 / trials)


def split(sd: float, trials: int, share: float) -> Spread:
    """The two parts of a standard deviation that was observed with `trials`; `share` is that of the tasks."""
    single = sd**2 / (share + (1 - share) / trials)
    return Spread(math.sqrt(share * single), math.sqrt((1 - share) * single))


def detectable(sd: float, tasks: int, power: float = 0.8, alpha: float = 0.05) -> float:
    """The smallest effect of which so many tasks give a GO with this power, in points; 100 where none is enough."""

    def power_at(tenths: int) -> float:
        truth = Truth(tenths / 1000, sd / 100)
        return power_of("GO", truth, tasks, alpha / 2, DEFAULTS)

    return bisect_left(range(1000), power, key=power_at) / 10


def shown_count(tasks: int | None) -> str:
    if tasks is None:
        return f"over {MOST_TASKS}"
    return str(tasks)


def repositories_needed(
    sd: float, effect: float, tasks_each: int, icc: float, power: float, alpha: float
) -> int | None:
    """The number of repositories, with `tasks_each` tasks each, that a GO about repositories like these needs; with
    less than 6 the claim is limited to these. `icc` is the share of the variance that tasks of a repository have in
    common. None where MOST_TASKS tasks are not enough."""
    spread = sd * math.sqrt(1 + (tasks_each - 1) * icc)
    truth = Truth(effect / 100, spread / 100, tasks_each=float(tasks_each))
    tasks = tasks_for("GO", truth, alpha / 2, DEFAULTS, power)
    if tasks is None:
        return None
    return max(math.ceil(tasks / tasks_each), FEWEST_REPOSITORIES)


class Needs(NamedTuple):
    """The parameters of a plan; effects and standard deviations in points."""

    sd: float
    """Of one trial."""
    effect: float
    power: float = 0.8
    alpha: float = 0.05
    share: float = 0.24
    """The share of the variance of one trial that is between tasks: an assumption until it is measured."""

    @property
    def spreads(self) -> dict[int, float]:
        """The spread of a task's difference by the number of its trials."""
        parts = split(self.sd, 1, self.share)
        return {trials: parts.of(trials) for trials in TRIALS}

    def tasks(self, spread: float, power: float) -> int | None:
        """The tasks of this spread that give a GO."""
        return tasks_for(
            "GO", Truth(self.effect / 100, spread / 100), self.alpha / 2, DEFAULTS, power
        )

    def check(self) -> None:
        """Raises UserError for a number out of its range, such as a share where points are wanted."""
        ranges = {
            "sd": (1 <= self.sd <= 100, POINTS_NEEDED),
            "effect": (1 <= self.effect <= 100, POINTS_NEEDED),
            "power": (0.5 < self.power < 1, "between 0.5 and 1"),
            "alpha": (0 < self.alpha < 0.5, "between 0 and 0.5"),
            "share": (0 <= self.share <= 1, "from 0 to 1"),
        }
        for name, (fits, limits) in ranges.items():
            if not fits:
                raise UserError(f"--{name} is {getattr(self, name):g}; write a number {limits}")


def plan_text(plan: Needs) -> str:
    pilots = ", ".join(f"{upper_sd(plan.sd, count):.1f} after {count} tasks" for count in (12, 24))
    power = f"{100 * plan.power:g}%"
    return "\n\n".join(
        [
            f"The difference of a task spreads by {plan.sd:g} points in one trial, and "
            f"{plan.effect:g} points are to be found; alpha {plan.alpha:g}, two-sided.\n"
            f"If the spread is that of a pilot, plan with {pilots}.",
            f"Tasks, when {100 * plan.share:g}% of one trial's variance is the tasks' own, which trials do not reduce:",
            _tasks_by_trials(plan),
            f"Repositories for {power}, when tasks of one repository share {100 * ICC:g}% of the variance:",
            _repositories(plan),
            f"The smallest effect, in points, that is found with {power}:",
            _effects_by_size(plan),
            _for_saves(plan.sd, plan.power, plan.alpha, DEFAULTS, None),
            for_adoption(plan.power),
        ]
    )


def _table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [head, ["--:"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _tasks_by_trials(plan: Needs) -> str:
    powers = sorted({0.8, 0.9, plan.power})
    rows = [
        [
            trials,
            f"{spread:.1f}",
            *(shown_count(plan.tasks(spread, power)) for power in powers),
        ]
        for trials, spread in plan.spreads.items()
    ]
    return _table(["trials", "spread", *(f"tasks for {100 * power:g}%" for power in powers)], rows)


def _repositories(plan: Needs) -> str:
    rows: list[list[object]] = []
    for size in (1, 2, 4, 8):
        needed = repositories_needed(plan.sd, plan.effect, size, ICC, plan.power, plan.alpha)
        if needed is None:
            rows.append([size, "—", shown_count(None)])
        else:
            rows.append([size, needed, shown_count(size * needed)])
    return _table(["tasks per repository", "repositories", "tasks"], rows)


def _effects_by_size(plan: Needs) -> str:
    rows = [
        [
            tasks,
            *(
                f"{detectable(spread, tasks, plan.power, plan.alpha):.1f}"
                for spread in plan.spreads.values()
            ),
        ]
        for tasks in SIZES
    ]
    return _table(["tasks", *(with_noun(count, "trial") for count in plan.spreads)], rows)


class Pilot(NamedTuple):
    """The figures of a treatment in a finished benchmark."""

    treatment: str
    tasks: int
    trials: int
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
    gate: GateSettings
    baselines: Sequence[float]
    """Scores of the tasks without the treatment, as shares of 1."""
    tasks_each: float
    """The tasks of a repository, when the claim is about others like them, too."""
    effort: Estimate | None
    """The relative change of what `gate.saves` names; None when it is not known."""

    def tasks_for(self, effect: float, power: float, alpha: float, trials: int) -> int | None:
        """The tasks like these that give a GO, when this is the true effect in points."""
        spread = self.spread.of(trials) / 100
        truth = Truth(effect / 100, spread, self.baselines, self.tasks_each)
        return tasks_for("GO", truth, alpha / 2, self.gate, power)


def read_pilot(folder: Path, share: float) -> list[Pilot]:
    """A pilot for every comparison that the gate decides; `share` is used if there was only one trial. Raises UserError
    when the folder has no results, or no spread."""
    tables = read_tables(folder)
    results = decided_by_gate(read_typed(RunFolder(folder).estimates, EstimatesFile)["comparisons"])
    runs = [run for run, row in tables.scores.items() if row["status"] == RunStatus.SCORED]
    seconds = mean(map(tables.duration, runs))
    prices = mean(map(tables.cost, runs))
    judges = read_typed(RunFolder(folder).judge_reliability, ReliabilityFile)["judges"].values()
    judging = sum(judge["cost_usd"] or Fraction(0) for judge in judges)
    price = None
    if prices is not None:
        price = float(prices + judging / len(runs))
    pilots = []
    for name, result in results.items():
        overall = result["score"]["overall"]
        sigma = result["variance"]["differences"].sigma
        if overall.n < 2:
            raise UserError(
                f"{folder}: the differences of {name!r} have no spread to plan with; make more pairs"
            )
        trials = tables.plan["trials"]
        sd = 100 * upper_sd((overall.se or 0.0) * math.sqrt(overall.n), overall.n)
        spread = split(sd, trials, share)
        if sigma is not None:
            spread = Spread(math.sqrt(max(sd**2 - (100 * sigma) ** 2 / trials, 0)), 100 * sigma)
        gate = tables.plan["gate"]
        efforts = (
            result["measures"][key]["overall"]
            for key in quantities_of(gate)
            if key in result["measures"]
        )
        pilots.append(
            Pilot(
                name,
                overall.n,
                trials,
                spread,
                sigma is not None,
                len(tables.plan["conditions"]),
                float(seconds or 0),
                price,
                gate,
                overall.baselines or ASSUMED_BASELINES,
                1.0 if overall.scope else overall.n / overall.repositories,
                next((effort for effort in efforts if effort.delta is not None), None),
            )
        )
    return pilots


def plans(pilot: Pilot, effect: float, power: float, alpha: float, parallel: int) -> Iterator[str]:
    """One line for each number of trials."""
    for trials in TRIALS:
        tasks = pilot.tasks_for(effect, power, alpha, trials)
        if tasks is None:
            yield f"{with_noun(trials, 'trial')}: over {MOST_TASKS} tasks to find +{effect:g}"
            continue
        runs = tasks * trials * pilot.conditions
        size = f"{tasks} tasks x {with_noun(trials, 'trial')} x {pilot.conditions} conditions"
        price = "at a price that the agent does not show"
        if pilot.run_usd is not None:
            usd = runs * pilot.run_usd
            amount = dollars(Fraction(str(round(usd, 6))))
            if usd >= 1:
                amount = str(math.ceil(usd))
            price = f"about {amount} USD"
        seconds = math.ceil(runs / parallel) * pilot.run_s
        hours = (
            f"{seconds / 3600:.2g} h"
            if seconds >= 3600
            else f"{max(math.ceil(seconds / 60), 1)} min"
        )
        yield f"{runs} runs ({size}), {price}, {hours} at {parallel} at a time: {100 * power:g}% to find +{effect:g}"


def _for_saves(
    sd: float, power: float, alpha: float, gate: GateSettings, effort: Estimate | None
) -> str:
    """How many tasks show each of the two parts of SAVES, if the answers are equal and the pilot's saving is the true
    one; and which of them needs more. `sd` in points."""
    chance = alpha / 2
    least = f"{gate['least']:g}%"
    answers = tasks_for("SAVES", Truth(0.0, sd / 100), chance, gate, power)
    if answers is None:
        return f"For SAVES, more than {MOST_TASKS} tasks would be needed."
    text = f"For SAVES, {answers} tasks show that equal answers are at most {gate['margin']:g} points worse"
    if effort is None or effort.delta is None or effort.sd is None:
        return f"{text} ({100 * power:g}%)."
    if (beyond := math.log1p(-gate["least"] / 100) - math.log1p(effort.delta)) <= 0:
        return f"{text}, but the pilot does not save over {least}."
    saving = tasks_needed(upper_sd(effort.sd, effort.n), beyond, power, alpha)
    short = "saving needs"
    if answers >= saving:
        short = "answers need"
    return f"{text}, and {saving} that its saving of {-100 * effort.delta:.0f}% exceeds {least}: the {short} more."


def pilot_text(
    folder: Path, effect: float, power: float, alpha: float, share: float, parallel: int
) -> str:
    """The plans for every treatment of the benchmark in `folder`."""
    paragraphs = []
    pilots = read_pilot(folder, share)
    for pilot in pilots:
        if not pilot.spread.of(1):
            alike = (
                f"{pilot.treatment}: all {pilot.tasks} tasks differ by the same points,"
                " so no gain can be planned for"
            )
            paragraphs += [f"{alike}.", _for_saves(0.0, power, alpha, pilot.gate, pilot.effort)]
            continue
        parts = (
            "measured"
            if pilot.measured
            else f"assumed: {100 * share:g}% of a trial's variance is the tasks' own"
        )
        paragraphs.append(
            f"{pilot.treatment}: a task's difference spreads by up to {pilot.spread.of(1):.1f} points in one trial "
            f"(80% upper bound after {pilot.tasks} tasks; the part that trials reduce is {parts})."
        )
        paragraphs.append(
            "\n".join(f"- {line}" for line in plans(pilot, effect, power, alpha, parallel))
        )
        paragraphs.append(_for_saves(pilot.spread.of(1), power, alpha, pilot.gate, pilot.effort))
    needs = [
        pilot.tasks_for(effect, power, alpha, pilot.trials)
        for pilot in pilots
        if pilot.spread.of(pilot.trials)
    ]
    known = [tasks for tasks in needs if tasks is not None]
    paragraphs.append(for_adoption(power))
    paragraphs.append(way_to(max(known, default=0), [RunFolder(folder).config]))
    return "\n\n".join(filter(None, paragraphs))


def for_adoption(power: float) -> str:
    """How many tasks tell two versions of a server's words apart by how often its tools are called."""
    parts = [
        f"{tasks_for_adoption(before, after, power)} a change from {before:.0%} to {after:.0%}"
        for before, after in ADOPTIONS
    ]
    text = "For adoption (two versions, one trial), in tasks:"
    return f"{text} {', '.join(parts)} of the runs ({100 * power:g}%)."


def way_to(tasks: int, configs: Sequence[Path]) -> str:
    """The command that adds tasks to the set of a config until it has so many; "" unless there is one config with one
    set, of questions about one repository, with fewer."""
    try:
        (config,) = configs
        value = read_file(str(config))[1].value["scenarios"]
        (name,) = [value] if isinstance(value, str) else value
        there = read_scenarios([name]).tasks
    except (UserError, ValueError, KeyError, TypeError):
        return ""
    if (
        len(there) >= tasks
        or len({task.repository for task in there}) > 1
        or any(type(task) is not Task for task in there)
    ):
        return ""
    command = f"lensbench generate --count {tasks} --output {name}"
    return f"This adds tasks to the set, which has {len(there)}:\n\n    {command}"


def main() -> None:
    """Compute how many tasks, repositories and trials a decision needs."""
    parser = Parser(prog="lensbench size", description=main.__doc__)
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--sd", type=float, help="spread of a task's difference in one trial, in points"
    )
    group.add_argument(
        "--pilot",
        type=benchmark,
        help="a finished run, by its id or folder: its spread, price and time are used",
    )
    parser.add_argument(
        "--effect", type=float, required=True, help="the difference that is to be found, in points"
    )
    parser.add_argument("--power", type=float, default=0.8, help="chance of finding it (0.8)")
    parser.add_argument("--alpha", type=float, default=0.05, help="two-sided error (0.05)")
    parser.add_argument(
        "--share",
        type=float,
        default=0.24,
        help="the tasks' own part of one trial's variance (0.24)",
    )
    parser.add_argument(
        "--parallel", type=positive, default=8, help="runs at a time, for the hours of --pilot (8)"
    )
    arguments = vars(parser.parse_args())
    pilot, parallel = (arguments.pop(name) for name in ("pilot", "parallel"))
    plan = Needs(**arguments | {"sd": arguments["sd"] if pilot is None else 1.0})
    plan.check()
    if pilot:
        print(pilot_text(pilot, plan.effect, plan.power, plan.alpha, plan.share, parallel))
    else:
        tasks = plan.tasks(plan.sd, plan.power) or 0
        print(
            "\n\n".join(
                filter(None, [plan_text(plan), way_to(tasks, list(map(Path, configs(Path()))))])
            )
        )


if __name__ == "__main__":
    run_program(main)
