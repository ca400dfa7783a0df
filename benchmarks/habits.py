"""Habits of users, with a server that does not help: each function simulates one, and is true for a GO.

They are rows of calibration.py. Differences are simulated directly, with half of their variance between tasks; all
further code is that of real runs: the account of error, Holm, the gate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from lensbench.core.distributions import norm_sf
from lensbench.judging.trust.bias import corrected_delta
from lensbench.plan.config import Gate
from lensbench.scores import intervals
from lensbench.scores.account import Draw, LookInput, SeenPair, draw_all, shown_before
from lensbench.scores.differences import corrected_by_people
from lensbench.scores.gate import Reading, decide, look_result
from lensbench.scores.intervals import LARGEST, Estimate
from lensbench.scores.power import FEWEST_REPOSITORIES
from lensbench.scores.rules import ReasonKind, excludes_zero
from lensbench.scores.sequential import even_fractions

DEFAULTS: Any = Gate().model_dump()
"""The gate of a config that says nothing about it."""
Differences = dict[str, float]
Runs = Mapping[str, str]
Habit = Callable[[np.random.Generator], bool]


def estimate_of(
    differences: Differences, repositories: Mapping[str, str] | None = None, **told: Any
) -> Estimate:
    """The estimate of tasks' differences, with a repository for each unless given."""
    own = repositories or {task: task for task in differences}
    return intervals.estimate(differences, own, limit=LARGEST, **told)


def seen(differences: Differences, runs: Runs | None = None) -> dict[str, SeenPair]:
    """The pairs of a look, one for each task; `runs` names the repeated ones."""
    return {
        f"{task}/1": SeenPair(str(value), ((runs or {}).get(task, ""),))
        for task, value in differences.items()
    }


def as_readings(estimates: Mapping[ReasonKind, Estimate | None]) -> list[Reading]:
    """Readings whose worst and best are the same."""
    return [Reading(kind, found, found) for kind, found in estimates.items() if found]


def looked_at(
    differences: Differences,
    ledger: list[Draw],
    repositories: Mapping[str, str] | None = None,
    worst: Differences | None = None,
    fraction: float = 1.0,
    pairs: Mapping[str, SeenPair] | None = None,
    runs: Runs | None = None,
    readings: Sequence[Reading] = (),
    **gate: Any,
) -> str:
    """The verdict that a start shows, recorded in the account. `worst`: the differences with missing pairs at their
    worst; `pairs`: the pairs behind the differences, if more than one per task; `runs`: what distinguishes repeated
    runs."""
    own = repositories or {task: task for task in {**differences, **(worst or {})}}
    found = estimate_of(differences, own, planned=len(worst or differences))
    pairs, settings = pairs or seen(differences, runs), {**DEFAULTS, **gate}
    asked = {"with": LookInput(pairs, settings, fraction)}
    drawn = draw_all(
        ledger, asked, lambda _, draw: excludes_zero(found, norm_sf(draw.boundary), settings)
    )["with"]
    before = shown_before(ledger, "with", pairs)
    ledger.append(drawn)
    shown = (
        estimate_of(
            {
                place.rpartition("/")[0]: float(pair.delta)
                for place, pair in {**pairs, **each}.items()
            }
        )
        for each in before
    )
    return decide(
        found,
        settings,
        look_result(found, 1, 1, settings, drawn.boundary),
        (),
        [
            *readings,
            *as_readings({ReasonKind.LOST_RUNS: estimate_of(worst, own) if worst else None}),
            *(Reading(ReasonKind.SHOWN_BEFORE, each, each) for each in shown),
        ],
    ).verdict


def all_looked_at(found: Mapping[str, Differences], ledger: list[Draw]) -> dict[str, str]:
    """The verdicts on several comparisons, which share the account; some have names such as `v2 against v1`."""
    estimates = {name: estimate_of(differences) for name, differences in found.items()}
    asked = {name: LookInput(seen(each), DEFAULTS, 1.0) for name, each in found.items()}
    drawn = draw_all(
        ledger,
        asked,
        lambda name, draw: excludes_zero(estimates[name], norm_sf(draw.boundary), DEFAULTS),
    )
    verdicts = {
        name: decide(
            each, DEFAULTS, look_result(each, 1, 1, DEFAULTS, drawn[name].boundary)
        ).verdict
        for name, each in estimates.items()
    }
    ledger += [each.model_copy(update={"verdict": verdicts[name]}) for name, each in drawn.items()]
    return verdicts


