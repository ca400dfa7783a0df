"""The drafting set states facts that are true of the pinned sources, and asks for them fairly."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest

from facts import Fact, fact_problems, pattern_problems, read_proofs, unproven
from lensbench.core.tasks import Category, Pypi, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare

ROOT = Path(__file__).parents[2]
TASKS = {task.id: task for task in read_scenarios([str(ROOT / "benchmarks" / "inputs" / "drafting.yaml")]).tasks}

FACTS = read_proofs("drafting")
DEPENDENTS = (  # change-impact tasks name all dependents: no other file has the text
    ("click-chg-01", r"resolve_color_default\(", "globals.py utils.py termui.py exceptions.py"),
    ("jinja2-chg-01", r"_PassArg\.from_obj\(", "async_utils.py compiler.py environment.py nodes.py runtime.py"),
    ("jinja2-chg-01", r"\bjinja_pass_arg\b", "utils.py"),
    ("tomlkit-chg-01", r"\bPY38\b", "_compat.py items.py"),
    (
        "tomlkit-chg-01",
        r"^from tomlkit\._compat import decode$",
        "_utils.py container.py items.py parser.py test_toml_spec_tests.py test_toml_tests.py",
    ),
)


@pytest.fixture(scope="session")
def trees() -> dict[str, Path]:
    """The sources of each task's repository, from the cache; fetched when they are not there yet."""
    cache = Path(os.environ.get("LENSBENCH_CACHE", ROOT / ".cache" / "repositories"))
    prepared = {
        source: prepare(source, cache).tree for source in {task.repository for task in TASKS.values()} if source
    }
    return {task.id: prepared[task.repository] for task in TASKS.values() if task.repository}


def test_the_set_has_three_tasks_of_each_category_over_pinned_packages() -> None:
    assert Counter(task.category for task in TASKS.values()) == dict.fromkeys(Category, 3)
    sources = {task.repository for task in TASKS.values()}
    assert all(isinstance(source, Pypi) for source in sources)
    assert len(sources) >= 3


def test_an_id_tells_project_and_category() -> None:
    short = {"Exploratory": "exp", "Debug": "dbg", "Change-Impact": "chg", "Targeted": "tgt"}
    for task in TASKS.values():
        assert isinstance(task.repository, Pypi)
        project = task.repository.pypi.partition("==")[0]
        assert task.id.startswith(f"{project}-{short[task.category.value]}-")


def test_each_criterion_can_be_judged_mechanically() -> None:
    assert all(3 <= len(task.criteria) <= 5 for task in TASKS.values())
    assert all(criterion.mechanical for task in TASKS.values() for criterion in task.criteria)


def test_what_the_patterns_name_is_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for task in TASKS.values() for problem in pattern_problems(task, trees[task.id])] == []


def test_each_criterion_has_a_proof() -> None:
    assert unproven(TASKS.values(), FACTS) == []


def test_each_proof_holds_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for fact in FACTS for problem in fact_problems(fact, TASKS[fact.task], trees[fact.task])] == []


@pytest.mark.parametrize(("task", "regex", "names"), DEPENDENTS)
def test_the_dependents_that_a_task_asks_for_are_all_there_are(
    task: str, regex: str, names: str, trees: dict[str, Path]
) -> None:
    files = (path for path in trees[task].rglob("*.py") if re.search(regex, path.read_text("utf-8"), re.MULTILINE))
    assert sorted(path.name for path in files) == sorted(names.split())


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_repeating_the_question_earns_nothing(task: Task) -> None:
    prompt = normalise(task.prompt)
    assert {judge(criterion, prompt).verdict for criterion in task.criteria} == {Verdict.MISSED}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_fact_in_the_words_of_its_author_is_met(task: Task) -> None:
    # `States that` is an order to a judge: an answer states the fact itself.
    facts = [re.sub("^(States|Says) that ", "", criterion.text) for criterion in task.criteria]
    verdicts = [judge(criterion, normalise(fact)).verdict for criterion, fact in zip(task.criteria, facts, strict=True)]
    assert verdicts == [Verdict.MET] * len(task.criteria)


def test_no_criterion_is_met_by_the_facts_of_the_other_tasks() -> None:
    for task in TASKS.values():
        others = [criterion.text for other in TASKS.values() if other is not task for criterion in other.criteria]
        answer = normalise("\n".join(others))
        assert Verdict.MET not in {judge(criterion, answer).verdict for criterion in task.criteria}


@pytest.mark.parametrize(("fact", "problem"), [
    (Fact("httpx-tgt-01", 2, "httpx/_config.py", "max_connections=101"), "'max_connections=101' is not in the text"),
    (Fact("httpx-tgt-01", 2, "httpx/_client.py", "DEFAULT_LIMITS"), "does not name httpx/_client.py"),
    (Fact("httpx-tgt-01", 4, "httpx/_config.py", "5", "Limit"), "Limit is not defined in httpx/_config.py"),
])  # fmt: skip
def test_a_wrong_proof_is_noticed(fact: Fact, problem: str, trees: dict[str, Path]) -> None:
    (found,) = fact_problems(fact, TASKS[fact.task], trees[fact.task])
    assert problem in found


@pytest.mark.parametrize(("criterion", "problem"), [
    ({"text": "in a.py", "all_of": ["missing"]}, "'missing' is not in a.py"),
    ({"text": "in a.py", "all_of": ["11"]}, "'11' is not in a.py"),
    ({"text": "in a.py", "all_of": ["Known.other"]}, "'Known.other' is not in a.py"),
    ({"text": "in b.py", "all_of": ["Known"]}, "b.py fits 0 files"),
    ({"text": "in c.py", "all_of": ["Known"]}, "c.py fits 2 files"),
    ({"text": "somewhere", "all_of": ["Known"]}, "names no file"),
])  # fmt: skip
def test_a_pattern_that_names_nothing_is_noticed(criterion: dict[str, object], problem: str, tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    for name, text in {"a.py": "class Known:\n    member = 110\n", "c.py": "", "x/c.py": ""}.items():
        (tmp_path / name).write_text(text)
    fine = {"text": "in a.py", "all_of": ["a.py", "Known", "Known.member", "110"]}
    base = {"id": "t", "category": "Debug", "prompt": "?"}
    task = Task.model_validate({**base, "criteria": [fine, criterion]})
    assert any(problem in found for found in pattern_problems(task, tmp_path))
    assert pattern_problems(Task.model_validate({**base, "criteria": [fine, fine]}), tmp_path) == []
