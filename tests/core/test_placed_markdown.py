"""Answers as HTML whose pieces know where they stand in the source."""

import re
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lensbench.core.markdown import placed_html

SPAN = re.compile(r'<span data-p="(\d+)">([^<]*)</span>')
MARKDOWN = st.lists(
    st.sampled_from(
        [
            "a",
            "word",
            " ",
            "\n",
            "\n\n",
            "*",
            "**",
            "`",
            "```\n",
            "# ",
            "- ",
            "1. ",
            "> ",
            "    ",
            "\t",
            "|",
            "|-|-|\n",
            "[",
            "](x.py)",
            "![",
            "<b>",
            "&amp;",
            "&",
            "\\_",
            "<https://x.org>",
            "\U0001f600",
            "\u00e9",
            "~~",
            "</script>",
        ]
    ),
    max_size=60,
).map("".join)


def pieces(text: str) -> list[tuple[int, str]]:
    return [(int(place), unescape(piece)) for place, piece in SPAN.findall(placed_html(text))]


@settings(max_examples=200)
@given(
    MARKDOWN
    | st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\r\0"), max_size=80)
)
def test_every_piece_is_at_its_place_in_the_source(text: str) -> None:
    source = text.encode("utf-16-le")
    end = 0
    for place, piece in pieces(text):
        wanted = piece.encode("utf-16-le")
        assert source[2 * place : 2 * place + len(wanted)] == wanted
        assert place >= end
        end = place + len(wanted) // 2


def test_pieces_between_marks_and_lines_of_code_have_their_places_and_words_spelt_otherwise_have_none() -> (
    None
):
    assert pieces("He **uses** `a.py` \U0001f600 here") == [
        (0, "He "),
        (5, "uses"),
        (13, "a.py"),
        (18, " \U0001f600 here"),
    ]
    assert pieces(r"so my\_name is") == [(0, "so"), (12, "is")]
    assert "my_name" in placed_html(r"so my\_name is")
    text = "- so:\n  ```py\n  x = 1\n  y = 2\n  ```\n"
    assert [piece for _, piece in pieces(text)] == ["so:", "x = 1\n", "y = 2\n"]


def test_the_target_of_a_link_is_shown_and_leads_nowhere() -> None:
    html = placed_html("see [the parser](src/parser.py) and <https://example.org/q>")
    assert "(src/parser.py)" in html
    assert html.count("https://example.org/q") == 1
    assert "<a" not in html
    assert "href" not in html


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        "</script><img src=x onerror=alert(1)>",
        "![x](https://example.org/pixel.png)",
        "![x](data:image/png;base64,AAAA)",
        "[x](javascript:alert(1))",
        "[x](data:text/html,<script>alert(1)</script>)",
        "<style>body{display:none}</style>",
        '```"><script>\nx\n```',
        "| <b onclick=x> |\n|-|\n| <iframe> |",
    ],
)
def test_nothing_but_harmless_tags_comes_out(text: str) -> None:
    tags = set(re.findall(r"<(\w+)([^>]*)>", placed_html(text)))
    assert {name for name, _ in tags} <= {
        "p",
        "span",
        "pre",
        "code",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    assert all(
        re.fullmatch(r'| (data-p="\d+"|class="aside")', attributes) for _, attributes in tags
    )


def test_headings_come_below_those_of_the_page() -> None:
    assert re.findall(r"<(h\d)>", placed_html("# a\n\n## b\n\n###### c")) == ["h4", "h5", "h6"]
    assert re.findall(r"<(h\d)>", placed_html("## a\n\n#### b")) == ["h4", "h5"]
