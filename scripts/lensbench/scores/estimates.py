"""How large the differences are, how sure that is, and what the gate says: estimates.json.

Differences are shares of 1 where the quantity is one. docs/statistics.md explains every figure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from lensbench.core import proof
from lensbench.core.conditions import treatments
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings, Plan
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, read_json, write_json
from lensbench.core.system.program import run_stage
from lensbench.judging.belief import Basis
from lensbench.judging.bias import MIN_TASKS
from lensbench.plan.waves import look_file
from lensbench.runs.made_with import mixtures
from lensbench.scores import differences as compared
from lensbench.scores import gate
from lensbench.scores.account import Draw, draw, holm, note, number_of, read_ledger
from lensbench.scores.bank import check_bank
from lensbench.scores.complete_tasks import by_criteria, mcnemar, reliability
from lensbench.scores.differences import Comparison
from lensbench.scores.intervals import LARGEST, Estimate, minimum_detectable
from lensbench.scores.measures import Tables, read_tables
from lensbench.scores.sequential import LookResult, interval_at, level_of, look_result
from lensbench.scores.verdict_of import DEFAULTS

MOST_VOIDED = 0.05
"""The share of a judge's answers of which its verdicts may be void: one of 96 says nothing about the others."""


def comparisons(tables: Tables) -> dict[str, Comparison]:
    """Every treatment against the baseline."""
    return {name: Comparison(tables, name) for name in treatments(tables.plan)}


def contrasts(tables: Tables) -> list[dict[str, Any]]:
    """Every treatment against each one that the plan names before it, such as two versions of a server.

    Their intervals are those of a single question, of the level that the plan's alpha asks for; the p values hold for
    all contrasts together (Holm). They are no part of the gate, so they cost its verdicts nothing.
    """
    plan = tables.plan
    found = {
        (later, earlier): Comparison(tables._replace(plan={**plan, "baseline": earlier}), later)
        for earlier, later in combinations(treatments(plan), 2)
    }
    overall = compared.with_holm({
        pair: each.over(compared.differences(each.pairs(each.tables.score)), plan["order"], LARGEST)
        for pair, each in found.items()
    })  # fmt: skip
    return [{"treatment": pair[0], "baseline": pair[1], "overall": estimate} for pair, estimate in overall.items()]


def estimates_of(comparison: Comparison) -> dict[str, Any]:
    """All that is estimated of a treatment; the gate speaks later."""
    plan, tables = comparison.plan, comparison.tables
    complete = comparison.pairs(tables.complete)
    return {
        "score": compared.scores(comparison),
        "complete": {
            "overall": comparison.over(compared.differences(complete), plan["order"], LARGEST),
            "mcnemar": mcnemar(complete, plan["trials"]),
        },
        "measures": compared.measures(comparison),
        "pass": reliability(*comparison.known(tables.complete), plan["trials"]),
        "variance": compared.variance(comparison),
        "missing": compared.missing(comparison),
        "by_criteria": by_criteria(complete, {name: task["criteria"] for name, task in plan["tasks"].items()}),
    }


def earlier_looks(folder: Path, plan: Plan, treatment: str) -> list[dict[str, Any]]:
    """What the looks before the present one said, as far as their files are there."""
    taken = plan["look"]["taken"] if "look" in plan else 1
    looks = (read_json(look_file(folder, number)) for number in range(1, taken))
    return [look["treatments"][treatment] for look in looks if treatment in look.get("treatments", {})]


