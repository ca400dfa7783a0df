"""Answers as HTML: nothing active is left, and evidence is marked where it stands."""

import re
from html import unescape

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.results.page.answers import Evidence, mark_answer, safe_html


def shown(html: str) -> str:
    """What a reader sees of it."""
    return unescape(re.sub(r"<sup>.*?</sup>|<[^>]*>", "", html))


def marked(html: str) -> str:
    """All that is marked, together."""
    return shown("".join(re.findall(r"<mark>(.*?)</mark>", html, re.DOTALL)))


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "<svg/onload=alert(1)>",
        "<style>*{display:none}</style>",
        "[a](javascript:alert(1))",
        "[a](JaVaScRiPt:alert(1))",
        "[a](data:text/html;base64,PHNjcmlwdD4=)",
        "[a](vbscript:x)",
        "<javascript:alert(1)>",
        "![](javascript:alert(1))",
        "`</code><script>alert(1)</script>`",
        '[a](https://x "onmouseover=alert(1)")',
        "<iframe src=https://x></iframe>",
        "<a href=https://x style=position:fixed>a</a>",
        "<!-- --><script>alert(1)</script>",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
    ],
)
def test_nothing_active_is_left_of_an_answer(hostile: str) -> None:
    html = mark_answer(hostile, [], "a").html
    tags = re.findall(r"<\s*/?\s*([a-zA-Z!]+)([^>]*)", html)
    assert {name for name, _ in tags} <= {"p", "a", "code", "em", "strong"}
    assert not re.search(r"\son\w+=|style=|src=", "".join(attributes for _, attributes in tags))
    assert all(address.startswith("https://") for address in re.findall(r'href="([^"]*)"', html))


def test_images_links_tables_and_code_are_rendered_without_addresses_or_styles() -> None:
    html = safe_html(
        "see ![the plan](https://example.org/track.png) and ![](data:image/png;base64,xx)"
    )
    assert "[image: the plan]" in html
    assert "example.org" not in html
    assert "<img" not in html
    html = safe_html(
        "[a](https://example.org/x) [b](mailto:a@example.org) [c](src/core.py) [d](//example.org) [e](#top)"
    )
    assert re.findall(r'href="([^"]*)"', html) == ["https://example.org/x", "mailto:a@example.org"]
    assert html.count('rel="noopener noreferrer"') == html.count("<a ")
    html = safe_html("| a | b |\n|--:|---|\n| 1 | 2 |\n\n```python\nx < 1\n```\n")
    assert "<td>1</td>" in html
    assert "x &lt; 1" in html
    assert "style" not in html
    assert "class" not in html


def test_evidence_is_marked_with_the_number_of_its_criterion_through_emphasis_and_code() -> None:
    answer = mark_answer("It is in core.py, line 3.", [Evidence(2, "in core.py", 6)], "with")
    assert '<mark><span id="with-c2"></span>in core.py<sup>2</sup></mark>' in answer.html
    assert answer.places == {2: "with-c2"}
    assert answer.plain is None
    answer = mark_answer("so `core.py` **calls** main", [Evidence(1, "`core.py` **calls**")], "a")
    assert marked(answer.html) == "core.pycalls"
    assert "<code><mark>" in answer.html
    assert (answer.html.count("<sup>1</sup>"), answer.html.count('id="a-c1"')) == (1, 1)


def test_evidence_is_marked_in_each_item_at_the_place_that_the_judge_meant_and_may_overlap() -> (
    None
):
    text = "1. first step\n2. second step\n3. third"
    answer = mark_answer(text, [Evidence(1, "1. first step\n2. second step")], "a")
    assert marked(answer.html) == "first stepsecond step"
    assert answer.plain is None
    text = "a.py here, **a.py** there, a.py last"
    answer = mark_answer(text, [Evidence(1, "a.py", text.rfind("a.py"))], "a")
    assert re.search(r"there, <mark>.*a\.py", answer.html)
    assert answer.html.count("<mark>") == 1
    text = "one two three four"
    answer = mark_answer(text, [Evidence(1, "one two three"), Evidence(2, "two three four")], "a")
    assert marked(answer.html) == text
    assert {"a-c1", "a-c2"} == set(re.findall(r'id="([^"]*)"', answer.html))


LINES = [
    "The class is in src/class_t00.py.",
    "The test is in src/test_t00.py.",
    "The cause is in src/cause_t00.py.",
]


@pytest.mark.parametrize("line", LINES)
def test_evidence_is_marked_whole_where_its_words_come_again_in_later_lines(line: str) -> None:
    html = mark_answer("\n".join(LINES), [Evidence(1, line)], "a").html
    assert f'<mark><span id="a-c1"></span>{line}<sup>1</sup></mark>' in html


def test_evidence_that_is_rendered_away_or_misplaced_or_no_word_is_marked_where_it_stands() -> None:
    text = "see [the file](https://example.org/core)"
    answer = mark_answer(text, [Evidence(1, "https://example.org/core")], "a")
    assert "<mark" not in answer.html
    assert answer.plain is not None
    assert (marked(answer.plain), shown(answer.plain)) == ("https://example.org/core", text)
    answer = mark_answer("x == y", [Evidence(1, "==", 2)], "a")
    assert marked(answer.html) == "=="
    answer = mark_answer(
        "an answer", [Evidence(1, "something else", 3), Evidence(2, " "), Evidence(3, "")], "a"
    )
    assert answer.places == {}
    assert "<mark" not in answer.html
    assert marked(mark_answer("an answer here", [Evidence(1, "answer", 1)], "a").html) == "answer"


@given(st.text(max_size=200), st.integers(0, 200), st.integers(1, 60))
def test_any_piece_of_any_answer_has_a_place_and_changes_no_text(
    text: str, start: int, length: int
) -> None:
    piece = text[start : start + length]
    answer = mark_answer(text, [Evidence(1, piece, start)], "a")
    assert shown(answer.html) == shown(mark_answer(text, [], "a").html)
    if piece.strip():
        views = str(answer.html) + str(answer.plain)
        assert views.count(f'id="{answer.places[1]}"') == 1
