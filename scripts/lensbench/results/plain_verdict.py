"""The verdict in plain words: what happened, what it cost, and what to do next; for readers without statistics."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from lensbench.core.numbers import decimal, points, rounded
from lensbench.core.run_status import RunStatus

SAME = 0.05
"""A time or a price that differs by less than this share is called the same."""


class Plain(NamedTuple):
    """What a reader sees first."""

    lead: str
    """The verdict in a few words."""
    facts: str
    """Tasks better, worse and the same, with time and price: one sentence."""
    next: str
    """What to do now."""


def plain_verdict(data: Mapping[str, Any], treatment: str) -> Plain:
    """The plain words for a treatment, from the data of the results with their estimates."""
    found, comparison = data["estimates"][treatment], data["comparisons"][treatment]
    overall, gate = found["score"]["overall"], found["gate"]
    if not overall["n"]:
        facts_alone = f"No task has a score in both conditions.{_missing(data)}"
        return Plain("Nothing can be compared yet.", facts_alone, _first_step(data))
    low, verdict = gate["low"], gate["verdict"]
    is_refused = gate["sentence"].startswith("INCONCLUSIVE: no verdict")
    lead = {
        "GO": f"{treatment} helps.",
        "HARM": f"{treatment} makes the answers worse.",
        "NO-GO": f"{treatment} helps too little to matter." if (low or 0) > 0 else f"{treatment} does not help.",
    }.get(verdict, "No verdict." if is_refused and data["agent"]["kind"] == "offline" else "We cannot tell yet.")
    facts = [_tasks(overall), *_costs(comparison["measures"])]
    return Plain(lead, f"{'; '.join(filter(None, [facts[0], _joined(facts[1:])]))}.{_missing(data)}", _next(data, gate))


WITHOUT_VERDICTS = (
    "Add a model to judges, or judge them on the sheet (`lensbench judge`), or set judging.drafts: true, or write "
    "patterns; then start again: no run is repeated."
)
"""What to do when criteria have no verdict."""


def _first_step(data: Mapping[str, Any]) -> str:
    """What to do where nothing can be compared."""
    if data["counts"][RunStatus.UNJUDGED]:
        return f"Nobody has judged these answers. {WITHOUT_VERDICTS}"
    if data["agent"]["kind"] == "none":
        return "These runs were made elsewhere: a pair that lacks a run stays without a score."
    return "Start again: `lensbench run` makes what is missing."


def _tasks(overall: Mapping[str, Any]) -> str:
    """`2 tasks better (+4pp over all), 1 worse, 9 the same`."""
    better, worse, same = overall["wins"], overall["losses"], overall["ties"]
    noun = "task" if better == 1 else "tasks"
    return (
        f"{better} {noun} better, {worse} worse, {same} the same ({points(Fraction(str(overall['delta'])))} on average)"
    )


def _costs(measures: Mapping[str, Any]) -> list[str]:
    """How time and price differ, as far as both conditions show them."""
    time = _ratio(measures["duration_s"])
    cost = _ratio(measures.get("cost_usd"))
    return [*([_slower(time)] if time else []), *([_dearer(cost)] if cost else [])]


def _ratio(measure: Mapping[str, Any] | None) -> Fraction | None:
    if not measure or not measure["paired_baseline"] or measure["paired_treatment"] is None:
        return None
    return Fraction(measure["paired_treatment"] / measure["paired_baseline"])


def _slower(ratio: Fraction) -> str:
    if abs(ratio - 1) < SAME:
        return "it took as long"
    if ratio >= 2:
        return f"it took {decimal(ratio, 1)} times as long"
    return f"it took {rounded(abs(ratio - 1) * 100)} % {'longer' if ratio > 1 else 'less time'}"


def _dearer(ratio: Fraction) -> str:
    if abs(ratio - 1) < SAME:
        return "cost the same"
    if ratio >= 2:
        return f"cost {decimal(ratio, 1)} times as much"
    return f"cost {rounded(abs(ratio - 1) * 100)} % {'more' if ratio > 1 else 'less'}"


def _joined(parts: list[str]) -> str:
    text = " and ".join(parts)
    return text if not text or text.startswith("it ") else f"it {text}"


def _missing(data: Mapping[str, Any]) -> str:
    counts = data["counts"]
    gone = counts[RunStatus.DISCARDED] + counts[RunStatus.MISSING] + counts[RunStatus.UNJUDGED]
    return f" {gone} of {sum(counts.values())} runs have no score." if gone else ""


def _next(data: Mapping[str, Any], gate: Mapping[str, Any]) -> str:
    if data["agent"]["kind"] == "offline":
        return (
            "This was a search program, not a language model. For a real answer: `lensbench init --agent claude-code`."
        )
    if gate["verdict"] == "GO":
        return "Use it, for this model and questions like these; read the pairs that lost."
    if gate["verdict"] == "HARM":
        return "Do not use it as it is; read the pairs that lost most."
    if gate["verdict"] == "NO-GO":
        return "Leave it out, or change it and compare again (`lensbench compare`)."
    return str(gate["needs"])
