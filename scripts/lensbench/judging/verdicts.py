"""Runs one judge on every criterion of every valid answer (protocol, section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.frozen_plan import GIVEN, HUMAN, MECHANICAL, TESTS, Plan, PlannedJudge
from lensbench.core.numbers import decimal
from lensbench.core.rows import VerdictRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.files import read_json, write_json
from lensbench.core.system.program import collect_rarely, run_program, stage_parser
from lensbench.core.tables import row_of_run, write_table
from lensbench.core.tasks import Task
from lensbench.judging.judges import DRAFTED, NOT_ASKED, Judgement, given, mechanical
from lensbench.judging.judges.normalising import normalise
from lensbench.judging.shown_answers import (
    JudgedCriterion,
    ShownAnswer,
    read_named_answers,
    read_shown_answers,
    read_tasks,
)
from lensbench.plan.waves import read_opened_plan


def judge_mechanically(
    answers: Sequence[ShownAnswer], tasks: Mapping[str, Task]
) -> Iterator[JudgedCriterion]:
    """The verdicts of the patterns on answers with all names, since a server's name may also be a folder in a fact."""
    for answer in answers:
        text = normalise(answer.text)
        for number, criterion in answer_criteria(tasks[answer.run.task]):
            version = mechanical.PATTERNS_VERSION
            if criterion.drafted:
                version = f"{version}+{criterion.drafted}{DRAFTED}"
            yield answer, number, replace(mechanical.judge(criterion, text), version=version)


def judge_all(
    folder: Path, name: str, parallel: int = 1, ask: bool = True, counts: bool = True
) -> None:
    """Reads the criteria, validity.csv and the answers, and writes verdicts/<judge>.csv; without `ask` from stored
    replies. Only a round that `counts` adds to the number of failed rounds."""
    plan = read_opened_plan(folder)

    def position(entry: JudgedCriterion) -> tuple[int, int, str, int]:
        answer, criterion, _ = entry
        run = answer.run
        return run.trial, plan["order"].index(run.task), run.condition, criterion

    judged = sorted(_judged(folder, plan, read_tasks(folder), name, parallel, ask), key=position)
    rows = (_row(answer, number, name, judgement) for answer, number, judgement in judged)
    write_table(RunFolder(folder).judge_verdicts / f"{name}.csv", columns(VerdictRow), rows)
    if ask and counts:
        failures = {judgement.failure for *_, judgement in judged}
        _count_round(folder, name, bool(failures - {"", *NOT_ASKED}))


def _judged(
    folder: Path, plan: Plan, tasks: Mapping[str, Task], name: str, parallel: int, ask: bool
) -> Iterator[JudgedCriterion]:
    """The verdicts of any kind of judge. Imports are local, since some take longer than judging by patterns."""
    if name == MECHANICAL:
        return judge_mechanically(read_named_answers(folder, plan, tasks), tasks)
    if name == GIVEN:
        return (
            (answer, 1, given.judge(answer.text))
            for answer in read_named_answers(folder, plan, tasks)
        )
    if name == TESTS:
        from lensbench.judging.changes import judge_changes

        return judge_changes(folder, read_named_answers(folder, plan, tasks), tasks)
    answers = read_shown_answers(folder, plan, tasks)
    if name.startswith(f"{HUMAN}-"):
        from lensbench.judging.judges import human

        return human.judge(folder, name, answers, tasks)
    from lensbench.judging.ask_models import judge_by_model

    return judge_by_model(folder, plan, _model_judge(plan, name), tasks, answers, parallel, ask)


def _row(answer: ShownAnswer, criterion: int, judge: str, judgement: Judgement) -> VerdictRow:
    """A judgement as a row of verdicts.csv, with the evidence as in the original answer."""
    evidence = judgement.evidence
    start = judgement.position
    span = None
    if start is not None:
        span = answer.blinded.span(start, start + len(evidence))
    cost = judgement.cost_usd
    return {
        **row_of_run(answer.run),
        "criterion": str(criterion),
        "judge": judge,
        "verdict": judgement.verdict.value,
        "points": decimal(judgement.points) or "",
        "evidence": answer.blinded.original[slice(*span)] if span else evidence,
        "position": str(span[0]) if span else "",
        "reason": judgement.reason,
        "failure": judgement.failure,
        "version": judgement.version,
        "model": judgement.models,
        "cost_usd": "" if cost is None else decimal(Fraction(cost)) or "",
        "cost_estimated": "yes" if judgement.cost_is_guess and cost is not None else "",
    }


def _count_round(folder: Path, judge: str, failed: bool) -> None:
    """Counts a round with failures that asking again may fix; a complete round resets the count."""
    rounds = rounds_of(folder, judge)
    if failed or rounds:
        write_json(_rounds(folder, judge), {"rounds": rounds + 1 if failed else 0})


def rounds_of(folder: Path, judge: str) -> int:
    """How many rounds in a row left criteria without a verdict. After an incomplete one, the next start deletes the
    judge's table, so that Snakemake judges again, a limited number of times."""
    return int(read_json(_rounds(folder, judge)).get("rounds", 0))


def _rounds(folder: Path, judge: str) -> Path:
    return RunFolder(folder).judging / f"{judge}.json"


def _model_judge(plan: Plan, name: str) -> PlannedJudge:
    names = []
    for judge in plan["judges"]:
        if judge["name"] == name and "agent" in judge:
            return judge
        names.append(judge["name"])
    known = ", ".join(names)
    raise UserError(f"the plan has no judge {name!r}; known are {known}{did_you_mean(name, names)}")


def main() -> None:
    """Run one judge on all valid answers."""
    parser = stage_parser(main.__doc__)
    parser.add_argument(
        "--judge",
        default=MECHANICAL,
        help="the judge's name in the config; human-<name> for a person",
    )
    parser.add_argument(
        "--parallel", type=int, default=1, help="how many answers a model judge reads in parallel"
    )
    arguments = parser.parse_args()
    collect_rarely()
    judge_all(arguments.folder, arguments.judge, arguments.parallel)


if __name__ == "__main__":
    run_program(main)
