"""How often benchmarks with bad judges get a verdict, and what the rules against bad judges cost honest ones.

    python benchmarks/bad_judges.py [--replications 200]

Answers are simulated as in calibration.py, with 48 tasks and one trial. A simulated judge gives right and wrong
verdicts, which are processed by the code of real runs: decide (panel), score_run, judge_bias, believe, doubted, decide.
"Before" is the gate without belief, "by share" with a limit of the share of verdicts by untrusted judges alone.
"""

from __future__ import annotations

import argparse
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from habits import DEFAULTS
from worlds import (
    BY_EFFECT,
    KNOWN,
    World,
    criteria_of,
    repository_of,
    shift_for,
    verdict_counts,
)

from lensbench.core.distributions import norm_isf
from lensbench.core.frozen_plan import MECHANICAL
from lensbench.core.numbers import decimal, nearest_5_percent
from lensbench.core.records import RunId
from lensbench.core.tables import row_of_run, run_of_row
from lensbench.judging.decisions import decide as decide_criterion
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.trust.agreement import Verdicts, agreement
from lensbench.judging.trust.belief import believe
from lensbench.judging.trust.bias import judge_bias, persons_verdicts
from lensbench.judging.trust.blinding_check import BlindedAnswer, guess_conditions
from lensbench.scores import intervals
from lensbench.scores.differences import Comparison, overall
from lensbench.scores.gate import decide, look_result
from lensbench.scores.readings import readings
from lensbench.scores.rules import Reason, ReasonKind
from lensbench.scores.run_tables import Tables
from lensbench.scores.scores import score_run

TASKS = 48
BASELINE, TREATMENT = "without", "with"
Key = tuple[RunId, int]
Truth = Mapping[Key, Verdict]
Reads = Callable[[Key, Verdict, random.Random], Verdict]
"""The verdict of a judge on a criterion with this true verdict."""


def wrong_in(share: float, verdict: Verdict | None = None) -> Reads:
    """A judge that errs in a share of the cases, equally in both conditions; always with `verdict` if it is given."""

    def read(key: Key, true: Verdict, rng: random.Random) -> Verdict:
        return true if rng.random() >= share else verdict or rng.choice([*POINTS])

    return read


def favours(share: float) -> Reads:
    """A judge that gives Met to a share of the criteria that the treatment's answers do not state."""

    def read(key: Key, true: Verdict, rng: random.Random) -> Verdict:
        return Verdict.MET if key[0].condition == TREATMENT and rng.random() < share else true

    return read


def misses(share: float) -> Reads:
    """A judge that does not see a share of what the baseline's answers state."""

    def read(key: Key, true: Verdict, rng: random.Random) -> Verdict:
        return Verdict.MISSED if key[0].condition == BASELINE and rng.random() < share else true

    return read


def alike(reads: Reads) -> Reads:
    """A judge that errs where others of its kind err."""
    return lambda key, true, _: reads(key, true, random.Random(f"{key} {true}"))


class Panel(NamedTuple):
    """The judges."""

    judges: Mapping[str, Reads]
    labelled: float = 0
    """The share of the tasks in which people judge every criterion, without errors."""


HONEST, LENIENT, FAVOURING = wrong_in(0.05), wrong_in(0.82, Verdict.MET), favours(0.33)
HARSH = wrong_in(0.5, Verdict.MISSED)
PANELS = {
    "accepted patterns, 3% wrong": Panel({MECHANICAL: wrong_in(0.03)}),
    "lenient model": Panel({"model": LENIENT}),
    "lenient model, 65% labelled": Panel({"model": LENIENT}, 0.65),
    "lenient model beside patterns": Panel({MECHANICAL: wrong_in(0.03), "model": LENIENT}),
    "favouring model": Panel({"model": FAVOURING}),
    "favouring model, 65% labelled": Panel({"model": FAVOURING}, 0.65),
    "favouring model beside patterns": Panel({MECHANICAL: wrong_in(0.03), "model": FAVOURING}),
    "harsh model": Panel({"model": HARSH}),
    "harsh model beside patterns": Panel({MECHANICAL: wrong_in(0.03), "model": HARSH}),
    **{
        f"model that misses {share:.0%} of the baseline's beside patterns": Panel(
            {MECHANICAL: wrong_in(0), "model": misses(share)}
        )
        for share in (0.05, 0.1, 0.15, 0.2)
    },
    "three models that miss the same 10%": Panel(
        {f"model-{n}": alike(misses(0.1)) for n in range(3)}
    ),
    "two models that miss the same 10% beside patterns": Panel(
        {MECHANICAL: wrong_in(0), **{f"model-{n}": alike(misses(0.1)) for n in range(2)}}
    ),
    "honest model, 5% wrong": Panel({"model": HONEST}),
    "honest model, 65% labelled": Panel({"model": HONEST}, 0.65),
    "honest model beside patterns": Panel({MECHANICAL: wrong_in(0.03), "model": HONEST}),
}


