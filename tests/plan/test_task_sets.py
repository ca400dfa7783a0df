"""The task sets state facts that are true of the pinned sources, and ask for them fairly."""

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path, PurePosixPath

import pytest
import yaml

from facts import Fact, fact_problems, files_named, pattern_problems, read_proofs, unproven
from lensbench.core.tasks import Category, Criterion, Npm, Pypi, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare
from lensbench.scores.power import FEWEST_REPOSITORIES
from lensbench_tasks.check import check
from lensbench_tasks.proofs import task_problems

ROWS = yaml.safe_load(Path(__file__).with_name("patterns.yaml").read_text(encoding="utf-8"))


SAID = yaml.safe_load((Path(__file__).parent / "said.yaml").read_text(encoding="utf-8"))
DATA = yaml.safe_load((Path(__file__).parent / "dependents.yaml").read_text(encoding="utf-8"))

ROOT = Path(__file__).parents[2]
FILES = {
    "drafting": "benchmarks/inputs/drafting.yaml",
    "demo": "scenarios/demo.yaml",
    "standard": "scenarios/standard.yaml",
}
SETS = {
    name: {task.id: task for task in read_scenarios([str(ROOT / file)]).tasks}
    for name, file in FILES.items()
}
DRAFTING, DEMO, STANDARD = SETS.values()
ALL = [
    pytest.param(task, id=f"{name}-{task.id}")
    for name, tasks in SETS.items()
    for task in tasks.values()
]
PROOFS = {
    name: read_proofs(name) for name in ("drafting", "standard")
}  # the demo set's are in its file
OTHER_WORDS = yaml.safe_load((ROOT / "benchmarks" / "inputs" / "standard_answers.yaml").read_text())
COUNTS = {"three": 3, "four": 4, "five": 5, "seven": 7, "eight": 8}
CHANGES = [task for task in DEMO.values() if task.category is Category.CHANGE_IMPACT]
# A change-impact task names all files, below a folder, that have this text.
DEPENDENTS = DATA["dependents"]
each_set = pytest.mark.parametrize(
    "name", [pytest.param("standard", marks=pytest.mark.slow), "drafting", "demo"]
)
with_proofs = pytest.mark.parametrize(
    "name", [pytest.param("standard", marks=pytest.mark.slow), "drafting"]
)
Trees = Callable[[str], dict[str, Path]]


@pytest.fixture(scope="session")
def trees() -> Trees:
    """The sources of each task's repository in a set, from the cache; fetched when they are not there yet."""
    folder = Path(os.environ.get("LENSBENCH_CACHE", ROOT / ".cache" / "repositories"))
    fetched = cache(lambda source: prepare(source, folder).tree)
    return cache(lambda name: {task.id: fetched(task.repository) for task in SETS[name].values()})


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
    return re.sub("^(States|Says) that ", "", criterion.text).rstrip(".") + ".\n"


def stated_by(task: Task) -> str:
    return "".join(map(stated, task.criteria))


def verdicts(task: Task, answer: str) -> list[Verdict]:
    normal = normalise(answer)
    return [judge(criterion, normal).verdict for criterion in task.criteria]


def test_the_sets_are_about_as_many_projects_and_categories_as_they_claim() -> None:
    assert Counter(task.category for task in DRAFTING.values()) == dict.fromkeys(Category, 3)
    assert len({project(task) for task in DRAFTING.values()}) >= 3
    sources = Counter(task.repository for task in DEMO.values())
    assert len(DEMO) ** 2 / sum(count**2 for count in sources.values()) >= FEWEST_REPOSITORIES
    assert min(Counter(task.category for task in DEMO.values()).values()) >= 3
    kinds = Counter((project(task), task.category) for task in STANDARD.values())
    assert set(kinds.values()) == {1}
    assert len(kinds) == 12 * len(Category) == 48
    assert not {project(task) for task in STANDARD.values()} & {
        project(task) for task in DEMO.values()
    }
    assert all(isinstance(task.repository, Pypi) for task in (*DRAFTING.values(), *DEMO.values()))


def test_an_id_tells_project_and_category() -> None:
    short = {"Exploratory": "exp", "Debug": "dbg", "Change-Impact": "chg", "Targeted": "tgt"}
    for task in (*DRAFTING.values(), *DEMO.values(), *STANDARD.values()):
        assert task.id.startswith(f"{project(task)}-{short[task.category.value]}-")
    assert all(name.endswith("-01") for name in STANDARD)


