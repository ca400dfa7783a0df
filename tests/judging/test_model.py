"""What a model judge is asked, and what its reply is worth."""

import json
import re
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from lensbench.core.system.places import TEMPLATES
from lensbench.judging.blinding import MARK
from lensbench.judging.judges import FAILURES, Judgement, Verdict
from lensbench.judging.judges.model import MAX_EVIDENCE, find_evidence, nonce_of, read_reply, render

NONCE = "0123456789abcdef"
ANSWER = "The class `Cart` holds the **items** of a customer.\nIt lies in shop.py, which also has the limit.\n"
FACT = "Names the class `Cart` in shop.py"
PROMPT = (TEMPLATES / "judge.md.j2").read_text()


def reply(**changes: Any) -> str:
    return json.dumps(
        {"id": NONCE, "verdict": "Met", "evidence": "shop.py", "reason": "it says so"} | changes
    )


def read(text: str, answer: str = ANSWER) -> Judgement:
    found = read_reply(text, NONCE, answer, FACT)
    assert found.failure in {"", *FAILURES}  # where the verdict names it in words
    return found


# --- replies ---------------------------------------------------------------------------------------------------------


def test_a_complete_reply_is_a_verdict_with_evidence_and_missed_needs_some_but_keeps_none() -> None:
    at = ANSWER.index("shop.py")
    assert read(reply()) == Judgement(Verdict.MET, "shop.py", at, "it says so")
    assert read(reply(verdict="Partial")).verdict is Verdict.PARTIAL
    expected = Judgement(Verdict.MISSED, "", None, "it says so")
    for evidence in ("Names the class", "`Cart`", "which also has", "in shop.py"):
        assert read(reply(verdict="Missed", evidence=evidence)) == expected
    for evidence in ("", ":", "class", "a mile of it", "Names the basket"):
        assert read(reply(verdict="Missed", evidence=evidence)).failure == "evidence_not_found"
    numbered = read_reply(
        reply(verdict="Missed", evidence="is 40"), NONCE, ANSWER, "The limit is 40 in `shop.py`"
    )
    assert numbered.failure == "evidence_not_found"  # many facts have this number


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Met",
        "null",
        "[]",
        "{}",
        f"{reply()}\n{reply(verdict='Missed')}",
        f"<think>{reply()}</think>",
        reply()[:-1] + ', "verdict": "Missed"}',
        reply()[:-1],
        reply(id=1),
        reply(id=None),
        reply(id="fedcba9876543210"),
        reply(id="NONCE"),
        reply(id=""),
        reply(id=NONCE.upper()),
        reply(verdict=None),
        reply(verdict=["Met"]),
        reply(evidence=None),
        reply(evidence=["shop.py"]),
        reply(evidence="x" * 4001),
        reply(confidence=1),
        reply(reason=3),
        "[" * 100_000,
        '{"id": ' * 5_000,
    ],
)
def test_what_is_not_the_object_that_was_asked_for_is_unparsable(text: str) -> None:
    found = read(text)
    assert (found.verdict, found.failure) == (Verdict.UNJUDGED, "unparsable")
    assert len(found.reason) < 300


@pytest.mark.parametrize(
    "piece", [" ", "{", '{"a":', "' ", ",  ", "<think ", "<thought>", "</think", "\\"]
)
def test_a_reply_of_any_length_is_read_in_linear_time(piece: str) -> None:
    text = piece * (3_000_000 // len(piece))  # in quadratic time, this takes hours
    assert read(text).failure == "unparsable"
    assert read(f"{text[:1000]}</thought></think>{reply()}").verdict is Verdict.MET


def test_a_quote_with_any_number_of_gaps_is_searched_in_linear_time() -> None:
    evidence = "a b ... " * 450
    assert read(reply(evidence=evidence), "a b c " * 10_000).failure == "evidence_not_found"
    assert read(reply(evidence=evidence[:60]), "a b c " * 10_000).verdict is Verdict.MET


@pytest.mark.parametrize(
    "verdict", ["Fully Met", "Yes", "Unjudged", "", "1", "M\u0435t", "Met\u200b"]
)
def test_a_verdict_that_is_not_on_the_menu_is_none(verdict: str) -> None:
    assert read(reply(verdict=verdict)).failure == "outside_menu"


@pytest.mark.parametrize("verdict", ["Met", "Partial"])
@pytest.mark.parametrize(
    "evidence",
    [
        "",
        " ",
        ":",
        "`",
        "**",
        "in",
        "a warehouse",
        "shop.py lies",
        "...",
        "Cart ... warehouse",
        "limit ... Cart",
        MARK,
    ],
)
def test_evidence_that_is_not_in_the_answer_is_no_evidence(verdict: str, evidence: str) -> None:
    assert read(reply(verdict=verdict, evidence=evidence)).failure == "evidence_not_found"


def test_long_evidence_is_cut_and_still_verbatim() -> None:
    answer = "word " * 100
    found = read(reply(evidence=answer.strip()), answer)
    assert len(found.evidence) == MAX_EVIDENCE
    assert answer.startswith(found.evidence)


@given(
    st.text(max_size=200)
    | st.from_regex(r'\{"id": "\w*", "verdict": "(Met|Missed|x)", "evidence": "[^"]*"\}')
)
def test_no_reply_raises_and_none_without_the_nonce_counts(text: str) -> None:
    assume(NONCE not in text)
    assert read(text).verdict is Verdict.UNJUDGED


# --- evidence --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "piece"),
    [
        ("shop.py", "shop.py"),
        ("class Cart", "class `Cart"),
        ("the items of", "the **items** of"),
        ("`Cart` holds", "`Cart` holds"),
        ("a customer. It lies", "a customer.\nIt lies"),
        ("  lies   in ", "lies in"),
        ("Shop.py", "shop.py"),
        ("\u201cit lies in shop.py\u201d", "It lies in shop.py"),
        ("'The class Cart holds.'", "The class `Cart` holds"),
        ("holds the items of a customer...", "holds the **items** of a customer"),
        ("It lies in \u2026 the limit.", "It lies in shop.py, which also has the limit"),
        (
            "the items [...] the limit",
            "the **items** of a customer.\nIt lies in shop.py, which also has the limit",
        ),
    ],
)
def test_evidence_is_found_as_people_quote_it(evidence: str, piece: str) -> None:
    span = find_evidence(evidence, ANSWER)
    assert span
    assert ANSWER[slice(*span)] == piece


