"""The miners state facts that the sources show, in tasks that ask for them."""

import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.tasks import Category, Criterion, Folder
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import find, judge
from lensbench.judging.judges.normalising import normalise
from lensbench_tasks.mining import callers, flows, importers, messages, places, together, values
from lensbench_tasks.mining.drafts import Draft
from lensbench_tasks.mining.patterns import is_telling, place, valued
from lensbench_tasks.mining.writer import Miners
from lensbench_tasks.problems import Problem, find_problems
from lensbench_tasks.rounds import Examined, Fate
from lensbench_tasks.survey import Survey
from stock import with_history, write

Miner = Callable[[Survey, random.Random], Iterator[Draft]]


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return Survey.read(with_history(tmp_path_factory.mktemp("stock")))


def tree_of(folder: Path, files: dict[str, str]) -> Survey:
    return Survey.read(write(folder, files))


def criteria(miner: Miner, known: Survey) -> dict[str, Criterion]:
    """What a miner states with any of three rng, by text: groups leave out what does not make another one."""
    drafts = [draft for seed in range(3) for draft in miner(known, random.Random(seed))]
    return {item.criterion.text: item.criterion for draft in drafts for item in draft.items}


def stated(miner: Miner, known: Survey) -> list[str]:
    return sorted(criteria(miner, known))


def test_values_messages_with_their_function_all_callers_and_what_changed_together_are_found(
    stock: Survey,
) -> None:
    facts = stated(values.drafts, stock)
    assert (
        "States that the parameter `patience_cedar` of `CedarStore.fill_cedar` in stock/cedar.py is 31"
        in facts
    )
    assert (
        "States that the attribute `batch_cedar` of `CedarStore` in stock/cedar.py is 93" in facts
    )
    assert "States that the constant `CEDAR_LIMIT` in stock/cedar.py is 310" in facts
    facts = stated(messages.drafts, stock)
    wanted = 'States that `DuneStore.fill_dune` in stock/dune.py gives the message "nothing to put on shelf number 5"'
    assert wanted in facts
    asked = [
        draft for draft in callers.drafts(stock, random.Random(1)) if "`note_loss`" in draft.prompt
    ]
    names = [item.criterion.text.split("`")[1] for item in asked[0].items]
    assert names == [
        "CedarStore.fill_cedar",
        "FjordStore.fill_fjord",
        "IsletStore.fill_islet",
        "LarchStore.fill_larch",
    ]
    (draft,) = [
        draft
        for draft in together.drafts(stock, random.Random(1))
        if "change stock/amber.py" in draft.prompt
    ]
    counts = {
        item.criterion.proofs[0].changes_with: item.criterion.proofs[0].commits
        for item in draft.items
    }
    assert counts == {"stock/birch.py": 8, "stock/cedar.py": 7, "stock/dune.py": 5}


IMPORTING = {
    "base.py": "x = 1\n",
    "one.py": "from base import x\n",
    "two.py": "import base\n",
    "three.py": "import one\n",
}


def test_importers_are_followed_one_step(tmp_path: Path) -> None:
    assert stated(importers.drafts, tree_of(tmp_path, IMPORTING)) == [
        "States that one.py imports base.py",
        "States that three.py imports one.py",
        "States that two.py imports base.py",
    ]


def wins_by_a_dump(criterion: Criterion, known: Survey) -> bool:
    """Whether the fact counts among all names and files of the project; it must count alone."""
    right = criterion.text.removeprefix("States that ")
    assert judge(criterion, normalise(right)).verdict is Verdict.MET
    dump = [f"- {path} holds it." for path in known.code]
    dump += [
        f"- `{one.name}` in {path}, as I see it."
        for path, each in known.defined.items()
        for one in each
    ]
    return judge(criterion, normalise("\n".join([right, *dump]))).verdict is not Verdict.MISSED


def test_a_dump_of_all_names_does_not_win_a_question_for_callers(stock: Survey) -> None:
    found = criteria(callers.drafts, stock).values()
    assert found
    assert not any(wins_by_a_dump(criterion, stock) for criterion in found)


def test_a_dump_of_all_files_does_not_win_a_question_for_importers(tmp_path: Path) -> None:
    known = tree_of(
        tmp_path,
        IMPORTING | {f"apart_{n}.py": f"x = '{n}'\n" for n in ("ant", "bee", "cat", "dog")},
    )
    found = criteria(importers.drafts, known).values()
    assert len(found) == 3
    assert not any(wins_by_a_dump(criterion, known) for criterion in found)


