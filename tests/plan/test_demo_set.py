"""The demo set states facts that are true of the pinned sources, and asks for them fairly."""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

import pytest

from facts import files_named, pattern_problems
from lensbench.core.tasks import Category, Criterion, Pypi, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare
from lensbench.scores.power import FEWEST_REPOSITORIES
from lensbench_tasks.check import check
from lensbench_tasks.proofs import task_problems

ROOT = Path(__file__).parents[2]
TASKS = {task.id: task for task in read_scenarios([str(ROOT / "scenarios" / "demo.yaml")]).tasks}
CHANGES = [task for task in TASKS.values() if task.category is Category.CHANGE_IMPACT]
COUNTS = {"three": 3, "four": 4, "five": 5, "seven": 7, "eight": 8}


@pytest.fixture(scope="session")
def trees() -> dict[str, Path]:
    """The sources of each task's repository, from the cache; fetched when they are not there yet."""
    cache = Path(os.environ.get("LENSBENCH_CACHE", ROOT / ".cache" / "repositories"))
    prepared = {
        source: prepare(source, cache).tree for source in {task.repository for task in TASKS.values()} if source
    }
    return {task.id: prepared[task.repository] for task in TASKS.values() if task.repository}


def test_the_set_is_about_pinned_packages_enough_for_a_claim_beyond_them() -> None:
    sources = Counter(task.repository for task in TASKS.values())
    assert all(isinstance(source, Pypi) for source in sources)
    assert len(TASKS) ** 2 / sum(count**2 for count in sources.values()) >= FEWEST_REPOSITORIES
    assert min(Counter(task.category for task in TASKS.values()).values()) >= 3


def test_an_id_tells_project_and_category() -> None:
    short = {"Exploratory": "exp", "Debug": "dbg", "Change-Impact": "chg", "Targeted": "tgt"}
    for task in TASKS.values():
        assert isinstance(task.repository, Pypi)
        project = task.repository.pypi.partition("==")[0]
        assert task.id.startswith(f"{project}-{short[task.category.value]}-")


def test_each_criterion_can_be_judged_mechanically() -> None:
    assert all(4 <= len(task.criteria) <= 5 for task in TASKS.values())
    assert all(criterion.mechanical for task in TASKS.values() for criterion in task.criteria)


def test_what_the_patterns_name_is_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for task in TASKS.values() for problem in pattern_problems(task, trees[task.id])] == []


def test_each_criterion_has_a_proof_that_holds_in_the_sources(trees: dict[str, Path]) -> None:
    assert [(task.id, *problem) for task in TASKS.values() for problem in task_problems(task, trees[task.id])] == []


@pytest.mark.parametrize("task", CHANGES, ids=[task.id for task in CHANGES])
def test_the_importers_that_a_task_asks_for_are_those_that_python_reads(task: Task, trees: dict[str, Path]) -> None:
    count, names = task.criteria[:2]
    (target,) = re.findall(r"\S+\.py\b", count.text)
    importers = set(importers_of(target, trees[task.id]))
    assert set(re.findall(r"\S+\.pyi?\b", names.text)) == importers
    assert COUNTS[count.text.split()[2]] == len(importers)
    wrong = [path for each in wrong_names(names) for path in files_named(trees[task.id], each)]
    assert wrong
    assert not importers & set(wrong)


def wrong_names(criterion: Criterion) -> Iterator[str]:
    assert criterion.at_most
    yield from (pattern for pattern in criterion.at_most.of if isinstance(pattern, str))


def importers_of(target: str, tree: Path) -> Iterator[str]:
    """The files with an import of the module `target`, as Python's own parser reads them."""
    module = dotted(target)
    for path in sorted([*tree.rglob("*.py"), *tree.rglob("*.pyi")]):
        name = path.relative_to(tree).as_posix()
        if name != target and module in imported(name, ast.parse(path.read_text("utf-8"))):
            yield name


def imported(path: str, source: ast.Module) -> Iterator[str]:
    """The modules that a file imports; of `from a import b` both a and a.b, as b may be a module."""
    own = dotted(path).split(".")
    package = own if PurePosixPath(path).stem == "__init__" else own[:-1]
    for node in ast.walk(source):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*above, *filter(None, [node.module])])
            yield base
            yield from (f"{base}.{alias.name}" for alias in node.names)


def dotted(path: str) -> str:
    return path.removeprefix("src/").rpartition(".")[0].replace("/", ".").removesuffix(".__init__")


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_repeating_the_question_earns_nothing(task: Task) -> None:
    prompt = normalise(task.prompt)
    assert {judge(criterion, prompt).verdict for criterion in task.criteria} == {Verdict.MISSED}


def test_no_pattern_accepts_another_name_or_number_or_the_facts_of_another_task() -> None:
    assert [
        (each.task.id, each.number, each.findings) for each in check(list(TASKS.values()), {}) if each.findings
    ] == []
