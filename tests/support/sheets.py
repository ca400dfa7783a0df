"""Run folders with answers and criteria, for the tests of the judge sheet and of human judges."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.tables import Row, read_table
from lensbench.core.tasks import Task
from lensbench.judging import verdicts
from lensbench.judging.judge_sheet import write_sheet
from lensbench.judging.shown_answers import ShownAnswer, read_shown_answers, read_tasks
from lensbench.plan.frozen import read_plan
from lensbench.plan.task_markdown import render
from lensbench.runs.validity import judge_validity
from programs import run_here

BASELINE, TREATMENT = "bareknuckle", "zeppelin"
CRITERIA = (
    "names the file parser.py",
    "names the function read_all",
    "says that the limit is 30 seconds",
)
ANSWER = """\
## What happens

The function **`read_all`** in [the parser](src/parser.py) reads the file.

- It stops after 30 seconds \U0001f600, see `LIMIT`.
- Nothing else is read.
"""


def lay_out(
    make: Callable[..., Any],
    answers: Mapping[str, str | tuple[str, str]],
    *,
    sample: float = 1,
    judges: tuple[str, ...] = ("mechanical", "human"),
    sheet: bool = True,
    **changes: Any,
) -> Path:
    """A run folder with a valid pair per task; `answers` has one text for both runs, or (baseline, treatment).

    `make` is the fixture `bench`.
    """
    bench = make(
        tasks=tuple(answers),
        servers={BASELINE: [], TREATMENT: ["sonar"]},
        criteria=len(CRITERIA),
        changes={
            "baseline": BASELINE,
            "judges": [{"name": name} for name in judges],
            "judging": {"human_sample": sample},
        }
        | changes,
    )
    folder: Path = bench.folder
    for task, texts in answers.items():
        first, second = (texts, texts) if isinstance(texts, str) else texts
        bench.run(task, BASELINE, answer=first)
        bench.run(task, TREATMENT, answer=second)
    write_json(folder / "plan.json", bench.plan)
    judge_validity(folder)
    criteria = [{"text": text} for text in CRITERIA]
    tasks = [
        Task.model_validate(
            {
                "id": task,
                "category": "Debug",
                "prompt": f"How does {task} read?",
                "criteria": criteria,
            }
        )
        for task in answers
    ]
    write_atomic(folder / "scenarios.md", render(tasks, "Scenarios"))
    if sheet:
        write_sheet(folder)
    return folder


def shown_answers_of(folder: Path) -> tuple[list[ShownAnswer], dict[str, Task]]:
    """The answers and tasks that judges see of a run folder."""
    tasks = read_tasks(folder)
    return read_shown_answers(folder, read_plan(folder), tasks), tasks


def human_rows(folder: Path, name: str = "anna") -> list[Row]:
    """What the stage makes of a person's files."""
    run_here(verdicts.main, "--folder", folder, "--judge", f"human-{name}")
    return read_table(folder / "verdicts" / f"human-{name}.csv")
