"""Writes estimates.json: the differences, their uncertainty, and the verdicts of the gate.

Differences of shares are shares of 1. docs/statistics.md explains every figure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from lensbench.agents import is_stock
from lensbench.core.conditions import Sides, comparisons, decided_comparisons, treatments
from lensbench.core.distributions import norm_sf
from lensbench.core.errors import UserError
from lensbench.core.frozen_plan import GateSettings, Look, Plan, VerdictName
from lensbench.core.records import from_json
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import RECORD, all_entries, rounds
from lensbench.core.system.files import plain, read_typed, write_json
from lensbench.core.system.program import run_stage
from lensbench.judging.trust import ReliabilityFile
from lensbench.judging.trust.belief import HARDLY, Basis, Belief
from lensbench.plan.frozen import first_plan
from lensbench.plan.waves import look_file
from lensbench.runs.made_with import discarded_attempts, mixtures, starts_of
from lensbench.runs.reasons import DiscardReason
from lensbench.scores import differences as compared
from lensbench.scores.account import (
    Draw,
    LookInput,
    LookLedger,
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

_BY_JUDGES = set(Basis) - {Basis.PEOPLE, Basis.TESTS, Basis.ELSEWHERE}
_UNMEASURED = Belief({}, {}, "", {}, ())
_ASSUMPTION = "It assumes that the judges err alike in both conditions."
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
    score = compared.scores(comparison)
    complete = comparison.over(comparison.deltas(tables.complete), plan["order"], LARGEST)
    adoption = compared_adoption(comparison, uses)
    few = ""
    if not comparison.leaves_out:
        # that the other servers are not called says nothing against leaving one out
        few = too_few_calls(adoption["treatment"], comparison.whose(comparison.treatment))
    return {
        "treatment": comparison.treatment,
        "baseline": comparison.baseline,
        "overall": score["overall"],
        "score": score,
        "complete": {
            "overall": complete,
            "mcnemar": mcnemar(comparison.pairs(tables.complete), plan["trials"]),
        },
        "measures": compared.measures(comparison),
        "reliability": reliability(*comparison.known(tables.complete), plan["trials"]),
        "variance": compared.variance(comparison),
        "missing": compared.missing(comparison),
        "adoption": adoption,
        "too_few_calls": few,
    }


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
    comparison: Comparison, name: str, reliability: ReliabilityFile | None, few: str
) -> Iterator[Reason]:
    """Reasons that forbid a verdict whatever the numbers are. `name` is the comparison's name in
    judge_reliability.json; `few` what `too_few_calls` says."""
    tables = comparison.tables
    due = sum(run.condition in comparison.conditions for run in tables.due)
    if tables.plan["agent"]["kind"] == "offline":
        yield Reason(ReasonKind.OFFLINE)
    elif due:
        text = f"{due} of the runs are due: no verdict before they are made."
        yield Reason(ReasonKind.RUNS_DUE, text)
    if few:
        yield Reason(ReasonKind.TOO_FEW_CALLS, few)
    of_both = [record for record in tables.valid if record.condition in comparison.conditions]
    for text in mixtures(of_both, tables.plan):
        yield Reason(ReasonKind.MIXED_RUNS, text)
    if reliability is not None:
        yield from _blocking_judges(comparison, name, reliability)


def _blocking_judges(
    comparison: Comparison, name: str, reliability: ReliabilityFile
) -> Iterator[Reason]:
    """The reasons that lie with those who judge."""
    for judge, summary in reliability["judges"].items():
        if summary["voided"] > MOST_VOIDED * summary["answers"]:
            text = f"{judge} was wrong in {summary['voided']} of {summary['answers']} answers."
            yield Reason(ReasonKind.WRONG_JUDGE, text)
    belief = reliability["belief"]
    withheld = chain(*(belief.withheld.get(side, ()) for side in comparison.conditions))
    for text in dict.fromkeys(withheld):
        yield Reason(ReasonKind.UNTRUSTED_JUDGES, text)
    if belief.constant:
        yield Reason(ReasonKind.PATTERNS, f"The judge {belief.constant}, {HARDLY}")
    bias = reliability["bias"]
    differential = bias["together"].get(name) if bias else None
    if differential is not None:
        low = differential.signed.low
        high = differential.signed.high
        if low is not None and high is not None and not low <= 0 <= high:
            yield Reason(ReasonKind.BIASED_JUDGES, differential.sentence)


class GateCase(NamedTuple):
    """A comparison that the gate decides."""

    comparison: Comparison
    estimates: Compared
    by_people: Estimate | None
    """The difference corrected by people, where enough of them judged."""
    saving: Saving | None

    @property
    def counted(self) -> Estimate:
        """The difference on which the gate decides."""
        return self.by_people or self.estimates["score"]["overall"]


def model_of(tables: Tables) -> str:
    """The model and the agent, such as "glm-5 in claude-code 2.1.329"; empty when unknown."""
    served: set[str] = set()
    versions: set[str] = set()
    for record in tables.valid:
        served.update(record.outcome.models or ())
        versions.add(record.outcome.agent_version or "")
    planned = [pair.rpartition("=")[2] for pair in tables.plan["model_mapping"].split(",")]
    models = sorted(served) or dict.fromkeys(planned)
    agent = tables.plan["agent"]
    program = [agent["kind"], ", ".join(sorted(filter(None, versions)))]
    if agent["kind"] == "none":
        program = []
    elif is_stock(agent):
        program.append("(stock)")
    known = ", ".join(model for model in models if model not in ("", "none"))
    return " in ".join(filter(None, [known, " ".join(filter(None, program))]))


def as_looked_at(overall: Estimate, look: LookResult, power: float) -> Estimate:
    """The estimate with the interval of the look, and its minimum detectable effect if it is the only one."""
    interval = interval_at(overall, look.boundary)
    if interval is None or overall.se is None or overall.df is None:
        return replace(overall, mde=None)
    low, high = interval
    if look.looks > 1:
        method = f"{overall.method}, adjusted for {look.looks} looks"
        return replace(overall, low=low, high=high, mde=None, method=method)
    level = level_of(look.boundary)
    mde = minimum_detectable(overall.se, overall.df, 1 - level, power)
    return replace(overall, low=low, high=high, mde=mde)


def look_at(
    plan: Plan, cases: Mapping[str, GateCase], ledger: LookLedger
) -> dict[str, tuple[Draw, LookResult]]:
    """Every comparison at this look, with the error that the account leaves it. When all of them stop before the last
    wave, those for which no more verdict is likely spend what the plan had left: this is their last look."""
    gate = plan["gate"]
    planned = plan.get("look", _ONLY)
    inputs = {}
    for name, case in cases.items():
        seen = compared.seen_pairs(case.comparison)
        inputs[name] = LookInput(seen, gate, compared.fraction(case.comparison))

    def holds(name: str, draw: Draw) -> bool:
        return excludes_zero(cases[name].counted, norm_sf(draw.boundary), gate)

    def looked() -> dict[str, tuple[Draw, LookResult]]:
        results = {}
        for name, draw in draw_all(ledger, inputs, holds).items():
            case = cases[name]
            look = look_result(
                case.counted, planned["taken"], planned["of"], gate, draw.boundary, case.saving
            )
            results[name] = (draw, look)
        return results

    first = looked()
    futile = []
    for name, (_, look) in first.items():
        if look.open or inputs[name].fraction != planned["share"]:
            return first
        if (look.conditional_power or 1) < FUTILE:
            futile.append(name)
    for name in futile:
        inputs[name] = inputs[name]._replace(fraction=1.0)
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
    if first is None:
        return []
    then = first["gate"]
    names = [key for key in ("saves", "margin", "least") if then.get(key) != gate.get(key)]
    if not names:
        return []
    detail = f"There is no SAVES, because gate.{', gate.'.join(names)} changed after the first run."
    return [Reason(ReasonKind.LIMITS_CHANGED, detail, "SAVES")]


class GateInput(NamedTuple):
    """The common input of all verdicts of a benchmark."""

    folder: Path
    reliability: ReliabilityFile | None
    """None at a look, which comes before judges are measured."""
    ledger: LookLedger
    distrusted: Sequence[Reason]
    """Why the ledger cannot be trusted."""
    voided: Collection[str]
    """What `voided_runs` found; empty without a ledger."""
    moved: Sequence[Reason]
    """Why there is no SAVES, when its quantity or its limits changed after the first run."""

    @property
    def belief(self) -> Belief:
        return self.reliability["belief"] if self.reliability else _UNMEASURED

    def decide(self, name: str, case: GateCase, draw: Draw, look: LookResult) -> Compared:
        """The estimates of a comparison with the verdict and with what this look allows."""
        comparison = case.comparison
        plan = comparison.plan
        gate = plan["gate"]
        before = shown_before(self.ledger, name, draw.seen, self.voided)
        starts = {}
        for condition, runs in comparison.runs.items():
            starts[comparison.name(condition)] = starts_of(self.folder, runs)
        others = [*readings(comparison, [*starts.values()], self.belief.doubts, draw.seen, before)]
        few = case.estimates["too_few_calls"]
        blocking = blockers(comparison, name, self.reliability, few)
        against = [*self.distrusted, *blocking, *self.moved]
        verdict = decide(case.counted, gate, look, against, others, case.saving)
        look = stopped(look, verdict.verdict)
        enough = []
        if verdict.verdict in ("NO-GO", "INCONCLUSIVE") and verdict.low is not None:
            enough = [*deciding(case.counted, others, gate, left_after(draw) / 2, case.saving)]
        brought = plan["conditions"][comparison.treatment].keys() & {"files", "agent"}
        facts = SentenceFacts(
            settings=gate,
            look=look,
            trials=plan["trials"],
            model=model_of(comparison.tables),
            sides=self._sides(comparison),
            leaves_out=comparison.leaves_out,
            brings_more=bool(brought),
            number=number_of(draw, self.ledger),
            among=draw.among,
            enough=enough,
            starts=starts,
            remarks=[
                *self._remarks(case, verdict.verdict),
                *edits(comparison, draw.seen, before),
                *filter(None, [self.belief.caveat]),
            ],
            saving=case.saving,
            patterns=self.belief.constant,
        )
        score = case.estimates["score"]
        overall = as_looked_at(score["overall"], look, gate["power"])
        corrected = case.by_people and as_looked_at(case.by_people, look, gate["power"])
        looks = []
        if "look" in plan:
            looks = [*earlier_looks(self.folder, plan, name), look]
        return {
            **case.estimates,
            "score": {**score, "overall": overall},
            "corrected": corrected,
            "looks": looks,
            "look_number": facts.number,
            "level": level_of(look.boundary),
            "gate": in_words(verdict, case.counted, facts),
        }

    def _sides(self, comparison: Comparison) -> Sides | None:
        """The names of the two conditions, where the treatment is not the baseline with tools more."""
        # scores from elsewhere do not tell what a condition brings
        is_given = bool(self.belief.decided.get(Basis.ELSEWHERE))
        is_of_two = comparison.baseline != comparison.plan["baseline"]
        if is_given or is_of_two or comparison.leaves_out:
            return comparison.names
        return None

    def _remarks(self, case: GateCase, verdict: VerdictName) -> Sequence[str]:
        by_judges = any(map(self.belief.decided.get, _BY_JUDGES))
        if by_judges and not case.by_people and verdict != "INCONCLUSIVE":
            return [_ASSUMPTION]
        return []


def voided_runs(folder: Path) -> set[str]:
    """The hashes of discarded runs, except those that a person discarded."""
    found = set()
    for _, attempts in all_entries(folder):
        for entry, discard in rounds(attempts):
            if discard.reason != DiscardReason.BY_HAND and RECORD in entry.files:
                record = from_json(entry.record.read_text(encoding="utf-8"))
                found.add(identity(record))
    return found


def write_estimates(folder: Path, tables: Tables | None = None) -> EstimatesFile:
    """Writes estimates.json, adds the verdicts to the ledger, and returns the content of the file.

    `tables` are those of the folder, if they were read before."""
    tables = tables or read_tables(folder)
    plan = tables.plan
    place = RunFolder(folder).judge_reliability
    reliability = read_typed(place, ReliabilityFile) if place.exists() else None
    ledger, distrusted = read_account(folder)
    voided = voided_runs(folder) if ledger else set()
    moved = limits_changed(folder, plan["gate"])
    gate = GateInput(folder, reliability, ledger, distrusted, voided, moved)
    uses = uses_of(tables)
    estimates = {}
    for name, sides in comparisons(plan).items():
        estimates[name] = estimates_of(Comparison(tables, *sides), uses)
    correct_for_families(plan, estimates)
    cases = _cases(gate, tables, estimates)
    lines = []
    for name, (draw, look) in look_at(plan, cases, ledger).items():
        estimates[name] = gate.decide(name, cases[name], draw, look)
        verdict = estimates[name]["gate"]
        kinds = [reason.kind for reason in verdict.reasons]
        if spends(verdict.low, kinds):
            due = ReasonKind.RUNS_DUE in kinds
            lines.append(draw.model_copy(update={"verdict": verdict.verdict, "due": due}))
    data: EstimatesFile = {"alpha": plan["gate"]["alpha"], "comparisons": estimates}
    words = _words(tables, uses)
    if words:
        data["words"] = words
    if not distrusted:
        note(folder, lines)
    write_json(RunFolder(folder).estimates, plain(data))
    return data


def _cases(
    gate: GateInput, tables: Tables, estimates: Mapping[str, Compared]
) -> dict[str, GateCase]:
    """The comparisons that the gate decides."""
    settings = tables.plan["gate"]
    bias = gate.reliability["bias"] if gate.reliability else None
    corrections = bias["correction"] if bias else {}
    others = discarded_attempts(gate.folder, tables.scores)
    cases = {}
    for name, sides in decided_comparisons(tables.plan).items():
        comparison = Comparison(tables, *sides)
        by_people = None
        if name in corrections:
            by_people = compared.corrected_by_people(
                estimates[name]["overall"],
                corrections[name],
                settings["alpha"],
                settings["power"],
            )
        saving = saving_of(comparison, settings, others)
        cases[name] = GateCase(comparison, estimates[name], by_people, saving)
    return cases


def _words(tables: Tables, uses: Uses) -> WordsChoice | None:
    """The choice of words, where the plan holds tasks out for it."""
    plan = tables.plan
    confirming = plan.get("holdout", ())
    if not confirming:
        return None
    candidates = {}
    for name in treatments(plan):
        if "describe" in plan["conditions"][name]:
            candidates[name] = Comparison(tables, name, plan["baseline"])
    return choice_of_words(candidates, uses, confirming)


def score_and_estimate(folder: Path) -> EstimatesFile:
    """Scores the runs and estimates the differences: scores.csv, pairs.csv, estimates.json."""
    records = score_all(folder)
    return write_estimates(folder, read_tables(folder, records))


if __name__ == "__main__":
    run_stage(score_and_estimate)
