"""The miners state facts that the sources show, in tasks that ask for them."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from lensbench.core.tasks import Category, Criterion, Folder
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import find, judge
from lensbench.judging.judges.normalising import normalise
from lensbench_tasks.mining import callers, decided, flows, importers, paths
from lensbench_tasks.mining.drafts import SENTENCES, Draft
from lensbench_tasks.mining.graph import CallGraph
from lensbench_tasks.mining.patterns import is_telling, place
from lensbench_tasks.mining.writer import Miners
from lensbench_tasks.problems import find_problems
from lensbench_tasks.survey import Survey
from stock import write, write_stock

Miner = Callable[[CallGraph, random.Random], Iterator[Draft]]
LANGUAGES = yaml.safe_load(Path(__file__).with_name("mined.yaml").read_text(encoding="utf-8"))

CHAIN = {
    "shop/__init__.py": "",
    "shop/cli.py": "from shop.cart import total_price\n\n\ndef run_shop(items):\n    return total_price(items)\n",
    "shop/cart.py": "from shop.store import load_rates\n\n\ndef total_price(items):\n    return load_rates()\n",
    "shop/store.py": "from shop.disk import open_rates\n\n\ndef load_rates():\n    return open_rates()\n",
    "shop/disk.py": "def open_rates():\n    raise RateError('none')\n",
}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return Survey.read(write_stock(tmp_path_factory.mktemp("stock")))


def graph_of(folder: Path, files: dict[str, str]) -> CallGraph:
    return CallGraph(Survey.read(write(folder, files)))


def drafts(miner: Miner, graph: CallGraph) -> list[Draft]:
    return list(miner(graph, random.Random(1)))


def stated(miner: Miner, graph: CallGraph) -> list[str]:
    found = drafts(miner, graph)
    return sorted(
        item.criterion.text.removeprefix("States that ") for one in found for item in one.items
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_calls_are_certain_or_not_used(tmp_path: Path, language: str) -> None:
    project = LANGUAGES[language]
    graph = graph_of(tmp_path, project["files"])
    sites = [site for group in graph.callees.values() for site in group]
    calls = [f"{site.caller.shown} > {site.callee.shown}" for site in sites]
    assert sorted(calls) == sorted(project["calls"])
    assert not [
        name for name in project["doubtful"] if any(name in call.split(" > ") for call in calls)
    ]


@pytest.mark.parametrize(
    "role",
    [
        "x = {order_tax: 1}",
        "def g(order_tax): ...",
        "order_tax = 1",
        "f(order_tax=1)",
        "x = ['order_tax']",
    ],
)
def test_a_name_with_another_role_anywhere_is_not_used(tmp_path: Path, role: str) -> None:
    files = {"a.py": "def order_tax():\n    return 1\n\n\ndef total():\n    order_tax()\n"}
    assert graph_of(tmp_path / "one", files).callers
    assert not graph_of(tmp_path / "two", {**files, "b.py": f"{role}\n"}).callers


def test_a_path_leads_to_the_only_place_with_an_effect(tmp_path: Path) -> None:
    (draft,) = drafts(paths.drafts, graph_of(tmp_path, CHAIN))
    assert (draft.category, "`run_shop`" in draft.prompt) == (Category.DEBUG, True)
    assert "raise `RateError`" in draft.prompt
    assert [item.criterion.text for item in draft.items] == [
        "States that `run_shop` in shop/cli.py calls `total_price`, defined in shop/cart.py",
        "States that `total_price` in shop/cart.py calls `load_rates`, defined in shop/store.py",
        "States that `load_rates` in shop/store.py calls `open_rates`, defined in shop/disk.py",
    ]


ANSWERS = {
    "chain": "run_shop (cli.py) -> total_price (cart.py) -> load_rates (store.py) -> open_rates (disk.py)",
    "list": "1. `run_shop` calls `total_price` in shop/cart.py.\n2. It calls `load_rates` in `shop/store.py`.\n"
    "3. That calls `open_rates`, which raises `RateError` in shop/disk.py.",
    "prose": "The error comes from open_rates in shop.disk. load_rates (shop.store) calls it, and that is called by "
    "total_price in shop.cart, which run_shop uses.",
}


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_natural_answer_meets_a_path_and_one_without_the_fact_misses_it(
    tmp_path: Path, answer: str
) -> None:
    (draft,) = drafts(paths.drafts, graph_of(tmp_path, CHAIN))
    whole = normalise(ANSWERS[answer])
    cut = normalise(ANSWERS[answer].replace("load_rates", "read_rates").replace("store", "shelf"))
    criteria = [item.criterion for item in draft.items]
    assert {judge(one, whole).verdict for one in criteria} == {Verdict.MET}
    assert [judge(one, cut).verdict for one in criteria[1:]] == [Verdict.MISSED, Verdict.PARTIAL]


@pytest.mark.parametrize(
    "also",
    [
        "from shop.store import load_rates\n\n\ndef total_price(items):\n    check_all()\n    return load_rates()\n\n\n"
        "def check_all():\n    raise RateError('two')\n",
        "from shop.store import load_rates\nfrom shop.disk import open_rates\n\n\ndef total_price(items):\n"
        "    open_rates()\n    return load_rates()\n",
    ],
    ids=["a second place", "a second way"],
)
def test_a_path_is_not_asked_for_if_there_is_another(tmp_path: Path, also: str) -> None:
    assert not drafts(paths.drafts, graph_of(tmp_path, {**CHAIN, "shop/cart.py": also}))


def test_a_path_between_two_functions_does_not_give_the_end_away(tmp_path: Path) -> None:
    graph = graph_of(tmp_path, CHAIN)
    (draft,) = drafts(paths.reaches, graph)
    assert "`run_shop`" in draft.prompt
    assert "`open_rates`" in draft.prompt
    prompt = normalise(draft.prompt)
    assert {judge(item.criterion, prompt).verdict for item in draft.items} == {Verdict.MISSED}


def test_affected_are_the_callers_within_two_calls(tmp_path: Path) -> None:
    users = "from shop.store import load_rates\n\n\ndef other_user():\n    return load_rates()\n"
    graph = graph_of(tmp_path, {**CHAIN, "shop/users.py": users})
    found = [one for one in drafts(callers.affected, graph) if "`open_rates`" in one.prompt]
    facts = [item.criterion.text.removeprefix("States that ") for item in found[0].items]
    assert sorted(facts) == [
        "`load_rates` in shop/store.py calls `open_rates`",
        "`other_user` in shop/users.py calls `load_rates`",
        "`total_price` in shop/cart.py calls `load_rates`",
    ]


def test_callers_are_asked_for_only_when_all_are_known(stock: Survey, tmp_path: Path) -> None:
    asked = [one for one in drafts(callers.drafts, CallGraph(stock)) if "`note_loss`" in one.prompt]
    names = {item.criterion.text.split("`")[1] for item in asked[0].items}
    assert names == {
        f"{name}Store.fill_{name.lower()}" for name in ("Cedar", "Fjord", "Islet", "Larch")
    }
    doubtful = {path: stock.texts[path] for path in stock.texts}
    doubtful["stock/more.py"] = "def use_all(ledger):\n    ledger.note_loss()\n"
    graph = graph_of(tmp_path, doubtful)
    assert not any("`note_loss`" in one.prompt for one in drafts(callers.drafts, graph))


def test_calls_are_followed_into_other_files(tmp_path: Path) -> None:
    called = {
        f"{name}.py": f"def {name}_it(x):\n    return x\n" for name in ("pack", "label", "weigh")
    }
    begin = "from label import label_it\nfrom pack import pack_it\nfrom weigh import weigh_it\n\n"
    send = f"{begin}def send(x):\n    weigh_it(pack_it(label_it(x)))\n"
    assert stated(flows.drafts, graph_of(tmp_path, {**called, "send.py": send})) == [
        f"`send` in send.py calls `{name}_it`, defined in {name}.py"
        for name in ("label", "pack", "weigh")
    ]


IMPORTING = {
    "base.py": "x = 1\n",
    "one.py": "from base import x\n",
    "two.py": "import base\n",
    "three.py": "import one\n",
}


def test_importers_are_followed_one_step(tmp_path: Path) -> None:
    assert stated(importers.drafts, graph_of(tmp_path, IMPORTING)) == [
        "one.py imports base.py",
        "three.py imports one.py",
        "two.py imports base.py",
    ]


FAMILY = {
    "base.py": "class Shape:\n    def draw_all(self, pen):\n        return 1\n\n    has_area = False\n",
    "round.py": "from base import Shape\n\n\nclass Round(Shape):\n    def draw_all(self, pen):\n        return 2\n\n"
    "    has_area = True\n",
    "more.py": "from base import Shape\nfrom round import Round\n\n\nclass Circle(Round):\n    pass\n\n\n"
    "class Ball(Circle):\n    pass\n\n\nclass Line(Shape):\n    pass\n",
}


def test_the_nearest_class_that_defines_a_member_decides(tmp_path: Path) -> None:
    found = drafts(decided.members, graph_of(tmp_path, FAMILY))
    assert sorted(one.kind for one in found) == ["attributes", "members"]
    for one in found:
        facts = [item.criterion.text for item in one.items]
        member = "draw_all" if one.kind == "members" else "has_area"
        assert sorted(facts) == [
            f"States that for `Ball` it is the `{member}` of `Round`, in round.py",
            f"States that for `Circle` it is the `{member}` of `Round`, in round.py",
            f"States that for `Line` it is the `{member}` of `Shape`, in base.py",
        ]


@pytest.mark.parametrize(
    "change",
    [
        ("def draw_all(self, pen)", "def draw_all(self, pen, ink)"),
        ("class Round(Shape)", "class Round(Shape, Mixin)"),
    ],
    ids=["an overload", "two bases"],
)
def test_a_member_that_may_be_another_is_not_asked_for(
    tmp_path: Path, change: tuple[str, str]
) -> None:
    files = {**FAMILY, "round.py": FAMILY["round.py"].replace(*change)}
    kinds = [one.kind for one in drafts(decided.members, graph_of(tmp_path, files))]
    assert "members" not in kinds


OPTIONS = """\
export function startOfWeek(date, options) {
  const first =
    options?.weekStartsOn ??
    options?.locale?.options?.weekStartsOn ??
    defaults.weekStartsOn ??
    0;
  return first;
}
"""


def test_the_order_of_sources_of_a_value_is_asked_for(tmp_path: Path) -> None:
    (draft,) = drafts(decided.options, graph_of(tmp_path, {"week.ts": OPTIONS}))
    criteria = [item.criterion for item in draft.items]
    right = "First `options.weekStartsOn`, then options?.locale?.options?.weekStartsOn, then defaults.weekStartsOn; else 0."
    wrong = "First `defaults.weekStartsOn`, then options.locale.options.weekStartsOn, then options.weekStartsOn."
    assert {judge(one, normalise(right)).verdict for one in criteria} == {Verdict.MET}
    assert {judge(one, normalise(wrong)).verdict for one in criteria} == {Verdict.MISSED}


def wins_by_a_dump(criterion: Criterion, survey: Survey) -> bool:
    """Whether the fact counts among all names and files of the project; it must count alone."""
    right = criterion.text.removeprefix("States that ")
    assert judge(criterion, normalise(right)).verdict is Verdict.MET
    dump = [f"- {path} holds it." for path in survey.code]
    for path in survey.code:
        names = [one.name for one in survey.codes[path].definitions]
        dump += [f"- `{name}` in {path}, as I see it." for name in names]
    return judge(criterion, normalise("\n".join([right, *dump]))).verdict is not Verdict.MISSED


def test_a_dump_of_all_names_does_not_win_a_question_for_callers(stock: Survey) -> None:
    found = drafts(callers.drafts, CallGraph(stock))
    assert found
    assert not any(wins_by_a_dump(item.criterion, stock) for one in found for item in one.items)


def test_a_dump_of_all_files_does_not_win_a_question_for_importers(tmp_path: Path) -> None:
    apart = {f"apart_{n}.py": f"x = '{n}'\n" for n in ("ant", "bee", "cat", "dog")}
    graph = graph_of(tmp_path, IMPORTING | apart)
    (draft,) = drafts(importers.drafts, graph)
    assert not any(wins_by_a_dump(item.criterion, graph.survey) for item in draft.items)


def test_a_name_tells_a_definition_if_it_is_no_word_and_defined_once(tmp_path: Path) -> None:
    names = {
        "add_tax": True,
        "addTax": True,
        "MAX_RATE": True,
        "total": False,
        "_total": False,
        "Cart": False,
    }
    code = "".join(
        f"def {name}():\n    pass\n\n\n" for name in [*names, "twice_made", "twice_made"]
    )
    broken = "def open_one(:\n\n\ndef last_one():\n    pass\n"
    survey = Survey.read(write(tmp_path, {"a.py": code, "broken.py": broken}))
    assert "last_one" not in survey.by_name, "broken code defines nothing"
    told = {name: is_telling(survey.by_name[name][0], survey) for name in [*names, "twice_made"]}
    assert told == names | {"twice_made": False}


def test_a_package_is_not_one_of_its_modules(tmp_path: Path) -> None:
    files = dict.fromkeys(("shop/__init__.py", "shop/deep/__init__.py", "shop/deep/side.py"), "")
    found = place("shop/deep/__init__.py", Survey.read(write(tmp_path, files)))
    for text in ("see shop.deep.", "shop.deep.Name", "shop/deep/__init__.py", "shop.deep"):
        assert find(found, normalise(text)), text
    assert not find(found, normalise("shop.deep.side"))


def test_each_kind_has_several_sentences() -> None:
    assert {
        kind: len(set(sentences)) for kind, sentences in SENTENCES.items() if len(sentences) < 2
    } == {}


def test_what_is_mined_is_right_and_proposed_by_the_seed(stock: Survey) -> None:
    def proposed(seed: int) -> list[str]:
        miners = Miners(stock, "stock", Folder(path="stock"), seed)
        return [one.task.prompt for one in miners.write({Category.TARGETED: 9}) if one.task]

    miners = Miners(stock, "stock", Folder(path="stock"), 1)
    tasks = [one.task for one in miners.write({Category.TARGETED: 9}) if one.task]
    assert len(tasks) >= 3
    assert [problem for task in tasks for problem in find_problems(task, stock, [], [])] == []
    assert proposed(1) == proposed(1) != proposed(2)


def test_a_set_that_grows_gets_the_ids_that_it_would_have_had_at_once(stock: Survey) -> None:
    source = Folder(path="stock")
    whole = Miners(stock, "stock", source, 1).write({Category.TARGETED: 6})
    first = [
        one.task
        for one in Miners(stock, "stock", source, 1).write({Category.TARGETED: 2})
        if one.task
    ]
    more = Miners(stock, "stock", source, 1, first).write({Category.TARGETED: 4})
    assert [one.id for one in whole] == [*(task.id for task in first), *(one.id for one in more)]
