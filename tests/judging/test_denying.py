"""What is denied, taken back, struck out, asked or supposed is not stated; what else a sentence denies is no matter."""

import pytest

from lensbench.core.tasks import Criterion
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise

FACTS = [
    ("States that the limit of a cart is read by limit_of in shop/limits.py", ("limit_of", "shop/limits.py")),
    ("States that fetch in http/client.py is repeated by retry_request", ("retry_request", "http/client.py")),
]
DENIALS = {
    "in other words": [
        "It is not true that {0} in {1} reads it.", "{0} isn\u2019t in {1}.", "{0}, which is in {1}, never reads it.",
        "{0} of {1} has nothing to do with it.", "Contrary to what the docs say, {0} in {1} reads it.",
        "{0} ({1}) fails to read it.", "{0} is nowhere in {1}.", "It is a myth that {0} in {1} reads it.",
        "It is wrong that {0} in {1} reads it.", "It happens without {0} in {1}.", "Nothing in {1} calls {0}.",
        "`{0}` in `{1}` is unrelated to it.", "Neither {0} nor anything else in {1} reads it.",
        "The parser does it instead of {0} in {1}.", "{0} is no longer in {1}.",
    ],
    "taken back": [
        "{0} in {1} reads it. That is wrong.", "{0} in {1} reads it. This is not true.",
        "{0} in {1} reads it.\n\nCorrection: the above is false.", "{0} in {1} reads it. No, that is incorrect.",
        "{0} in {1} reads it. Then I looked again. Ignore all of the above.", "{0} in {1} reads it. It isn't true.",
        "- {0} in {1} reads it.\n- Actually, I was mistaken.", "{0} in {1} reads it. Later: {0} is not in {1}.",
        "{0} in {1} reads it. It is false.",
    ],
    "one of several": [
        "It is either {0} in {1} or something else.", "It is {0} in {1} or other_name in shop/other.py.",
        "It is in shop/other.py or {1}, in {0}.", "It is one of the following: {0} in {1}, other_name, or third_name.",
    ],
    "conditional": [
        "If {0} were in {1}, it would read it.", "Perhaps {0} in {1} reads it.", "{0} in {1} might read it.",
        "It could be {0} in {1}.", "Is it {0} in {1}?", "Suppose {0} in {1} reads it.",
        "Perhaps {0} in {1} reads it. That is wrong.",
    ],
    "struck through": [
        "~~{0} in {1} reads it.~~ I do not know.",
        "<del>{0} in {1} reads it.</del>",
        "It is ~~{0}~~ other_name in {1}.",
    ],
}  # fmt: skip
STATEMENTS = [
    "{0} in {1} reads it, not other_name in shop/other.py.", "It is {0} in {1} rather than other_name.", "It is not other_name but {0} in {1}.",
    "{0} in {1} reads it. It is not in shop/other.py.", "{0} in {1} reads it, or fails.", "{0} in {1} reads it (`if not strict:`).",
    "```\nif not done: {0}()\n```\nThis is in {1}.", "Do not forget {0} in {1}.", "It is not only {0} in {1}, but all of them.",
    "Where is it? {0} in {1} reads it.", "other_name reads it. That is wrong. {0} in {1} reads it.", "other_name does not read it; {0} in {1} does.",
    "{0} in {1} returns False if it is false.", "If no limit is set, {0} in {1} reads it.", "If a limit were set, {0} in {1} reads it.",
    "{0} in {1} reads it. That is right.", "The value ~~~ is {0} in {1} ~~~ here.",
]  # fmt: skip


def verdicts(answer: str, **patterns: object) -> set[str]:
    found = set()
    for text, (name, file) in FACTS:
        criterion = Criterion.model_validate({"text": text, "all_of": [name, file], **patterns})
        found.add(judge(criterion, normalise(answer.format(name, file))).verdict.value)
    return found


@pytest.mark.parametrize(("kind", "answer"), [(kind, each) for kind, answers in DENIALS.items() for each in answers])
def test_a_fact_that_is_not_asserted_is_missed(kind: str, answer: str) -> None:
    assert verdicts(answer) == {"Missed"}, kind


@pytest.mark.parametrize("answer", STATEMENTS)
def test_a_sentence_that_denies_something_else_states_the_fact(answer: str) -> None:
    assert verdicts(answer) == {"Met"}


@pytest.mark.parametrize(("answer", "verdict"), [
    ("{0} in {1} reads it. It is not in b.py.", "Met"), ("{0} in {1} reads it. b.py does not do so.", "Met"),
    ("{0} in {1} reads it rather than b.py.", "Met"), ("{0} in {1} reads it. So does b.py.", "Missed"),
    ("{0} in {1} reads it. It is in b.py, not in c.py.", "Missed"),
    ("{0} in {1} reads it. It is not in c.py but in b.py.", "Missed"), ("{0} in {1} reads it, but is not copied.", "Missed"),
])  # fmt: skip
def test_what_must_not_be_stated_may_be_denied(answer: str, verdict: str) -> None:
    assert verdicts(answer, must_not=["b.py", {"regex": "not copied"}]) == {verdict}


def test_a_negated_fact_may_be_stated_with_one_and_a_pattern_is_denied_by_its_fact_s_words() -> None:
    criterion = Criterion.model_validate({"text": "limit_of never reads a.py", "all_of": ["limit_of", "a.py"]})
    assert judge(criterion, normalise("limit_of never reads a.py.")).verdict.value == "Met"
    criterion = Criterion.model_validate(
        {"text": "States that the items of a cart are counted in a.py", "all_of": "a.py"}
    )
    for answer, verdict in {
        "a.py does not import typing. It counts them.": "Met",
        "The items of a cart are not counted in a.py.": "Missed",
    }.items():
        assert judge(criterion, normalise(answer)).verdict.value == verdict