def truths(points: float, replications: int, seed: int, known: float = KNOWN) -> Iterator[Truth]:
    """The true verdicts of the answers, for each benchmark; the treatment gains `points`, a share of 1."""
    world = World(shift_for(points, BY_EFFECT, known), BY_EFFECT, TASKS, known=known)
    met, partial = verdict_counts(world, replications, np.random.default_rng(seed))
    for benchmark in range(replications):
        found: dict[Key, Verdict] = {}
        for task in range(TASKS):
            for side, condition in enumerate((BASELINE, TREATMENT)):
                counts = int(met[benchmark, task, side, 0]), int(partial[benchmark, task, side, 0])
                stated = [Verdict.MET] * counts[0] + [Verdict.PARTIAL] * counts[1]
                stated += [Verdict.MISSED] * (int(criteria_of(task)) - len(stated))
                found |= {
                    (RunId(f"t{task:03}", condition), n): each for n, each in enumerate(stated, 1)
                }
        yield found


def verdict_rows(panel: Panel, truth: Truth, rng: random.Random) -> Iterator[dict[str, Any]]:
    """The rows of verdicts.csv; people come after the judges."""
    labelled = {f"t{task:03}" for task in range(TASKS) if task < panel.labelled * TASKS}
    for key, true in truth.items():
        given = {name: read(key, true, rng) for name, read in panel.judges.items()}
        given |= {"human-anna": true} if key[0].task in labelled else {}
        for judge, verdict in given.items():
            row = {
                **row_of_run(key[0]),
                "criterion": str(key[1]),
                "judge": judge,
                "verdict": verdict.value,
            }
            yield row | {"failure": "", "version": "1"}


def measured(panel: Panel, truth: Truth, seed: int) -> tuple[float, str, str, str]:
    """The delta in points by the judges, and the gate's verdict without belief, with its reasons, and with its doubts
    too."""
    rows = list(verdict_rows(panel, truth, random.Random(seed)))
    votes: dict[Key, dict[str, dict[str, Any]]] = {key: {} for key in truth}
    for row in rows:
        votes[run_of_row(row), int(row["criterion"])][row["judge"]] = row
    found = {
        (run, number): decide_criterion(run, number, given)
        for (run, number), given in votes.items()
    }
    decided = {key: Verdict(each["verdict"]) for key, each in found.items()}
    comparison = _comparison(decided)
    estimate = overall(comparison)
    look = look_result(estimate, 1, 1, DEFAULTS, norm_isf(DEFAULTS["alpha"] / 2))
    verdicts: Verdicts = {
        key: {name: Verdict(row["verdict"]) for name, row in each.items()}
        for key, each in votes.items()
    }
    everybody = agreement(verdicts, [BASELINE, TREATMENT], seed)["all"]
    points = {key: POINTS[verdict] for key, verdict in decided.items()}
    belief = believe(verdicts, (), decided, points, everybody, [TREATMENT], {}, seed)
    together = {key: Verdict(each["judges_verdict"]) for key, each in found.items()}
    bias = judge_bias(
        "the judges' decision",
        together,
        persons_verdicts(verdicts),
        {TREATMENT: (TREATMENT, BASELINE)},
        {side: f"of {side}" for side in (TREATMENT, BASELINE)},
    )
    signed = bias[TREATMENT].signed
    is_biased = signed.low is not None and not signed.low <= 0 <= signed.high
    blockers = [Reason(ReasonKind.BIASED_JUDGES)] if is_biased else []
    withheld = [
        *blockers,
        *(Reason(ReasonKind.UNTRUSTED_JUDGES, text) for text in belief.withheld[TREATMENT]),
    ]
    before = decide(estimate, DEFAULTS, look, blockers)
    by_share = decide(estimate, DEFAULTS, look, withheld)
    doubted = [*readings(comparison, (), belief.doubts, {}, [])]
    after = decide(estimate, DEFAULTS, look, withheld, doubted)
    return 100 * (estimate.delta or 0), before.verdict, by_share.verdict, after.verdict


