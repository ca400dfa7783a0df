"""Normalising: one spelling for what people see as the same, and a way back to every character."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.judging.judges.normalising import normalise


@pytest.mark.parametrize(("text", "expected"), [
    ("a\r\nb\rc", "a\nb\nc"), ("a\u00a0b\tc\u3000d", "a b c d"), ("\u2018a\u2019 \u201cb\u201d", "'a' \"b\""),
    ("a\u2010b\u2011c\u2013d\u2212e", "a-b-c-d-e"), ("a\u2014b \u2014 c", "a b - c"), ("a \u2014b", "a  b"),
    ("\x1b[1;32ma\x1b[0m.py \x1b[x", "a.py "), ("co\u200bre\u00ad.p\ufeffy", "core.py"), ("a\U000e0041b", "ab"), ("`a` and `b`", "a and b"),
    ("`Context`s, non-`Context`, `Context`-like", "Context s, non- Context, Context -like"), ("``a``", "a"), ("```py\nx\n```", "py\nx\n"),
    ("**a** and *b* and ***c***", "a and b and c"), ("**a `*b` c**", "a *b c"), ("f(*args, **kwargs)", "f(*args, **kwargs)"),
    ("`**kwargs` **`**kwargs`**", "**kwargs **kwargs"), ("a * b * c", "a * b * c"), ("src/*.py and tests/*.py", "src/*.py and tests/*.py"),
    ("* one\n* two", "* one\n* two"), ("2*3*4", "2*3*4"), ("a<!-- b -->c<!-- d\ne -->f", "acf"), ("a\n<!-- b\nc", "a\n"), ("a <!-- b", "a <!-- b"),
    ("a<!-->b", "ab"), ("[//]: # (hidden)\nb", "\nb"), ("[a]: #anchor", "[a]: #anchor"), ("./a.py (./b) ../c x./y", "a.py (b) ../c x./y"),
    ("`./src/a.py`", "src/a.py"), (".\\src\\a.py", "src/a.py"),
    ("src\\click\\_compat.py C:\\x\\y.py", "src/click/_compat.py C:/x/y.py"), ("src\\\\a.py", "src/a.py"),
    (r"\_\_init\_\_ my\_name \*a", "__init__ my_name *a"), (r"\d+ \\", r"\d+ \\"),
    ("1,000 and 12,345,678 and 1_000 and 1\u202f000", "1000 and 12345678 and 1000 and 1000"), ("1,000.5", "1000.5"),
    ("1,2 1,0000 [1,200] {1,200} a_1_000 0.1,000 1,000,5", "1,2 1,0000 [1,200] {1,200} a_1_000 0.1,000 1,000,5"),
    ("core.py:12 core.py:12-40, core.py#L12-L40 core.py(12) `core.py`:12.", "core.py core.py, core.py core.py core.py."),
    ("a.b:12 sleep.time(10) core.py: 10 core.py:x", "a.b:12 sleep.time(10) core.py: 10 core.py:x"), ("a\0b", "a\ufffdb"),
])  # fmt: skip
def test_one_spelling(text: str, expected: str) -> None:
    assert normalise(text).text == expected


PIECES = st.sampled_from([
    "`", "*", "**", "\\", "./", "<!--", "-->", "1,000", ".py", ":12", "\r\n", "\u200b", "\u2014", " ", "\0", "[a]: #", "core", "_", "-", "\u202f",
    "\U000e0041", "\n",
])  # fmt: skip
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


@given(st.text(alphabet=st.characters(categories=["Lu", "Ll", "Nd"], max_codepoint=0x250), max_size=30))
def test_words_stay_as_they_are_and_where_they_are(text: str) -> None:
    answer = normalise(f"`{text}` ")
    assert answer.text == f"{text} "
    if text:
        assert answer.span(0, len(text)) == (1, len(text) + 1)
