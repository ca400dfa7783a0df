"""`lensbench check`: what the patterns of a set do on texts whose verdict is known."""

from pathlib import Path

import pytest
import yaml

from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.task_files import read_scenarios
from lensbench_tasks.check import (
    Checked,
    CheckedText,
    answer_lines,
    check,
    exchanged,
    main,
    negated,
)
from lensbench_tasks.problems import fact_of
from programs import refusal, run_module

ROOT = Path(__file__).parents[2]
FINDING = "Met with {} exchanged: no pattern asks for it. Add it to all_of."
TASKS = """\
tasks:
  - id: cart
    category: Debug
    prompt: Where does shop.py limit a cart?
    criteria:
      - {text: "States that `Cart.limit` is 40", all_of: [Cart.limit, {regex: '\\b40\\b'}]}
      - {text: "Names the exception FullCart", all_of: FullBasket}
      - {text: "Names the file shop.py", all_of: shop.py}
  - id: tax
    category: Debug
    prompt: How is the tax computed?
    criteria:
      - {text: "Must mention that `tax_rate` in rates.py is 19", any_of: [tax_rate, limit]}
      - {text: "Says that it is rounded by round_half_up"}
"""


@pytest.fixture
def found() -> dict[str, Checked]:
    tasks = [Task.model_validate(task) for task in yaml.safe_load(TASKS)["tasks"]]
    answers = {
        "cart": [("cart-with", "`Cart.limit` is 40 in shop.py."), ("cart-without", "In shop.py.")]
    }
    return {f"{each.task.id} {each.number}": each for each in check(tasks, answers)}


def test_a_good_criterion_has_no_finding(found: dict[str, Checked]) -> None:
    good = found["cart 1"]
    assert good.findings == []
    assert (good.counts("own text"), good.counts("exchanged"), good.counts("your answers")) == (
        "1/1",
        "2/2",
        "1 of 2 Met",
    )


def test_each_given_answer_shows_the_verdict_of_each_criterion(found: dict[str, Checked]) -> None:
    assert list(answer_lines([*found.values()])) == [
        "cart-with     Met, Missed, Met",
        "cart-without  Missed, Missed, Met",
    ]