def drawn_differences(
    rng: np.random.Generator, tasks: int, trials: int = 1
) -> np.ndarray[Any, Any]:
    """Differences of a server without an effect on average, by task and trial: half of the variance is between tasks,
    and scores have steps of 5 points."""
    own = rng.normal(0, 0.15, (tasks, 1)) + rng.normal(0, 0.15, (tasks, trials))
    return np.round(own / 0.05) * 0.05


def named(values: Any) -> Differences:
    """The differences by task."""
    return {f"t{number:03}": float(value) for number, value in enumerate(values)}


def more_tasks(rng: np.random.Generator) -> bool:
    """12 tasks, and 12 more while inconclusive, up to five times: is there a GO in the end?"""
    values = drawn_differences(rng, 72)[:, 0]
    ledger = []
    verdicts = (looked_at(named(values[:count]), ledger) for count in range(12, 73, 12))
    return next((verdict for verdict in verdicts if verdict != "INCONCLUSIVE"), "") == "GO"


def more_trials(rng: np.random.Generator) -> bool:
    """24 tasks, and one more trial of each while inconclusive, up to six."""
    values, ledger = drawn_differences(rng, 24, 6), []

    def look(count: int) -> str:
        pairs = {
            f"t{task:03}/{trial}": SeenPair(str(d), ())
            for (task, trial), d in np.ndenumerate(values[:, :count])
        }
        return looked_at(named(values[:, :count].mean(axis=1)), ledger, pairs=pairs)

    verdicts = map(look, range(1, 7))
    return next((verdict for verdict in verdicts if verdict != "INCONCLUSIVE"), "") == "GO"


def all_runs_after_futility(rng: np.random.Generator) -> bool:
    """48 tasks in four planned looks; all runs at once when the gate stops because a GO is unlikely."""
    values = drawn_differences(rng, 48)[:, 0]
    ledger = []
    for look, share in enumerate(even_fractions(4), 1):
        verdict = looked_at(named(values[: 12 * look]), ledger, fraction=share, looks=4)
        if verdict != "INCONCLUSIVE":
            return verdict == "GO"
        if look == 2:
            return looked_at(named(values), ledger, looks=1) == "GO"
    return False


def looser_gate(rng: np.random.Generator) -> bool:
    """24 tasks, and alpha 0.2 and effect 1 once the result was inconclusive; then 24 more tasks."""
    values = drawn_differences(rng, 48)[:, 0]
    ledger = []
    if (verdict := looked_at(named(values[:24]), ledger)) != "INCONCLUSIVE":
        return verdict == "GO"
    loose = {"alpha": 0.2, "effect": 1}
    return "GO" in (
        looked_at(named(values[:24]), ledger, **loose),
        looked_at(named(values), ledger, **loose),
    )


def futility_and_more_tasks(rng: np.random.Generator) -> bool:
    """48 tasks in four planned looks, which stop after the second because a GO is unlikely; then all of them and 24
    more, and 24 again."""
    values = drawn_differences(rng, 96)[:, 0]
    ledger = []
    for look in (1, 2):
        if (
            verdict := looked_at(named(values[: 12 * look]), ledger, fraction=look / 4, looks=4)
        ) != "INCONCLUSIVE":
            return verdict == "GO"
    verdicts = (looked_at(named(values[:count]), ledger, looks=1) for count in (72, 96))
    return next((verdict for verdict in verdicts if verdict != "INCONCLUSIVE"), "") == "GO"


def servers(count: int) -> Habit:
    """`count` servers without an effect against one baseline: does any get a GO?"""

    def any_go(rng: np.random.Generator) -> bool:
        scores = rng.normal(0, 0.15, (24, count + 1))
        return (
            "GO"
            in all_looked_at(
                {str(k): named(scores[:, k] - scores[:, 0]) for k in range(1, count + 1)}, []
            ).values()
        )

    return any_go


