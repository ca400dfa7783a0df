"""The ladder: what a server does alone, what its words do alone, and what both do together (docs/ladder.md)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
    from lensbench.results.results_file import ExactFacts


class Ladder(NamedTuple):
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


def ladders(conditions: Mapping[str, PlannedCondition], baseline: str) -> Iterator[Ladder]:
    """The conditions that make a ladder, whoever wrote them."""
    if brings(conditions[baseline]):
        return
    bare = [
        name
        for name, plan in conditions.items()
        if name != baseline and {"agent", "tools"}.isdisjoint(plan)
    ]
    for names in permutations(bare, 3):
        if is_ladder(*(conditions[name] for name in names)):
            server, words, both = names
            yield Ladder(server, words, both, _without_search(conditions, both))


def is_ladder(server: PlannedCondition, words: PlannedCondition, both: PlannedCondition) -> bool:
    """True for a server alone, files alone, and the same two together."""
    address = server["mcp_sha256"]
    files = words.get("files", {})
    if not address or not files or server.get("files") or words["mcp_sha256"]:
        return False
    return both["mcp_sha256"] == address and both.get("files") == files


def _without_search(conditions: Mapping[str, PlannedCondition], both: str) -> str:
    """The condition that has what `both` has, with settings of the agent beside; "" where there is none."""
    for name, plan in conditions.items():
        if name != both and {**plan, "agent": {}} == {**conditions[both], "agent": {}}:
            return name
    return ""


def ladder(data: ExactFacts) -> tuple[list[dict[str, str]], list[str]]:
    """The steps of all ladders, and what each ladder shows in a sentence; empty without a ladder."""
    found = list(ladders(data["conditions"], data["baseline"]))
    steps = []
    sentences = []
    for conditions in found:
        for step in conditions.steps(data["baseline"]):
            steps.append(_step(data, _sides(data, step)))
        text = f"{_meaning(data, conditions)}{_adoption_by_words(data, conditions)}"
        if len(found) > 1:
            text = f"{conditions.both}: {text}"
        sentences.append(text)
    return steps, sentences


def _meaning(data: ExactFacts, conditions: Ladder) -> str:
    """What the score says of server and words."""
    baseline = data["baseline"]
    adds = _is_shown(data, Sides(conditions.both, conditions.words))
    if _is_shown(data, Sides(conditions.words, baseline)):
        more = "it is not shown that the server adds anything"
        if adds:
            more = "with the server they do more"
        return f"The words help without the server, and {more}."
    if _is_shown(data, Sides(conditions.server, baseline)):
        return "The agent finds the server by itself, without its words."
    if not _is_shown(data, Sides(conditions.both, baseline)):
        return "No condition is shown to help."
    if adds:
        return "The server helps only with its words."
    return "The server helps with its words."


def _is_shown(data: ExactFacts, step: Sides) -> bool:
    """True when a sign-flip test shows that the treatment is better (Holm), and nothing but the offline agent
    undoes its verdict."""
    sides = _sides(data, step)
    difference = data["estimates"][_name(data, sides)]["overall"]
    gate = data["estimates"][step.treatment]["gate"]
    undone = {reason.kind for reason in gate.reasons if reason.undoes == "INCONCLUSIVE"}
    if (difference.p_holm or 1.0) > data["alpha"] or undone - {ReasonKind.OFFLINE}:
        return False
    is_gain = (difference.delta or 0) > 0
    return is_gain == (sides.treatment == step.treatment)


def _adoption_by_words(data: ExactFacts, conditions: Ladder) -> str:
    """What the words do to the use of the server's tools; "" where it is not known."""
    sides = _sides(data, Sides(conditions.both, conditions.server))
    found = data["estimates"][_name(data, sides)]["adoption"]["difference"]
    if found is None:
        return ""
    if sides.treatment == conditions.server:
        found = turned(found)
    return f" {says_step(found, 'The words')}."


def _sides(data: ExactFacts, step: Sides) -> Sides:
    """The step as it is compared: `gate.comparisons` may name them the other way round."""
    turned = Sides(step.baseline, step.treatment)
    return turned if _name(data, turned) in data["estimates"] else step


def _name(data: ExactFacts, sides: Sides) -> str:
    if sides.baseline == data["baseline"]:
        return sides.treatment
    return f"{sides.treatment} against {sides.baseline}"


def _step(data: ExactFacts, step: Sides) -> dict[str, str]:
    """A row of the table; a dash for unknown."""
    adoption = data["estimates"][step.treatment]["adoption"]["treatment"]
    calls = numbers.MISSING
    if adoption:
        calls = f"{adoption.runs} of {adoption.of}"
    comparison = data["estimates"][_name(data, step)]
    measures = data["comparisons"][_name(data, step)]["measures"]
    difference = shown_difference(comparison)
    row = {
        "condition": data["names"][step.treatment],
        "against": data["names"][step.baseline],
        "adoption": calls,
        "score": numbers.percent(measures["score"]["paired_treatment"]),
        "score_change": numbers.points(difference.delta),
        "interval": numbers.interval(difference.low, difference.high),
    }
    for label, name in (("tokens", "tokens_input"), ("time", "duration_s")):
        change = comparison["measures"][name]["overall"].delta
        row[label] = QUANTITIES[name].amount(measures[name]["paired_treatment"])
        row[f"{label}_change"] = numbers.change(change)
    return row
