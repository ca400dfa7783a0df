"""Answers as HTML: Markdown without active content, with the evidence of verdicts marked.

The output of an agent is untrusted. Raw HTML is shown as text, images as their alt text, and links only with http,
https or mailto; the rest is filtered by an allow-list of tags.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from html.parser import HTMLParser
from itertools import pairwise
from typing import Any, NamedTuple

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup

MAX_SHOWN = 200_000
"""The maximum characters of an answer on a page; typical answers have 2,000 to 20,000."""
_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
_SCHEMES = {"http", "https", "mailto"}


@dataclass(frozen=True)
class Evidence:
    """A verbatim quote from an answer as a judge's evidence for a criterion.

    `position` is the index of its first character in the answer, None when unknown.
    """

    criterion: int
    text: str
    position: int | None = None


class MarkedAnswer(NamedTuple):
    """An answer with its evidence marked."""

    html: Markup
    """The Markdown, rendered."""
    plain: Markup | None
    """The answer as plain text, if some evidence is in markup that rendering removes; else None."""
    places: dict[int, str]
    """The HTML id of each criterion's evidence, without criteria that have none."""


class _Span(NamedTuple):
    start: int
    end: int
    criterion: int


def mark_answer(answer: str, evidence: Iterable[Evidence], prefix: str) -> MarkedAnswer:
    """The answer as safe HTML. Ids start with `prefix`, so that a page can have several answers.

    Evidence is searched by the letters and digits of the rendered text, so that markup such as `**` does not matter.
    Evidence that is not found there is marked in the plain text.
    """
    pieces = _pieces(safe_html(answer))
    answer = answer[:MAX_SHOWN]
    page_text = "".join(text for text, is_tag in pieces if not is_tag)
    source, target = _letters(_UNSHOWN.sub(lambda mark: " " * len(mark[0]), answer)), _letters(page_text)
    spans: list[_Span] = []
    strays: list[_Span] = []
    for item in evidence:
        span = _in_source(item, answer)
        if span is None:
            continue
        place = _in_rendered(span, source, target)
        spans += [place] if place else []
        strays += [] if place else [span]
    places = {span.criterion: f"{prefix}-c{span.criterion}" for span in (*spans, *strays)}
    plain = "".join(_marked(answer, 0, strays, prefix)) if strays else None
    return MarkedAnswer(
        Markup("".join(_mark_pieces(pieces, spans, prefix))),
        None if plain is None else Markup(plain),
        places,
    )


@cache
def _markdown() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
    markdown.add_render_rule("image", _image)
    return markdown


def _image(_: Any, tokens: Sequence[Any], index: int, *__: Any) -> str:
    return f"[image: {escape(tokens[index].content)}]"


def safe_html(text: str) -> str:
    """Markdown as HTML without active content; a text longer than MAX_SHOWN is cut."""
    left = len(text) - MAX_SHOWN
    if left > 0:
        text = f"{text[:MAX_SHOWN]}\n\n... and {left:,} more characters, in the file of the answer."
    return nh3.clean(
        _markdown().render(text),
        tags=_TAGS,
        attributes={"a": {"href"}},
        attribute_filter=_leads_outside,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer",
    )


def _leads_outside(_: str, name: str, value: str) -> str | None:
    """The value of an attribute; None for links to files of the repository, which do not work on the page."""
    is_link = value.partition(":")[0].strip().lower() in _SCHEMES
    return value if name != "href" or is_link else None


class _Pieces(HTMLParser):
    """Clean HTML as tags and text, in order."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[tuple[str, bool]] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.found.append((self.get_starttag_text() or "", True))

    def handle_endtag(self, tag: str) -> None:
        self.found.append((f"</{tag}>", True))

    def handle_data(self, data: str) -> None:
        self.found.append((data, False))


def _pieces(html: str) -> list[tuple[str, bool]]:
    parser = _Pieces()
    parser.feed(html)
    parser.close()
    return parser.found


class _Letters(NamedTuple):
    text: str
    """The letters and digits of a text."""
    places: list[int]
    """The index of each in the text."""


_LETTER = re.compile(r"[^\W_]")
_UNSHOWN = re.compile(r"^[ >]*\d{1,9}[.)](?=\s)|(?<=\])\([^()\s]*\)|^ *(?:```|~~~).*$", re.MULTILINE)
"""Letters and digits that rendering removes: numbers of lists, targets of links, languages of code."""


def _letters(text: str) -> _Letters:
    places = [match.start() for match in _LETTER.finditer(text)]
    return _Letters("".join(text[place] for place in places), places)


def _in_source(item: Evidence, answer: str) -> _Span | None:
    start = item.position if item.position is not None else -1
    if not item.text.strip():
        return None
    if start < 0 or not answer.startswith(item.text, start):
        start = answer.find(item.text)
    return None if start < 0 else _Span(start, start + len(item.text), item.criterion)


def _in_rendered(span: _Span, source: _Letters, target: _Letters) -> _Span | None:
    """The same occurrence of the same letters: the third in the source is the third in the rendered text."""
    first = bisect_left(source.places, span.start)
    count = bisect_left(source.places, span.end) - first
    letters = source.text[first : first + count]
    if not letters:
        return None
    start = -1
    for _ in range(1 + _occurrences(source.text, letters, first)):
        following = target.text.find(letters, start + 1)
        if following < 0:
            break
        start = following
    if start < 0:
        return None
    return _Span(target.places[start], target.places[start + count - 1] + 1, span.criterion)


def _occurrences(text: str, letters: str, before: int) -> int:
    count, place = 0, text.find(letters)
    while 0 <= place < before:
        count, place = count + 1, text.find(letters, place + 1)
    return count


def _mark_pieces(pieces: Iterable[tuple[str, bool]], spans: Sequence[_Span], prefix: str) -> Iterator[str]:
    offset = 0
    for text, is_tag in pieces:
        if is_tag:
            yield text
        else:
            yield from _marked(text, offset, spans, prefix)
            offset += len(text)


def _marked(text: str, offset: int, spans: Sequence[_Span], prefix: str) -> Iterator[str]:
    """The escaped text with a mark around every part that is evidence; marks never contain a tag of the answer."""
    end = offset + len(text)
    edges = {edge for span in spans for edge in (span.start, span.end) if offset < edge < end}
    cuts = sorted({offset, end, *edges})
    for start, stop in pairwise(cuts):
        part = text[start - offset : stop - offset]
        over = [span for span in spans if span.start <= start < span.end]
        anchors = "".join(f'<a id="{escape(prefix)}-c{span.criterion}"></a>' for span in over if span.start == start)
        between_tags = "\n" in part and not part.strip() and not anchors
        if not over or between_tags:
            yield escape(part)
            continue
        numbers = ",".join(str(span.criterion) for span in over if span.end == stop)
        yield f"<mark>{anchors}{escape(part)}{f'<sup>{numbers}</sup>' if numbers else ''}</mark>"
