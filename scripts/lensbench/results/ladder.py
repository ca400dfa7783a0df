"""The ladder: what a server does alone, what its words do alone, and what both do together (docs/ladder.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING, NamedTuple

from lensbench.core import numbers
from lensbench.core.conditions import Sides, brings
from lensbench.scores.objections import ReasonKind
from lensbench.scores.quantities import QUANTITIES

if TYPE_CHECKING:
    from lensbench.core.frozen_plan import PlannedCondition
    from lensbench.results.results_file import Estimated
    from lensbench.scores.intervals import Estimate


class LadderStep(NamedTuple):
    """A rung against the one below it, as it is shown; a dash where nothing is known."""

    rung: str
    below: str
    adoption: str
    score: str
    score_change: str
    interval: str
    tokens: str
    tokens_change: str
    time: str
    time_change: str


class Rungs(NamedTuple):
    """The conditions of a ladder above the baseline."""

    server: str
    words: str
    both: str
    only: str = ""
    """Both without the built-in search tools; empty if there is none."""

    def steps(self, baseline: str) -> list[Sides]:
        """Each rung with the one below it."""
        lowest = [Sides(self.server, baseline), Sides(self.words, baseline), Sides(self.both, self.server)]
        above = [Sides(self.only, self.both)] if self.only else []
        return [*lowest, Sides(self.both, self.words), *above]


def ladders(conditions: Mapping[str, PlannedCondition], baseline: str) -> Iterator[Rungs]:
    """The conditions that make a ladder, whoever wrote them: a server alone, files alone, and the same two together."""
    bare = {name: plan for name, plan in conditions.items() if "agent" not in plan and name != baseline}
    for server, words, both in () if brings(conditions[baseline]) else permutations(bare, 3):
        of = [(bare[name]["mcp_sha256"], bare[name].get("files", {})) for name in (server, words, both)]
        if of[0][0] and of[1][1] and of == [(of[0][0], {}), ("", of[1][1]), (of[0][0], of[1][1])]:
            others = (name for name, plan in conditions.items() if {**plan, "agent": {}} == {**bare[both], "agent": {}})
            yield Rungs(server, words, both, next((name for name in others if name != both), ""))


def ladder(data: Estimated[Fraction]) -> tuple[list[LadderStep], list[str]]:
    """The steps of all ladders, and what each ladder shows in a sentence; empty without a ladder."""
    sets = list(ladders(data["conditions"], data["baseline"]))
    steps = [_step(data, step) for rungs in sets for step in rungs.steps(data["baseline"])]
    return steps, [f"{rungs.both}: {_meaning(data, rungs)}" if sets[1:] else _meaning(data, rungs) for rungs in sets]


def _meaning(data: Estimated[Fraction], rungs: Rungs) -> str:
    """What the score says about server and words; a difference counts if its sign-flip test shows it (Holm), and
    nothing, such as tools that nobody called, forbids verdicts on the rung."""

    def shows(rung: str, below: str) -> bool:
        difference, gate = _difference(data, Sides(rung, below)), data["estimates"][rung]["gate"]
        kinds = {reason.kind for reason in gate.reasons if reason.undoes == "INCONCLUSIVE"}
        is_shown = (difference.p_holm or 1.0) <= data["alpha"]
        return is_shown and (difference.delta or 0) > 0 and kinds <= {ReasonKind.OFFLINE}

    by_words, adds = shows(rungs.words, data["baseline"]), shows(rungs.both, rungs.words)
    if by_words:
        more = "and with the server they do more" if adds else "and it is not shown that the server adds anything"
        return f"The words help without the server, {more}."
    if shows(rungs.server, data["baseline"]):
        return "The agent finds the server by itself, without its words."
    if shows(rungs.both, data["baseline"]):
        return f"The server helps {'only with' if adds else 'with'} its words."
    return "No rung is shown to help."


def _name(data: Estimated[Fraction], step: Sides) -> tuple[str, bool]:
    """The name of the comparison of two conditions, and True if it has them the other way round."""
    names = {(entry["treatment"], entry["baseline"]): name for name, entry in data["estimates"].items()}
    return (names[step], False) if step in names else (names[step.baseline, step.treatment], True)


def _difference(data: Estimated[Fraction], step: Sides) -> Estimate:
    """The difference in score; against the baseline with the interval of the gate."""
    name, is_turned = _name(data, step)
    comparison = data["estimates"][name]
    overall = comparison["score"]["overall"] if step.baseline == data["baseline"] else comparison["overall"]
    if not is_turned:
        return overall
    low, high, delta = (None if end is None else -end for end in (overall.high, overall.low, overall.delta))
    return replace(overall, low=low, high=high, delta=delta)


def _means(data: Estimated[Fraction], step: Sides, quantity: str) -> tuple[Fraction | None, Fraction | None]:
    """The averages of a quantity over complete pairs: of the rung, and of the one below it."""
    name, is_turned = _name(data, step)
    measure = data["comparisons"][name]["measures"][quantity]
    means = measure["paired_treatment"], measure["paired_baseline"]
    return means[::-1] if is_turned else means


def _step(data: Estimated[Fraction], step: Sides) -> LadderStep:
    adoption = data["comparisons"][step.treatment]["adoption"]
    share = adoption["called"] if adoption["called"]["of"] else adoption["adopted"]
    calls = f"{share['runs']} of {share['of']}" if data["conditions"][step.treatment]["servers"] else numbers.MISSING
    difference = _difference(data, step)
    score, base = _means(data, step, "score")
    points = numbers.points(None if score is None or base is None else score - base)
    effort = []
    for name in ("tokens_input", "duration_s"):
        mean, below = _means(data, step, name)
        change = mean / below - 1 if mean is not None and below else None
        effort += [QUANTITIES[name].amount(mean), numbers.change(change)]
    return LadderStep(
        *step, calls, numbers.percent(score), points, numbers.interval(difference.low, difference.high), *effort
    )
