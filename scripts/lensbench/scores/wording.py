"""Words that work: which of several descriptions of a server is used more (docs/words.md). It is chosen on one part of
the tasks, and confirmed on the other.

The best of several is best by luck, too: so what the choice saw says nothing of how good it is. The other tasks test
one candidate only, the chosen one, so that its interval holds whatever the number of candidates was.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from typing_extensions import TypedDict

from lensbench.core.numbers import interval, points
from lensbench.scores.adoption import CHANCE, Uses, adoption_difference, says_difference
from lensbench.scores.differences import Comparison
from lensbench.scores.intervals import LARGEST, interval_of
from lensbench.scores.rules import excludes_zero


class Shift(NamedTuple):
    """What a candidate changes on some tasks, as shares of 1."""

    delta: float
    low: float | None
    """Its 95% interval."""
    high: float | None
    is_shown: bool
    """The interval is above 0, and nothing speaks against it."""
    is_full: bool = False
    """The baseline's tools were called in all runs: no words can raise that."""
    sentence: str = ""
    """The change in words."""


Measured = Callable[[Collection[str]], Shift | None]
"""The change on these tasks; None when nothing is known there."""


class ChosenWords(NamedTuple):
    """The candidate that changes most on the tasks of the choice, and what it changes on the others."""

    name: str
    """Empty when none is better on the tasks of the choice."""
    first: Shift | None
    then: Shift | None

    @property
    def is_better(self) -> bool:
        return self.then is not None and self.then.is_shown


class WordsChoice(TypedDict):
    """The answer to which words to take."""

    outcome: str
    """`adoption`, or `score` where adoption is not known or cannot rise."""
    candidates: list[str]
    """The conditions with other words."""
    chosen: str
    """The best one on the tasks of the choice; empty when none is better there than what is in use."""
    is_better: bool
    """Whether the other tasks confirm it."""
    tasks: int
    """On which the choice is made."""
    confirming: int
    """The other tasks."""
    sentences: list[str]
    """The answer, with its intervals."""


def choose(
    candidates: Mapping[str, Measured], choosing: Collection[str], confirming: Collection[str]
) -> ChosenWords:
    """Chooses on some tasks, and measures the chosen one on the others."""
    best = ChosenWords("", None, None)
    for name, measured in candidates.items():
        shift = measured(choosing)
        if shift and shift.delta > (best.first.delta if best.first else 0.0):
            best = ChosenWords(name, shift, None)
    if not best.name:
        return best
    return best._replace(then=candidates[best.name](confirming))


def by_adoption(comparison: Comparison, uses: Uses) -> Measured:
    """How a candidate changes the share of runs that call the server's tools."""

    def measured(tasks: Collection[str]) -> Shift | None:
        found = adoption_difference(comparison, uses, tasks)
        if found is None:
            return None
        sentence = says_difference(found, *comparison.names)
        is_shown = found.low is not None and found.low > 0
        is_full = found.baseline == found.of_baseline
        return Shift(found.delta, found.low, found.high, is_shown, is_full, sentence)

    return measured


def by_score(comparison: Comparison) -> Measured:
    """How a candidate changes the score."""

    def measured(tasks: Collection[str]) -> Shift | None:
        values = comparison.deltas(comparison.tables.score)
        found = comparison.over(values, tasks, LARGEST)
        if found.delta is None:
            return None
        low, high = interval_of(found, CHANCE, LARGEST) or (None, None)
        is_shown = found.delta > 0 and excludes_zero(found, CHANCE, comparison.plan["gate"])
        ends = interval(low, high)
        sentence = f"The score changes by {points(found.delta)} (95% interval {ends})."
        return Shift(found.delta, low, high, is_shown, sentence=sentence)

    return measured


def choice_of_words(
    candidates: Mapping[str, Comparison], uses: Uses, confirming: Collection[str]
) -> WordsChoice | None:
    """The answer of a benchmark with a holdout; None without a candidate."""
    if not candidates:
        return None
    a_comparison = next(iter(candidates.values()))
    order = a_comparison.plan["order"]
    choosing = [task for task in order if task not in confirming]
    measured = {name: by_adoption(one, uses) for name, one in candidates.items()}
    shifts = [of_candidate(choosing) for of_candidate in measured.values()]
    outcome = "adoption"
    if None in shifts or all(shift and shift.is_full for shift in shifts):
        outcome = "score"
        measured = {name: by_score(one) for name, one in candidates.items()}
    choice = choose(measured, choosing, confirming)
    sentences = [*_sentences(choice, candidates, a_comparison.names.baseline)]
    if outcome == "adoption" and choice.name:
        score = by_score(candidates[choice.name])(confirming)
        if score:
            sentences.append(score.sentence)
    return {
        "outcome": outcome,
        "candidates": [*candidates],
        "chosen": choice.name,
        "is_better": choice.is_better,
        "tasks": len(choosing),
        "confirming": len(confirming),
        "sentences": sentences,
    }


def _sentences(
    choice: ChosenWords, candidates: Mapping[str, Comparison], in_use: str
) -> Collection[str]:
    if not choice.name or choice.first is None:
        return [f"Words: none beats what you have ({in_use}) on the tasks of the choice."]
    name = candidates[choice.name].names.treatment
    if choice.then is None:
        return [
            f"Words: {name} is best on the tasks of the choice; nothing is known on the others."
        ]
    lead = f"Words: none is shown to beat what you have ({in_use})."
    if choice.is_better:
        lead = f"Words: take {name}."
    return [
        f"{lead} Of {len(candidates)}, {name} was best where the choice was made, and on the other tasks:",
        choice.then.sentence,
    ]
