"""What is denied, taken back, struck out, asked or supposed is not stated; what else a sentence denies is no matter."""

from pathlib import Path

import pytest
import yaml

from lensbench.core.tasks import Criterion
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise

FACTS = [
    (
        "States that the limit of a cart is read by limit_of in shop/limits.py",
        ("limit_of", "shop/limits.py"),
    ),
    (
        "States that fetch in http/client.py is repeated by retry_request",
        ("retry_request", "http/client.py"),
    ),
]
SAID = yaml.safe_load((Path(__file__).parent / "denying.yaml").read_text(encoding="utf-8"))


def verdicts(answer: str, **patterns: object) -> set[str]:
    found = set()
    for text, (name, file) in FACTS:
        criterion = Criterion.model_validate({"text": text, "all_of": [name, file], **patterns})
        found.add(judge(criterion, normalise(answer.format(name, file))).verdict.value)
    return found


@pytest.mark.parametrize(
    ("kind", "answer"),
    [(kind, each) for kind, answers in SAID["denials"].items() for each in answers],
)
def test_a_fact_that_is_not_asserted_is_missed(kind: str, answer: str) -> None:
    assert verdicts(answer) == {"Missed"}, kind


@pytest.mark.parametrize("answer", SAID["statements"])
def test_a_sentence_that_denies_something_else_states_the_fact(answer: str) -> None:
    assert verdicts(answer) == {"Met"}


@pytest.mark.parametrize(("fact", "pattern", "answer", "verdict"), SAID["contrasts"])
def test_a_contrast_with_something_else_denies_nothing(
    fact: str, pattern: str, answer: str, verdict: str
) -> None:
    criterion = Criterion.model_validate({"text": fact, "all_of": [pattern]})
    assert judge(criterion, normalise(answer)).verdict.value == verdict


@pytest.mark.parametrize(
    ("fact", "patterns", "answer", "verdict"),
    [
        (row["fact"], row["patterns"], answer, verdict)
        for row in SAID["remarks"]
        for verdict in ("Met", "Missed")
        for answer in row[verdict]
    ],
)
def test_a_fact_that_negates_what_it_adds_can_be_denied_and_be_said_in_its_words(
    fact: str, patterns: list[str], answer: str, verdict: str
) -> None:
    criterion = Criterion.model_validate({"text": fact, "all_of": patterns})
    assert judge(criterion, normalise(answer)).verdict.value == verdict


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("{0} in {1} reads it. It is not in b.py.", "Met"),
        ("{0} in {1} reads it. b.py does not do so.", "Met"),
        ("{0} in {1} reads it rather than b.py.", "Met"),
        ("{0} in {1} reads it. So does b.py.", "Missed"),
        ("{0} in {1} reads it. It is in b.py, not in c.py.", "Missed"),
        ("{0} in {1} reads it. It is not in c.py but in b.py.", "Missed"),
        ("{0} in {1} reads it, but is not copied.", "Missed"),
    ],
)
def test_what_must_not_be_stated_may_be_denied(answer: str, verdict: str) -> None:
    assert verdicts(answer, must_not=["b.py", {"regex": "not copied"}]) == {verdict}


def test_a_negated_fact_may_be_stated_with_one_and_a_pattern_is_denied_by_its_fact_s_words() -> (
    None
):
    criterion = Criterion.model_validate(
        {"text": "limit_of never reads a.py", "all_of": ["limit_of", "a.py"]}
    )
    assert judge(criterion, normalise("limit_of never reads a.py.")).verdict.value == "Met"
    criterion = Criterion.model_validate(
        {"text": "States that the items of a cart are counted in a.py", "all_of": "a.py"}
    )
    for answer, verdict in {
        "a.py does not import typing. It counts them.": "Met",
        "The items of a cart are not counted in a.py.": "Missed",
    }.items():
        assert judge(criterion, normalise(answer)).verdict.value == verdict


WITHIN = yaml.safe_load((Path(__file__).parent / "within.yaml").read_text(encoding="utf-8"))
ACROSS = Criterion.model_validate(
    {
        "text": "States that the default of max_width is 80",
        "all_of": [{"regex": r"max_width[^\n]{0,60}\b80"}],
    }
)


@pytest.mark.parametrize("answer", WITHIN["denied"])
def test_a_match_that_holds_a_negation_of_its_end_states_nothing(answer: str) -> None:
    assert judge(ACROSS, normalise(answer)).verdict.value == "Missed"


@pytest.mark.parametrize("answer", WITHIN["stated"])
def test_a_match_that_holds_a_negation_of_something_else_states_the_fact(answer: str) -> None:
    assert judge(ACROSS, normalise(answer)).verdict.value == "Met"


@pytest.mark.parametrize(("answer", "verdict"), [("does not", "Met"), ("cannot", "Missed")])
def test_a_negation_that_the_pattern_spells_out_denies_nothing(answer: str, verdict: str) -> None:
    criterion = Criterion.model_validate(
        {"text": "The pool is free", "all_of": [{"regex": "(pool|does not)[a-z ]* wait"}]}
    )
    assert judge(criterion, normalise(f"The pool {answer} wait.")).verdict.value == verdict
