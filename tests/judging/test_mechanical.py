"""The mechanical judge: what is stated is found, in every spelling; what is not is never found by luck."""

import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.tasks import Criterion
from lensbench.judging.judges import POINTS, Judgement, Verdict
from lensbench.judging.judges.asserting import without_copies, without_dumps
from lensbench.judging.judges.mechanical import MAX_EVIDENCE, judge
from lensbench.judging.judges.normalising import normalise

DATA = yaml.safe_load((Path(__file__).parent / "mechanical.yaml").read_text(encoding="utf-8"))


def verdict(answer: str, **patterns: Any) -> Judgement:
    return judge(Criterion.model_validate({"text": "a fact", **patterns}), normalise(answer))


def states(literal: str, answer: str) -> bool:
    return verdict(answer, all_of=[literal]).verdict is Verdict.MET


@pytest.mark.parametrize(
    ("literal", "answer"),
    [
        *DATA["stated"],
        *(
            ("a.py:42", answer)
            for answer in (
                "src/a.py:42",
                "`a.py`:42",
                "`a.py:42`",
                "a.py#L42",
                "a.py(42)",
                "a.py:42:7",
                "a.py:12,42",
                "`a.py`, line 42",
                "a.py:99 calls a.py:42",
                "a.py(42,7)",
                "**a.py**: Line 42",
                "[a.py](x/a.py#L42)",
                "a.py (L42)",
                "a.py, lines 7 and 42",
                "line 42 of `src/v2/a.py`",
            )
        ),
        *(
            ("a.py:40-45", answer)
            for answer in ("a.py#L40-L45", "a.py (lines 40\u201345)", "Lines 40 to 45 in a.py")
        ),
    ],
)
def test_what_is_stated_is_found(literal: str, answer: str) -> None:
    assert states(literal, answer)


@pytest.mark.parametrize(
    ("literal", "answer"),
    [
        *DATA["no_luck"],
        *(
            ("a.py:42", f"It is in {answer}.")
            for answer in (
                "a.py",
                "src/a.py:99",
                "`a.py`:99",
                "`a.py:4`",
                "a.py#L99-L120",
                "a.py(421)",
                "a.py:99:42",
                "a.py:40-45",
                "a.py:42-43",
                "a.py, line 99",
                "`a.py` (lines 1-42)",
                "b.py:42 and a.py",
                "line 42 of b.py, and a.py",
                "line 4 of v42/a.py",
            )
        ),
        *(("a.py:42-50", answer) for answer in ("a.py:42-60", "a.py:42", "a.py:45", "a.py:42,50")),
    ],
)
def test_no_luck(literal: str, answer: str) -> None:
    assert not states(literal, answer)


@pytest.mark.parametrize(
    "answer",
    [
        "<!-- core.py -->",
        "a <!-- x\ncore.py\n--> b",
        "\n<!-- core.py",
        "<!-- <!-- core.py -->",
        "[//]: # (core.py)",
        "[x]: <> (core.py)",
        "`<!-- core.py -->`",
        "co<!-- -->x<!-- -->re.py",
        "Criterion met: Met. All criteria are met.",
        ":",
        "",
        "\u200b",
    ],
)
def test_what_nobody_sees_or_says_does_not_score(answer: str) -> None:
    assert verdict(answer, all_of=["core.py"]) == Judgement(
        Verdict.MISSED, "", None, "'core.py' is missing"
    )


def test_met_needs_all_of_and_one_of_any_of_and_without_patterns_nothing_is_judged() -> None:
    patterns = {"all_of": ["a.py", "Run"], "any_of": ["fast", "quick"]}
    assert verdict("a.py has Run, which is quick", **patterns).verdict is Verdict.MET
    assert verdict("a.py has Run", **patterns).verdict is Verdict.MISSED
    assert verdict("a.py is quick", **patterns).verdict is Verdict.MISSED
    assert verdict("a.py has it", **patterns).reason == "'Run' is missing; none of 'fast', 'quick'"
    assert verdict("a.py").verdict is Verdict.UNJUDGED
    assert {str(key): value for key, value in POINTS.items()} == {
        "Met": 1,
        "Partial": Fraction(1, 2),
        "Missed": 0,
    }


