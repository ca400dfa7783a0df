"""The ladder: what a server does alone, what its words do alone, and what both do together (docs/ladder.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from lensbench.core import numbers
from lensbench.core.conditions import Sides, brings
from lensbench.results.presented import shown_difference
from lensbench.scores.adoption import says_step, turned
from lensbench.scores.quantities import QUANTITIES
from lensbench.scores.rules import ReasonKind

if TYPE_CHECKING:
    from lensbench.core.frozen_plan import PlannedCondition
    from lensbench.results.results_file import BenchmarkFacts


class Rungs(NamedTuple):
    """The conditions of a ladder above the baseline."""

    server: str
    words: str
    both: str
    only: str = ""
    """Both without the built-in search tools; empty if there is none."""

    def steps(self, baseline: str) -> list[Sides]:
        lowest = [
            Sides(self.server, baseline),
            Sides(self.words, baseline),
            Sides(self.both, self.server),
        ]
        above = [Sides(self.only, self.both)] if self.only else []
        return [*lowest, Sides(self.both, self.words), *above]


def ladders(conditions: Mapping[str, PlannedCondition], baseline: str) -> Iterator[Rungs]:
    """The conditions that make a ladder, whoever wrote them: a server alone, files alone, and the same two together."""
    bare = {
        name: plan
        for name, plan in conditions.items()
        if not {"agent", "tools"} & plan.keys() and name != baseline
    }
    for server, words, both in () if brings(conditions[baseline]) else permutations(bare, 3):
        of = [
            (bare[name]["mcp_sha256"], bare[name].get("files", {}))
            for name in (server, words, both)
        ]
        if of[0][0] and of[1][1] and of == [(of[0][0], {}), ("", of[1][1]), (of[0][0], of[1][1])]:
            others = (
                name
                for name, plan in conditions.items()
                if {**plan, "agent": {}} == {**bare[both], "agent": {}}
            )
            yield Rungs(server, words, both, next((name for name in others if name != both), ""))


def ladder(data: BenchmarkFacts[Fraction]) -> tuple[list[dict[str, str]], list[str]]:
    """The steps of all ladders, and what each ladder shows in a sentence; empty without a ladder."""
    sets = list(ladders(data["conditions"], data["baseline"]))
    steps = [
        _step(data, _sides(data, step)) for rungs in sets for step in rungs.steps(data["baseline"])
    ]
    sentences = []
    for rungs in sets:
        text = f"{_meaning(data, rungs)}{_adoption_by_words(data, rungs)}"
        sentences.append(f"{rungs.both}: {text}" if len(sets) > 1 else text)
    return steps, sentences


def _meaning(data: BenchmarkFacts[Fraction], rungs: Rungs) -> str:
    """What the score says of server and words; a difference counts if a sign-flip test shows it (Holm)."""

    def shows(rung: str, below: str) -> bool:
        sides, gate = _sides(data, Sides(rung, below)), data["estimates"][rung]["gate"]
        difference = data["estimates"][_name(data, sides)]["overall"]
        kinds = {reason.kind for reason in gate.reasons if reason.undoes == "INCONCLUSIVE"}
        is_shown = (difference.p_holm or 1.0) <= data["alpha"] and kinds <= {ReasonKind.OFFLINE}
        return is_shown and ((difference.delta or 0) > 0) == (sides.treatment == rung)

    by_words, adds = shows(rungs.words, data["baseline"]), shows(rungs.both, rungs.words)
    if by_words:
        more = (
            "and with the server they do more"
            if adds
            else "and it is not shown that the server adds anything"
        )
        return f"The words help without the server, {more}."
    if shows(rungs.server, data["baseline"]):
        return "The agent finds the server by itself, without its words."
    if shows(rungs.both, data["baseline"]):
        return f"The server helps {'only with' if adds else 'with'} its words."
    return "No condition is shown to help."


def _adoption_by_words(data: BenchmarkFacts[Fraction], rungs: Rungs) -> str:
    """What the words do to the use of the server's tools; "" where it is not known."""
    sides = _sides(data, Sides(rungs.both, rungs.server))
    found = data["estimates"][_name(data, sides)]["adoption"]["difference"]
    if found is None:
        return ""
    if sides.treatment == rungs.server:
        found = turned(found)
    return f" {says_step(found, 'The words')}."


def _sides(data: BenchmarkFacts[Fraction], step: Sides) -> Sides:
    """The step as it is compared: `gate.comparisons` may have the lower rung first."""
    turned = Sides(step.baseline, step.treatment)
    return turned if _name(data, turned) in data["estimates"] else step


def _name(data: BenchmarkFacts[Fraction], sides: Sides) -> str:
    return (
        sides.treatment
        if sides.baseline == data["baseline"]
        else f"{sides.treatment} against {sides.baseline}"
    )


def _step(data: BenchmarkFacts[Fraction], step: Sides) -> dict[str, str]:
    """A row of the table; a dash for unknown."""
    adoption = data["estimates"][step.treatment]["adoption"]["treatment"]
    calls = f"{adoption.runs} of {adoption.of}" if adoption else numbers.MISSING
    comparison, measures = (
        data["estimates"][_name(data, step)],
        data["comparisons"][_name(data, step)]["measures"],
    )
    difference = shown_difference(comparison)
    row = {
        "rung": data["names"][step.treatment],
        "below": data["names"][step.baseline],
        "adoption": calls,
        "score": numbers.percent(measures["score"]["paired_treatment"]),
        "score_change": numbers.points(difference.delta),
        "interval": numbers.interval(difference.low, difference.high),
    }
    for label, name in (("tokens", "tokens_input"), ("time", "duration_s")):
        change = numbers.change(comparison["measures"][name]["overall"].delta)
        row |= {
            label: QUANTITIES[name].amount(measures[name]["paired_treatment"]),
            f"{label}_change": change,
        }
    return row
