"""Normalising: one spelling for what people see as the same, and a way back to every character."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lensbench.judging.judges.normalising import normalise

DATA = yaml.safe_load((Path(__file__).parent / "normalising.yaml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("text", "expected"), DATA["spellings"])
def test_one_spelling(text: str, expected: str) -> None:
    assert normalise(text).text == expected


PIECES = st.sampled_from(
    [
        "`",
        "*",
        "**",
        "\\",
        "./",
        "<!--",
        "-->",
        "1,000",
        ".py",
        ":12",
        "\r\n",
        "\u200b",
        "\u2014",
        " ",
        "\0",
        "[a]: #",
        "core",
        "_",
        "-",
        "\u202f",
        "\U000e0041",
        "\n",
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=4), max_size=40).map("".join)


@given(TEXTS, st.data())
def test_every_piece_leads_back_to_a_piece_of_the_original(text: str, data: st.DataObject) -> None:
    answer = normalise(text)
    assert answer.original == text
    if not answer.text:
        return
    start = data.draw(st.integers(0, len(answer.text) - 1))
    end = data.draw(st.integers(start + 1, len(answer.text)))
    first, last = answer.span(start, end)
    assert 0 <= first < last <= len(text)
    rest = iter(text[first:last])
    assert all(character in rest for character in answer.text[start:end] if character.isalnum())


@given(
    st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x250), max_size=30)
)
def test_words_stay_as_they_are_and_where_they_are(text: str) -> None:
    answer = normalise(f"`{text}` ")
    assert answer.text == f"{text} "
    if text:
        assert answer.span(0, len(text)) == (1, len(text) + 1)