def one_after_another(count: int) -> Habit:
    """`count` servers without an effect, each added when the verdicts on the earlier ones are known."""

    def any_go(rng: np.random.Generator) -> bool:
        scores = rng.normal(0, 0.15, (24, count + 1))
        ledger = []
        differences = {str(k): named(scores[:, k] - scores[:, 0]) for k in range(1, count + 1)}
        return any(
            "GO"
            in all_looked_at(
                {str(k): differences[str(k)] for k in range(1, last + 1)}, ledger
            ).values()
            for last in range(1, count + 1)
        )

    return any_go


def each_other(count: int, gain: float) -> Habit:
    """`count` identical versions of a server with a gain of `gain` over the baseline, also compared with each other: is
    there a false GO? With a gain, a GO over the baseline is not false."""

    def any_go(rng: np.random.Generator) -> bool:
        scores = rng.normal(0, 0.15, (24, count + 1))
        scores[:, 1:] += gain
        sides = [(later, earlier) for later in range(1, count + 1) for earlier in range(later)]
        found = {
            f"v{later} against v{earlier}": named(scores[:, later] - scores[:, earlier])
            for later, earlier in sides
        }
        verdicts = all_looked_at(found, [])
        return any(
            verdict == "GO"
            for name, verdict in verdicts.items()
            if not (gain and name.endswith(" v0"))
        )

    return any_go


def runs_chosen(worst: int, times: int, on_record: bool) -> Habit:
    """24 tasks; while inconclusive, the treatment's runs in its `worst` worst pairs are repeated: discarded by hand
    (`on_record`: a start in between shows them as missing) or deleted."""

    def go(rng: np.random.Generator) -> bool:
        own = rng.normal(0, 0.15, 24)
        ledger = []
        values = own + rng.normal(0, 0.15, 24)
        made = dict.fromkeys(named(values), 0)
        for again in range(times + 1):
            verdict = looked_at(
                named(values), ledger, runs={task: str(number) for task, number in made.items()}
            )
            if verdict != "INCONCLUSIVE" or again == times:
                return verdict == "GO"
            for place in np.argsort(values)[:worst]:
                values[place] = own[place] + rng.normal(0, 0.15)
                made[f"t{place:03}"] += 1
            if on_record:
                there = {
                    task: value for task, value in named(values).items() if made[task] <= again
                }
                looked_at(
                    there, ledger, worst=dict.fromkeys(made, -1.0) | there, fraction=len(there) / 24
                )
        return False

    return go


def unequal_repositories(largest: int, others: int) -> Habit:
    """Eleven repositories, the first with `largest` tasks, and effects that differ by repository. If the effective
    number is below six, a GO is about these repositories only, and the true effect over them is 0 on average."""

    def go(rng: np.random.Generator) -> bool:
        sizes = np.array([largest, *[others] * 10])
        shared = np.repeat(rng.normal(0, 0.15, len(sizes)), sizes)
        if sizes.sum() ** 2 < FEWEST_REPOSITORIES * (sizes**2).sum():
            shared -= shared.mean()
        homes = {
            f"t{task:03}": f"r{home}"
            for task, home in enumerate(np.repeat(np.arange(len(sizes)), sizes))
        }
        return looked_at(named(shared + rng.normal(0, 0.15, len(shared))), [], homes) == "GO"

    return go


def early_discards(rng: np.random.Generator) -> bool:
    """48 tasks in four planned looks; half of the pairs of the first two waves are discarded until the last look."""
    values = drawn_differences(rng, 48)[:, 0]
    ledger = []
    for look in range(1, 5):
        there = [task for task in range(12 * look) if look == 4 or task >= 24 or task % 2]
        differences = {f"t{task:03}": float(values[task]) for task in there}
        verdict = looked_at(differences, ledger, fraction=len(there) / 48, looks=4)
        if verdict != "INCONCLUSIVE":
            return verdict == "GO"
    return False


