"""The verdict in plain words: what happened, what it cost, and what to do next; for readers without statistics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from lensbench.core.conditions import Contrast, read_contrast
from lensbench.core.distributions import f_sf
from lensbench.core.numbers import decimal, points, rounded
from lensbench.core.run_status import RunStatus
from lensbench.judging.judges import FAILURES
from lensbench.scores.estimates_file import decided_by_gate

if TYPE_CHECKING:
    from lensbench.judging.instrument_file import JudgeSummary
    from lensbench.results.results_file import Collected, Estimated, Plain
    from lensbench.scores.estimates_file import Decided
    from lensbench.scores.gate import GateVerdict
    from lensbench.scores.intervals import Estimate
    from lensbench.scores.measures import Measure

SAME = 0.05
"""A time or a price that differs by less than this share is shown as the same."""


def told(plain: Mapping[str, Plain]) -> dict[str, str]:
    """Lead and facts of each treatment as one text; of several, each begins with the treatment's name."""
    texts = {treatment: f"{words['lead']} {words['facts']}" for treatment, words in plain.items()}
    if len(texts) == 1:
        return texts
    return {name: text if text.startswith(f"{name} ") else f"{name}: {text}" for name, text in texts.items()}


def plain_verdict(data: Estimated[Fraction], name: str, judges: Mapping[str, JudgeSummary]) -> Plain:
    """The plain words for a treatment, or for a contrast by its name, from the results' data with estimates."""
    contrast = None if name in data["estimates"] else read_contrast(name)
    found = decided_by_gate({}, data["contrasts"])[name] if contrast else data["estimates"][name]
    measures = (data["between"] if contrast else data["comparisons"])[name]["measures"]
    overall, gate = found["score"]["overall"], found["gate"]
    if not overall.n:
        facts_alone = f"No task has a score in both conditions.{_missing(data)}"
        return {"lead": "Nothing can be compared yet.", "facts": facts_alone, "next": _first_step(data, judges)}
    if few := found["too_few_calls"]:
        facts = f"{_tasks(overall)}.{_missing(data)}"
        return {"lead": few, "facts": facts, "next": _next(data, gate, contrast, few)}
    lead = _leads(found["gate"], contrast or name).get(gate.verdict)
    if lead is None:
        lead = "We cannot tell yet."
        if data["agent"]["kind"] == "offline":
            lead = "No verdict." if contrast else _of_a_search(data, found, name)
    effort = _joined(_costs(measures))
    facts = "; ".join(filter(None, [_tasks(overall), effort]))
    facts = f"{facts}.{_where(data, found)}{_missing(data)}"
    return {"lead": lead, "facts": facts, "next": _next(data, gate, contrast)}


def _leads(gate: GateVerdict, compared: Contrast | str) -> dict[str, str]:
    """The meaning of each verdict for a treatment, or for one version against another."""
    surely = (gate.low or 0) > 0
    if isinstance(compared, str):
        return {
            "GO": f"{compared} helps.",
            "HARM": f"{compared} makes the answers worse.",
            "NO-GO": f"{compared} helps too little to matter." if surely else f"{compared} does not help.",
        }
    new, old = compared
    return {
        "GO": f"{new} is better than {old}.",
        "HARM": f"{new} is worse than {old}.",
        "NO-GO": f"{new} is better than {old} by too little to matter."
        if surely
        else f"{new} is no better than {old}.",
    }


def _of_a_search(data: Estimated[Fraction], found: Decided, treatment: str) -> str:
    """The lead for the offline agent: no verdict, but whether the search program found more or less, when there is no
    other objection to the figures."""
    gate, p = found["gate"], found["score"]["overall"].p_holm
    unspoilt = "this was the offline agent. The figures" in gate.sentence
    if (
        not unspoilt
        or p is None
        or p > data["alpha"]
        or gate.low is None
        or gate.high is None
        or gate.low <= 0 <= gate.high
    ):
        return "No verdict."
    return f"{treatment} helps this search program." if gate.low > 0 else f"{treatment} harms this search program."


def _where(data: Estimated[Fraction], found: Decided) -> str:
    """Which of several categories have a difference, by p values that are adjusted for all of them, if a test shows
    that the categories differ: that one p value is small and another is not does not show it."""
    categories = found["score"]["categories"]
    differ = {name: one for name, one in categories.items() if one.p_holm is not None and one.p_holm <= data["alpha"]}
    others = [name for name in categories if name not in differ]
    if not differ or not others:
        return ""
    if not _are_unlike([*categories.values()], data["alpha"]):
        return " The categories are alike, as far as these tasks can tell."
    named = [f"{name} ({points(Fraction(str(one.delta)))})" for name, one in differ.items()]
    return f" The difference shows in {_and(named)}, and in {_and(others)} none is shown."


