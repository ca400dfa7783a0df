"""Runs that a person discarded: each with its reason, and the delta as it would be if they counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

from lensbench.core.conditions import display_name, treatments
from lensbench.core.errors import some_of
from lensbench.core.numbers import exact, points
from lensbench.core.records import RunId
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import entries, foreign_files, rounds
from lensbench.plan.frozen import read_plan
from lensbench.results.results_file import ByHand, ChosenRun
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.validity import planned_runs
from lensbench.scores.differences import Comparison
from lensbench.scores.measures import measure
from lensbench.scores.run_tables import Tables


def chosen_runs(folder: Path, tables: Tables) -> dict[RunId, ChosenRun[Fraction]]:
    """The runs that were discarded by hand, in the order of the plan. Of several discards of a run the first stands
    here: it is what would count if nobody had chosen."""
    valid, runs = {record.run for record in tables.valid}, dict[RunId, ChosenRun[Fraction]]()
    for run in planned_runs(tables.plan):
        by_hand = [
            discard
            for _, discard in rounds(entries(folder, run))
            if discard.reason == DiscardReason.BY_HAND
        ]
        if by_hand:
            runs[run] = {
                "task": run.task,
                "condition": run.condition,
                "trial": run.trial,
                "why": by_hand[0].detail,
                "score": exact(by_hand[0].score),
                "counts_again": run in valid,
            }
    return runs


def delta_with(
    tables: Tables, treatment: str, runs: Mapping[RunId, ChosenRun[Fraction]]
) -> tuple[Fraction, Fraction] | None:
    """The least and the largest delta of the score with these runs counted; None without any pair."""

    def ends(of_treatment: int, of_baseline: int) -> Fraction | None:
        def score(run: RunId) -> Fraction | None:
            if run not in runs:
                return tables.score(run)
            value = runs[run]["score"]
            return (
                value
                if value is not None
                else Fraction(of_treatment if run.condition == treatment else of_baseline)
            )

        return measure(Comparison(tables, treatment, tables.plan["baseline"]), score)["delta"]

    low, high = ends(0, 1), ends(1, 0)
    return None if low is None or high is None else (low, high)


def as_data(folder: Path, tables: Tables) -> ByHand[Fraction]:
    """What results say: the runs, and the delta of each treatment with and without them."""
    runs = chosen_runs(folder, tables)
    return {"runs": [*runs.values()], "sentences": [*_sentences(tables, runs)]}


def _sentences(tables: Tables, runs: Mapping[RunId, ChosenRun[Fraction]]) -> Iterator[str]:
    for treatment in treatments(tables.plan):
        sides = {
            name: sum(run.condition == name for run in runs)
            for name in (treatment, tables.plan["baseline"])
        }
        if not any(sides.values()):
            continue
        now = measure(Comparison(tables, treatment, tables.plan["baseline"]), tables.score)["delta"]
        ends = delta_with(tables, treatment, runs)
        figure = (
            "unknown" if ends is None else " to ".join(dict.fromkeys(points(end) for end in ends))
        )
        conditions, baseline = tables.plan["conditions"], tables.plan["baseline"]
        names = {name: display_name(conditions, baseline, name) for name in sides}
        counts = ", ".join(f"{names[name]} {count}" for name, count in sides.items())
        change = f"stays {figure}" if figure == points(now) else f"is {figure}, not {points(now)}"
        text = f"With these runs counted the delta of {names[treatment]} {change}."
        yield f"Discarded by hand: {counts}. {text}"


def warnings(folder: Path) -> list[str]:
    """A sentence for what lies in the store and is no attempt of this benchmark."""
    names = foreign_files(folder, planned_runs(read_plan(folder)))
    if not names:
        return []
    sentence = (
        f"{RunFolder.attempts}/ holds {some_of(names, 3)}, which lensbench did not write: ignored."
    )
    return [f"{sentence} To discard a run: lensbench discard <run> --reason ..."]
