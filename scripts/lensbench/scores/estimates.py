"""How large the differences are, how sure that is, and what the gate says: estimates.json.

Differences are shares of 1 where the quantity is one. docs/statistics.md explains every figure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from lensbench.core import proof
from lensbench.core.conditions import treatments
from lensbench.core.system.files import plain, read_json, write_json
from lensbench.core.system.program import run_stage
from lensbench.plan.waves import look_file
from lensbench.scores import differences as compared
from lensbench.scores import gate
from lensbench.scores.complete_tasks import by_criteria, mcnemar, reliability
from lensbench.scores.differences import Comparison
from lensbench.scores.intervals import Estimate
from lensbench.scores.measures import Tables, read_tables
from lensbench.scores.sequential import LookResult, look_result


def comparisons(tables: Tables) -> dict[str, Comparison]:
    """Every treatment against the baseline."""
    return {name: Comparison(tables, name) for name in treatments(tables.plan)}


def estimates_of(comparison: Comparison) -> dict[str, Any]:
    """All that is estimated of a treatment; the gate speaks later."""
    plan, tables = comparison.plan, comparison.tables
    complete = comparison.pairs(tables.complete)
    return {
        "score": compared.scores(comparison),
        "complete": {
            "overall": comparison.over(compared.differences(complete), plan["order"], compared.LARGEST),
            "mcnemar": mcnemar(complete, plan["trials"]),
        },
        "measures": compared.measures(comparison),
        "pass": reliability(*comparison.known(tables.complete), plan["trials"]),
        "variance": compared.variance(comparison),
        "missing": compared.missing(comparison),
        "bounds": dict(zip(("low", "high"), compared.bounds(comparison), strict=True)),
        "by_criteria": by_criteria(complete, {name: task["criteria"] for name, task in plan["tasks"].items()}),
    }


def look_of(plan: Mapping[str, Any], overall: Estimate) -> LookResult | None:
    """What the look that the runs so far end at says; None when all runs are one wave."""
    look = plan.get("look")
    return look_result(overall, look["taken"], look["of"], plan["gate"]) if look else None


def earlier_looks(folder: Path, plan: Mapping[str, Any], treatment: str) -> list[dict[str, Any]]:
    """What the looks before the present one said, as far as their files are there."""
    taken = plan["look"]["taken"] if "look" in plan else 1
    looks = (read_json(look_file(folder, number)) for number in range(1, taken))
    return [look["treatments"][treatment] for look in looks if treatment in look.get("treatments", {})]


def blockers(tables: Tables, instrument: Mapping[str, Any], proven: proof.SelftestStatus, treatment: str) -> list[str]:
    """What forbids a verdict on a treatment whatever its numbers are, one sentence each."""
    found = []
    if tables.plan["agent"]["kind"] == "offline":
        found.append("No language model answered: this was the offline agent.")
    if proven.state == "failed":
        found.append(proven.sentence)
    if voided := instrument.get("voided"):
        judges = ", ".join(sorted({answer["judge"] for answer in voided}))
        found.append(f"A judge was wrong about criteria whose verdict is known ({judges}; answers: {len(voided)}).")
    belief = instrument.get("belief") or {}
    found += belief.get("withheld", {}).get(treatment, [])
    together = (instrument.get("bias") or {}).get("together") or {}
    differential = together.get("differential", {}).get(treatment) or {}
    signed = differential.get("signed") or {}
    if signed.get("low") is not None and not signed["low"] <= 0 <= signed["high"]:
        found.append(differential["sentence"])
    return found


def model_of(tables: Tables) -> str:
    """Who answered, such as "glm-5 in claude-code 2.1.329"; empty when nobody knows."""
    outcomes = [record.outcome for record in tables.valid]
    models = sorted({model for outcome in outcomes for model in outcome.models or ()})
    mapped = [pair.rpartition("=")[2] for pair in tables.plan["model_mapping"].split(",")]
    models = [model for model in models or mapped if model not in ("", "none")]
    versions = sorted({outcome.agent_version for outcome in outcomes if outcome.agent_version})
    kind = tables.plan["agent"]["kind"]
    program = "" if kind == "none" else " ".join([kind, ", ".join(versions)]).strip()
    return " in ".join(filter(None, [", ".join(models), program]))


def as_looked_at(overall: Estimate, look: LookResult) -> Estimate:
    """The estimate as one of several looks allows it: with the look's wider interval, and without the smallest
    difference that would be found, which is that of a single look."""
    if look.low is None:
        return replace(overall, mde=None)
    method = f"{overall.method}, adjusted for {look.looks} looks"
    return replace(overall, low=look.low, high=look.high, mde=None, method=method)


def write_estimates(folder: Path) -> dict[str, Any]:
    """Writes estimates.json, and returns what stands in it."""
    tables = read_tables(folder)
    instrument = read_json(folder / "instrument.json")
    proven = proof.status()
    found = {name: estimates_of(comparison) for name, comparison in comparisons(tables).items()}
    overall = compared.with_holm({name: each["score"]["overall"] for name, each in found.items()})
    for name, each in found.items():
        look = look_of(tables.plan, overall[name])
        shown = overall[name] if look is None else as_looked_at(overall[name], look)
        each["score"]["overall"] = shown
        each["looks"] = [*earlier_looks(folder, tables.plan, name), *([look] if look else [])]
        each["gate"] = gate.decide(
            replace(overall[name], mde=shown.mde), tables.plan["gate"], look,
            blockers(tables, instrument, proven, name),
            model=model_of(tables), trials=tables.plan["trials"],
            bounds=(each["bounds"]["low"], each["bounds"]["high"]), trial_sd=each["variance"]["differences"].sigma,
            caveat=(instrument.get("belief") or {}).get("caveat", ""),
        )  # fmt: skip
    told = {"state": proven.state, "failed": proven.failed, "sentence": proven.sentence}
    data: dict[str, Any] = plain({"alpha": tables.plan["gate"]["alpha"], "selftest": told, "comparisons": found})
    write_json(folder / "estimates.json", data)
    return data


if __name__ == "__main__":
    run_stage(write_estimates)