def test_calls_are_followed_into_other_files(tmp_path: Path) -> None:
    called = {
        f"{name}.py": f"def {name}_it(x):\n    return x\n" for name in ("pack", "label", "weigh")
    }
    begin = "from label import label_it\nfrom pack import pack_it\nfrom weigh import weigh_it\n\n"
    send = f"{begin}def send(x):\n    weigh_it(pack_it(label_it(x)))\n"
    known = tree_of(tmp_path, {**called, "send.py": send})
    assert stated(flows.drafts, known) == [
        f"States that `send` in send.py calls `{name}_it`, defined in {name}.py"
        for name in ("label", "pack", "weigh")
    ]


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
    known = tree_of(
        tmp_path, {"a.py": code, "broken.py": "def open_one(:\n\n\ndef last_one():\n    pass\n"}
    )
    assert "last_one" not in known.by_name, "broken code defines nothing"
    told = {name: is_telling(known.by_name[name][0], known) for name in [*names, "twice_made"]}
    assert told == names | {"twice_made": False}


def test_a_name_that_is_defined_twice_is_no_fact(tmp_path: Path) -> None:
    again = {
        f"m{n}.py": f"def same():\n    return 1\n\n\ndef other_{n}():\n    same()\n"
        for n in range(4)
    }
    assert not any("`same`" in fact for fact in stated(places.drafts, tree_of(tmp_path, again)))


@pytest.mark.parametrize(
    ("ending", "code", "fact"),
    [
        (
            "ts",
            'export class Shop {{\n  size{n} = {n}1;\n  open(wait{n} = {n}2) {{ throw new Error("the shop number {n} has closed"); }}\n}}\n',
            "Shop.open",
        ),
        (
            "js",
            'export function open{n}(wait{n} = {n}2) {{\n  throw new Error("the shop number {n} has closed");\n}}\n',
            "open1",
        ),
        (
            "go",
            'package shop\n\nimport "errors"\n\nconst waitTime{n} = {n}2\n\nfunc Open{n}() error {{\n\treturn errors.New("the shop number {n} has closed")\n}}\n',
            "Open1",
        ),
        (
            "rs",
            'pub const WAIT_{n}: u32 = {n}2;\n\npub fn open_{n}() {{\n    panic!("the shop number {n} has closed");\n}}\n',
            "open_1",
        ),
        (
            "java",
            'class Shop{n} {{\n  void open() {{ throw new RuntimeException("the shop number {n} has closed"); }}\n}}\n',
            "Shop1.open",
        ),
        (
            "cs",
            'class Shop{n} {{\n  void Open() {{ throw new Exception("the shop number {n} has closed"); }}\n}}\n',
            "Shop1.Open",
        ),
    ],
)
def test_messages_are_found_in_each_language(
    tmp_path: Path, ending: str, code: str, fact: str
) -> None:
    files = {f"shop{number}.{ending}": code.format(n=number) for number in range(1, 5)}
    if ending == "ts":
        files = {
            name: text.replace("Shop", f"Shop{number}" if number > 1 else "Shop")
            for number, (name, text) in enumerate(files.items(), 1)
        }
    known = tree_of(tmp_path, files)
    assert any(f"`{fact}`" in text for text in stated(messages.drafts, known))
    if ending in ("ts", "js", "go", "rs"):
        assert any(text.endswith(" is 12") for text in stated(values.drafts, known))


OTHER_WORDS = {
    "patience_cedar": [
        "`patience_cedar` defaults to 31 (stock/cedar.py).",
        "| patience_cedar | 31 | cedar.py |",
        "stock.cedar: it is 31 for patience_cedar.",
    ],
    "CEDAR_LIMIT": [
        "cedar.py: CEDAR_LIMIT = 310",
        "The limit `CEDAR_LIMIT` is set to 310 in cedar.py.",
    ],
}
WRONG = {
    "patience_cedar": [
        "`patience_cedar` defaults to 310.",
        "patience_cedar is 3.31",
        "patience_birch is 31, patience_cedar is 17",
    ],
    "CEDAR_LIMIT": ["CEDAR_LIMIT = 3100", "CEDAR_LIMIT is 31"],
}


@pytest.mark.parametrize("name", OTHER_WORDS)
def test_a_value_is_found_in_other_words_and_a_wrong_one_is_not(stock: Survey, name: str) -> None:
    (criterion,) = [
        each for text, each in criteria(values.drafts, stock).items() if f"`{name}`" in text
    ]
    assert {judge(criterion, normalise(text)).verdict for text in OTHER_WORDS[name]} == {
        Verdict.MET
    }
    assert {
        judge(criterion, normalise(f"{text} (stock/cedar.py)")).verdict for text in WRONG[name]
    } == {Verdict.MISSED}


