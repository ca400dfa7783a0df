"""Measures the quality of judging: failures, agreement, bias, blinding, and problems of criteria."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Literal

from lensbench.core.conditions import decided_comparisons, of_condition, treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import exact
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import grouped, read_table, run_of_row
from lensbench.judging.criteria_checks import check_criteria, check_tasks
from lensbench.judging.decisions import Key, is_person, key_of
from lensbench.judging.judges import DRAFTED, NOT_ASKED, POINTS, Verdict
from lensbench.judging.shown_answers import (
    ShownAnswer,
    read_shown_answers,
    read_tasks,
    sampled_pairs,
)
from lensbench.judging.trust import Bias, JudgeSummary, ReliabilityFile, UnjudgedCount, bias
from lensbench.judging.trust.agreement import Verdicts, agreement
from lensbench.judging.trust.belief import believe
from lensbench.judging.trust.blinding_check import BlindedAnswer, guess_conditions
from lensbench.plan.frozen import read_plan


def measure_reliability(folder: Path) -> None:
    """Reads the verdicts, the decisions and the blinded answers, and writes judge_reliability.json."""
    place = RunFolder(folder)
    plan = read_plan(folder)
    tasks = read_tasks(folder)
    shown = read_shown_answers(folder, plan, tasks)
    rows = read_table(place.verdicts, VerdictRow)
    decisions = read_table(place.decisions, DecisionRow)
    conditions = [plan["baseline"], *treatments(plan)]
    compared = [row for row in rows if row["condition"] in conditions]
    verdicts = _verdicts(compared)
    drafts = {
        key_of(row)
        for row in compared
        if row["verdict"] != Verdict.UNJUDGED and row["version"].endswith(DRAFTED)
    }
    final = _decided(decisions, "verdict")
    points = _points(decisions, final)
    scores = bias.run_scores(points, plan["tasks"])
    agreements = agreement(verdicts, conditions, plan["seed"])
    biases = _bias(plan, verdicts, decisions, shown) if final else None
    corrections = biases["correction"] if biases else {}
    answers = _scored_answers(shown, scores, conditions)
    blinding = guess_conditions(answers, plan["baseline"], plan["seed"])
    belief = believe(
        verdicts,
        drafts,
        {key: verdict for key, verdict in final.items() if key[0].condition in conditions},
        points,
        agreements["all"],
        treatments(plan),
        blinding,
        plan["seed"],
        [name for name, delta in corrections.items() if delta.value is not None],
    )
    by_judge = grouped(rows, lambda row: row["judge"])
    data: ReliabilityFile = {
        "judges": {name: _summary(own) for name, own in by_judge.items()},
        "agreement": agreements,
        "bias": biases,
        "criteria": [
            *check_criteria(tasks, decisions, conditions),
            *check_tasks(scores, conditions),
        ],
        "unjudged": _unjudged(decisions),
        "blinding": {"classifier": blinding},
        "belief": belief,
    }
    write_json(place.judge_reliability, plain(data))


def _verdicts(rows: Iterable[VerdictRow]) -> Verdicts:
    verdicts: dict[Key, dict[str, Verdict]] = defaultdict(dict)
    for row in rows:
        if row["verdict"] != Verdict.UNJUDGED:
            verdicts[key_of(row)][row["judge"]] = Verdict(row["verdict"])
    return verdicts


def _decided(
    rows: Iterable[DecisionRow], column: Literal["verdict", "judges_verdict"]
) -> bias.Decided:
    """The verdicts in a column of decisions.csv, without unjudged criteria."""
    return {key_of(row): Verdict(row[column]) for row in rows if row[column] != Verdict.UNJUDGED}


def _points(rows: Iterable[DecisionRow], verdicts: bias.Decided) -> dict[Key, Fraction]:
    """The points of verdicts: the decided ones where they are the decision, as by tests, else those of the verdict."""
    points = {key: POINTS[verdict] for key, verdict in verdicts.items()}
    for row in rows:
        key = key_of(row)
        decided = exact(row["points"])
        if decided is not None and verdicts.get(key) == row["verdict"]:
            points[key] = decided
    return points


def _scored_answers(
    shown: Iterable[ShownAnswer], scores: Mapping[RunId, Fraction], conditions: Collection[str]
) -> Iterator[BlindedAnswer]:
    for answer in shown:
        run = answer.run
        if run in scores and run.condition in conditions:
            original = answer.blinded.original
            yield BlindedAnswer(run.task, run.condition, answer.text, original, scores[run])


def _unjudged(decisions: Iterable[DecisionRow]) -> dict[str, UnjudgedCount]:
    counts: dict[str, UnjudgedCount] = {}
    for row in decisions:
        count = counts.setdefault(row["condition"], {"criteria": 0, "of": 0})
        count["of"] += 1
        count["criteria"] += row["verdict"] == Verdict.UNJUDGED
    return counts


def _summary(rows: Sequence[VerdictRow]) -> JudgeSummary:
    costs: list[Fraction] = []
    failures: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        cost = exact(row["cost_usd"])
        if cost is not None:
            costs.append(cost)
        if row["failure"] and row["failure"] not in NOT_ASKED:
            failures[row["failure"]][row["condition"]] += 1
    return {
        "models": sorted({row["model"] for row in rows} - {""}),
        "verdicts": Counter(row["verdict"] for row in rows),
        "answers": len({run_of_row(row) for row in rows}),
        "voided": len({run_of_row(row) for row in rows if row["failure"] == "canary"}),
        "failures": failures,
        "cost_usd": sum(costs, Fraction(0)) if costs else None,
        "cost_is_guess": any(row["cost_estimated"] for row in rows),
    }


def _bias(
    plan: Plan,
    verdicts: Verdicts,
    decisions: Sequence[DecisionRow],
    answers: Iterable[ShownAnswer],
) -> Bias | None:
    """The bias of the judges; None without verdicts by people."""
    persons = bias.persons_verdicts(verdicts)
    if not persons:
        return None
    by_judge: dict[str, dict[Key, Verdict]] = defaultdict(dict)
    for key, votes in verdicts.items():
        for judge, verdict in votes.items():
            by_judge[judge][key] = verdict
    together = _decided(decisions, "judges_verdict")
    errors_of = partial(
        bias.judge_bias,
        persons=persons,
        comparisons=decided_comparisons(plan),
        whose={name: of_condition(plan, name) for name in plan["conditions"]},
    )
    judges = sorted(judge for judge in by_judge if not is_person(judge))
    return {
        "judges": {judge: errors_of(judge, by_judge[judge]) for judge in judges},
        "together": errors_of("the judges' decision", together),
        "correction": _correction(plan, decisions, together, persons, answers),
    }


def _correction(
    plan: Plan,
    decisions: Sequence[DecisionRow],
    together: bias.Decided,
    persons: bias.Decided,
    answers: Iterable[ShownAnswer],
) -> dict[str, bias.Mean]:
    """The corrected delta of each comparison. People may have judged more, such as disputed criteria, but only the
    random sample of the complete pairs represents all of them."""
    pairs = {(answer.run.task, answer.run.trial) for answer in answers if answer.pair_complete}
    sample = sampled_pairs(plan, pairs)
    of_sample = {
        key: verdict for key, verdict in persons.items() if (key[0].task, key[0].trial) in sample
    }
    by_judges = bias.run_scores(_points(decisions, together), plan["tasks"])
    by_persons = bias.run_scores(_points(decisions, of_sample), plan["tasks"])
    deltas = {}
    for name, sides in decided_comparisons(plan).items():
        of_judges = bias.pair_deltas(by_judges, *sides)
        of_persons = bias.pair_deltas(by_persons, *sides)
        deltas[name] = bias.corrected_delta(of_judges, of_persons)
    return deltas


if __name__ == "__main__":
    run_stage(measure_reliability)
