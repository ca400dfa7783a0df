"""Writes estimates.json: the differences, their uncertainty, and the verdicts of the gate.

Differences of shares are shares of 1. docs/statistics.md explains every figure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from lensbench.agents import is_stock
from lensbench.core.conditions import comparisons, decided_comparisons, treatments
from lensbench.core.distributions import norm_sf
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings, Look, Plan
from lensbench.core.records import from_json
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import RECORD, all_entries, rounds
from lensbench.core.system.files import plain, read_typed, write_json
from lensbench.core.system.program import run_stage
from lensbench.judging.trust import InstrumentFile
from lensbench.judging.trust.belief import HARDLY, Basis
from lensbench.plan.frozen import first_plan
from lensbench.plan.waves import look_file
from lensbench.runs.made_with import mixtures, starts_of, uncounted
from lensbench.runs.reasons import DiscardReason
from lensbench.scores import differences as compared
from lensbench.scores.account import (
    Draw,
    LookInput,
    draw_all,
    left_after,
    note,
    number_of,
    read_ledger,
    shown_before,
    spends,
)
from lensbench.scores.adoption import (
    Uses,
    adoption_difference,
    adoption_of,
    says_adoption,
    says_difference,
    too_few_calls,
    uses_of,
)
from lensbench.scores.complete_tasks import mcnemar, reliability
from lensbench.scores.differences import Comparison
from lensbench.scores.estimates_file import Compared, ComparedAdoption, EstimatesFile, LookFile
from lensbench.scores.gate import FUTILE, decide, look_result, stopped
from lensbench.scores.gate_words import SentenceFacts, in_words
from lensbench.scores.intervals import LARGEST, Estimate, minimum_detectable
from lensbench.scores.needed import deciding
from lensbench.scores.readings import edits, readings
from lensbench.scores.rules import Reason, ReasonKind, excludes_zero
from lensbench.scores.run_tables import Tables, identity, read_tables
from lensbench.scores.saving import Saving, saving_of
from lensbench.scores.scores import score_all
from lensbench.scores.sequential import LookResult, interval_at, level_of
from lensbench.scores.wording import WordsChoice, choice_of_words

JUDGED = set(Basis) - {Basis.PEOPLE, Basis.TESTS, Basis.ELSEWHERE}
ASSUMPTION = "It assumes that the judges err alike in both conditions."
MOST_VOIDED = 0.05
"""The share of a judge's answers whose verdicts may be void: a single one of 96 does not discredit the others."""


def correct_for_families(plan: Plan, estimates: Mapping[str, Compared]) -> None:
    """Gives each comparison a p value that holds for all treatments against the baseline or, between treatments, for
    all of those."""
    families: dict[bool, dict[str, Estimate]] = {True: {}, False: {}}
    for name, entry in estimates.items():
        families[entry["baseline"] == plan["baseline"]][name] = entry["overall"]
    for family in families.values():
        for name, overall in compared.with_holm(family).items():
            estimates[name]["overall"] = estimates[name]["score"]["overall"] = overall


def estimates_of(comparison: Comparison, uses: Uses) -> Compared:
    """The estimates of a comparison, before the gate decides."""
    plan = comparison.plan
    tables = comparison.tables
    complete = comparison.pairs(tables.complete)
    score = compared.scores(comparison)
    adoption = compared_adoption(comparison, uses)
    return {
        "treatment": comparison.treatment,
        "baseline": comparison.baseline,
        "overall": score["overall"],
        "score": score,
        "complete": {
            "overall": comparison.over(compared.differences(complete), plan["order"], LARGEST),
            "mcnemar": mcnemar(complete, plan["trials"]),
        },
        "measures": compared.measures(comparison),
        "reliability": reliability(*comparison.known(tables.complete), plan["trials"]),
        "variance": compared.variance(comparison),
        "missing": compared.missing(comparison),
        "adoption": adoption,
        "too_few_calls": _too_few_calls(comparison, adoption),
    }


def _too_few_calls(comparison: Comparison, adoption: ComparedAdoption) -> str:
    """Why nothing is known about the treatment's tools. To leave a server out is a treatment of its own: that the
    others are not called says nothing against it."""
    if comparison.leaves_out:
        return ""
    return too_few_calls(adoption["treatment"], comparison.whose(comparison.treatment))