@pytest.mark.parametrize(("name", "fewest"), [("drafting", 3), ("demo", 4), ("standard", 3)])
def test_each_criterion_can_be_judged_mechanically(name: str, fewest: int) -> None:
    assert all(fewest <= len(task.criteria) <= 5 for task in SETS[name].values())
    assert all(criterion.mechanical for task in SETS[name].values() for criterion in task.criteria)


@each_set
def test_what_the_patterns_name_is_in_the_sources(trees: Trees, name: str) -> None:
    assert [
        problem
        for task in SETS[name].values()
        for problem in pattern_problems(task, trees(name)[task.id])
    ] == []


@pytest.mark.parametrize("name", PROOFS)
def test_each_criterion_has_a_proof(name: str) -> None:
    assert unproven(SETS[name].values(), PROOFS[name]) == []


@with_proofs
def test_each_proof_holds_in_the_sources(trees: Trees, name: str) -> None:
    tasks = SETS[name]
    folders = trees(name)
    assert [
        each
        for fact in PROOFS[name]
        for each in fact_problems(fact, tasks[fact.task], folders[fact.task])
    ] == []


def test_each_criterion_of_the_demo_set_has_a_proof_that_holds_in_the_sources(trees: Trees) -> None:
    folders = trees("demo")
    assert [
        (task.id, *problem)
        for task in DEMO.values()
        for problem in task_problems(task, folders[task.id])
    ] == []


def test_each_project_of_the_standard_set_has_one_change_whose_dependents_are_listed() -> None:
    changes = {task.id for task in STANDARD.values() if task.category is Category.CHANGE_IMPACT}
    assert {task for name, task, *_ in DEPENDENTS if name == "standard"} == changes


@pytest.mark.parametrize(
    ("name", "task", "folder", "regex", "names"),
    [
        pytest.param(*row, marks=[pytest.mark.slow] if row[0] == "standard" else [])
        for row in DEPENDENTS
    ],
)
def test_the_dependents_that_a_task_asks_for_are_all_there_are(
    name: str, task: str, folder: str, regex: str, names: str, trees: Trees
) -> None:
    expected = sorted(names.split())
    files = (trees(name)[task] / folder).rglob(f"*{Path(names).suffix}")
    assert (
        sorted(
            path.name for path in files if re.search(regex, path.read_text("utf-8"), re.MULTILINE)
        )
        == expected
    )
    told = stated_by(SETS[name][task])
    assert name == "drafting" or not [
        each for each in expected if not re.search(rf"\b{re.escape(each)}", told)
    ]


@pytest.mark.parametrize("task", CHANGES, ids=[task.id for task in CHANGES])
def test_the_importers_that_a_task_asks_for_are_those_that_python_reads(
    task: Task, trees: Trees
) -> None:
    tree = trees("demo")[task.id]
    count, names = task.criteria[:2]
    (target,) = re.findall(r"\S+\.py\b", count.text)
    importers = {
        name
        for name, modules in imports_in(tree).items()
        if name != target and dotted(target) in modules
    }
    assert set(re.findall(r"\S+\.pyi?\b", names.text)) == importers
    assert COUNTS[count.text.split()[2]] == len(importers)
    assert names.at_most
    wrong = [
        path
        for each in names.at_most.of
        if isinstance(each, str)
        for path in files_named(tree, each)
    ]
    assert wrong
    assert not importers & set(wrong)


@cache
def imports_in(tree: Path) -> dict[str, set[str]]:
    files = {
        path.relative_to(tree).as_posix(): path
        for path in tree.rglob("*.py*")
        if path.suffix in (".py", ".pyi")
    }
    return {
        name: set(imported(name, ast.parse(path.read_text("utf-8"))))
        for name, path in files.items()
    }


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


@pytest.mark.parametrize("task", ALL)
def test_repeating_the_question_earns_nothing(task: Task) -> None:
    assert set(verdicts(task, task.prompt)) == {Verdict.MISSED}


@pytest.mark.parametrize("task", [each for each in ALL if not str(each.id).startswith("demo")])
def test_a_fact_in_the_words_of_its_author_is_met(task: Task) -> None:
    met = [judge(criterion, normalise(stated(criterion))).verdict for criterion in task.criteria]
    assert met == [Verdict.MET] * len(task.criteria)


