"""Judges a text with the patterns of a task, as an answer would be, and shows which words decided.

lensbench try cart-dbg-01                    # the prompt, as the agent will see it
lensbench try cart-dbg-01 answer.md          # its verdicts; `-` reads the answer from standard input
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from lensbench.changes.task import answer_criteria
from lensbench.core.errors import UserError, did_you_mean, printable
from lensbench.core.handed_over import read_handed_over
from lensbench.core.numbers import score_of
from lensbench.core.system.program import Parser, only_config, run_program
from lensbench.core.tasks import Task
from lensbench.judging.blinding import Blinded, without_report
from lensbench.judging.judges import POINTS, Judgement, mechanical
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.freeze import prompt_of
from lensbench.plan.reading import load_config, read_file
from lensbench.plan.task_files import read_scenarios
from lensbench.runs.reports import parse_report


def find_task(sets: list[str], name: str) -> Task:
    """The task with that id. Raises UserError when no set has it."""
    tasks = {task.id: task for task in read_scenarios(sets, imported=True).tasks}
    if name not in tasks:
        raise UserError(f"{', '.join(sets)}: there is no task {name!r}{did_you_mean(name, tasks)}")
    return tasks[name]


def judged(task: Task, answer: str) -> Iterator[str]:
    """The lines to print: the score, two for each criterion (verdict, and deciding words or reason), and the report."""
    body = without_report(answer)
    text = normalise(body.text)
    results = [
        (number, criterion, mechanical.judge(criterion, text))
        for number, criterion in answer_criteria(task)
    ]
    points = [
        POINTS[judgement.verdict] for _, _, judgement in results if judgement.verdict in POINTS
    ]
    unread = len(results) - len(points)
    share = f"{float(score_of(points, len(results))):.0%}" if results and not unread else "none"
    yield f"{task.id}: score {share}, {len(results)} criteria" + (
        f", {unread} without a verdict" if unread else ""
    )
    for number, criterion, judgement in results:
        yield f"{number:3}  {judgement.verdict.value:8}  {criterion.text}"
        yield f"               {_why(judgement, body)}"
    if number := len(task.criteria) - len(results):
        yield f"{number} criteria are about the change itself and are judged by tests"
    report = (
        "is present"
        if parse_report(answer).present
        else "is missing: its tool calls and files will be unknown"
    )
    yield f"The report {report}."


def _why(judgement: Judgement, body: Blinded) -> str:
    at = judgement.position
    span = None if at is None else body.span(at, at + len(judgement.evidence))
    if span is None:
        return judgement.reason
    line = body.original.count("\n", 0, span[0]) + 1
    return f'line {line}: "{" ".join(judgement.evidence.split())}"; {judgement.reason}'


def main() -> None:
    """Judge a text with the patterns of a task, and show which words decided; without a text, print the prompt."""
    parser = Parser(prog="lensbench try", description=main.__doc__)
    parser.add_argument("task", help="the id of a task")
    parser.add_argument("answer", nargs="?", help="a file with an answer; - for standard input")
    parser.add_argument(
        "--set", action="append", help="the task set (default: the sets of the config)"
    )
    parser.add_argument(
        "--configfile", help="the config that names the sets (default: the one in this folder)"
    )
    arguments = parser.parse_intermixed_args()
    sets = arguments.set
    if not sets:
        config = arguments.configfile or only_config(Path())
        sets = list(load_config(read_file(config)[1].value, [config]).scenario_files)
    task = find_task(sets, arguments.task)
    if arguments.answer is None:
        print(prompt_of(task))
        return
    try:
        answer = (
            sys.stdin.read()
            if arguments.answer == "-"
            else read_handed_over(Path(arguments.answer))
        )
    except OSError as error:
        raise UserError(f"{arguments.answer}: cannot be read ({error.strerror})") from None
    print(*map(printable, judged(task, answer)), sep="\n")


if __name__ == "__main__":
    run_program(main)