@pytest.mark.parametrize(
    ("criterion", "words"),
    [
        ("cart 2", ["Dead: its own text does not meet it", "Never met by the 2 answers"]),
        ("cart 3", ["Given away"]),
        ("tax 1", ["Met with 19 exchanged", "The facts of other tasks meet it (cart)"]),
        ("tax 2", ["It has no patterns"]),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(
    found: dict[str, Checked], criterion: str, words: list[str]
) -> None:
    findings = found[criterion].findings
    assert len(findings) == len(words)
    assert all(finding.startswith(word) for finding, word in zip(findings, words, strict=True))


def test_facts_are_stated_denied_and_cut_to_names_and_numbers() -> None:
    fact = "`tax_rate` in src/rates.py is 19, read by TaxTable and/or shop.py"
    texts = dict(exchanged(fact, "What does shop.py do?"))
    assert list(texts) == ["tax_rate", "src/rates.py", "19", "TaxTable"]
    assert all(piece not in text for piece, text in texts.items())
    assert texts["src/rates.py"].count(".py") == 2
    assert (
        fact_of(Criterion(text="Must mention that it is 40")) == "it is 40."
    )  # one without an end is a list
    assert fact_of(Criterion(text="Identifies the class.")) == "the class."
    assert negated("it is 40") == "it is not 40"
    assert negated("the class Cart") == "It is wrong that it is the class Cart"


def checked(**criterion: object) -> Checked:
    task = {"id": "a", "category": "Debug", "prompt": "Which?", "criteria": [criterion]}
    (result,) = check([Task.model_validate(task)], {})
    return result


FACT = "States that keep_all in src/store.py holds 500_000 rows of RowCache"
ROWS = {"regex": r"\b500_?000\b"}


@pytest.mark.parametrize(
    ("patterns", "named", "count"),
    [
        ({"all_of": ["keep_all", "src/store.py", ROWS, "RowCache"]}, None, 0),
        ({"all_of": ["keep_all", ROWS, "RowCache"]}, None, 1),
        ({"all_of": ["keep_all", "RowCache"]}, "500_000", 1),
        ({"all_of": [ROWS, "RowCache"]}, "keep_all", 1),
        ({"all_of": "src/store.py"}, "keep_all, 500_000, RowCache", 0),
        ({"all_of": [ROWS], "any_of": ["keep_all", "RowCache"]}, None, 3),
        ({"all_of": [ROWS], "partial": {"who": "keep_all", "what": "RowCache"}}, None, 3),
        ({"any_of": ["keep_all", ROWS]}, "500_000, RowCache", 2),
        ({"all_of": [ROWS, {"regex": "keep_all|RowCache"}]}, None, 3),
        (
            {"all_of": ["RowCache", ROWS, {"regex": r"(keep_all|store\.py)[^\n]*\b500_?000"}]},
            None,
            2,
        ),
    ],
)
def test_a_finding_names_numbers_and_names_that_no_pattern_asks_for_and_counts_the_others(
    patterns: dict[str, object], named: str | None, count: int
) -> None:
    result = checked(text=FACT, **patterns)
    found = [finding for finding in result.findings if finding.startswith("Met with")]
    assert found == ([] if named is None else [FINDING.format(named)])
    assert sum(probe.is_beside for probe in result.probes) == count


@pytest.mark.parametrize(
    ("fact", "named"),
    [
        ("States that max_rows is 40 in RowCache of src/store.py", []),
        ("States that max_rows is 40, RowCache.keep in src/store.py", []),
        ("States that RowCache.keep in src/store.py sets max_rows to 40", ["RowCache.keep"]),
        ("States that max_rows is 40 in RowCache and in OldCache of src/store.py", ["RowCache"]),
    ],
)
def test_a_name_at_the_end_that_only_says_where_is_counted_like_its_path(
    fact: str, named: list[str]
) -> None:
    result = checked(text=fact, all_of=["max_rows", "40"])
    assert result.findings == [FINDING.format(name) for name in named]


@pytest.mark.parametrize("number", ["500_000", "1,000", "0", "2.5", "`2**15`", "30s", "0x1F"])
def test_each_spelling_of_a_number_is_exchanged(number: str) -> None:
    ((piece, text),) = exchanged(f"the limit is {number}", "Which?")
    assert piece == number.strip("`")
    assert piece not in text
    assert normalise(piece).text not in normalise(text).text


def test_the_program_prints_a_table_writes_a_page_and_fails_for_dead_criteria(
    tmp_path: Path,
) -> None:
    (tmp_path / "set.yaml").write_text(TASKS)
    (tmp_path / "answers").mkdir()
    (tmp_path / "answers" / "cart-with.md").write_text("`Cart.limit` is 40.")
    done = run_module("lensbench", "check", "set.yaml", "--answers", "answers", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "error: dead or given away: cart 2, cart 3\n")
    assert "4 of 5 criteria have findings; open set.check.html" in done.stdout
    assert "other paths and names are Met beside what patterns find: 1\n" in done.stdout
    page = (tmp_path / "set.check.html").read_text()
    assert "Dead: its own text does not meet it" in page
    assert "## Report" in page  # what the agent is asked


@pytest.mark.parametrize(
    "path",
    [
        "scenarios/demo.yaml",
        "scenarios/standard.yaml",
        "examples/ci/tasks.yaml",
        "examples/own-server/tasks.yaml",
    ],
)
def test_no_shipped_criterion_has_a_finding(path: str) -> None:
    results = check(read_scenarios([str(ROOT / path)]).tasks, {})
    assert [(one.task.id, one.number, one.findings) for one in results if one.findings] == []


def test_a_criterion_that_is_met_when_denied_is_a_finding() -> None:
    criterion = {"text": "States that the items are never sorted by sort_items", "any_of": "items"}
    task = {"id": "a", "category": "Debug", "prompt": "Which?", "criteria": [criterion]}
    text = CheckedText("negated", "", "they are not", Verdict.MET, "")
    tasks = [Task.model_validate(task)]
    checked = Checked(tasks[0], 1, tasks[0].criteria[0], [text])
    assert checked.findings[0].startswith("Met when denied")


def test_a_folder_without_answers_is_named(tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(TASKS)
    (tmp_path / "empty").mkdir()
    said = refusal(main, tmp_path / "set.yaml", "--answers", tmp_path / "empty")
    assert "has no answer to a task of the set" in said