def compared_adoption(comparison: Comparison, uses: Uses) -> ComparedAdoption:
    tables = comparison.tables
    treatment = adoption_of(tables, comparison.treatment, uses)
    baseline = adoption_of(tables, comparison.baseline, uses)
    difference = None
    sentence = ""
    if not comparison.leaves_out:  # of the tools that stay nothing was asked
        difference = adoption_difference(comparison, uses)
        if difference:
            sentence = says_difference(difference, *comparison.names)
        elif treatment:
            has_delta = any(comparison.pairs(tables.score).values())
            sentence = says_adoption(treatment, beside_delta=has_delta)
    return {
        "treatment": treatment,
        "baseline": baseline,
        "difference": difference,
        "sentence": sentence,
    }


def earlier_looks(folder: Path, plan: Plan, treatment: str) -> list[LookResult]:
    """The results of the looks before the present one, as far as their files exist."""
    looks = []
    for number in range(1, plan.get("look", _ONLY)["taken"]):
        path = look_file(folder, number)
        if path.exists():
            found = read_typed(path, LookFile)["treatments"]
            if treatment in found:
                looks.append(found[treatment])
    return looks


def blockers(
    comparison: Comparison, name: str, instrument: InstrumentFile | None, few: str
) -> Iterator[Reason]:
    """Reasons that forbid a verdict whatever the numbers are. `name` is the comparison's name in instrument.json; `few`
    what `too_few_calls` says."""
    tables = comparison.tables
    if tables.plan["agent"]["kind"] == "offline":
        yield Reason(ReasonKind.OFFLINE)
    elif due := [run for run in tables.due if run.condition in comparison.conditions]:
        yield Reason(
            ReasonKind.RUNS_DUE, f"{len(due)} of the runs are due: no verdict before they are made."
        )
    if few:
        yield Reason(ReasonKind.TOO_FEW_CALLS, few)
    of_both = [record for record in tables.valid if record.condition in comparison.conditions]
    mixed = mixtures(of_both, tables.plan)
    yield from (Reason(ReasonKind.MIXED_RUNS, text) for text in mixed)
    if instrument is None:
        return
    for judge, summary in instrument["judges"].items():
        if summary["voided"] > MOST_VOIDED * summary["answers"]:
            text = f"{judge} was wrong in {summary['voided']} of {summary['answers']} answers."
            yield Reason(ReasonKind.WRONG_JUDGE, text)
    withheld = instrument["belief"].withheld
    texts = dict.fromkeys(text for side in comparison.conditions for text in withheld.get(side, ()))
    yield from (Reason(ReasonKind.UNTRUSTED_JUDGES, text) for text in texts)
    if patterns := instrument["belief"].constant:
        yield Reason(ReasonKind.PATTERNS, f"The judge {patterns}, {HARDLY}")
    if instrument["bias"] and (differential := instrument["bias"]["together"].get(name)):
        bias = differential.signed
        if bias.low is not None and bias.high is not None and not bias.low <= 0 <= bias.high:
            yield Reason(ReasonKind.BIASED_JUDGES, differential.sentence)


def model_of(tables: Tables) -> str:
    """The model and the agent, such as "glm-5 in claude-code 2.1.329"; empty when unknown."""
    outcomes = [record.outcome for record in tables.valid]
    models = sorted({model for outcome in outcomes for model in outcome.models or ()})
    targets = [pair.rpartition("=")[2] for pair in tables.plan["model_mapping"].split(",")]
    models = [model for model in models or dict.fromkeys(targets) if model not in ("", "none")]
    versions = sorted({outcome.agent_version for outcome in outcomes if outcome.agent_version})
    agent = tables.plan["agent"]
    program = [agent["kind"], ", ".join(versions)]
    if agent["kind"] == "none":
        program = []
    elif is_stock(agent):
        program.append("(stock)")
    parts = [", ".join(models), " ".join(filter(None, program))]
    return " in ".join(filter(None, parts))


def as_looked_at(overall: Estimate, look: LookResult, power: float) -> Estimate:
    """The estimate with the interval of the look, and its minimum detectable effect if it is the only one."""
    interval = interval_at(overall, look.boundary)
    if interval is None or overall.se is None or overall.df is None:
        return replace(overall, mde=None)
    several = f", adjusted for {look.looks} looks" if look.looks > 1 else ""
    level = level_of(look.boundary)
    mde = None if several else minimum_detectable(overall.se, overall.df, 1 - level, power)
    return replace(
        overall, low=interval[0], high=interval[1], mde=mde, method=f"{overall.method}{several}"
    )