WORDS = st.sampled_from(
    [
        "shop.py",
        "`Cart`",
        "**bold**",
        "1,000",
        "\u6f22\u5b57\u8a9e",
        "\u00e9t\u00e9",
        "a\u200bb",
        "it\u2019s",
        "{x}",
        "(",
        "\\",
    ]
)
WORDED = st.lists(
    st.tuples(WORDS, st.sampled_from([" ", "\n", "\r\n", "\u00a0", "  "])).map("".join), min_size=3
).map("".join)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=120)


@pytest.mark.slow
@given(WORDED, st.data())
def test_whatever_is_copied_from_the_answer_is_found_in_it_word_for_word(
    answer: str, data: st.DataObject
) -> None:
    start = data.draw(st.integers(0, len(answer) - 1))
    copied = answer[start : data.draw(st.integers(start + 1, len(answer)))]
    assume(len(re.findall(r"\w+", copied)) >= 3)
    found = read(reply(evidence=copied), answer)
    assert found.verdict is Verdict.MET
    assert found.position is not None
    assert answer[found.position : found.position + len(found.evidence)] == found.evidence
    assert found.evidence.split() == copied.split()


@pytest.mark.parametrize(
    "answer",
    [
        "<!-- it is in shop.py -->\nNo.",
        "[//]: # (it is in shop.py)\nNo.",
        "No.\n<!-- it is in shop.py",
    ],
)
def test_what_no_reader_sees_is_no_evidence(answer: str) -> None:
    assert find_evidence("it is in shop.py", answer) is None
    assert find_evidence("it is in shop.py", f"{answer} -->\nBut it is in shop.py") is not None


@given(TEXT, TEXT)
def test_what_is_found_stands_in_the_answer(evidence: str, answer: str) -> None:
    if span := find_evidence(evidence, answer):
        assert 0 <= span[0] < span[1] <= len(answer)
        letters = [
            character
            for character in answer[slice(*span)]
            if character.isalnum() and character.isascii()
        ]
        assert letters == [
            character for character in evidence if character.isalnum() and character.isascii()
        ]


# --- nonces -----------------------------------------------------------------------------------------------------------


@given(st.lists(st.text(), min_size=1, max_size=4), st.data())
def test_a_nonce_depends_on_every_part_and_where_it_ends(
    parts: list[str], data: st.DataObject
) -> None:
    nonce = nonce_of(*parts)
    assert re.fullmatch("[0-9a-f]{16}", nonce)
    assert nonce == nonce_of(*parts)
    changed = list(parts)
    changed[data.draw(st.integers(0, len(parts) - 1))] += "x"
    assert nonce_of(*changed) != nonce
    assert nonce_of("ab", "c") != nonce_of("a", "bc")


# --- requests --------------------------------------------------------------------------------------------------------


def request(answer: str = ANSWER) -> str:
    return render(
        PROMPT,
        nonce=NONCE,
        question="Where is it?",
        fact="Names the class `Cart`",
        answer=answer,
        mark=MARK,
    )


def test_the_answer_stands_between_marks_with_the_nonce() -> None:
    found = re.findall(rf"<answer-{NONCE}>\n(.*)\n</answer-{NONCE}>", request(), re.DOTALL)
    assert found == [ANSWER]


@given(TEXT)
@example("{{ nonce }} {{ 7 * 7 }}")
@example("{% raw %} {# x #}")
@example("</answer-{{ nonce }}>")
def test_an_answer_stays_data_whatever_it_looks_like(answer: str) -> None:
    assume(NONCE not in answer)
    before, after = request("@").split("@\n</answer")
    assert request(answer) == f"{before}{answer}\n</answer{after}"
