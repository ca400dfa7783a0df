"""The standard set states facts that are true of the pinned sources, and asks for them fairly."""

from __future__ import annotations

import os
import re
from collections import Counter
from pathlib import Path

import pytest
import yaml

from facts import Fact, fact_problems, pattern_problems, read_proofs, unproven
from lensbench.core.tasks import Category, Criterion, Npm, Pypi, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare

ROOT = Path(__file__).parents[2]
TASKS = {task.id: task for task in read_scenarios([str(ROOT / "scenarios" / "standard.yaml")]).tasks}
DEMO = read_scenarios([str(ROOT / "scenarios" / "demo.yaml")]).tasks
FACTS = read_proofs("standard")
# A change-impact task names all files, below a folder, that have this text.
DEPENDENTS = {
    "urllib3-chg-01": ("", r"connection_requires_http_tunnel\(", "proxy.py connectionpool.py poolmanager.py test_util.py"),
    "starlette-chg-01": ("", r"get_route_path\(", "_utils.py routing.py staticfiles.py test__utils.py"),
    "marshmallow-chg-01": ("", r"field_obj\.data_key|\.data_key or ", "schema.py fields.py"),
    "rich-chg-01": ("", r"\bascii_only\b", "console.py box.py pretty.py progress_bar.py rule.py syntax.py tree.py"),
    "werkzeug-chg-01": ("", r"_plain_int\(", "_internal.py http.py utils.py formparser.py file_storage.py"),
    "ajv-chg-01": (
        "lib", r"checkStrictMode\(",
        "util.ts index.ts defaults.ts items.ts required.ts if.ts thenElse.ts additionalItems.ts contains.ts "
        "limitContains.ts patternProperties.ts recursiveAnchor.ts",
    ),
    "rxjs-chg-01": (
        "src", r"executeSchedule\(",
        "executeSchedule.ts bufferTime.ts windowTime.ts observeOn.ts timeout.ts mergeInternals.ts combineLatest.ts "
        "scheduleIterable.ts scheduleAsyncIterable.ts",
    ),
    "fastify-chg-01": (
        "lib", r"\[kReplyIsError\]", "reply.js handleRequest.js wrapThenable.js contentTypeParser.js route.js",
    ),
    "query-core-chg-01": ("src", r"resolveStaleTime[<(]", "utils.ts queryClient.ts query.ts queryObserver.ts"),
    "pydantic-core-chg-01": (
        "src", r"floor_exactness\(",
        "validation_state.rs return_enums.rs any.rs model.rs dataclass.rs url.rs datetime.rs date.rs uuid.rs "
        "callable.rs enum_.rs lax_or_strict.rs union.rs",
    ),
    "rust-just-chg-01": (
        "src", r"(Keyword|Setting)::NoExitMessage|NoExitMessage\(bool\)|\bno_exit_message\b",
        "setting.rs settings.rs parser.rs node.rs recipe.rs",
    ),
    "gojsonnet-chg-01": (
        "", r"importer\.(i\.)?Import\(|\) Import\(importedFrom", "imports.go c-bindings.go jsonnet_test.go",
    ),
}  # fmt: skip


def project(task: Task) -> str:
    """The name of the package that a task is about, without scope and version."""
    match task.repository:
        case Pypi(pypi=name):
            return name.partition("==")[0]
        case Npm(npm=name):
            return name.rpartition("@")[0].rpartition("/")[2]
    raise AssertionError(f"{task.id} is about no package of an index")


def stated(criterion: Criterion) -> str:
    """A criterion's fact as an answer says it; `States that` is an order to a judge."""
    return criterion.text.removeprefix("States that ").rstrip(".") + ".\n"


ANSWERS = {task.id: "".join(map(stated, task.criteria)) for task in TASKS.values()}


OTHER_WORDS = yaml.safe_load((ROOT / "benchmarks" / "inputs" / "standard_answers.yaml").read_text())


@pytest.fixture(scope="session")
def trees() -> dict[str, Path]:
    """The sources of each task's repository, from the cache; fetched when they are not there yet."""
    cache = Path(os.environ.get("LENSBENCH_CACHE", ROOT / ".cache" / "repositories"))
    sources = {task.repository for task in TASKS.values() if task.repository}
    prepared = {source: prepare(source, cache).tree for source in sources}
    return {task.id: prepared[task.repository] for task in TASKS.values() if task.repository}


def test_the_set_has_four_tasks_of_each_of_twelve_projects_one_per_category() -> None:
    kinds = Counter((project(task), task.category) for task in TASKS.values())
    assert set(kinds.values()) == {1}
    assert len(kinds) == 12 * len(Category) == 48