def look_at(
    comparisons: Mapping[str, Comparison],
    overall: Mapping[str, Estimate],
    ledger: Sequence[Draw],
    savings: Mapping[str, Saving | None],
) -> dict[str, tuple[Draw, LookResult]]:
    """Every comparison at this look, with the error that the account leaves it. When all of them stop before the last
    wave, those for which no more verdict is likely spend what the plan had left: this is their last look."""
    inputs = {
        name: LookInput(
            compared.seen_pairs(comparison), comparison.plan["gate"], compared.fraction(comparison)
        )
        for name, comparison in comparisons.items()
    }

    def holds(name: str, draw: Draw) -> bool:
        return excludes_zero(overall[name], norm_sf(draw.boundary), inputs[name].gate)

    def looked() -> dict[str, tuple[Draw, LookResult]]:
        draws = draw_all(ledger, inputs, holds)
        results = {}
        for name, draw in draws.items():
            plan = comparisons[name].plan
            look = plan.get("look", _ONLY)
            result = look_result(
                overall[name], look["taken"], look["of"], plan["gate"], draw.boundary, savings[name]
            )
            results[name] = (draw, result)
        return results

    first = looked()
    shares = [comparison.plan.get("look", _ONLY)["share"] for comparison in comparisons.values()]
    is_open = any(look.open for _, look in first.values())
    is_whole = [entry.fraction for entry in inputs.values()] == shares
    if is_open or not is_whole:
        return first
    futile = {name for name, (_, look) in first.items() if (look.conditional_power or 1) < FUTILE}
    inputs |= {name: inputs[name]._replace(fraction=1.0) for name in futile}
    return looked() if futile else first


_ONLY: Look = {"taken": 1, "of": 1, "share": 1.0}


def read_account(folder: Path) -> tuple[list[Draw], list[Reason]]:
    """The ledger of the looks so far; and, if it cannot be trusted, the reason for no verdict."""
    try:
        return read_ledger(folder), []
    except UserError as error:
        return [], [Reason(ReasonKind.LEDGER, f"{error}.")]


def limits_changed(folder: Path, gate: GateSettings) -> list[Reason]:
    """A reason against SAVES when the plan of the first runs had another quantity, margin or least saving."""
    first = first_plan(folder)
    then = first["gate"] if first else gate
    names = [key for key in ("saves", "margin", "least") if then.get(key) != gate.get(key)]
    detail = f"There is no SAVES, because gate.{', gate.'.join(names)} changed after the first run."
    return [Reason(ReasonKind.LIMITS_CHANGED, detail, "SAVES")] if names else []


def voided_runs(folder: Path) -> set[str]:
    """The hashes of discarded runs, except those that a person discarded."""
    found = set()
    for _, attempts in all_entries(folder):
        for entry, discard in rounds(attempts):
            if discard.reason != DiscardReason.BY_HAND and RECORD in entry.files:
                record = from_json(entry.record.read_text(encoding="utf-8"))
                found.add(identity(record.attempt.started_at, record.answer_sha256))
    return found


class Gatekeeper(NamedTuple):
    """The common input of all verdicts of a benchmark."""

    folder: Path
    tables: Tables
    instrument: InstrumentFile | None
    """None at a look, which comes before judges are measured."""
    ledger: Sequence[Draw]
    distrusted: Sequence[Reason]
    """Why the ledger cannot be trusted."""
    voided: Collection[str]
    """What `voided_runs` found; empty without a ledger."""
    moved: Sequence[Reason]
    """Why there is no SAVES, when its quantity or its limits changed after the first run."""

    def decide(
        self,
        name: str,
        comparison: Comparison,
        estimates: Compared,
        by_people: Estimate | None,
        draw: Draw,
        look: LookResult,
        saving: Saving | None,
    ) -> Compared:
        """The estimates of a comparison with the verdict and with what this look allows."""
        overall = estimates["score"]["overall"]
        plan = comparison.plan
        belief = self.instrument["belief"] if self.instrument else None
        before = shown_before(self.ledger, name, draw.seen, self.voided)
        result = as_looked_at(overall, look, plan["gate"]["power"])
        counting = as_looked_at(by_people, look, plan["gate"]["power"]) if by_people else None
        starts = {
            comparison.name(side): starts_of(self.folder, runs)
            for side, runs in comparison.runs.items()
        }
        gate = plan["gate"]
        counted = by_people or overall
        doubts = belief.doubts if belief else ()
        others = [*readings(comparison, [*starts.values()], doubts, draw.seen, before)]
        against = [
            *self.distrusted,
            *blockers(comparison, name, self.instrument, estimates["too_few_calls"]),
            *self.moved,
        ]
        verdict = decide(counted, gate, look, against, others, saving)
        look = stopped(look, verdict.verdict)
        enough = []
        if verdict.verdict in ("NO-GO", "INCONCLUSIVE") and verdict.low is not None:
            enough = [*deciding(counted, others, gate, left_after(draw) / 2, saving)]
        by_judge = belief and not by_people and any(map(belief.decided.get, JUDGED))
        brought = plan["conditions"][comparison.treatment].keys() & {"files", "agent"}
        assumptions = [ASSUMPTION] if by_judge and verdict.verdict != "INCONCLUSIVE" else []
        # scores from elsewhere do not tell what a condition brings
        is_given = bool(belief and belief.decided.get(Basis.ELSEWHERE))
        is_of_two = is_given or comparison.leaves_out or comparison.baseline != plan["baseline"]
        facts = SentenceFacts(
            gate,
            look,
            plan["trials"],
            model_of(self.tables),
            comparison.names if is_of_two else None,
            comparison.leaves_out,
            bool(brought),
            number_of(draw, self.ledger),
            draw.among,
            enough,
            starts,
            [
                *assumptions,
                *edits(comparison, draw.seen, before),
                *([belief.caveat] if belief and belief.caveat else []),
            ],
            saving,
            belief.constant if belief else "",
        )
        return {
            **estimates,
            "score": {**estimates["score"], "overall": result},
            "corrected": counting,
            "looks": [*earlier_looks(self.folder, self.tables.plan, name), look]
            if "look" in plan
            else [],
            "look_number": facts.number,
            "level": level_of(look.boundary),
            "gate": in_words(verdict, counted, facts),
        }


