"""What is wrong with criteria and tasks: each finding says what it saw and what to do."""

from fractions import Fraction
from typing import Any

import pytest

from lensbench.core.records import RunId
from lensbench.core.tables import Row
from lensbench.core.tasks import Category, Criterion, Task
from lensbench.judging.criteria_checks import Finding, check_criteria, check_tasks

BOTH = ["without", "with"]
PATTERNS = Criterion(text="names the file", all_of=("cache.py",))
PROSE = Criterion(text="says why")


def task(*criteria: Criterion, prompt: str = "Where is it?") -> Task:
    """A task named `one`."""
    return Task(id="one", category=Category.DEBUG, prompt=prompt, criteria=criteria)


def decisions(verdicts: dict[str, str], number: int = 1, apart: int = 0) -> list[Row]:
    """Decisions on a criterion by condition, one letter per trial; the judges differ on the first `apart` of each."""
    names = {"m": "Met", "p": "Partial", "-": "Missed", ".": "Unjudged"}
    return [
        {
            "task": "one",
            "condition": condition,
            "trial": str(trial),
            "criterion": str(number),
            "verdict": names[letter],
            "disagreement": "yes" if trial <= apart else "no",
        }
        for condition, letters in verdicts.items()
        for trial, letter in enumerate(letters, 1)
    ]


def found(given: Task, rows: list[Row]) -> dict[str, str]:
    """The sentences of the findings by their kinds."""
    return {each.kind: each.sentence for each in check_criteria({"one": given}, rows, BOTH)}


@pytest.mark.parametrize(
    ("letters", "kind", "advice"),
    [
        ("mm", "met_by_all", "ask for something harder"),
        ("--", "met_by_none", "Check that the fact is true"),
        ("pp", "partial_by_all", "split it into two"),
    ],
)
def test_the_same_verdict_everywhere_shows_nothing(letters: str, kind: str, advice: str) -> None:
    sentences = found(task(PATTERNS), decisions({"with": letters, "without": letters}))
    assert list(sentences) == [kind]
    assert "all 4 answers, in every condition" in sentences[kind]
    assert advice in sentences[kind]


@pytest.mark.parametrize(
    "verdicts",
    [
        {"with": "mm", "without": "m-"},
        {"with": "mm", "without": "--"},
        {"with": "mm"},
        {"with": "m", "without": "."},
    ],
)
def test_a_criterion_that_differs_or_lacks_a_condition_is_not_uninformative(
    verdicts: dict[str, str],
) -> None:
    assert not {"met_by_all", "met_by_none"} & set(found(task(PATTERNS), decisions(verdicts)))


def test_what_all_judged_answers_of_the_conditions_meet_or_miss_is_found() -> None:
    verdicts = {"m": [], "p": [], "-": ["met_by_none"]}
    assert {
        one: list(found(task(PATTERNS), decisions({"with": one, "without": one})))
        for one in verdicts
    } == verdicts
    assert list(found(task(PATTERNS), decisions({"with": "m.", "without": "mm"}))) == [
        "met_by_all",
        "unjudged",
    ]
    rows = decisions({"with": "mm", "without": "mm", "closed_book": "--"})
    assert list(found(task(PATTERNS), rows)) == ["met_by_all"]


def test_a_question_that_states_the_fact_or_a_part_of_it_gives_that_away() -> None:
    sentences = found(task(PATTERNS, prompt="What does `cache.py` do?"), [])
    assert sentences["given_away"].startswith("The question alone is Met by its patterns")
    half = Criterion(text="both", all_of=("cache.py", "evict"), partial={"the file": ("cache.py",)})
    assert (
        "is Partial by its patterns"
        in found(task(half, prompt="Why does cache.py grow?"), [])["given_away"]
    )
    assert found(task(half, prompt="Why does it grow?"), []) == {}
    assert found(task(PROSE, prompt="says why"), []) == {}


def test_judges_that_differ_often_and_what_would_judge_an_unjudged_criterion_are_named() -> None:
    verdicts = {"with": "mm-m", "without": "m-m-"}
    assert found(task(PATTERNS), decisions(verdicts, apart=1)) == {}
    sentence = found(task(PATTERNS), decisions(verdicts, apart=2))["judges_disagree"]
    assert sentence.startswith("The judges differ on 4 of 8 answers.")
    rows = decisions({"with": "m.", "without": "-m"})
    assert found(task(PROSE), rows)["unjudged"] == (
        "1 of 4 answers have no verdict. It has no patterns: write some, or add a judge that can read it."
    )
    assert "failures in verdicts.csv" in found(task(PATTERNS), rows)["unjudged"]


def test_findings_name_the_task_and_the_number_of_the_criterion() -> None:
    rows = decisions({"with": "m", "without": "-"}) + decisions(
        {"with": "mm", "without": "m"}, number=2
    )
    assert [one[:3] for one in check_criteria({"one": task(PATTERNS, PROSE)}, rows, BOTH)] == [
        ("one", 2, "met_by_all")
    ]


def scores(**by_condition: Any) -> dict[RunId, Fraction]:
    """The scores of one task, one per trial; a missing one is empty."""
    return {
        RunId("one", condition, trial): Fraction(score)
        for condition, given in by_condition.items()
        for trial, score in enumerate(given, 1)
        if score
    }


def closed(*given: str, best: str = "0.9") -> list[Finding]:
    """What a closed-book condition with these scores shows, when the best condition has `best`."""
    return check_tasks(scores(closed_book=given, **{"with": [best], "without": ["0.1"]}), BOTH)


def test_a_task_within_10_points_of_the_best_condition_does_not_need_the_repository() -> None:
    (finding,) = closed("0.8", best="1")
    assert finding[:3] == ("one", None, "closed_book")
    assert finding.sentence.startswith(
        "Answered without the repository: 80% closed book, and 100% with it in the best condition."
    )
    assert len(closed("0.5", best="0.6")) == 1
    assert closed("0.45", best="0.6") == []
    assert closed("1", "0.5", best="0.9") == []
    assert len(closed("1", "0.6", best="0.9")) == 1
    assert closed("0", best="0.05") == []


def test_a_closed_book_score_alone_is_judged_by_completeness_and_none_is_no_finding() -> None:
    assert check_tasks(scores(**{"with": ["1"], "without": ["1"]}), BOTH) == []
    assert closed("") == []
    assert check_tasks(scores(closed_book=["0.5"]), BOTH) == []
    (finding,) = check_tasks(scores(closed_book=["0.85"]), BOTH)
    assert "85% closed book. It asks" in finding.sentence
