"""The verdict in plain words: what happened, what it cost, and what to do next; for readers without statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lensbench.core.conditions import left_out
from lensbench.core.distributions import f_sf
from lensbench.core.numbers import change, change_interval, multiple, points, reaches_double
from lensbench.core.rows import RunStatus
from lensbench.judging.judges import FAILURES
from lensbench.plan.ablation import NO_MEMBER
from lensbench.results.presented import shown_difference
from lensbench.scores.estimates_file import decided_by_gate
from lensbench.scores.gate_words import with_noun
from lensbench.scores.measures import N
from lensbench.scores.rules import FEWEST_TASKS

if TYPE_CHECKING:
    from lensbench.results.results_file import BenchmarkFacts, ExactFacts, Plain
    from lensbench.scores.estimates_file import Compared
    from lensbench.scores.gate import GateVerdict
    from lensbench.scores.intervals import Estimate


def plain_verdict(data: ExactFacts, name: str) -> Plain:
    """The plain words for a comparison by its name."""
    comparison = data["estimates"][name]
    new = data["names"][comparison["treatment"]]
    old = data["names"][comparison["baseline"]]
    is_of_two = comparison["baseline"] != data["baseline"]
    is_offline = data["agent"]["kind"] == "offline"
    tasks = _tasks(comparison)
    effort = f"{_effort(data, comparison)}.{_where(comparison, data['alpha'])}"
    then = _next(data, comparison)
    if not comparison["score"]["overall"].n:
        lead = "Nothing can be compared yet."
        facts = "No task has a score in both conditions."
        then = _first_step(data)
    elif comparison["too_few_calls"]:
        lead = comparison["too_few_calls"]
        facts = f"{tasks}."
    elif is_offline:
        lead = "The pipeline works. No verdict: a search program answered, not a language model."
        label = new if new.startswith("without ") else f"with {new}"
        facts = f"{label[0].upper()}{label[1:]}: {tasks}{effort}"
        then = _ask_a_model(data)
    else:
        has_name = is_of_two or left_out(data, comparison["treatment"])
        lead = _lead(comparison["gate"], new, old if has_name else "")
        facts = f"{tasks}{effort}"
    counts = data["counts"]
    lost = sum(counts.values()) - counts[RunStatus.SCORED]
    if lost:
        facts += f" {lost} of {sum(counts.values())} runs have no score."
    sentence = f"{lead} {facts}" if is_offline else comparison["gate"].sentence
    label = f"{new} against {old}" if is_of_two else new
    if len(decided_by_gate(data["estimates"])) > 1 and not lead.startswith(f"{label} "):
        lead = f"{label}: {lead}"
    return {"lead": lead, "facts": facts, "next": then, "sentence": sentence}


def _ask_a_model(data: ExactFacts) -> str:
    """What to do after the offline agent."""
    if data["stopped"]:
        return _go_on(data)
    if data["run_id"] == "demo":
        return "Ask a language model: `lensbench init` writes a config for your server, then `lensbench run`."
    return "Ask a language model: `lensbench run` with an `agent` that has one (`lensbench docs agents`)."


def _lead(gate: GateVerdict, new: str, old: str) -> str:
    """The meaning of a verdict for a treatment, or for one version against another (`old`)."""
    by_too_little = gate.verdict == "NO-GO" and (gate.low or 0) > 0
    leads = {
        "GO": f"{new} helps.",
        "HARM": f"{new} makes the answers worse.",
        "SAVES": f"{new} saves",
        "COSTS": f"{new} costs more",
        "NO-GO": f"{new} does not help.",
    }
    small = f"{new} helps too little to matter."
    if old:
        leads = {
            "GO": f"{new} is better than {old}.",
            "HARM": f"{new} is worse than {old}.",
            "SAVES": f"{new} saves against {old}",
            "COSTS": f"{new} costs more than {old}",
            "NO-GO": f"{new} is no better than {old}.",
        }
        small = f"{new} is better than {old} by too little to matter."
    lead = leads.get(gate.verdict, "We cannot tell yet.")
    if by_too_little:
        lead = small
    if gate.verdict == "SAVES":
        lead += f", and its answers are at most {points(gate.worst).removeprefix('+')} worse."
    if gate.verdict == "COSTS":
        lead += ", and does not help enough to matter."
    return lead


def _where(comparison: Compared, alpha: float) -> str:
    """What each of several categories has, if a test shows that they differ; that one p value (Holm) is small and
    another is not does not show it."""
    found = comparison["score"]["categories"]
    if are_unlike([*found.values()], comparison["score"]["overall"], alpha):
        parts = []
        for name, one in found.items():
            if one.delta is not None:
                parts.append(f"{name} {points(one.delta)}")
        return f" The categories differ: {', '.join(parts)}."
    if len({one.p_holm is not None and one.p_holm <= alpha for one in found.values()}) > 1:
        return " The categories are alike, as far as these tasks can tell."
    return ""


def are_unlike(groups: Sequence[Estimate], overall: Estimate, alpha: float) -> bool:
    """True when Welch's test for unequal variances (Biometrika 38, 1951) shows that the means of these groups differ. A
    group without a spread gets that of all tasks, which is what it has if the groups are alike."""
    spread = (overall.se or 0.0) * math.sqrt(overall.n)
    terms = []
    for one in groups:
        if one.n > 1:
            se = one.se or spread / math.sqrt(one.n)
            df = one.df or overall.df
            if se and df:
                terms.append((one.delta or 0.0, 1 / se**2, df))
    k = len(terms)
    total = sum(weight for _, weight, _ in terms)
    if k < 2:
        return False
    centre = sum(delta * weight for delta, weight, _ in terms) / total
    between = sum(weight * (delta - centre) ** 2 for delta, weight, _ in terms) / (k - 1)
    error = sum((1 - weight / total) ** 2 / df for _, weight, df in terms) / (k**2 - 1)
    return f_sf(between / (1 + 2 * (k - 2) * error), k - 1, 1 / (3 * error)) <= alpha


WITHOUT_VERDICTS = (
    "Add a model to judges, or judge them on the sheet (`lensbench judge`), or write patterns for the judge mechanical "
    "(`lensbench draft` proposes them); then start again: no run is repeated."
)
"""What to do when criteria have no verdict."""


ACCEPT_DRAFTS = (
    "The patterns are drafts: read each one, and edit it or accept it by removing its mark `drafted`; then start "
    "again: no run is repeated. Scores are shown from then on, so that they do not guide you (docs/judges.md)."
)
"""What to do while draft patterns decide."""


def drafts_decide(data: BenchmarkFacts[N]) -> bool:
    """True while no score counts because draft patterns have a part in the decisions."""
    return data.get("drafted_verdicts", 0) > 0 and not data["counts"][RunStatus.SCORED]


def how_to_judge(data: BenchmarkFacts[N]) -> str:
    """What to do about criteria without a verdict."""
    return ACCEPT_DRAFTS if drafts_decide(data) else WITHOUT_VERDICTS


def _first_step(data: ExactFacts) -> str:
    if drafts_decide(data):
        return ACCEPT_DRAFTS
    if data["counts"][RunStatus.UNJUDGED]:
        failures = []
        for name, judge in data["judge_reliability"]["judges"].items():
            for failure, by_condition in judge["failures"].items():
                count = sum(by_condition.values())
                failures.append(f"{name}: {FAILURES[failure]} (verdicts: {count})")
        if failures:
            return f"The judges gave no verdict: {'; '.join(failures)}. Fix that, then start again: no run is repeated."
        return f"Nobody has judged these answers. {WITHOUT_VERDICTS}"
    if data["agent"]["kind"] == "none":
        return "These runs were made elsewhere: a pair that lacks a run stays without a score."
    if data["counts"][RunStatus.DISCARDED] and not data["stopped"]:
        reason = max(data["discards"], key=lambda name: data["discards"][name].total())
        rounds = ", with a higher `discards.max_rounds`" if data["given_up"] else ""
        return f"Most discards are {reason}: fix the cause (Discards in results.md), then start again{rounds}."
    return _go_on(data)


def _go_on(data: ExactFacts) -> str:
    """What starts missing runs."""
    if data["stopped"]:
        return f"{data['stopped']}."
    return "Start again: `lensbench run` runs what is missing."


def _tasks(comparison: Compared) -> str:
    """`2 tasks better, 1 worse, 9 the same (+4.0 points on average)`."""
    overall = comparison["score"]["overall"]
    average = points(shown_difference(comparison).delta)
    better = f"{with_noun(overall.wins, 'task')} better"
    return f"{better}, {overall.losses} worse, {overall.ties} the same ({average} on average)"


def _effort(data: ExactFacts, comparison: Compared) -> str:
    """How time and price of a task differ, as far as their intervals exclude no difference."""
    measures = comparison["measures"]
    time = _change(measures["duration_s"]["overall"], "took", ("longer", "less time", "as long"))
    price = _change(measures["cost_usd"]["overall"], "cost", ("more", "less", "as much"))
    if price and data["estimated_costs"]:
        price += " (estimated)"
    if measures["cost_usd"]["overall"].delta is None:
        words = ("more tokens", "fewer tokens", "as many tokens")
        price = _change(measures["tokens_weighted"]["overall"], "used", words)
    parts = " and ".join(filter(None, [time, price]))
    return f"; it {parts}" if parts else ""


def _change(overall: Estimate, verb: str, words: tuple[str, str, str]) -> str:
    """How a quantity differs, in `words` for more, less and as much; "" when that is not shown."""
    is_same = overall.sd == 0 and overall.n >= FEWEST_TASKS
    is_shown = (overall.low or 0) * (overall.high or 0) > 0
    if not overall.delta or not (is_shown or is_same):
        return ""
    more, less, as_much = words
    if reaches_double(overall.delta, overall.high):
        between = change_interval(overall.low, overall.high, "")
        return f"{verb} {multiple(overall.delta)} times {as_much} ({between})"
    share = change(overall.delta).lstrip("+-")
    return f"{verb} {share} {more if overall.delta > 0 else less}"


def _next(data: ExactFacts, comparison: Compared) -> str:
    verdict = comparison["gate"].verdict
    needs = comparison["gate"].needs
    overall = comparison["score"]["overall"]
    where = "for this model and questions like these"
    if overall.scope:
        where += f", on {overall.scope}"
    if comparison["too_few_calls"]:
        return "Find out why the agent does not call them: read a transcript and the descriptions of the tools."
    if needs and data["counts"][RunStatus.MISSING] and data["agent"]["kind"] != "none":
        return _go_on(data)
    is_better = verdict in ("GO", "SAVES")
    members = left_out(data, comparison["treatment"])
    if members and comparison["treatment"] == NO_MEMBER:
        return "Decide on each member by its own word: together they do something else."
    if members:
        names = " and ".join(members)
        return needs or (f"Take {names} out, {where}." if is_better else f"Keep {names}, {where}.")
    if verdict != "INCONCLUSIVE" and comparison["baseline"] != data["baseline"]:
        if verdict == "NO-GO":
            return f"Keep the cheaper one, {where}."
        better = comparison["treatment"] if is_better else comparison["baseline"]
        return f"Prefer {data['names'][better]}, {where}."
    hint = "; read the pairs that lost" if overall.losses else ""
    steps = {
        "GO": f"Use it, {where}{hint}.",
        "SAVES": f"Use it to save, {where}{hint}.",
        "COSTS": f"Make it cheaper, {where}, or use it where its answers are worth the price; then compare again.",
        "HARM": f"Do not use it as it is, {where}; read the pairs that lost most.",
        "NO-GO": f"Leave it out, {where}, or change it and compare again (`lensbench compare`).",
    }
    return needs or steps.get(verdict, "")