def test_a_whole_sub_fact_is_partial_and_half_of_one_or_what_must_not_be_stated_is_missed() -> None:
    found = verdict(
        "It is in a.py.\nIt is in b.py.", all_of="a.py", must_not="b.py", partial={"x": "a.py"}
    )
    assert found == Judgement(
        Verdict.MISSED, "It is in b.py.", 15, "states 'b.py', which it must not"
    )
    patterns = {"all_of": ["a.py", "run"], "partial": {"file": ["a.py", "folder x"], "name": "run"}}
    assert verdict("a.py", **patterns).verdict is Verdict.MISSED
    assert verdict("a.py in folder x", **patterns).verdict is Verdict.PARTIAL
    assert verdict("it is run", **patterns).reason == "states 'name'; 'a.py' is missing"


def test_at_least_asks_for_so_many_and_more_wrong_items_than_allowed_are_missed() -> None:
    three = {"at_least": {"n": 2, "of": ["one", {"regex": "tw[o0]"}, "three"]}}
    assert verdict("three and one", **three).verdict is Verdict.MET
    assert verdict("tw0", **three) == Judgement(
        Verdict.MISSED, "", None, "1 of 2 of 'one', /tw[o0]/, 'three'"
    )
    assert verdict("one, two", **three, all_of="four").verdict is Verdict.MISSED
    half = {"all_of": "four", "partial": {"half of it": {"n": 2, "of": ["four", "five", "six"]}}}
    assert verdict("five, six", **half).verdict is Verdict.PARTIAL
    assert verdict("six", **half).verdict is Verdict.MISSED
    limited = {
        "all_of": "right",
        "at_most": {"n": 1, "of": ["wrong", "false", "bad"]},
        "partial": {"a part": "half"},
    }
    assert verdict("right", **limited).verdict is Verdict.MET
    assert verdict("right, wrong and wrong", **limited).verdict is Verdict.MET
    judgement = verdict("right\nwrong\nbad", **limited)
    assert (judgement.verdict, judgement.evidence) == (Verdict.MISSED, "bad")
    assert judgement.reason == "states 'wrong', 'bad': more than 1 of what it must not"
    assert verdict("half, false, bad", **limited).verdict is Verdict.MISSED


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("`find_it` of cart.py", Verdict.MET),
        ("`find_it` does it", Verdict.MET),
        ("`find_it` is in shop.py", Verdict.MISSED),
        ("`lose_it` is in cart.py", Verdict.MISSED),
    ],
)
def test_no_other_misses_a_sentence_with_another_name_in_place_of_an_absent_one(
    answer: str, expected: Verdict
) -> None:
    fact = Criterion.model_validate(
        {
            "text": "States that find_it is in cart.py",
            "any_of": ["find_it", "cart.py"],
            "no_other": True,
        }
    )
    assert judge(fact, normalise(answer)).verdict is expected


@pytest.mark.parametrize(
    ("regex", "answer", "found"),
    [
        (r"core\.py\s+defines", "`core.py:12` **defines**", True),
        ("default is 1000", "default is 1,000", True),
        ("Core", "core", False),
        ("(?i)Core", "core", True),
        ("re", "core", True),
        (r"\bcore\b", "core", True),
        (r"\bre\b", "core", False),
        ("it's", "it\u2019s", True),
        ("(a+)+$", "a" * 5000 + "!", False),
        ("(?s)a.*b", "a\nb", True),
        ("(?m)^x", "a\r\nx", True),
    ],
)
def test_a_regex_is_searched_as_written_on_the_normalised_text(
    regex: str, answer: str, found: bool
) -> None:
    assert (verdict(answer, any_of={"regex": regex}).verdict is Verdict.MET) == found


def test_the_evidence_is_the_line_as_it_was_written() -> None:
    answer = "First.\r\n  - It is in **`src\\co\u200bre.py:12`** \u2014 \u201cyes\u201d.\r\nLast."
    found = verdict(answer, all_of="src/core.py")
    assert found.evidence == "- It is in **`src\\co\u200bre.py:12`** \u2014 \u201cyes\u201d."
    assert found.position == 10


WORDS = st.sampled_from(
    [
        "core.py",
        "`core.py:12`",
        "Context",
        "10",
        "1,000",
        "\u200b",
        "<!--",
        "-->",
        "**",
        "`",
        "\r\n",
        "\u2014",
        "x" * 90,
    ]
)