def _comparison(decided: Mapping[Key, Verdict]) -> Comparison:
    """The comparison of the scores that follow from the decisions."""
    points: dict[RunId, list[dict[str, Any]]] = {}
    for (run, _), verdict in decided.items():
        points.setdefault(run, []).append({"points": decimal(POINTS[verdict])})
    scores: Any = {
        run: score_run({**row_of_run(run), "status": "valid"}, given, len(given), None)
        for run, given in points.items()
    }
    tasks = {
        name: {"repository": where} for name, where in repository_of(World(tasks=TASKS)).items()
    }
    plan: Any = {
        "order": [*tasks],
        "tasks": tasks,
        "trials": 1,
        "baseline": BASELINE,
        "gate": DEFAULTS,
        "seed": 1,
        "agent": {"kind": "claude-code"},
    }
    return Comparison(Tables(plan, (), scores, {}, (), (), {}), TREATMENT, BASELINE)


LEAKS: Mapping[str, Callable[[list[str], random.Random], list[str]]] = {
    "nothing": lambda words, _: [],
    "a word": lambda words, _: ["graphical"],
    "40% longer": lambda words, rng: rng.choices(words, k=len(words) * 2 // 5),
}
"""What the treatment's answers have in addition, for tests of the blinding check."""
VOCABULARY = [f"word{n}" for n in range(2000)]
ODDS = [*accumulate(1 / (n + 3) for n in range(2000))]
HARD = 0.1
"""The mean knowledge of answers (World.known) that leaves room for +29 points."""


def answers(truth: Truth, leak: str, seed: int) -> Iterator[BlindedAnswer]:
    """Answers of 30 words and 40 for each point, 60% of them from the task's own words."""
    points: dict[RunId, list[Fraction]] = {}
    for (run, _), verdict in truth.items():
        points.setdefault(run, []).append(POINTS[verdict])
    for run, given in points.items():
        rng = random.Random(f"{seed} {run}")
        about = random.Random(f"{seed} {run.task}").choices(VOCABULARY, cum_weights=ODDS, k=150)
        size = 30 + int(40 * sum(given)) + rng.randint(-5, 5)
        words = rng.choices(about, k=size * 3 // 5) + rng.choices(
            VOCABULARY, cum_weights=ODDS, k=size * 2 // 5
        )
        text = " ".join([*words, *(LEAKS[leak](words, rng) if run.condition == TREATMENT else [])])
        score = nearest_5_percent(sum(given, Fraction(0)) / len(given))
        yield BlindedAnswer(run.task, run.condition, text, text, score)


def blinding_fails(leak: str, true: float, replications: int) -> int:
    """The number of benchmarks in which the blinding check fails."""
    sets = (answers(truth, leak, n) for n, truth in enumerate(truths(true, replications, 1, HARD)))
    return sum(guess_conditions(answers, BASELINE, 1)[TREATMENT].holds is False for answers in sets)


def main() -> None:
    """Prints a row for every panel and true delta."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--replications", type=int, default=200, help="benchmarks per row")
    replications = parser.parse_args().replications
    intervals.SIGN_FLIPS = 999  # enough for the mid-p beside .05
    print(
        "| judges | truth | seen | GO, NO-GO, HARM before | by share | after |\n|---|--:|--:|---|---|---|"
    )
    for name, panel in PANELS.items():
        for true in (0.13, 0.0):
            outcomes = [
                measured(panel, truth, n) for n, truth in enumerate(truths(true, replications, 1))
            ]
            seen = sum(each[0] for each in outcomes) / replications
            counts = [Counter(each[index] for each in outcomes) for index in (1, 2, 3)]
            shares = (
                ", ".join(f"{each[word] / replications:.1%}" for word in ("GO", "NO-GO", "HARM"))
                for each in counts
            )
            print(
                f"| {name} | {100 * true:+.0f} | {seen:+.1f} | {' | '.join(shares)} |", flush=True
            )


if __name__ == "__main__":
    main()
