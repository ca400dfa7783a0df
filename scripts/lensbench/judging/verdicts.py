"""Runs one judge on every criterion of every valid answer (protocol, section 4)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError, did_you_mean
from lensbench.core.frozen_plan import HUMAN, MECHANICAL, TESTS, Plan, PlannedJudge
from lensbench.core.rows import GuessRow, VerdictRow, columns
from lensbench.core.run_folder import RunFolder
from lensbench.core.system.program import collect_rarely, run_program, stage_parser
from lensbench.core.tables import row_of_run, write_table
from lensbench.core.tasks import Task
from lensbench.judging.judges import DRAFTED, mechanical
from lensbench.judging.judges.again import count_round
from lensbench.judging.judges.normalising import normalise
from lensbench.judging.shown_answers import (
    ShownAnswer,
    read_named_answers,
    read_shown_answers,
    read_tasks,
    verdict_row,
)  # fmt: skip
from lensbench.plan.waves import read_opened_plan


def judge_mechanically(answers: Sequence[ShownAnswer], tasks: Mapping[str, Task]) -> Iterator[VerdictRow]:
    """The verdicts of the patterns on answers with all names, since a server's name may also be a folder in a fact."""
    for answer in answers:
        text = normalise(answer.text)
        for number, criterion in answer_criteria(tasks[answer.run.task]):
            judgement = mechanical.judge(criterion, text)
            version = f"{mechanical.VERSION}{f'+{criterion.drafted}{DRAFTED}' if criterion.drafted else ''}"
            yield verdict_row(answer, number, MECHANICAL, judgement, version=version)


def judge_all(folder: Path, name: str, parallel: int = 1, ask: bool = True, counts: bool = True) -> None:
    """Reads the criteria, validity.csv and the answers, and writes verdicts/<judge>.csv; without `ask` from stored
    replies. Only a round that `counts` adds to the number of failed rounds."""
    plan = read_opened_plan(folder)
    tasks = read_tasks(folder)
    rows = list(_rows(folder, plan, tasks, name, parallel, ask))
    place = {task: number for number, task in enumerate(plan["order"])}
    rows.sort(key=lambda row: (int(row["trial"]), place[row["task"]], row["condition"], int(row["criterion"])))
    write_table(RunFolder(folder).judge_verdicts / f"{name}.csv", columns(VerdictRow), rows)
    if ask and counts:
        count_round(folder, name, rows)


def _rows(
    folder: Path, plan: Plan, tasks: Mapping[str, Task], name: str, parallel: int, ask: bool
) -> Iterator[VerdictRow]:
    """The verdicts of any kind of judge. Imports are local, since some take longer than judging by patterns."""
    if name == MECHANICAL:
        return judge_mechanically(read_named_answers(folder, plan, tasks), tasks)
    if name == TESTS:
        from lensbench.judging.changes import judge_changes

        return judge_changes(folder, read_named_answers(folder, plan, tasks), tasks)
    answers = read_shown_answers(folder, plan, tasks)
    if name.startswith(f"{HUMAN}-"):
        from lensbench.judging.judges import human

        return human.judge(folder, name, answers, tasks)
    from lensbench.judging.ask_models import judge_by_model

    outcomes = judge_by_model(folder, plan, _model_judge(plan, name), tasks, answers, parallel, ask)
    return (outcome.row(answer, number, name) for answer, number, outcome in outcomes)


def _model_judge(plan: Plan, name: str) -> PlannedJudge:
    for judge in plan["judges"]:
        if judge["name"] == name and "agent" in judge:
            return judge
    names = [judge["name"] for judge in plan["judges"]]
    raise UserError(f"the plan has no judge {name!r}; known are {', '.join(names)}{did_you_mean(name, names)}")


def guess_all(folder: Path, name: str, parallel: int) -> None:
    """Asks a model judge for the condition of each answer, and writes guesses/<judge>.csv."""
    from lensbench.judging.ask_models import guess_by_model

    plan = read_opened_plan(folder)
    tasks = read_tasks(folder)
    answers = read_shown_answers(folder, plan, tasks)
    guesses = guess_by_model(folder, plan, _model_judge(plan, name), tasks, answers, parallel)
    rows: list[GuessRow] = [
        {**row_of_run(run), "guessed": condition or ""}
        for run, condition in sorted((answer.run, condition) for answer, condition in guesses)
    ]
    write_table(RunFolder(folder).guesses / f"{name}.csv", columns(GuessRow), rows)


def main() -> None:
    """Run one judge on all valid answers."""
    parser = stage_parser(main.__doc__)
    parser.add_argument("--judge", default=MECHANICAL, help="the judge's name in the config; human-<name> for a person")
    parser.add_argument("--parallel", type=int, default=1, help="how many answers a model judge reads in parallel")
    parser.add_argument("--guess", action="store_true", help="ask the judge for the condition of each answer instead")
    arguments = parser.parse_args()
    collect_rarely()
    stage = guess_all if arguments.guess else judge_all
    stage(arguments.folder, arguments.judge, arguments.parallel)


if __name__ == "__main__":
    run_program(main)