def _are_unlike(groups: Sequence[Estimate], alpha: float) -> bool:
    """True when Welch's test for unequal variances (Biometrika 38, 1951) shows that the means of these groups differ:
    Cochran's Q, with an F reference for variances from few tasks. A group without a spread cannot be tested."""
    known = [(one.delta or 0.0, 1 / one.se**2, one.df) for one in groups if one.se and one.df]
    k, total = len(known), sum(weight for _, weight, _ in known)
    if k < 2:
        return False
    centre = sum(delta * weight for delta, weight, _ in known) / total
    between = sum(weight * (delta - centre) ** 2 for delta, weight, _ in known) / (k - 1)
    spread = sum((1 - weight / total) ** 2 / df for _, weight, df in known) / (k**2 - 1)
    return f_sf(between / (1 + 2 * (k - 2) * spread), k - 1, 1 / (3 * spread)) <= alpha


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


WITHOUT_VERDICTS = (
    "Add a model to judges, or judge them on the sheet (`lensbench judge`), or write patterns "
    "(`lensbench draft` proposes them); then start again: no run is repeated."
)
"""What to do when criteria have no verdict."""


def _first_step(data: Collected[Fraction], judges: Mapping[str, JudgeSummary]) -> str:
    """What to do when nothing can be compared."""
    if data["counts"][RunStatus.UNJUDGED]:
        if failures := _failures(judges):
            return f"The judges gave no verdict: {failures}. Fix that, then start again: no run is repeated."
        return f"Nobody has judged these answers. {WITHOUT_VERDICTS}"
    if data["agent"]["kind"] == "none":
        return "These runs were made elsewhere: a pair that lacks a run stays without a score."
    return "Start again: `lensbench run` makes what is missing."


def _failures(judges: Mapping[str, JudgeSummary]) -> str:
    """Why judges that were asked gave no verdict: `claude: the judge's agent failed (verdicts: 4)`."""
    return "; ".join(
        f"{name}: {FAILURES[failure]} (verdicts: {sum(by_condition.values())})"
        for name, judge in judges.items()
        for failure, by_condition in judge["failures"].items()
    )


def _tasks(overall: Estimate) -> str:
    """`2 tasks better (+4pp over all), 1 worse, 9 the same`."""
    better, worse, same = overall.wins, overall.losses, overall.ties
    noun = "task" if better == 1 else "tasks"
    return f"{better} {noun} better, {worse} worse, {same} the same ({points(Fraction(str(overall.delta)))} on average)"


def _costs(measures: Mapping[str, Measure[Fraction]]) -> list[str]:
    """How time and price differ, if known for both conditions."""
    time = _ratio(measures["duration_s"])
    cost = _ratio(measures.get("cost_usd"))
    return [*([_slower(time)] if time else []), *([_dearer(cost)] if cost else [])]


def _ratio(measure: Measure[Fraction] | None) -> Fraction | None:
    if not measure or not measure["paired_baseline"] or measure["paired_treatment"] is None:
        return None
    return measure["paired_treatment"] / measure["paired_baseline"]


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


def _missing(data: Collected[Fraction]) -> str:
    counts = data["counts"]
    gone = counts[RunStatus.DISCARDED] + counts[RunStatus.MISSING] + counts[RunStatus.UNJUDGED]
    return f" {gone} of {sum(counts.values())} runs have no score." if gone else ""


def _next(data: Collected[Fraction], gate: GateVerdict, contrast: Contrast | None, few: str = "") -> str:
    if data["agent"]["kind"] == "offline":
        return (
            "This was a search program, not a language model, so it is no verdict on the server. For a real answer: "
            "`lensbench init --agent claude-code`."
        )
    if few:
        return "Find out why the agent does not call them: read a transcript and the descriptions of the tools."
    if gate.verdict != "INCONCLUSIVE" and contrast:
        better = {"GO": contrast.treatment, "HARM": contrast.baseline}.get(gate.verdict)
        return f"Prefer {better}, for this model and questions like these." if better else "Keep the cheaper one."
    if gate.verdict == "GO":
        return "Use it, for this model and questions like these; read the pairs that lost."
    if gate.verdict == "HARM":
        return "Do not use it as it is; read the pairs that lost most."
    if gate.verdict == "NO-GO":
        return "Leave it out, or change it and compare again (`lensbench compare`)."
    return gate.needs
