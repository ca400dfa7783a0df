"""Measures the quality of judging: failures, agreement, bias, blinding, and problems of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path

from lensbench.core.conditions import decided_comparisons, treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import exact
from lensbench.core.rows import DecisionRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import read_table, run_of_row
from lensbench.judging.criteria_checks import check_criteria, check_tasks
from lensbench.judging.decisions import Key, criterion_of, is_person, verdict_of
from lensbench.judging.judges import DRAFTED, NOT_ASKED, Verdict
from lensbench.judging.shown_answers import Group, read_shown_answers, read_tasks, sampled_pairs
from lensbench.judging.trust import Bias, InstrumentFile, JudgeSummary, UnjudgedCount
from lensbench.judging.trust.agreement import Verdicts, agreement
from lensbench.judging.trust.belief import believe
from lensbench.judging.trust.bias import (
    Decided,
    corrected_delta,
    judge_bias,
    pair_deltas,
    persons_verdicts,
    run_scores,
)
from lensbench.judging.trust.blinding_check import BlindedAnswer, guess_conditions
from lensbench.plan.frozen import read_plan


def verdicts_by_judge(rows: Iterable[VerdictRow]) -> Verdicts:
    """The verdicts of all judges by run and criterion, without failures."""
    verdicts: dict[Key, dict[str, Verdict]] = {}
    for row in rows:
        if (verdict := verdict_of(row)) is not Verdict.UNJUDGED:
            verdicts.setdefault((run_of_row(row), criterion_of(row)), {})[row["judge"]] = verdict
    return verdicts


def drafted(rows: Iterable[VerdictRow]) -> set[Key]:
    """The criteria with a verdict by a draft pattern."""
    drafts = (row for row in rows if row["version"].endswith(DRAFTED) and row["verdict"] != Verdict.UNJUDGED)
    return {(run_of_row(row), criterion_of(row)) for row in drafts}


def judged_criteria(rows: Iterable[tuple[DecisionRow, str]]) -> Decided:
    """The verdict beside each decision's row, without unjudged criteria."""
    verdicts = {(run_of_row(row), criterion_of(row)): Verdict(verdict) for row, verdict in rows}
    return {key: verdict for key, verdict in verdicts.items() if verdict is not Verdict.UNJUDGED}


def judge_summaries(rows: Iterable[VerdictRow]) -> dict[str, JudgeSummary]:
    by_judge: dict[str, list[VerdictRow]] = {}
    for row in rows:
        by_judge.setdefault(row["judge"], []).append(row)
    return {name: _judge_summary(own) for name, own in sorted(by_judge.items())}


def _judge_summary(rows: Sequence[VerdictRow]) -> JudgeSummary:
    costs = [cost for row in rows if (cost := exact(row["cost_usd"])) is not None]
    failures: dict[str, Counter[str]] = {}
    for row in rows:
        if row["failure"] and row["failure"] not in NOT_ASKED:
            failures.setdefault(row["failure"], Counter())[row["condition"]] += 1
    return {
        "models": sorted({row["model"] for row in rows} - {""}),
        "verdicts": dict(Counter(row["verdict"] for row in rows)),
        "answers": len({run_of_row(row) for row in rows}),
        "voided": len({run_of_row(row) for row in rows if row["failure"] == "canary"}),
        "failures": failures,
        "cost_usd": sum(costs, Fraction(0)) if costs else None,
        "cost_is_guess": any(row["cost_estimated"] for row in rows),
    }


def bias(plan: Plan, verdicts: Verdicts, decisions: Sequence[DecisionRow]) -> Bias | None:
    """The bias of the judges; None without verdicts by people."""
    persons = persons_verdicts(verdicts)
    if not persons:
        return None
    comparisons = decided_comparisons(plan)
    names = sorted({judge for votes in verdicts.values() for judge in votes if not is_person(judge)})
    by_judge = {name: {key: votes[name] for key, votes in verdicts.items() if name in votes} for name in names}
    together = judged_criteria((row, row["judges_verdict"]) for row in decisions)
    # people may have judged more, such as disputed criteria, but only the random sample represents all pairs
    sample = sampled_pairs(plan, pairs_of(plan, decisions))
    of_sample = {key: verdict for key, verdict in persons.items() if (key[0].task, key[0].trial) in sample}
    criteria = criteria_of(plan)
    by_judges, by_persons = run_scores(together, criteria), run_scores(of_sample, criteria)
    return {
        "judges": {name: judge_bias(name, by_judge[name], persons, comparisons) for name in names},
        "together": judge_bias("the judges' decision", together, persons, comparisons),
        "correction": {
            name: corrected_delta(pair_deltas(by_judges, *sides), pair_deltas(by_persons, *sides))
            for name, sides in comparisons.items()
        },
    }


def criteria_of(plan: Plan) -> dict[str, int]:
    return {name: task["criteria"] for name, task in plan["tasks"].items()}


def pairs_of(plan: Plan, decisions: Iterable[DecisionRow]) -> set[Group]:
    """The (task, trial) pairs with valid runs of the baseline and another condition, from which the sample is drawn."""
    conditions: dict[Group, set[str]] = {}
    for row in decisions:
        conditions.setdefault((row["task"], int(row["trial"])), set()).add(row["condition"])
    return {group for group, names in conditions.items() if plan["baseline"] in names and len(names) > 1}


def unjudged(decisions: Iterable[DecisionRow]) -> dict[str, UnjudgedCount]:
    """The criteria of valid runs without a verdict, by condition."""
    counts: dict[str, UnjudgedCount] = {}
    for row in decisions:
        count = counts.setdefault(row["condition"], {"criteria": 0, "of": 0})
        count["criteria"] += row["verdict"] == Verdict.UNJUDGED
        count["of"] += 1
    return counts


def measure_instrument(folder: Path) -> None:
    """Reads the verdicts, the decisions and the blinded answers, and writes instrument.json."""
    place, plan, tasks = RunFolder(folder), read_plan(folder), read_tasks(folder)
    rows, decisions = read_table(place.verdicts, VerdictRow), read_table(place.decisions, DecisionRow)
    conditions = [plan["baseline"], *treatments(plan)]
    verdicts, final = verdicts_by_judge(rows), judged_criteria((row, row["verdict"]) for row in decisions)
    of_compared = {key: verdict for key, verdict in final.items() if key[0].condition in conditions}
    scores = run_scores(final, criteria_of(plan))
    agreements, biases = agreement(verdicts, conditions, plan["seed"]), bias(plan, verdicts, decisions)
    answers = [
        BlindedAnswer(answer.run.task, answer.run.condition, answer.text, answer.blinded.original, scores[answer.run])
        for answer in read_shown_answers(folder, plan, tasks)
        if answer.run in scores and answer.run.condition in conditions
    ]
    blinding = guess_conditions(answers, plan["baseline"], plan["seed"])
    data: InstrumentFile = {
        "judges": judge_summaries(rows),
        "agreement": agreements,
        "bias": biases,
        "criteria": [*check_criteria(tasks, decisions, conditions), *check_tasks(scores, conditions)],
        "unjudged": unjudged(decisions),
        "blinding": {"classifier": blinding},
        "belief": believe(
            {key: votes for key, votes in verdicts.items() if key[0].condition in conditions}, drafted(rows),
            of_compared, agreements["all"], treatments(plan), blinding, plan["seed"],
            [name for name, delta in (biases["correction"] if biases else {}).items() if delta.value is not None],
        ),
    }  # fmt: skip
    write_json(place.instrument, plain(data))


if __name__ == "__main__":
    run_stage(measure_instrument)
