"""Asks one question in every condition at once: `lensbench ask "how does auth work?"`.

The runs are in their own folder, bench/evals/<question>-<hash>, and nothing is scored. Answers are shown again without
new runs; another question, other settings or changed files in the repository give another folder.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lensbench.core.conditions import shown_names
from lensbench.core.errors import UserError, printable_lines
from lensbench.core.frozen_plan import Plan
from lensbench.core.records import RunId, sha256
from lensbench.core.run_folder import RunFolder
from lensbench.core.store import run_files
from lensbench.core.system.files import write_atomic, write_json
from lensbench.core.system.locks import locked
from lensbench.core.system.processes import WORKFLOW, adopt_orphans, end_children
from lensbench.core.system.program import Parser, only_config, run_program
from lensbench.core.tasks import Category, Criterion, Folder, Task
from lensbench.plan.config import Config, Controls, Gate
from lensbench.plan.freeze import make_plan, prompt_of, source_name
from lensbench.plan.frozen import read_plan
from lensbench.plan.reading import read_config
from lensbench.plan.task_files import ScenarioSet
from lensbench.plan.task_markdown import render
from lensbench.repositories.prepare import facts_of, prepare, servers_of_stock
from lensbench.results.page.data import pair_address
from lensbench.results.results import write_everything
from lensbench.runs.preflight import require
from lensbench.runs.start_gate import PARTNER_LIMIT_S
from lensbench.runs.stopping import clear
from lensbench.scores.rescore import estimate_present
from lensbench_demo.side_by_side import lines, read_sides

EVALS = Path("bench") / "evals"
TASK = "eval"
PAGE = pair_address(TASK, 1)


def evaluate(config: Config, question: str, repo: str) -> Path:
    """Runs the question in all conditions without an answer; returns the folder, which contains the page."""
    if not question.strip():
        raise UserError('there is no question; write it in quotes, such as "how does auth work?"')
    if config.agent.kind == "none":
        raise UserError(
            "agent.kind is 'none', so no agent can answer; set agent.kind in the config"
        )
    task = Task(
        id=TASK,
        category=Category.EXPLORATORY,
        repository=Folder(path=repo),
        prompt=question,
        criteria=(Criterion(text="Nothing is scored."),),
    )
    settings = config.model_copy(
        update={
            "run_id": TASK,
            "trials": 1,
            "controls": Controls(),
            "gate": Gate(),
            "judges": (),
        }
    )
    plan = make_plan(settings, ScenarioSet((task,)), [])
    assert task.repository
    repository = facts_of(prepare(task.repository, Path(config.cache), servers_of_stock(plan)))
    facts = [plan["settings_sha256"], plan["sandbox"], repository["tree_sha256"], repo]
    folder = EVALS / _name(task.prompt, facts)
    folder.mkdir(parents=True, exist_ok=True)
    # A second process with the same question waits, and shows the same answers.
    with locked(RunFolder(folder).lock):
        write_json(RunFolder(folder).plan, plan)
        write_json(RunFolder(folder).repositories, {source_name(task.repository): repository})
        write_atomic(RunFolder(folder).prompts / f"{TASK}.md", prompt_of(task, config.agent))
        write_atomic(RunFolder(folder).tasks, render([task], "A question"))
        _make_runs(folder, settings, plan, task)
        estimate_present(folder)
        write_everything(folder)
    return folder


def _name(question: str, facts: Sequence[Any]) -> str:
    """The first words of the question, and a hash of what the answers depend on."""
    words = re.findall(r"[a-z0-9]+", question.lower())[:6]
    digest = sha256(json.dumps([question, *facts], sort_keys=True).encode())
    return "-".join(["-".join(words)[:48].strip("-") or "question", digest[:8]])


def _make_runs(folder: Path, config: Config, plan: Plan, task: Task) -> None:
    """Starts the runs that are missing or invalid, all at the same time."""
    names = [name for name in plan["conditions"] if not run_files(folder, RunId(TASK, name)).counts]
    if not names:
        print(
            f"this question was answered before, and nothing has changed; delete {folder} to ask it again"
        )
        return
    clear(folder)
    require(config, ScenarioSet((task,)), folder)
    os.environ[WORKFLOW] = str(os.getpid())  # the runs end with this process
    gate_s = PARTNER_LIMIT_S if len(names) > 1 else 0
    logs = RunFolder(folder).logs
    logs.mkdir(exist_ok=True)
    runs = {}
    for name in names:
        argv = [sys.executable, "-P", "-m", "lensbench.runs.run", "--folder", str(folder)]
        argv += ["--task", TASK, "--condition", name, "--gate-s", str(gate_s)]
        with (logs / f"{TASK}-{name}.log").open("w", encoding="utf-8") as log:
            runs[name] = subprocess.Popen(argv, stderr=log)
    problems = []
    for name, run in runs.items():
        if run.wait():
            said = (logs / f"{TASK}-{name}.log").read_text(encoding="utf-8", errors="replace")
            why = said.rpartition("error: ")[2].strip() or "the run was killed"
            problems.append(f"{shown_names(plan)[name]}: {why}")
    if problems:
        raise UserError("\n".join(problems))


def show_eval(folder: Path, question: str) -> None:
    """Prints the answers and what the runs did. Raises UserError when the folder has no answers."""
    plan = read_plan(folder)
    print(*map(printable_lines, lines(question, read_sides(folder))), sep="\n")
    if plan["agent"]["kind"] == "offline":
        print("No language model answered: this was the offline agent.")
    print("One pair proves nothing: only a benchmark over many tasks shows whether the tools help.")
    print(f"open {folder / PAGE}: the answers side by side")


def main() -> None:
    """Ask one question in every condition, and show the answers. Nothing is scored."""
    parser = Parser(prog="lensbench ask", description=main.__doc__)
    parser.add_argument("question", help="the question for the agent")
    parser.add_argument(
        "--repo",
        default=".",
        help="the folder that the question is about (default: the current one)",
    )
    parser.add_argument(
        "--configfile",
        help="the config with agent and conditions (default: the one in this folder)",
    )
    arguments = parser.parse_args()
    adopt_orphans()
    try:
        config = read_config(Path(arguments.configfile or only_config(Path())))
        folder = evaluate(config, arguments.question, arguments.repo)
    finally:
        end_children()
    show_eval(folder, arguments.question.strip())


if __name__ == "__main__":
    run_program(main)