@pytest.mark.parametrize("task", OTHER_WORDS)
def test_a_right_answer_in_other_words_earns_everything(task: str) -> None:
    assert set(verdicts(STANDARD[task], OTHER_WORDS[task])) == {Verdict.MET}


@pytest.mark.parametrize(("task", "number", "answer", "verdict"), SAID["answers"])
def test_a_number_or_name_that_is_asked_for_decides(
    task: str, number: int, answer: str, verdict: str
) -> None:
    criterion = STANDARD[task].criteria[number - 1]
    assert judge(criterion, normalise(answer)).verdict.value == verdict


def test_other_words_are_tried_for_each_project() -> None:
    assert {project(STANDARD[task]) for task in OTHER_WORDS} == {
        project(task) for task in STANDARD.values()
    }


@pytest.mark.parametrize("task", [task for task in STANDARD if "-tgt-" in task])
def test_a_wrong_value_is_not_met(task: str) -> None:
    for criterion in STANDARD[task].criteria:
        right = stated(criterion)
        wrong = re.sub(r"(?<![\w.@-])\d+", lambda number: str(int(number[0]) + 3), right)
        assert wrong == right or judge(criterion, normalise(wrong)).verdict is not Verdict.MET, (
            wrong
        )


@pytest.mark.parametrize("tasks", [DRAFTING, STANDARD], ids=["drafting", "standard"])
def test_no_criterion_is_met_by_the_facts_of_the_other_tasks(tasks: dict[str, Task]) -> None:
    for task in tasks.values():
        assert Verdict.MET not in verdicts(
            task, "".join(stated_by(one) for one in tasks.values() if one is not task)
        )


def test_no_pattern_of_the_demo_accepts_another_name_or_number_or_the_facts_of_another_task() -> (
    None
):
    assert [
        (one.task.id, one.number, probe.kind, probe.name)
        for one in check(list(DEMO.values()), {})
        for probe in one.probes
        if probe.is_wrong
    ] == []


@pytest.mark.parametrize(
    ("name", "fact", "problem"),
    [
        (
            "drafting",
            Fact("httpx-tgt-01", 2, "httpx/_config.py", "max_connections=101"),
            "'max_connections=101' is not in the text",
        ),
        (
            "drafting",
            Fact("httpx-tgt-01", 2, "httpx/_client.py", "DEFAULT_LIMITS"),
            "does not name httpx/_client.py",
        ),
        (
            "drafting",
            Fact("httpx-tgt-01", 4, "httpx/_config.py", "5", "Limit"),
            "Limit is not defined in httpx/_config.py",
        ),
        (
            "standard",
            Fact("rxjs-tgt-01", 4, "src/internal/operators/mergeMap.ts", "= 5", "mergeMap"),
            "'= 5' is not in mergeMap",
        ),
        (
            "standard",
            Fact("fastify-dbg-01", 2, "lib/contentTypeParser.js", "x", "Reply.run"),
            "Reply.run is not defined",
        ),
        (
            "standard",
            Fact("rust-just-dbg-01", 1, "src/ran.rs", "x", "Ran.other"),
            "Ran.other is not defined in src/ran.rs",
        ),
        (
            "standard",
            Fact("gojsonnet-exp-01", 5, "vm.go", "flushValueCache", "VM.Importer"),
            "is not in VM.Importer of vm.go",
        ),
    ],
)
def test_a_wrong_proof_is_noticed_in_each_language(
    name: str, fact: Fact, problem: str, trees: Trees
) -> None:
    (found,) = fact_problems(fact, SETS[name][fact.task], trees(name)[fact.task])
    assert problem in found


@pytest.mark.parametrize(("criterion", "problem"), ROWS)
def test_a_pattern_that_names_nothing_is_noticed(
    criterion: dict[str, object], problem: str, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    for name, text in {
        "a.py": "class Known:\n    member = 110\n",
        "c.py": "",
        "x/c.py": "",
    }.items():
        (tmp_path / name).write_text(text)
    fine = {"text": "in a.py", "all_of": ["a.py", "Known", "Known.member", "110"]}
    base = {"id": "t", "category": "Debug", "prompt": "?"}
    task = Task.model_validate({**base, "criteria": [fine, criterion]})
    assert any(problem in found for found in pattern_problems(task, tmp_path))
    assert pattern_problems(Task.model_validate({**base, "criteria": [fine, fine]}), tmp_path) == []