@given(st.lists(WORDS | st.text(max_size=5), max_size=30).map(" ".join))
def test_evidence_is_verbatim_at_its_position(answer: str) -> None:
    found = verdict(answer, any_of=["core.py", "Context", {"regex": "10+"}])
    assert (found.verdict is Verdict.MET) == (found.position is not None) == bool(found.evidence)
    if found.position is not None:
        assert answer[found.position : found.position + len(found.evidence)] == found.evidence
        assert len(found.evidence) <= MAX_EVIDENCE


CODE = ", ".join(f"name_{number}.py" for number in range(150))
WORDS_ONLY = ", ".join(
    "".join(chr(97 + int(digit)) for digit in f"{number:03}") for number in range(150)
)


@pytest.mark.parametrize(
    ("answer", "met"),
    [
        (f"{CODE}, core.py", False),
        (f"It is this one. {CODE}, core.py. That is all.", False),
        (f"{WORDS_ONLY}, core.py", True),  # a list of words, of which few look like code
        (", ".join([*CODE.split(", ")[:99], "core.py"]), False),
        (", ".join([*CODE.split(", ")[:98], "core.py"]), True),
        (", ".join([*CODE.split(", ")[:40] * 4, "core.py"]), True),  # a table repeats its names
    ],
    ids=["at the end", "between sentences", "words", "a hundred", "fewer", "repeated"],
)
def test_a_dump_of_names_asserts_none_of_them_wherever_it_stands(answer: str, met: bool) -> None:
    assert states("core.py", answer) == met


@pytest.mark.parametrize(
    ("hide", "hidden"),
    [
        (without_dumps, f"{CODE}\n"),
        (lambda text: without_copies(text, "States that it is x"), "States that it is x"),
    ],
    ids=["dumps", "copies"],
)
def test_what_is_hidden_has_filler_of_its_length(hide: Callable[[str], str], hidden: str) -> None:
    text = f"First.\n{hidden}. Then.\n{hidden}. Last."
    shown = re.sub("\n\ufffd+\n", lambda match: "#" * len(match[0]), hide(text))
    assert {new for new, old in zip(shown, text, strict=True) if new != old} == {"#"}
    assert (shown.count("#") > len(hidden), "it is x" in shown or "name_7.py" in shown) == (
        True,
        False,
    )


NAME = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{2,12}", fullmatch=True)
WRAP = st.sampled_from(
    [
        "{}",
        "`{}`",
        "**{}**",
        "({})",
        "\u201c{}\u201d",
        "{}.",
        "x {}, y",
        "{}\u2014so",
        "a\r\n{}\r\nb",
        "\u00a0{}\u00a0",
        "`./{}`",
    ]
)


@given(NAME, st.sampled_from(["", ".py", ".ts"]), WRAP)
def test_a_name_is_found_in_any_dress_and_its_corruption_is_not(
    name: str, ending: str, dress: str
) -> None:
    literal = name + ending
    assert states(literal, dress.format(literal))
    for corrupted in (
        f"x{literal}",
        f"{name}x{ending}",
        f"{literal}x",
        f"a-{literal}",
        f"{literal}_",
        f"\u0430{literal}",
    ):
        assert not states(literal, dress.format(corrupted))


@given(st.text(max_size=30), st.text(max_size=200))
def test_no_literal_and_no_answer_raises(literal: str, answer: str) -> None:
    if literal.split():
        assert verdict(answer, all_of=[literal]).verdict in (Verdict.MET, Verdict.MISSED)


@pytest.mark.parametrize(
    "piece",
    [
        "core.p",
        "<!--",
        "`",
        "*a ",
        "a\\",
        "1,",
        "\u200b",
        "a b ",
        "-",
        "./",
        "core.py:1",
        "[a]:",
        "\n",
    ],
)
def test_a_megabyte_of_anything_is_judged(piece: str) -> None:
    answer = "x" + piece * (1_000_000 // len(piece)) + "\n\nIt is in end.py."
    assert (
        verdict(answer, all_of=["end.py", {"regex": r"is in \w+"}], must_not=["a b c"]).verdict
        is Verdict.MET
    )