def test_a_question_can_mean_one_thing_only(tmp_path: Path) -> None:
    """Constants of two files, owners of one name, values that the name tells, messages that name their function."""
    known = tree_of(
        tmp_path,
        {
            "one.py": 'LIMIT_ROWS = 12\nLEVEL_STRICT = "strict"\nLEVEL_LOOSE = "first"\n\n\n'
            "class Command:\n    is_quiet = True\n    pause = 3\n\n\nclass Shop:\n    depth = 60.0\n",
            "two.py": "LIMIT_ROWS = 20\nLIMIT_COLUMNS = 7\n\n\nclass Command:\n    is_quiet = False\n",
            "three.py": 'def flatten():\n    raise ValueError("the flatten function is gone for good")\n\n\n'
            'def outer():\n    def inner():\n        raise ValueError("whose error is this one here")\n\n'
            '    raise ValueError("this error is that of all things")\n',
            "four.py": 'def first():\n    raise ValueError("there is no first one today")\n\n\n'
            'def second():\n    raise ValueError("what was asked for is not here")\n\n\n'
            "def third():\n    raise ValueError(\"we don't know how to find 'it'\")\n",
        },
    )
    assert {fact.split("`")[1] for fact in stated(values.drafts, known)} == {
        "LEVEL_LOOSE",
        "LIMIT_COLUMNS",
        "depth",
    }
    assert {fact.split("`")[1] for fact in stated(messages.drafts, known)} == {
        "outer",
        "second",
        "third",
    }
    assert any(
        fact.endswith('"we don\'t know how to find"') for fact in stated(messages.drafts, known)
    )


def test_a_whole_number_is_the_same_with_and_without_its_fraction() -> None:
    assert all(
        re.search(valued("delay", "60.0").regex, one)
        for one in ("delay is 60 s", "delay = 60.0", "delay: 60.")
    )
    assert not re.search(valued("delay", "60.0").regex, "delay = 600")


def test_a_package_is_not_one_of_its_modules(tmp_path: Path) -> None:
    known = tree_of(
        tmp_path,
        dict.fromkeys(("shop/__init__.py", "shop/deep/__init__.py", "shop/deep/side.py"), ""),
    )
    found = place("shop/deep/__init__.py", known)
    for text in ("see shop.deep.", "shop.deep.Name", "shop/deep/__init__.py", "shop.deep"):
        assert find(found, normalise(text)), text
    assert not find(found, normalise("shop.deep.side"))


def test_a_file_of_another_definition_is_no_answer(stock: Survey) -> None:
    (criterion,) = [
        each for text, each in criteria(places.drafts, stock).items() if "`weigh_cedar`" in text
    ]
    right = [
        "`weigh_cedar`: stock/cedar.py",
        "weigh_cedar is defined in `stock.cedar`",
        "cedar.py defines weigh_cedar",
    ]
    wrong = [
        "`weigh_cedar`: stock/dune.py\n`weigh_dune`: stock/cedar.py",
        "weigh_cedar is in dune.py, weigh_dune in cedar.py",
    ]
    assert {judge(criterion, normalise(text)).verdict for text in right} == {Verdict.MET}
    assert {judge(criterion, normalise(text)).verdict for text in wrong} == {Verdict.MISSED}


def test_what_is_mined_is_right_but_for_being_new_and_proposed_by_the_seed(stock: Survey) -> None:
    miners = Miners(stock, "stock", Folder(path="stock"), 1)
    proposals = miners.write(dict.fromkeys(Category, 5))
    tasks = [proposal.task for proposal in proposals if proposal.task]
    assert len(tasks) >= 12
    assert [problem for task in tasks for problem in find_problems(task, stock, [], [])] == []
    long: Any = next(
        proposal for proposal in proposals if proposal.task and len(proposal.task.criteria) > 3
    )
    repaired: Any = miners.revise([Fate(long, [Examined((Problem("trivial", "", 1),))])])[0]
    assert (repaired.id, repaired.task.criteria) == (long.id, long.task.criteria[1:])

    def proposed(seed: int) -> list[str]:
        found = Miners(stock, "stock", Folder(path="stock"), seed).write(dict.fromkeys(Category, 2))
        return [proposal.task.prompt for proposal in found if proposal.task]

    assert proposed(1) == proposed(1) != proposed(2)
