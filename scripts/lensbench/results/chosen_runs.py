"""Runs that a person discarded: each with its reason, and the delta as it would be if they counted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import treatments
from lensbench.core.errors import some_of
from lensbench.core.numbers import exact, points
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import entries, foreign_files, rounds
from lensbench.plan.frozen import read_plan
from lensbench.results.results_file import ByHand
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.validity import planned_runs
from lensbench.scores.differences import Comparison
from lensbench.scores.measures import measure
from lensbench.scores.run_tables import Tables


class ChosenRun(NamedTuple):
    """A run that was discarded by hand, the first time that it was."""

    run: RunId
    why: str
    score: Fraction | None
    """When it was discarded; None when it had none."""
    counts_again: bool
    """True when it was made again since, and counts."""


def chosen_runs(folder: Path, tables: Tables) -> list[ChosenRun]:
    """The runs that were discarded by hand, in the order of the plan. Of several discards of a run the first stands
    here: it is what would count if nobody had chosen."""
    valid = {record.run for record in tables.valid}
    found = []
    for run in planned_runs(tables.plan):
        by_hand = [discard for _, discard in rounds(entries(folder, run)) if discard.reason == DiscardReason.BY_HAND]
        if by_hand:
            found.append(ChosenRun(run, by_hand[0].detail, exact(by_hand[0].score), run in valid))
    return found


def delta_with(tables: Tables, treatment: str, chosen: Sequence[ChosenRun]) -> tuple[Fraction, Fraction] | None:
    """The delta of the score with these runs counted: its least and its largest value, which differ where a run had
    no score. None without any pair."""
    scores = {each.run: each.score for each in chosen}

    def ends(of_treatment: int, of_baseline: int) -> Fraction | None:
        def score(run: RunId) -> Fraction | None:
            if run not in scores:
                return tables.score(run)
            known = scores[run]
            return known if known is not None else Fraction(of_treatment if run.condition == treatment else of_baseline)

        return measure(Comparison(tables, treatment, tables.plan["baseline"]), score)["delta"]

    low, high = ends(0, 1), ends(1, 0)
    return None if low is None or high is None else (low, high)


def as_data(folder: Path, tables: Tables) -> ByHand[Fraction]:
    """What results say: the runs, and the delta of each treatment with and without them."""
    chosen = chosen_runs(folder, tables)
    return {
        "runs": [
            {
                "task": each.run.task,
                "condition": each.run.condition,
                "trial": each.run.trial,
                "why": each.why,
                "score": each.score,
                "counts_again": each.counts_again,
            }
            for each in chosen
        ],
        "sentences": list(_sentences(tables, chosen)) if chosen else [],
    }


def _sentences(tables: Tables, chosen: Sequence[ChosenRun]) -> Iterator[str]:
    for treatment in treatments(tables.plan):
        sides = {
            name: sum(each.run.condition == name for each in chosen) for name in (treatment, tables.plan["baseline"])
        }
        if not any(sides.values()):
            continue
        now = measure(Comparison(tables, treatment, tables.plan["baseline"]), tables.score)["delta"]
        ends = delta_with(tables, treatment, chosen)
        shown = "unknown" if ends is None else " to ".join(dict.fromkeys(points(end) for end in ends))
        counted = ", ".join(f"{name} {count}" for name, count in sides.items())
        change = f"stays {shown}" if shown == points(now) else f"is {shown}, not {points(now)}"
        told = f"With these runs counted the delta of {treatment} {change}."
        yield f"Discarded by hand: {counted}. {told}"


def warnings(folder: Path) -> list[str]:
    """A sentence for what lies in the store and is no attempt of this benchmark."""
    names = foreign_files(folder, planned_runs(read_plan(folder)))
    if not names:
        return []
    found = f"{RunFolder.attempts}/ holds {some_of(names, 3)}, which lensbench did not write: ignored."
    return [f"{found} To discard a run: lensbench discard <run> --reason ..."]
