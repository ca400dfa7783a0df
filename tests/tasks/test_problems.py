"""Everything that can be wrong with a generated task is found, and named."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from lensbench.core.tasks import Task
from lensbench_tasks.problems import Problem, RejectReason, find_problems
from lensbench_tasks.survey import Survey
from lensbench_tasks.trial import TrialScores, try_task
from stock import write_stock

PROMPT = "Which limit does the shelf of sand have, how many pieces does one batch take, and how heavy is a piece?"


def criterion(text: str, quote: str, **changes: Any) -> dict[str, Any]:
    name = text.split("`")[1]
    value = text.rsplit(" ", 1)[1]
    proofs = [{"file": "stock/dune.py", "quote": quote}]
    return {"text": text, "all_of": [name, value], "proofs": proofs, **changes}


GOOD = (
    criterion("States that `DUNE_LIMIT` in stock/dune.py is 370", "DUNE_LIMIT = 370"),
    criterion("States that `batch_dune` in stock/dune.py is 111", "batch_dune = 111"),
    criterion("States that `weigh_dune` in stock/dune.py multiplies by 5", "return sum(items) * 5"),
)


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return Survey.read(write_stock(tmp_path_factory.mktemp("stock")))


def task(*criteria: dict[str, Any], prompt: str = PROMPT, name: str = "stock-tgt-01") -> Task:
    return Task.model_validate(
        {"id": name, "category": "Targeted", "prompt": prompt, "criteria": criteria or GOOD}
    )


def with_first(**changes: Any) -> Task:
    return task({**GOOD[0], **changes}, *GOOD[1:])


def reasons(found: list[Problem]) -> set[RejectReason]:
    return {problem.reason for problem in found}


def test_a_good_task_has_no_problems(stock: Survey) -> None:
    assert find_problems(task(), stock, [], []) == []


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (task(*GOOD[:2]), "criteria_count"),
        (with_first(all_of=[]), "no_patterns"),
        (with_first(all_of=["DUNE_LIMIT", "of 370 pieces"]), "unstated"),
        (with_first(proofs=[]), "false_proof"),
        (
            with_first(proofs=[{"file": "stock/dune.py", "quote": "DUNE_LIMIT = 380"}]),
            "false_proof",
        ),
        (
            with_first(proofs=[{"file": "stock/sand.py", "quote": "DUNE_LIMIT = 370"}]),
            "false_proof",
        ),
        (
            with_first(proofs=[{"file": "../stock/dune.py", "quote": "DUNE_LIMIT = 370"}]),
            "false_proof",
        ),
        (
            with_first(
                proofs=[
                    {"file": "stock/dune.py", "quote": "DUNE_LIMIT = 370", "within": "DuneStore"}
                ]
            ),
            "false_proof",
        ),
        (
            with_first(text="States that `SAND_LIMIT` in stock/dune.py is 370", all_of="370"),
            "unknown_name",
        ),
        (
            with_first(text="States that `DUNE_LIMIT` in stock/sand.py is 370", all_of="370"),
            "unknown_name",
        ),
        (with_first(all_of="DUNE_LIMIT", any_of=["370", "sand_limit"]), "unknown_name"),
        (
            with_first(
                text="States that `DUNE_LIMIT` in stock/dune.py is 371", all_of="DUNE_LIMIT"
            ),
            "wrong_value",
        ),
        (
            with_first(text="States that `DUNE_LIMIT` stands on line 6", all_of="DUNE_LIMIT"),
            "line_number",
        ),
        (
            with_first(text="States that `DUNE_LIMIT` is at stock/dune.py:6", all_of="DUNE_LIMIT"),
            "line_number",
        ),
        (task(prompt="Is `DUNE_LIMIT` really 370?"), "given_away"),
        (with_first(all_of=["dune.py", "370"], any_of="DUNE_LIMIT"), None),
        (
            task(
                {**GOOD[0], "all_of": ["dune.py", "370"]},
                *GOOD[1:],
                prompt=f"In stock/dune.py: {PROMPT}",
            ),
            "path_given",
        ),
        (task(prompt=f"{PROMPT} Use Grep."), "names_tool"),
        (task(prompt=f"{PROMPT} Ask sonar_find."), "names_tool"),
        (task(prompt=f"{PROMPT} It is near line 6."), "line_number"),
    ],
)
def test_what_is_wrong_is_found(stock: Survey, bad: Task, reason: RejectReason | None) -> None:
    found = reasons(find_problems(bad, stock, [], ["sonar_find"]))
    assert reason in found if reason else not found


def test_a_task_that_asks_for_known_facts_or_in_known_words_is_a_duplicate(stock: Survey) -> None:
    other = task(
        *(
            {**one, "proofs": [{"file": "stock/dune.py", "quote": "def weigh_dune"}]}
            for one in GOOD
        ),
        name="b",
    )
    assert "duplicate" in reasons(find_problems(other, stock, [task()], []))
    reworded = task(
        prompt="Tell me all that is known about sand, its limit, its batches, its weight.", name="c"
    )
    assert reasons(find_problems(reworded, stock, [task()], [])) == {"duplicate"}


def test_a_tool_that_the_repository_itself_defines_is_no_tool(tmp_path: Path) -> None:
    write_stock(tmp_path)
    (tmp_path / "stock" / "grep.py").write_text("def grep(x):\n    return x\n")
    asked = task(prompt=f"{PROMPT} What does grep do with it?")
    assert find_problems(asked, Survey.read(tmp_path), [], []) == []


def test_a_task_is_tried_with_a_search_without_a_model_and_one_that_knows_and_may_be_good(
    stock: Survey,
) -> None:
    searched = task(
        *({**each, "all_of": ["DUNE_LIMIT", "370"]} for each in GOOD), prompt="What is DUNE_LIMIT?"
    )
    tried = try_task(searched, stock)
    assert [problem.reason for problem in tried.problems] == ["one_search", "trivial"]
    nothing = Fraction(0)
    everything = Fraction(1)
    assert [problem.reason for problem in TrialScores(nothing, nothing, nothing).problems] == [
        "impossible"
    ]
    assert list(TrialScores(nothing, nothing, everything).problems) == []
    tried = try_task(task(), stock)
    assert tried.search < 1
    assert tried.oracle == 1