def blockers(tables: Tables, instrument: Mapping[str, Any], proven: proof.SelftestStatus, treatment: str) -> list[str]:
    """What forbids a verdict on a treatment whatever its numbers are, one sentence each."""
    found = []
    if tables.plan["agent"]["kind"] == "offline":
        found.append("No language model answered: this was the offline agent.")
    of_both = [record for record in tables.valid if record.condition in (treatment, tables.plan["baseline"])]
    found += mixtures(of_both, tables.plan)
    if proven.state == "failed":
        found.append(proven.sentence)
    voided = Counter(answer["judge"] for answer in instrument.get("voided") or ())
    for judge, count in sorted(voided.items()):
        answers = (instrument.get("answers") or {}).get(judge, count)
        if count > MOST_VOIDED * answers:
            told = f"{judge}; answers: {count} of {answers}"
            found.append(f"A judge was wrong about criteria whose verdict is known ({told}).")
    belief = instrument.get("belief") or {}
    found += belief.get("withheld", {}).get(treatment, [])
    together = (instrument.get("bias") or {}).get("together") or {}
    differential = together.get("differential", {}).get(treatment) or {}
    signed = differential.get("signed") or {}
    if signed.get("low") is not None and not signed["low"] <= 0 <= signed["high"]:
        found.append(differential["sentence"])
    return found


def corrected_by_people(
    tables: Tables, instrument: Mapping[str, Any], treatment: str, overall: Estimate
) -> Estimate | None:
    """The delta with what the judges get wrong taken out, when people have judged enough tasks."""
    correction = (instrument.get("bias") or {}).get("correction", {}).get(treatment) or {}
    gate_of: GateSettings = {**DEFAULTS, **tables.plan["gate"]}
    return compared.corrected_by_people(overall, correction, gate_of["alpha"], gate_of["power"])


def assumption(instrument: Mapping[str, Any]) -> str:
    """What a verdict takes for granted that rests on judges whose errors nobody has measured; "" when it rests on
    people and hidden tests alone."""
    decided = (instrument.get("belief") or {}).get("decided", {})
    if not any(count for basis, count in decided.items() if basis not in (Basis.PEOPLE, Basis.TESTS)):
        return ""
    return (
        f"It assumes that the judges err alike in both conditions, because people have not judged {MIN_TASKS} tasks "
        "by which it could be corrected."
    )


def model_of(tables: Tables) -> str:
    """Who answered, such as "glm-5 in claude-code 2.1.329"; empty when nobody knows."""
    outcomes = [record.outcome for record in tables.valid]
    models = sorted({model for outcome in outcomes for model in outcome.models or ()})
    mapped = [pair.rpartition("=")[2] for pair in tables.plan["model_mapping"].split(",")]
    models = [model for model in models or dict.fromkeys(mapped) if model not in ("", "none")]
    versions = sorted({outcome.agent_version for outcome in outcomes if outcome.agent_version})
    kind = tables.plan["agent"]["kind"]
    program = "" if kind == "none" else " ".join([kind, ", ".join(versions)]).strip()
    return " in ".join(filter(None, [", ".join(models), program]))


def as_looked_at(overall: Estimate, look: LookResult, power: float) -> Estimate:
    """The estimate as the look allows it: with its interval, and the smallest difference that it would have found.
    Without the latter when there are several looks: they find other ones."""
    interval = interval_at(overall, look.boundary)
    if interval is None or overall.se is None or overall.df is None:
        return replace(overall, mde=None)
    several = f", adjusted for {look.looks} looks" if look.looks > 1 else ""
    level = level_of(look.boundary)
    mde = None if several else minimum_detectable(overall.se, overall.df, 1 - level, power, overall.drift)
    return replace(overall, low=interval[0], high=interval[1], mde=mde, method=f"{overall.method}{several}")


class Looked(NamedTuple):
    """A comparison as this look at the benchmark allows it."""

    draw: Draw
    look: LookResult
    drawn: gate.Drawn