def test_no_project_is_in_the_demo_set_too() -> None:
    assert not {project(task) for task in TASKS.values()} & {project(task) for task in DEMO}


def test_an_id_tells_project_and_category() -> None:
    short = {"Exploratory": "exp", "Debug": "dbg", "Change-Impact": "chg", "Targeted": "tgt"}
    assert list(TASKS) == [f"{project(task)}-{short[task.category]}-01" for task in TASKS.values()]


def test_each_criterion_can_be_judged_mechanically() -> None:
    assert all(3 <= len(task.criteria) <= 5 for task in TASKS.values())
    assert all(criterion.mechanical for task in TASKS.values() for criterion in task.criteria)


@pytest.mark.slow
def test_what_the_patterns_name_is_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for task in TASKS.values() for problem in pattern_problems(task, trees[task.id])] == []


def test_each_criterion_has_a_proof() -> None:
    assert unproven(TASKS.values(), FACTS) == []


@pytest.mark.slow
def test_each_proof_holds_in_the_sources(trees: dict[str, Path]) -> None:
    assert [problem for fact in FACTS for problem in fact_problems(fact, TASKS[fact.task], trees[fact.task])] == []


def test_each_project_has_one_change_whose_dependents_are_listed() -> None:
    assert set(DEPENDENTS) == {task.id for task in TASKS.values() if task.category is Category.CHANGE_IMPACT}


@pytest.mark.slow
@pytest.mark.parametrize("task", DEPENDENTS)
def test_the_dependents_that_a_task_asks_for_are_all_there_are(task: str, trees: dict[str, Path]) -> None:
    folder, regex, names = DEPENDENTS[task]
    expected = sorted(names.split())
    files = (trees[task] / folder).rglob(f"*{Path(names).suffix}")
    assert sorted(path.name for path in files if re.search(regex, path.read_text("utf-8"), re.MULTILINE)) == expected
    assert [name for name in expected if not re.search(rf"\b{re.escape(name)}", ANSWERS[task])] == []


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_repeating_the_question_earns_nothing(task: Task) -> None:
    prompt = normalise(task.prompt)
    assert {judge(criterion, prompt).verdict for criterion in task.criteria} == {Verdict.MISSED}


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_a_fact_in_the_words_of_its_author_is_met(task: Task) -> None:
    verdicts = [judge(criterion, normalise(stated(criterion))).verdict for criterion in task.criteria]
    assert verdicts == [Verdict.MET] * len(task.criteria)


@pytest.mark.parametrize("task", OTHER_WORDS)
def test_a_right_answer_in_other_words_earns_everything(task: str) -> None:
    answer = normalise(OTHER_WORDS[task])
    assert {judge(criterion, answer).verdict for criterion in TASKS[task].criteria} == {Verdict.MET}


def test_other_words_are_tried_for_each_project() -> None:
    assert {project(TASKS[task]) for task in OTHER_WORDS} == {project(task) for task in TASKS.values()}


@pytest.mark.parametrize("task", [task for task in TASKS if "-tgt-" in task])
def test_a_wrong_value_is_not_met(task: str) -> None:
    for criterion in TASKS[task].criteria:
        right = stated(criterion)
        wrong = re.sub(r"(?<![\w.@-])\d+", lambda number: str(int(number[0]) + 3), right)
        assert wrong == right or judge(criterion, normalise(wrong)).verdict is not Verdict.MET, wrong


def test_no_criterion_is_met_by_the_facts_of_the_other_tasks() -> None:
    for task in TASKS.values():
        answer = normalise("".join(text for other, text in ANSWERS.items() if other != task.id))
        assert Verdict.MET not in {judge(criterion, answer).verdict for criterion in task.criteria}


@pytest.mark.parametrize(("fact", "problem"), [
    (Fact("rxjs-tgt-01", 4, "src/internal/operators/mergeMap.ts", "= 5", "mergeMap"), "'= 5' is not in mergeMap"),
    (Fact("fastify-dbg-01", 2, "lib/contentTypeParser.js", "x", "Reply.run"), "Reply.run is not defined"),
    (Fact("rust-just-dbg-01", 1, "src/ran.rs", "x", "Ran.other"), "Ran.other is not defined in src/ran.rs"),
    (Fact("gojsonnet-exp-01", 5, "vm.go", "flushValueCache", "VM.Importer"), "is not in VM.Importer of vm.go"),
])  # fmt: skip
def test_a_wrong_proof_is_noticed_in_each_language(fact: Fact, problem: str, trees: dict[str, Path]) -> None:
    (found,) = fact_problems(fact, TASKS[fact.task], trees[fact.task])
    assert problem in found
