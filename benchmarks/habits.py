"""What people do with a benchmark whose server does not help: each function draws one, and is true for a GO.

They are rows of calibration.py. Differences are drawn directly, with half of their variance between tasks; from them on
everything is the code that real runs go through: the account of error, Holm, the gate.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from lensbench.judging.bias import correction
from lensbench.scores import intervals
from lensbench.scores.account import Draw, digests, draw, holm
from lensbench.scores.bank import is_possible
from lensbench.scores.differences import corrected_by_people
from lensbench.scores.gate import DEFAULTS, agrees, decide
from lensbench.scores.power import FEWEST_REPOSITORIES
from lensbench.scores.sequential import even_fractions, look_result

Differences = dict[str, float]


def looked_at(
    differences: Differences, ledger: list[Draw], repositories: Mapping[str, str] | None = None,
    worst: Differences | None = None, fraction: float = 1.0, pairs: tuple[str, ...] = (), drift: float = 0.0,
    **gate: Any,
) -> str:  # fmt: skip
    """The verdict that a start shows: drawn from the account, and noted in it. `worst`: with what is missing filled;
    `pairs`: what the differences rest on, when that is more than one pair a task."""
    own = repositories or {task: task for task in {**differences, **(worst or {})}}
    planned = len(worst or differences)
    found = intervals.estimate(differences, own, planned=planned, limit=intervals.LARGEST, drift=drift)
    settings = {**DEFAULTS, **gate}
    pairs = pairs or digests((task, 1, value) for task, value in differences.items())
    drawn = draw(ledger, "with", pairs, settings, (len(differences), 1), fraction)
    ledger.append(drawn)
    look = look_result(found, 1, 1, settings, drawn.boundary)
    filled = intervals.estimate(worst, own) if worst else None
    return decide(found, settings, look, filled=(filled, filled) if filled else None).verdict


def drawn_differences(rng: np.random.Generator, tasks: int, trials: int = 1) -> np.ndarray[Any, Any]:
    """Differences of a server that does nothing on average, by task and trial: half of the variance is the tasks' own,
    and scores have steps of 5 points."""
    own = rng.normal(0, 0.15, (tasks, 1)) + rng.normal(0, 0.15, (tasks, trials))
    return np.round(own / 0.05) * 0.05


def named(values: Any) -> Differences:
    """The differences by task."""
    return {f"t{number:03}": float(value) for number, value in enumerate(values)}


def more_tasks(rng: np.random.Generator) -> bool:
    """12 tasks, and 12 more while nothing is decided, up to five times: is there a GO in the end?"""
    values, ledger = drawn_differences(rng, 72)[:, 0], []  # type: ignore[var-annotated]
    verdicts = (looked_at(named(values[:count]), ledger) for count in range(12, 73, 12))
    return next((verdict for verdict in verdicts if verdict != "INCONCLUSIVE"), "") == "GO"


def more_trials(rng: np.random.Generator) -> bool:
    """24 tasks, and one more trial of each while nothing is decided, up to six."""
    values, ledger = drawn_differences(rng, 24, 6), []  # type: ignore[var-annotated]

    def look(count: int) -> str:
        pairs = digests((f"t{task:03}", trial, value) for (task, trial), value in np.ndenumerate(values[:, :count]))
        return looked_at(named(values[:, :count].mean(axis=1)), ledger, pairs=pairs)

    verdicts = map(look, range(1, 7))
    return next((verdict for verdict in verdicts if verdict != "INCONCLUSIVE"), "") == "GO"


def all_runs_after_futility(rng: np.random.Generator) -> bool:
    """48 tasks in four planned looks; all runs at once when the gate stops because a GO is unlikely."""
    values, ledger = drawn_differences(rng, 48)[:, 0], []  # type: ignore[var-annotated]
    for look, share in enumerate(even_fractions(4), 1):
        verdict = looked_at(named(values[: 12 * look]), ledger, fraction=share, looks=4)
        if verdict != "INCONCLUSIVE":
            return verdict == "GO"
        if look == 2:
            return looked_at(named(values), ledger, looks=1) == "GO"
    return False


def looser_gate(rng: np.random.Generator) -> bool:
    """24 tasks, and alpha 0.2 and effect 1 once the result was inconclusive; then 24 more tasks."""
    values, ledger = drawn_differences(rng, 48)[:, 0], []  # type: ignore[var-annotated]
    if (verdict := looked_at(named(values[:24]), ledger)) != "INCONCLUSIVE":
        return verdict == "GO"
    loose = {"alpha": 0.2, "effect": 1}
    return "GO" in (looked_at(named(values[:24]), ledger, **loose), looked_at(named(values), ledger, **loose))


def servers(count: int) -> Any:
    """So many servers that do nothing against one baseline: does any get a GO?"""

    def any_go(rng: np.random.Generator) -> bool:
        scores = rng.normal(0, 0.15, (24, count + 1))
        found = {
            str(server): intervals.estimate(
                named(scores[:, server] - scores[:, 0]), {f"t{task:03}": str(task) for task in range(24)}
            )
            for server in range(1, count + 1)
        }

        def draw_for(name: str, among: int) -> Draw:
            return draw([], name, (name,), DEFAULTS, (24, 1), 1.0, among)

        def holds(name: str, drawn: Draw) -> bool:
            look = look_result(found[name], 1, 1, DEFAULTS, drawn.boundary)
            excluded = look.low is None or look.high is None or not look.low <= 0 <= look.high
            return excluded and agrees(found[name], look, DEFAULTS)

        drawn = holm(found, draw_for, holds)
        looks = {name: look_result(found[name], 1, 1, DEFAULTS, each.boundary) for name, each in drawn.items()}
        return any(decide(found[name], DEFAULTS, look).verdict == "GO" for name, look in looks.items())

    return any_go


def unequal_repositories(largest: int, others: int) -> Any:
    """Eleven repositories, the first with so many tasks, and effects that differ by repository. Where they are worth
    fewer than six, a GO is about these repositories only, and so is what is true: nothing on average over them."""

    def go(rng: np.random.Generator) -> bool:
        sizes = np.array([largest, *[others] * 10])
        shared = np.repeat(rng.normal(0, 0.15, len(sizes)), sizes)
        if sizes.sum() ** 2 < FEWEST_REPOSITORIES * (sizes**2).sum():
            shared -= shared.mean()
        homes = {f"t{task:03}": f"r{home}" for task, home in enumerate(np.repeat(np.arange(len(sizes)), sizes))}
        return looked_at(named(shared + rng.normal(0, 0.15, len(shared))), [], homes) == "GO"

    return go


def early_discards(rng: np.random.Generator) -> bool:
    """48 tasks in four planned looks; half of the pairs of the first two waves are discarded until the last look."""
    values, ledger = drawn_differences(rng, 48)[:, 0], []  # type: ignore[var-annotated]
    for look in range(1, 5):
        there = [task for task in range(12 * look) if look == 4 or task >= 24 or task % 2]
        differences = {f"t{task:03}": float(values[task]) for task in there}
        verdict = looked_at(differences, ledger, fraction=len(there) / 48, looks=4)
        if verdict != "INCONCLUSIVE":
            return verdict == "GO"
    return False


def crashes(share: float) -> Any:
    """So many of the treatment's runs crash, all where the baseline is good: a crash is worth 0, and its pair is
    missing."""

    def go(rng: np.random.Generator) -> bool:
        baseline = np.clip(rng.normal(0.6, 0.25, 48), 0, 1)
        good = baseline > 0.55  # 58 % of the tasks, where the baseline has 0.75 on average
        treatment = np.clip(baseline + 0.75 * share + rng.normal(0, 0.15, 48), 0, 1)
        crashed = good & (rng.random(48) < share / 0.58)
        there = named(treatment - baseline)
        worst = named(np.where(crashed, -baseline, treatment - baseline))
        kept = {task: there[task] for task, gone in zip(there, crashed, strict=True) if not gone}
        return looked_at(kept, [], worst=worst if crashed.any() else None) == "GO"

    return go


def kind_judge(points: float, labelled: int, tasks: int = 96) -> Any:
    """A judge gives the treatment so many points more than people would; people judge so many tasks of a random
    sample."""

    def go(rng: np.random.Generator) -> bool:
        truth = drawn_differences(rng, tasks)[:, 0]
        seen = np.round((truth + points / 100 + rng.normal(0, 0.08, tasks)) / 0.05) * 0.05
        by_judges, by_people = (
            {(name, 1): Fraction(value).limit_denominator(100) for name, value in named(each).items()}
            for each in (seen, truth)
        )
        found = intervals.estimate(named(seen), {name: name for name in named(seen)}, limit=intervals.LARGEST)
        sample = dict(list(by_people.items())[:labelled])
        told = {"corrected": correction(by_judges, sample)["corrected"]._asdict()}
        counting = corrected_by_people(found, told, DEFAULTS["alpha"], DEFAULTS["power"]) or found
        drawn = draw(
            [], "with", digests((task, 1, value) for task, value in named(seen).items()), DEFAULTS, (tasks, 1), 1.0
        )
        look = look_result(counting, 1, 1, DEFAULTS, drawn.boundary)
        return decide(counting, DEFAULTS, look).verdict == "GO"

    return go


def earlier_baseline(tasks: int, changed: float, bound: float) -> Any:
    """The baseline is that of an earlier benchmark, from before a change by so many points that a verdict must not take
    for the server's; a fifth of it is made again."""

    def go(rng: np.random.Generator) -> bool:
        values = drawn_differences(rng, tasks)[:, 0] + changed / 100
        again = named(drawn_differences(rng, -(-tasks // 5))[:, 0] + changed / 100)
        change = intervals.estimate(again, {task: task for task in again}, limit=intervals.LARGEST)
        return is_possible(change, bound / 100) and looked_at(named(values), [], drift=bound / 100) == "GO"

    return go


def heavy_losses(tasks: int) -> Any:
    """5 % of the tasks lose 95 points, the others gain 5."""

    def go(rng: np.random.Generator) -> bool:
        gains = 0.05 + rng.normal(0, 0.1, tasks)
        return looked_at(named(np.where(rng.random(tasks) < 0.05, -0.95, gains)), []) == "GO"

    return go


PEOPLE = {
    "12 tasks, 12 more while inconclusive, up to five times": more_tasks,
    "24 tasks, one more trial while inconclusive, up to six": more_trials,
    "four looks, all runs after the second": all_runs_after_futility,
    "alpha 0.2 and effect 1 after the result, then more tasks": looser_gate,
    "four servers against one baseline": servers(4),
    "eight servers against one baseline": servers(8),
    "four looks, half of the early pairs discarded": early_discards,
    "one of eleven repositories holds 35 %, effects differ": unequal_repositories(16, 3),
    "one of eleven repositories holds 45 %: about these only": unequal_repositories(16, 2),
    **{f"{share} % of the treatment's runs crash": crashes(share / 100) for share in (10, 15, 20)},
    **{
        f"a judge favours the treatment by {points} points, people judged {labelled} of 96 tasks": kind_judge(
            points, labelled
        )
        for points in (2, 5)
        for labelled in (24, 48)
    },
    **{
        f"{tasks} tasks, an earlier baseline {changed} points lower, bank.drift {changed}": earlier_baseline(
            tasks, changed, changed
        )
        for tasks in (24, 48)
        for changed in (2, 5)
    },
}
"""Where the gate promises a GO in 2.5 % or fewer."""
UNKNOWABLE = {
    **{f"rare heavy losses, {tasks} tasks": heavy_losses(tasks) for tasks in (12, 24)},
    **{f"a judge favours the treatment by {points} points, nobody checked": kind_judge(points, 0) for points in (2, 5)},
    **{
        f"{tasks} tasks, an earlier baseline {changed} points lower, bank.drift 2": earlier_baseline(tasks, changed, 2)
        for tasks in (24, 48)
        for changed in (5, 10)
    },
}
"""What the data cannot show; the sentence of a GO says so."""