def kind_judge(points: float, labelled: int, tasks: int = 96) -> Habit:
    """A judge gives the treatment `points` points more than people would; people judge a random sample of `labelled`
    tasks."""

    def go(rng: np.random.Generator) -> bool:
        truth = drawn_differences(rng, tasks)[:, 0]
        judged = np.round((truth + points / 100 + rng.normal(0, 0.08, tasks)) / 0.05) * 0.05
        by_judges, by_people = (
            {
                (name, 1): Fraction(value).limit_denominator(100)
                for name, value in named(each).items()
            }
            for each in (judged, truth)
        )
        found = estimate_of(named(judged))
        sample = dict(list(by_people.items())[:labelled])
        told = corrected_delta(by_judges, sample)
        counting = corrected_by_people(found, told, DEFAULTS["alpha"], DEFAULTS["power"]) or found
        asked = {"with": LookInput(seen(named(judged)), DEFAULTS, 1.0)}
        drawn = draw_all(
            [], asked, lambda _, draw: excludes_zero(counting, norm_sf(draw.boundary), DEFAULTS)
        )["with"]
        look = look_result(counting, 1, 1, DEFAULTS, drawn.boundary)
        return decide(counting, DEFAULTS, look).verdict == "GO"

    return go


def ties(tasks: int, share: float) -> Habit:
    """A share of the differences is 0, the others are half of the score in either direction."""

    def go(rng: np.random.Generator) -> bool:
        moved = rng.random(tasks) >= share
        return looked_at(named(np.where(moved, rng.choice([-0.5, 0.5], tasks), 0.0)), []) == "GO"

    return go


def edited(times: int) -> Habit:
    """24 tasks; while inconclusive, the criteria of the three worst pairs are edited until these are equal."""

    def go(rng: np.random.Generator) -> bool:
        values = drawn_differences(rng, 24)[:, 0]
        ledger = []
        for _ in range(times + 1):
            verdict = looked_at(named(values), ledger)
            if verdict != "INCONCLUSIVE":
                return verdict == "GO"
            values[np.argsort(values)[:3]] = 0.0
        return False

    return go


def many_judges(rng: np.random.Generator) -> bool:
    """Four judges with errors of their own, one after another, until one gives a GO."""
    truth = drawn_differences(rng, 24)[:, 0]
    ledger = []
    verdicts = (
        looked_at(named(np.clip(truth + rng.normal(0, 0.14, 24), -1, 1)), ledger) for _ in range(4)
    )
    return "GO" in verdicts


PEOPLE: dict[str, Habit] = {
    "12 tasks, 12 more while inconclusive, up to five times": more_tasks,
    "24 tasks, one more trial while inconclusive, up to six": more_trials,
    "four looks, all runs after the second": all_runs_after_futility,
    "four looks, and after the second more tasks than planned": futility_and_more_tasks,
    "four looks, half of the early pairs discarded": early_discards,
    "alpha 0.2 and effect 1 after the result, then more tasks": looser_gate,
    "four servers against one baseline": servers(4),
    "eight servers against one baseline": servers(8),
    "four servers, one added after the other": one_after_another(4),
    "two versions alike, against each other": each_other(2, 0.0),
    "two versions alike that both gain 10 points, against each other": each_other(2, 0.1),
    "four versions alike, each against each": each_other(4, 0.0),
    "four versions alike that all gain 10 points, each against each": each_other(4, 0.1),
    "the worst of 24 runs discarded by hand while inconclusive, up to four times": runs_chosen(
        1, 4, on_record=True
    ),
    "the three worst of 24 runs deleted while inconclusive": runs_chosen(3, 1, on_record=False),
    "one of eleven repositories holds 35%, effects differ": unequal_repositories(16, 3),
    "one of eleven repositories holds 45%: about these only": unequal_repositories(16, 2),
    "criteria of the three worst pairs edited once": edited(1),
    "criteria of the three worst pairs edited three times": edited(3),
    "judges changed until one gives a GO, four of them": many_judges,
    **{
        f"{tasks} tasks, {share}% of them alike in both": ties(tasks, share / 100)
        for tasks, share in ((12, 60), (24, 80), (48, 90))
    },
    **{
        f"a judge favours the treatment by {points} points, people judged {labelled} of 96 tasks": kind_judge(
            points, labelled
        )
        for points in (2, 5)
        for labelled in (24, 48)
    },
}
"""The habits for which the gate promises at most WHOLE_ERROR / 2 of false GO."""
UNKNOWABLE: dict[str, Habit] = {
    **{
        f"a judge favours the treatment by {points} points, nobody checked": kind_judge(points, 0)
        for points in (2, 5)
    },
}
"""What the data cannot show, or not with so few tasks."""
