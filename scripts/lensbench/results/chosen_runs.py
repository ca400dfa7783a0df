"""Runs that a person discarded: each with its reason, and the delta as it would be if they counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import partial
from pathlib import Path

from lensbench.core.conditions import treatments
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

ChosenRuns = Mapping[RunId, ChosenRun[Fraction]]


def chosen_runs(folder: Path, tables: Tables) -> ChosenRuns:
    """The runs that were discarded by hand, in the order of the plan. Of several discards of a run the first stands
    here: it is what would count if nobody had chosen."""
    valid = {record.run for record in tables.valid}
    runs: dict[RunId, ChosenRun[Fraction]] = {}
    for run in planned_runs(tables.plan):
        for _, discard in rounds(entries(folder, run)):
            if discard.reason == DiscardReason.BY_HAND and run not in runs:
                runs[run] = {
                    "task": run.task,
                    "condition": run.condition,
                    "trial": run.trial,
                    "why": discard.detail,
                    "score": exact(discard.score),
                    "counts_again": run in valid,
                }
    return runs


def delta_with(comparison: Comparison, runs: ChosenRuns) -> list[Fraction]:
    """The least and the largest delta of the score with these runs counted; empty without any pair."""
    ends = (measure(comparison, partial(_score, comparison, runs, end)) for end in (0, 1))
    return [end["delta"] for end in ends if end["delta"] is not None]


def _score(
    comparison: Comparison, runs: ChosenRuns, of_treatment: int, run: RunId
) -> Fraction | None:
    """The score of a run; one that nobody knows is `of_treatment`, or the opposite for the baseline."""
    if run not in runs:
        return comparison.tables.score(run)
    value = runs[run]["score"]
    if value is not None:
        return value
    return Fraction(of_treatment if run.condition == comparison.treatment else 1 - of_treatment)


def as_data(folder: Path, tables: Tables) -> ByHand[Fraction]:
    """What results say: the runs, and the delta of each treatment with and without them."""
    runs = chosen_runs(folder, tables)
    return {"runs": [*runs.values()], "sentences": [*_sentences(tables, runs)]}


def _sentences(tables: Tables, runs: ChosenRuns) -> Iterator[str]:
    counts = Counter(run.condition for run in runs)
    for treatment in treatments(tables.plan):
        comparison = Comparison(tables, treatment, tables.plan["baseline"])
        if counts.keys().isdisjoint(comparison.conditions):
            continue
        now = points(measure(comparison, tables.score)["delta"])
        ends = dict.fromkeys(map(points, delta_with(comparison, runs)))
        figure = " to ".join(ends) or "unknown"
        change = f"stays {figure}" if figure == now else f"is {figure}, not {now}"
        named = (f"{comparison.name(name)} {counts[name]}" for name in comparison.conditions)
        text = f"With these runs counted the delta of {comparison.name(treatment)} {change}."
        yield f"Discarded by hand: {', '.join(named)}. {text}"


def warnings(folder: Path) -> list[str]:
    """A sentence for what lies in the store and is no attempt of this benchmark."""
    names = foreign_files(folder, planned_runs(read_plan(folder)))
    if not names:
        return []
    sentence = (
        f"{RunFolder.attempts}/ holds {some_of(names, 3)}, which lensbench did not write: ignored."
    )
    return [f"{sentence} To discard a run: lensbench discard <run> --reason ..."]