def write_estimates(folder: Path, tables: Tables | None = None) -> EstimatesFile:
    """Writes estimates.json, adds the verdicts to the ledger, and returns the content of the file.

    `tables` are those of the folder, if they were read before."""
    tables = tables or read_tables(folder)
    place = RunFolder(folder).instrument
    instrument = read_typed(place, InstrumentFile) if place.exists() else None
    ledger, doubts = read_account(folder)
    discards = voided_runs(folder) if ledger else set()
    aim = tables.plan["gate"]
    keeper = Gatekeeper(
        folder, tables, instrument, ledger, doubts, discards, limits_changed(folder, aim)
    )
    against = {name: Comparison(tables, *sides) for name, sides in comparisons(tables.plan).items()}
    uses = uses_of(tables)
    estimates = {name: estimates_of(comparison, uses) for name, comparison in against.items()}
    correct_for_families(tables.plan, estimates)
    against = {name: against[name] for name in decided_comparisons(tables.plan)}
    others = uncounted(folder, tables.scores)
    savings = {name: saving_of(comparison, aim, others) for name, comparison in against.items()}
    deltas = instrument["bias"]["correction"] if instrument and instrument["bias"] else {}
    by_people = {
        name: compared.corrected_by_people(
            estimates[name]["overall"], deltas[name], aim["alpha"], aim["power"]
        )
        for name in against
        if name in deltas
    }
    deciding = {name: by_people.get(name) or estimates[name]["overall"] for name in against}
    looks = look_at(against, deciding, ledger, savings)
    verdicts = {
        name: keeper.decide(
            name, comparison, estimates[name], by_people.get(name), *looks[name], savings[name]
        )
        for name, comparison in against.items()
    }
    data: EstimatesFile = {"alpha": aim["alpha"], "comparisons": {**estimates, **verdicts}}
    if words := _words(tables, uses):
        data["words"] = words
    if not doubts:
        lines = []
        for name, (draw, _) in looks.items():
            gate = verdicts[name]["gate"]
            kinds = [reason.kind for reason in gate.reasons]
            if spends(gate.low, kinds):
                is_due = ReasonKind.RUNS_DUE in kinds
                lines.append(draw.model_copy(update={"verdict": gate.verdict, "due": is_due}))
        note(folder, lines)
    write_json(RunFolder(folder).estimates, plain(data))
    return data


def _words(tables: Tables, uses: Uses) -> WordsChoice | None:
    """The choice of words, where the plan holds tasks out for it."""
    plan = tables.plan
    confirming = plan.get("holdout", ())
    candidates = {}
    for name in treatments(plan) if confirming else ():
        if "describe" in plan["conditions"][name]:
            candidates[name] = Comparison(tables, name, plan["baseline"])
    return choice_of_words(candidates, uses, confirming)


def score_and_estimate(folder: Path) -> EstimatesFile:
    """Scores the runs and estimates the differences: scores.csv, pairs.csv, estimates.json."""
    records = score_all(folder)
    return write_estimates(folder, read_tables(folder, records))


if __name__ == "__main__":
    run_stage(score_and_estimate)
