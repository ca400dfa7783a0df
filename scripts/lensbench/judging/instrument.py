"""Measures the quality of judging: failures, agreement, bias, blinding, and problems of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Literal

from lensbench.core.conditions import decided_comparisons, of_condition, treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import exact
from lensbench.core.rows import DecisionRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import grouped, read_table, run_of_row
from lensbench.judging.criteria_checks import check_criteria, check_tasks
from lensbench.judging.decisions import Key, is_person, key_of
from lensbench.judging.judges import DRAFTED, NOT_ASKED, POINTS, Verdict
from lensbench.judging.shown_answers import Group, read_shown_answers, read_tasks, sampled_pairs
from lensbench.judging.trust import Bias, InstrumentFile, JudgeSummary, bias
from lensbench.judging.trust.agreement import Verdicts, agreement
from lensbench.judging.trust.belief import believe
from lensbench.judging.trust.blinding_check import BlindedAnswer, guess_conditions
from lensbench.plan.frozen import read_plan


def measure_instrument(folder: Path) -> None:
    """Reads the verdicts, the decisions and the blinded answers, and writes instrument.json."""
    place, plan, tasks = RunFolder(folder), read_plan(folder), read_tasks(folder)
    rows, decisions = (
        read_table(place.verdicts, VerdictRow),
        read_table(place.decisions, DecisionRow),
    )
    conditions = [plan["baseline"], *treatments(plan)]
    verdicts: dict[Key, dict[str, Verdict]] = {}
    drafts: set[Key] = set()
    for row in rows:
        if row["verdict"] != Verdict.UNJUDGED:
            verdicts.setdefault(key_of(row), {})[row["judge"]] = Verdict(row["verdict"])
            if row["version"].endswith(DRAFTED) and row["condition"] in conditions:
                drafts.add(key_of(row))
    final = _decided(decisions, "verdict")
    points = _points(decisions, final)
    scores = bias.run_scores(points, _criteria_of(plan))
    shown = read_shown_answers(folder, plan, tasks)
    pairs = {(answer.run.task, answer.run.trial) for answer in shown if answer.pair_complete}
    agreements = agreement(verdicts, conditions, plan["seed"])
    biases = _bias(plan, verdicts, decisions, pairs) if final else None
    answers = [
        BlindedAnswer(
            answer.run.task,
            answer.run.condition,
            answer.text,
            answer.blinded.original,
            scores[answer.run],
        )
        for answer in shown
        if answer.run in scores and answer.run.condition in conditions
    ]
    blinding = guess_conditions(answers, plan["baseline"], plan["seed"])
    data: InstrumentFile = {
        "judges": {
            name: _summary(own) for name, own in grouped(rows, lambda row: row["judge"]).items()
        },
        "agreement": agreements,
        "bias": biases,
        "criteria": [
            *check_criteria(tasks, decisions, conditions),
            *check_tasks(scores, conditions),
        ],
        "unjudged": {
            name: {
                "criteria": sum(row["verdict"] == Verdict.UNJUDGED for row in own),
                "of": len(own),
            }
            for name, own in grouped(decisions, lambda row: row["condition"]).items()
        },
        "blinding": {"classifier": blinding},
        "belief": believe(
            {key: votes for key, votes in verdicts.items() if key[0].condition in conditions},
            drafts,
            {key: verdict for key, verdict in final.items() if key[0].condition in conditions},
            {key: value for key, value in points.items() if key[0].condition in conditions},
            agreements["all"],
            treatments(plan),
            blinding,
            plan["seed"],
            [
                name
                for name, delta in (biases["correction"] if biases else {}).items()
                if delta.value is not None
            ],
        ),
    }
    write_json(place.instrument, plain(data))


def _decided(
    rows: Iterable[DecisionRow], column: Literal["verdict", "judges_verdict"]
) -> bias.Decided:
    """The verdicts in a column of decisions.csv, without unjudged criteria."""
    return {key_of(row): Verdict(row[column]) for row in rows if row[column] != Verdict.UNJUDGED}


def _points(rows: Iterable[DecisionRow], verdicts: bias.Decided) -> dict[Key, Fraction]:
    """The points of verdicts: the decided ones where they are the decision, as by tests, else those of the verdict."""
    decided = {key_of(row): row for row in rows}
    points = {key: POINTS[verdict] for key, verdict in verdicts.items()}
    for key, verdict in verdicts.items():
        own = exact(decided[key]["points"])
        if decided[key]["verdict"] == verdict and own is not None:
            points[key] = own
    return points


def _criteria_of(plan: Plan) -> dict[str, int]:
    return {name: task["criteria"] for name, task in plan["tasks"].items()}


def _summary(rows: Sequence[VerdictRow]) -> JudgeSummary:
    costs = [cost for row in rows if (cost := exact(row["cost_usd"])) is not None]
    failures = [row for row in rows if row["failure"] and row["failure"] not in NOT_ASKED]
    return {
        "models": sorted({row["model"] for row in rows} - {""}),
        "verdicts": dict(Counter(row["verdict"] for row in rows)),
        "answers": len({run_of_row(row) for row in rows}),
        "voided": len({run_of_row(row) for row in rows if row["failure"] == "canary"}),
        "failures": {
            name: Counter(row["condition"] for row in own)
            for name, own in grouped(failures, lambda row: row["failure"]).items()
        },
        "cost_usd": sum(costs, Fraction(0)) if costs else None,
        "cost_is_guess": any(row["cost_estimated"] for row in rows),
    }


def _bias(
    plan: Plan, verdicts: Verdicts, decisions: Sequence[DecisionRow], pairs: Collection[Group]
) -> Bias | None:
    """The bias of the judges; None without verdicts by people. From `pairs`, the complete ones, the sample is drawn."""
    persons = bias.persons_verdicts(verdicts)
    if not persons:
        return None
    sides, criteria = decided_comparisons(plan), _criteria_of(plan)
    conditions, baseline = plan["conditions"], plan["baseline"]
    whose = {name: of_condition(conditions, baseline, name) for name in conditions}
    names = sorted(
        {judge for votes in verdicts.values() for judge in votes if not is_person(judge)}
    )
    together = _decided(decisions, "judges_verdict")
    # people may have judged more, such as disputed criteria, but only the random sample represents all pairs
    sample = sampled_pairs(plan, pairs)
    of_sample = {
        key: verdict for key, verdict in persons.items() if (key[0].task, key[0].trial) in sample
    }
    by_judges, by_persons = (
        bias.run_scores(_points(decisions, together), criteria),
        bias.run_scores(_points(decisions, of_sample), criteria),
    )
    return {
        "judges": {
            name: bias.judge_bias(
                name,
                {key: own[name] for key, own in verdicts.items() if name in own},
                persons,
                sides,
                whose,
            )
            for name in names
        },
        "together": bias.judge_bias("the judges' decision", together, persons, sides, whose),
        "correction": {
            name: bias.corrected_delta(
                bias.pair_deltas(by_judges, *two), bias.pair_deltas(by_persons, *two)
            )
            for name, two in sides.items()
        },
    }


if __name__ == "__main__":
    run_stage(measure_instrument)
