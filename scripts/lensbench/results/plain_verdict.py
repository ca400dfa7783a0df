"""The verdict in plain words: what happened, what it cost, and what to do next; for readers without statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from lensbench.core.conditions import left_out
from lensbench.core.distributions import f_sf
from lensbench.core.numbers import change, change_interval, points
from lensbench.core.rows import RunStatus
from lensbench.judging.judges import FAILURES
from lensbench.plan.ablation import NOTHING
from lensbench.results.presented import shown_difference
from lensbench.scores.estimates_file import decided_by_gate
from lensbench.scores.gate_words import with_noun
from lensbench.scores.measures import N
from lensbench.scores.rules import FEWEST_TASKS

if TYPE_CHECKING:
    from lensbench.core.frozen_plan import Verdict
    from lensbench.results.results_file import BenchmarkFacts, Plain
    from lensbench.scores.estimates_file import Compared
    from lensbench.scores.gate import GateVerdict
    from lensbench.scores.intervals import Estimate


def plain_verdict(data: BenchmarkFacts[Fraction], name: str) -> Plain:
    """The plain words for a comparison by its name."""
    comparison = data["estimates"][name]
    names = data["names"]
    new = names[comparison["treatment"]]
    old = names[comparison["baseline"]]
    members = left_out(data["conditions"], data["baseline"], comparison["treatment"])
    is_of_two = comparison["baseline"] != data["baseline"]
    gate = comparison["gate"]
    few = comparison["too_few_calls"]
    lead = "We cannot tell yet."
    is_offline = data["agent"]["kind"] == "offline"
    facts = f"{_tasks(comparison)}.{_missing(data)}"
    then = _next(data, comparison)
    if not comparison["score"]["overall"].n:
        facts = f"No task has a score in both conditions.{_missing(data)}"
        lead = "Nothing can be compared yet."
        then = _first_step(data)
    elif few:
        lead = few
    else:
        where = _where(comparison, data["alpha"])
        facts = f"{_tasks(comparison)}{_effort(data, comparison)}.{where}{_missing(data)}"
        lead = _leads(gate, new, old if is_of_two or members else "").get(gate.verdict, lead)
        if is_offline:
            lead = (
                "The pipeline works. No verdict: a search program answered, not a language model."
            )
            label = new if new.startswith("without ") else f"with {new}"
            facts = f"{label[0].upper()}{label[1:]}: {facts}"
            ask = "Ask a language model: `lensbench run` with an `agent` that has one (docs/agents.md)."
            if data["run_id"] == "demo":
                ask = "Ask a language model: `lensbench init` writes a config for your server, then `lensbench run`."
            then = _go_on(data) if data["stopped"] else ask
    sentence = f"{lead} {facts}" if is_offline else gate.sentence
    label = f"{new} against {old}" if is_of_two else new
    if len(decided_by_gate(data["estimates"])) > 1 and not lead.startswith(f"{label} "):
        lead = f"{label}: {lead}"
    return {"lead": lead, "facts": facts, "next": then, "sentence": sentence}


def _leads(gate: GateVerdict, new: str, old: str) -> dict[str, str]:
    """The meaning of each verdict for a treatment, or for one version against another (`old`)."""
    small = f"{new} helps too little to matter."
    none = f"{new} does not help."
    if old:
        small = f"{new} is better than {old} by too little to matter."
        none = f"{new} is no better than {old}."
    return {
        "GO": f"{new} is better than {old}." if old else f"{new} helps.",
        "HARM": f"{new} is worse than {old}." if old else f"{new} makes the answers worse.",
        "SAVES": f"{new} saves{f' against {old}' if old else ''}, and its answers are at most "
        f"{points(gate.worst).removeprefix('+')} worse.",
        "COSTS": f"{new} costs more{f' than {old}' if old else ''}, and does not help enough to matter.",
        "NO-GO": small if (gate.low or 0) > 0 else none,
    }


def _where(comparison: Compared, alpha: float) -> str:
    """What each of several categories has, if a test shows that they differ; that one p value (Holm) is small and
    another is not does not show it."""
    found = comparison["score"]["categories"]
    if are_unlike([*found.values()], comparison["score"]["overall"], alpha):
        parts = (
            f"{name} {points(one.delta)}" for name, one in found.items() if one.delta is not None
        )
        return f" The categories differ: {', '.join(parts)}."
    differ = {one.p_holm is not None and one.p_holm <= alpha for one in found.values()}
    return " The categories are alike, as far as these tasks can tell." if len(differ) > 1 else ""


def are_unlike(groups: Sequence[Estimate], overall: Estimate, alpha: float) -> bool:
    """True when Welch's test for unequal variances (Biometrika 38, 1951) shows that the means of these groups differ. A
    group without a spread gets that of all tasks, which is what it has if the groups are alike."""
    spread = (overall.se or 0.0) * math.sqrt(overall.n)
    known = [
        (one, one.se or spread / math.sqrt(one.n), one.df or overall.df)
        for one in groups
        if one.n > 1
    ]
    terms = [(one.delta or 0.0, 1 / se**2, df) for one, se, df in known if se and df]
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


def _first_step(data: BenchmarkFacts[Fraction]) -> str:
    if drafts_decide(data):
        return ACCEPT_DRAFTS
    if data["counts"][RunStatus.UNJUDGED]:
        failures = "; ".join(
            f"{name}: {FAILURES[failure]} (verdicts: {sum(by_condition.values())})"
            for name, judge in data["instrument"]["judges"].items()
            for failure, by_condition in judge["failures"].items()
        )
        if failures:
            return f"The judges gave no verdict: {failures}. Fix that, then start again: no run is repeated."
        return f"Nobody has judged these answers. {WITHOUT_VERDICTS}"
    if data["agent"]["kind"] == "none":
        return "These runs were made elsewhere: a pair that lacks a run stays without a score."
    if data["counts"][RunStatus.DISCARDED] and not data["stopped"]:
        reason = max(data["discards"], key=lambda name: data["discards"][name].total())
        rounds = ", with a higher `discards.max_rounds`" if data["given_up"] else ""
        return f"Most discards are {reason}: fix the cause (Discards in results.md), then start again{rounds}."
    return _go_on(data)


def _go_on(data: BenchmarkFacts[Fraction]) -> str:
    """What starts missing runs."""
    return (
        f"{data['stopped']}."
        if data["stopped"]
        else "Start again: `lensbench run` runs what is missing."
    )


def _tasks(comparison: Compared) -> str:
    """`2 tasks better, 1 worse, 9 the same (+4.0 points on average)`."""
    overall = comparison["score"]["overall"]
    average = points(shown_difference(comparison).delta)
    better = with_noun(overall.wins, "task")
    return (
        f"{better} better, {overall.losses} worse, {overall.ties} the same ({average} on average)"
    )


def _effort(data: BenchmarkFacts[Fraction], comparison: Compared) -> str:
    """How time and price of a task differ, as far as their intervals exclude no difference."""
    parts = []
    price = ("cost_usd", "cost", "more", "less", "as much")
    if comparison["measures"]["cost_usd"]["overall"].delta is None:
        price = ("tokens_weighted", "used", "more tokens", "fewer tokens", "as many tokens")
    time = ("duration_s", "took", "longer", "less time", "as long")
    for name, verb, more, less, as_much in (time, price):
        overall = comparison["measures"][name]["overall"]
        is_same = overall.sd == 0 and overall.n >= FEWEST_TASKS
        ends = overall.low or 0, overall.high or 0
        if overall.delta and (ends[0] * ends[1] > 0 or is_same):
            share = change(overall.delta)
            phrase = f"{verb} {share.lstrip('+-')} {more if overall.delta > 0 else less}"
            if share.endswith("times"):
                between = change_interval(overall.low, overall.high, "")
                phrase = f"{verb} {share} {as_much} ({between})"
            parts.append(
                f"{phrase} (estimated)"
                if name == "cost_usd" and data["estimated_costs"]
                else phrase
            )
    return f"; it {' and '.join(parts)}" if parts else ""


def _missing(data: BenchmarkFacts[Fraction]) -> str:
    counts = data["counts"]
    number = counts[RunStatus.DISCARDED] + counts[RunStatus.MISSING] + counts[RunStatus.UNJUDGED]
    return f" {number} of {sum(counts.values())} runs have no score." if number else ""


def _keep_or_not(verdict: Verdict, members: str, where: str) -> str:
    """What to do with the members of an ablation that this verdict leaves out."""
    if verdict in ("GO", "SAVES"):
        return f"Take {members} out, {where}."
    return f"Keep {members}, {where}."


def _next(data: BenchmarkFacts[Fraction], comparison: Compared) -> str:
    verdict = comparison["gate"].verdict
    scope = comparison["score"]["overall"].scope
    where = f"for this model and questions like these{f', on {scope}' if scope else ''}"
    if comparison["too_few_calls"]:
        return "Find out why the agent does not call them: read a transcript and the descriptions of the tools."
    if (
        comparison["gate"].needs
        and data["counts"][RunStatus.MISSING]
        and data["agent"]["kind"] != "none"
    ):
        return _go_on(data)
    members = left_out(data["conditions"], data["baseline"], comparison["treatment"])
    if members and comparison["treatment"] == NOTHING:
        return "Decide on each member by its own word: together they do something else."
    if members:
        return comparison["gate"].needs or _keep_or_not(verdict, " and ".join(members), where)
    if verdict != "INCONCLUSIVE" and comparison["baseline"] != data["baseline"]:
        worse = comparison["baseline"] if verdict in ("HARM", "COSTS") else ""
        better = comparison["treatment"] if verdict in ("GO", "SAVES") else worse
        return (
            f"Prefer {data['names'][better]}, {where}."
            if better
            else f"Keep the cheaper one, {where}."
        )
    hint = "; read the pairs that lost" if comparison["score"]["overall"].losses else ""
    steps = {
        "GO": f"Use it, {where}{hint}.",
        "SAVES": f"Use it to save, {where}{hint}.",
        "COSTS": f"Make it cheaper, {where}, or use it where its answers are worth the price; then compare again.",
        "HARM": f"Do not use it as it is, {where}; read the pairs that lost most.",
        "NO-GO": f"Leave it out, {where}, or change it and compare again (`lensbench compare`).",
    }
    return comparison["gate"].needs or steps.get(verdict, "")
