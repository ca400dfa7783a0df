"""Answers as HTML with the evidence of verdicts marked. They are untrusted: raw HTML is shown as text, images as their
alt text, and links only with http, https or mailto (core/markdown.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from typing import NamedTuple

from markupsafe import Markup

from lensbench.core.markdown import Show, linked_html

LONGEST_ANSWER = 200_000
"""The maximum characters of an answer on a page; typical answers have 2,000 to 20,000."""


@dataclass(frozen=True)
class Evidence:
    """A verbatim quote from an answer as a judge's evidence for a criterion.

    `position` is the index of its first character in the answer, None when unknown.
    """

    criterion: int
    text: str
    position: int | None = None


class MarkedAnswer(NamedTuple):
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
    """The answer as safe HTML, with ids that start with `prefix`; evidence in removed markup in plain text."""
    text = answer[:LONGEST_ANSWER]
    pieces = list[tuple[int, int]]()

    def note(start: int, piece: str) -> str:
        pieces.append((start, start + len(piece)))
        return ""

    safe_html(answer, note)
    spans: list[_Span] = []
    strays: list[_Span] = []
    for span in filter(None, (_in_source(item, text) for item in evidence)):
        place = _within(span, pieces)
        if place:
            spans.append(place)
        else:
            strays.append(span)
    html = safe_html(answer, lambda start, piece: "".join(_marked(piece, start, spans, prefix)))
    places = {span.criterion: f"{prefix}-c{span.criterion}" for span in (*spans, *strays)}
    plain = "".join(_marked(text, 0, strays, prefix)) if strays else None
    return MarkedAnswer(Markup(html), None if plain is None else Markup(plain), places)


def safe_html(text: str, show: Show = lambda _, piece: escape(piece)) -> str:
    """Markdown as HTML without active content; a text longer than LONGEST_ANSWER is cut."""
    left = len(text) - LONGEST_ANSWER
    if left > 0:
        text = f"{text[:LONGEST_ANSWER]}\n\n... and {left:,} more characters, in the file of the answer."
    return linked_html(text, show)


def _in_source(item: Evidence, answer: str) -> _Span | None:
    start = item.position
    if not item.text.strip():
        return None
    if start is None or start < 0 or not answer.startswith(item.text, start):
        start = answer.find(item.text)
    return None if start < 0 else _Span(start, start + len(item.text), item.criterion)


def _within(span: _Span, pieces: Sequence[tuple[int, int]]) -> _Span | None:
    """The part of the evidence that is in the rendered pieces; None when markup has taken all of it away."""
    over = [(start, end) for start, end in pieces if start < span.end and span.start < end]
    if not over:
        return None
    return span._replace(start=max(span.start, over[0][0]), end=min(span.end, over[-1][1]))


def _marked(text: str, offset: int, spans: Sequence[_Span], prefix: str) -> Iterator[str]:
    """The escaped text with a mark around every part that is evidence; marks never contain a tag of the answer."""
    end = offset + len(text)
    edges = {edge for span in spans for edge in (span.start, span.end) if offset < edge < end}
    cuts = sorted({offset, end, *edges})
    for start, stop in pairwise(cuts):
        part = text[start - offset : stop - offset]
        over = [span for span in spans if span.start <= start < span.end]
        anchors = "".join(
            f'<span id="{escape(prefix)}-c{span.criterion}"></span>'
            for span in over
            if span.start == start
        )
        between_tags = "\n" in part and not part.strip() and not anchors
        if not over or between_tags:
            yield escape(part)
            continue
        numbers = ",".join(str(span.criterion) for span in over if span.end == stop)
        yield f"<mark>{anchors}{escape(part)}{f'<sup>{numbers}</sup>' if numbers else ''}</mark>"
