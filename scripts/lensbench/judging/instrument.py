"""Measures the quality of judging: failures, agreement, bias, blinding, and problems of criteria."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.conditions import decided_comparisons, treatments
from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import exact
from lensbench.core.records import RunId
from lensbench.core.rows import DecisionRow, GuessRow, VerdictRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import plain, write_json
from lensbench.core.system.program import run_stage
from lensbench.core.tables import read_table, run_of_row
from lensbench.core.tasks import Task
from lensbench.judging.agreement import All, Verdicts, agreement
from lensbench.judging.belief import Belief, believe, votes_of
from lensbench.judging.bias import (
    Decided,
    Mean,
    corrected_delta,
    judge_bias,
    pair_deltas,
    persons_verdicts,
    run_scores,
)
from lensbench.judging.blinding_check import (
    BlindedAnswer,
    Guess,
    guess_conditions,
    guesses_of_judge,
)
from lensbench.judging.criteria_checks import Finding, check_criteria, check_tasks
from lensbench.judging.decisions import criterion_of, is_person, verdict_of
from lensbench.judging.instrument_file import (
    Bias,
    Blinding,
    InstrumentFile,
    JudgeSummary,
    UnjudgedCount,
)
from lensbench.judging.judges import NOT_ASKED, Verdict
from lensbench.judging.sample import Group, sampled_pairs
from lensbench.judging.shown_answers import ShownAnswer, read_shown_answers, read_tasks
from lensbench.plan.frozen import read_plan

CANARY = "canary"
"""The failure of all verdicts on an answer when a canary got a wrong verdict."""


class JudgedTables(NamedTuple):
    """The tables about judging in a run folder."""

    plan: Plan
    tasks: Mapping[str, Task]
    verdicts: Sequence[VerdictRow]
    decisions: Sequence[DecisionRow]

    @property
    def has_closed_book(self) -> bool:
        """True when there is a control condition without the repository."""
        return bool(self.plan.get("controls", {}).get("closed_book"))

    @property
    def treatments(self) -> list[str]:
        """The conditions compared with the baseline, without controls."""
        return treatments(self.plan)

    @property
    def criteria(self) -> dict[str, int]:
        """Task -> number of criteria."""
        return {name: task["criteria"] for name, task in self.plan["tasks"].items()}

    @property
    def groups(self) -> set[Group]:
        """The (task, trial) pairs with valid runs of the baseline and another condition, from which the sample is
        drawn."""
        found: dict[Group, set[str]] = {}
        for row in self.decisions:
            found.setdefault((row["task"], int(row["trial"])), set()).add(row["condition"])
        return {group for group, names in found.items() if self.plan["baseline"] in names and len(names) > 1}

    @property
    def compared(self) -> list[str]:
        """The baseline and the treatments."""
        return [self.plan["baseline"], *self.treatments]


def read_judged(folder: Path) -> JudgedTables:
    """The tables of the earlier stages. Raises UserError for a missing table."""
    place = RunFolder(folder)
    return JudgedTables(
        read_plan(folder), read_tasks(folder), read_table(place.verdicts, VerdictRow),
        read_table(place.decisions, DecisionRow),
    )  # fmt: skip


def given_verdicts(rows: Iterable[VerdictRow]) -> Verdicts:
    """The verdicts of all judges by run and criterion, without failures."""
    found: dict[tuple[RunId, int], dict[str, Verdict]] = {}
    for row in rows:
        if (verdict := verdict_of(row)) is not Verdict.UNJUDGED:
            found.setdefault((run_of_row(row), criterion_of(row)), {})[row["judge"]] = verdict
    return found


def judges(rows: Iterable[VerdictRow]) -> dict[str, JudgeSummary]:
    """The summary of each judge by its name."""
    by_judge: dict[str, list[VerdictRow]] = {}
    for row in rows:
        by_judge.setdefault(row["judge"], []).append(row)
    return {name: _judge(rows) for name, rows in sorted(by_judge.items())}


def _judge(rows: Sequence[VerdictRow]) -> JudgeSummary:
    costs = [cost for row in rows if (cost := exact(row["cost_usd"])) is not None]
    return {
        "models": sorted({row["model"] for row in rows} - {""}),
        "verdicts": dict(Counter(row["verdict"] for row in rows)),
        "answers": len({run_of_row(row) for row in rows}),
        "voided": len({run_of_row(row) for row in rows if row["failure"] == CANARY}),
        "failures": _failures(rows),
        "cost_usd": sum(costs, Fraction(0)) if costs else None,
        "cost_is_guess": any(row["cost_estimated"] for row in rows),
    }


def _failures(rows: Iterable[VerdictRow]) -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        if row["failure"] and row["failure"] not in NOT_ASKED:
            counts.setdefault(row["failure"], Counter())[row["condition"]] += 1
    return counts


def bias(judged: JudgedTables, verdicts: Verdicts) -> Bias | None:
    """The bias of the judges; None without verdicts by people."""
    persons = persons_verdicts(verdicts)
    if not persons:
        return None
    compared = decided_comparisons(judged.plan)
    names = sorted({judge for said in verdicts.values() for judge in said if not is_person(judge)})
    by_judge = {name: {key: said[name] for key, said in verdicts.items() if name in said} for name in names}
    together = judges_together(judged.decisions)
    # people may have judged more, such as disputed criteria, but only the random sample represents all pairs
    sample = sampled_pairs(judged.plan, judged.groups)
    sampled = {key: verdict for key, verdict in persons.items() if (key[0].task, key[0].trial) in sample}
    by_judges, by_persons = run_scores(together, judged.criteria), run_scores(sampled, judged.criteria)
    return {
        "judges": {name: judge_bias(name, by_judge[name], persons, compared) for name in names},
        "together": judge_bias("the judges' decision", together, persons, compared),
        "correction": {
            name: corrected_delta(pair_deltas(by_judges, *sides), pair_deltas(by_persons, *sides))
            for name, sides in compared.items()
        },
    }


def judges_together(decisions: Iterable[DecisionRow]) -> Decided:
    """The decisions of the judges without people."""
    decided = {(run_of_row(row), int(row["criterion"])): Verdict(row["judges_verdict"]) for row in decisions}
    return {key: verdict for key, verdict in decided.items() if verdict is not Verdict.UNJUDGED}


def findings(judged: JudgedTables) -> list[Finding]:
    """The problems of criteria and tasks, in the plan's order."""
    return [
        *check_criteria(judged.tasks, judged.decisions, judged.compared),
        *(
            check_tasks(run_scores(decided(judged.decisions), judged.criteria), judged.compared)
            if judged.has_closed_book
            else ()
        ),
    ]


