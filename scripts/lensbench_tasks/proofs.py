"""Checks the proofs of a task set against its repositories.

    lensbench prove scenarios/mine.yaml

A proof states where a criterion's fact can be seen (`core.tasks.Proof`). A valid proof shows that the quoted code
exists at the pinned revision; whether the criterion describes it correctly still needs a human reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from lensbench.core.errors import CheckFailed
from lensbench.core.system.program import Parser, run_program
from lensbench.core.system.progress import Progress
from lensbench.core.tasks import Proof, Task
from lensbench.plan.config import DEFAULT_CACHE
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare
from lensbench_tasks.changes.proof import flat
from lensbench_tasks.parsers.code import definitions
from lensbench_tasks.parsers.files import LANGUAGES


def proof_problem(proof: Proof, tree: Path) -> str:
    """Why a proof is wrong for the repository in `tree`; "" when it is correct."""
    problem = _path_problem(proof.file, tree)
    if problem:
        return problem
    text = (tree / proof.file).read_text("utf-8", "replace")
    places = [text]
    if proof.within:
        language = LANGUAGES.get(Path(proof.file).suffix.lower())
        candidates = definitions(proof.file, text, language)
        places = [each.text for each in candidates if proof.within in (each.shown, each.name)]
        if not places:
            return f"{proof.within} is not defined in {proof.file}"
    if not any(flat(proof.quote) in flat(place) for place in places):
        return f"{proof.quote!r} does not occur in {proof.within or proof.file}"
    return ""


def _path_problem(path: str, tree: Path) -> str:
    place = tree / path
    if Path(path).is_absolute() or ".." in Path(path).parts:
        return f"{path} leaves the repository"
    return "" if place.is_file() and not place.is_symlink() else f"there is no file {path}"


def task_problems(task: Task, tree: Path) -> Iterator[tuple[int, str]]:
    """The criteria (from 1) with wrong or missing proofs, and why."""
    for number, criterion in enumerate(task.criteria, 1):
        if not criterion.proofs:
            yield number, "it has no proof"
        for proof in criterion.proofs:
            problem = proof_problem(proof, tree)
            if problem:
                yield number, problem


def main() -> None:
    """Check every proof of a task set against its repositories."""
    parser = Parser(prog="lensbench prove", description=main.__doc__)
    parser.add_argument("set", help="a task set, YAML or Markdown")
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path(DEFAULT_CACHE),
        help="the cache folder for fetched repositories",
    )
    arguments = parser.parse_args()
    tasks = read_scenarios([arguments.set]).tasks
    problems = []
    with Progress("fetching") as progress:
        for checked, task in enumerate(tasks):
            if not task.repository:
                continue
            progress.now(f"checking {task.id}", checked, len(tasks))
            tree = prepare(task.repository, arguments.cache).tree
            for number, problem in task_problems(task, tree):
                problems.append(f"{task.id}, criterion {number}: {problem}")
    if problems:
        raise CheckFailed("\n".join(problems))
    count = sum(len(task.criteria) for task in tasks)
    print(f"{count} criteria of {len(tasks)} tasks: all proofs are correct")


if __name__ == "__main__":
    run_program(main)