def look_at(
    comparisons: Mapping[str, Comparison], overall: Mapping[str, Estimate], ledger: Sequence[Draw]
) -> dict[str, Looked]:
    """What the account of error leaves this look at every comparison; they share the error (Holm)."""
    pairs = {name: compared.drawn_pairs(comparison) for name, comparison in comparisons.items()}

    def draw_for(name: str, among: int) -> Draw:
        plan, found = comparisons[name].plan, overall[name]
        size, share = (found.n, plan["trials"]), compared.fraction(comparisons[name])
        return draw(ledger, name, pairs[name], {**DEFAULTS, **plan["gate"]}, size, share, among)

    def look_of(name: str, drawn: Draw) -> LookResult:
        plan = comparisons[name].plan
        look = plan.get("look", {"taken": 1, "of": 1})
        return look_result(overall[name], look["taken"], look["of"], plan["gate"], drawn.boundary)

    def holds(name: str, drawn: Draw) -> bool:
        look = look_of(name, drawn)
        excludes = look.low is not None and look.high is not None and not look.low <= 0 <= look.high
        return excludes and gate.agrees(overall[name], look, comparisons[name].plan["gate"])

    return {
        name: Looked(
            drawn,
            look_of(name, drawn),
            gate.Drawn(number_of(drawn, ledger), drawn.among, max(drawn.alpha - drawn.spent, 0) / 2),
        )
        for name, drawn in holm(comparisons, draw_for, holds).items()
    }


def read_account(folder: Path) -> tuple[list[Draw], list[str]]:
    """The ledger of the looks so far, and why no verdict can be given when it cannot be trusted."""
    try:
        return read_ledger(folder), []
    except UserError as error:
        return [], [f"The account of earlier looks cannot be trusted: {error}."]


def write_estimates(folder: Path, tables: Tables | None = None) -> dict[str, Any]:
    """Writes estimates.json, notes in the ledger which verdicts are shown, and returns what stands in the file.

    `tables` are those of the folder, where they were read before."""
    tables = tables or read_tables(folder)
    instrument = read_json(RunFolder(folder).instrument)
    proven = proof.status()
    ledger, distrusted = read_account(folder)
    bank = check_bank(tables)
    each_comparison = comparisons(tables)
    found = {name: estimates_of(comparison) for name, comparison in each_comparison.items()}
    overall = compared.with_holm({name: each["score"]["overall"] for name, each in found.items()})
    corrected = {name: corrected_by_people(tables, instrument, name, each) for name, each in overall.items()}
    counting = {name: corrected[name] or each for name, each in overall.items()}
    looked = look_at(each_comparison, counting, ledger)
    shown = []
    for name, each in found.items():
        now, plan = looked[name], tables.plan
        worst, best = compared.filled(each_comparison[name])
        each["bounds"] = {"low": worst.delta, "high": best.delta}
        each["score"]["overall"] = as_looked_at(overall[name], now.look, plan["gate"]["power"])
        each["corrected"] = corrected[name] and as_looked_at(counting[name], now.look, plan["gate"]["power"])
        mde = (each["corrected"] or each["score"]["overall"]).mde
        each["looks"] = [*earlier_looks(folder, plan, name), now.look] if "look" in plan else []
        each["look_number"] = now.drawn.number
        each["level"] = level_of(now.look.boundary)
        each["gate"] = gate.decide(
            replace(counting[name], mde=mde), plan["gate"], now.look,
            [*distrusted, *blockers(tables, instrument, proven, name), *filter(None, [bank and bank.blocker])],
            model=model_of(tables), trials=plan["trials"], filled=(worst, best),
            trial_sd=each["variance"]["differences"].sigma,
            caveat=(instrument.get("belief") or {}).get("caveat", ""), drawn=now.drawn,
            one_loss=compared.with_one_loss(each_comparison[name]),
            assumes="" if corrected[name] else assumption(instrument), earlier=bank.sentence if bank else "",
        )  # fmt: skip
        if now.look.low is not None:
            shown.append(now.draw.model_copy(update={"verdict": each["gate"].verdict}))
    told = {"state": proven.state, "failed": proven.failed, "sentence": proven.sentence}
    data: dict[str, Any] = plain({
        "alpha": tables.plan["gate"]["alpha"], "selftest": told, "comparisons": found, "contrasts": contrasts(tables),
    } | ({"bank": bank} if bank else {}))  # fmt: skip
    if not distrusted:
        note(folder, shown)
    write_json(RunFolder(folder).estimates, data)
    return data


if __name__ == "__main__":
    run_stage(write_estimates)