def decided(decisions: Iterable[DecisionRow]) -> Decided:
    """The final decisions."""
    verdicts = {(run_of_row(row), criterion_of(row)): Verdict(row["verdict"]) for row in decisions}
    return {key: verdict for key, verdict in verdicts.items() if verdict is not Verdict.UNJUDGED}


def unjudged(decisions: Iterable[DecisionRow]) -> dict[str, UnjudgedCount]:
    """The criteria of valid runs without a verdict, by condition."""
    counts: dict[str, UnjudgedCount] = {}
    for row in decisions:
        count = counts.setdefault(row["condition"], {"criteria": 0, "of": 0})
        count["criteria"] += row["verdict"] == Verdict.UNJUDGED
        count["of"] += 1
    return counts


def blinding(judged: JudgedTables, seen: Iterable[ShownAnswer], guesses: Mapping[str, Sequence[GuessRow]]) -> Blinding:
    """How well the condition can be guessed from blinded answers with equal scores, by a classifier (by treatment) and
    by judges."""
    scores = run_scores(
        decided(row for row in judged.decisions if row["condition"] in judged.compared), judged.criteria
    )
    answers = [
        BlindedAnswer(shown.run.task, shown.run.condition, shown.text, shown.blinded.original, scores[shown.run])
        for shown in seen
        if shown.run in scores
    ]
    return {
        "classifier": guess_conditions(answers, judged.plan["baseline"], judged.plan["seed"]),
        "judges": {name: guesses_of_judge(_guesses(rows, scores)) for name, rows in guesses.items()},
    }


def belief(judged: JudgedTables, everybody: All, found: Blinding, correction: Mapping[str, Mean]) -> Belief:
    """How far the decisions on the compared conditions can be trusted."""
    verdicts = [row for row in judged.verdicts if row["condition"] in judged.compared]
    given = decided(row for row in judged.decisions if row["condition"] in judged.compared)
    corrected = {name for name, delta in correction.items() if delta.value is not None}
    return believe(
        votes_of(verdicts), given, everybody, judged.treatments, found["classifier"], found["judges"],
        judged.plan["seed"], corrected,
    )  # fmt: skip


def _guesses(rows: Iterable[GuessRow], scores: Mapping[RunId, Fraction]) -> list[Guess]:
    runs = [(run_of_row(row), row["guessed"]) for row in rows if row["guessed"]]
    return [Guess(run.task, guessed, run.condition, scores[run]) for run, guessed in runs if run in scores]


def read_guesses(folder: Path) -> dict[str, list[GuessRow]]:
    """The rows of guesses/<judge>.csv by judge."""
    return {path.stem: read_table(path, GuessRow) for path in sorted(RunFolder(folder).guesses.glob("*.csv"))}


def measure_instrument(folder: Path) -> None:
    """Reads the verdicts, the decisions and the blinded answers, and writes instrument.json."""
    judged = read_judged(folder)
    seen = read_shown_answers(folder, judged.plan, judged.tasks)
    verdicts = given_verdicts(judged.verdicts)
    agreed = agreement(verdicts, judged.compared, judged.plan["seed"])
    biased, guessed = bias(judged, verdicts), blinding(judged, seen, read_guesses(folder))
    data: InstrumentFile = {
        "judges": judges(judged.verdicts),
        "agreement": agreed,
        "bias": biased,
        "criteria": findings(judged),
        "unjudged": unjudged(judged.decisions),
        "blinding": guessed,
        "belief": belief(judged, agreed["all"], guessed, biased["correction"] if biased else {}),
    }
    write_json(RunFolder(folder).instrument, plain(data))


if __name__ == "__main__":
    run_stage(measure_instrument)
