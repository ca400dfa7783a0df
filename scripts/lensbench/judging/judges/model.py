"""Prompts for model judges, and parsing of their replies (protocol, section 4).

A request has one criterion. The answer is enclosed in marks with a nonce that its author could not know. The reply must
contain the nonce and match a schema, and its evidence must be a verbatim quote from the answer (for Missed: from the
fact or the answer); otherwise there is no verdict. Missed needs evidence like the others, so that damaged or careless
replies are rejected whatever their verdict. Nothing here starts a program.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Annotated

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field

from lensbench.core.records import sha256
from lensbench.judging.judges import MAX_EVIDENCE, Judgement, Span, Verdict, unjudged
from lensbench.judging.judges.fact_pieces import cut
from lensbench.judging.judges.normalising import FILLER, normalise, without_comments

_AROUND_QUOTES = " \t\n\"'`*.\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u2026"
"""Ignored around evidence: quotation marks, emphasis, a final dot, an ellipsis."""
_ELLIPSIS = re.compile(r"\[?(?:\.{3}|…)\]?")
_LONGEST_GAP = 200
_MOST_GAPS = 9
_SHORTEST_EVIDENCE = 3
"""Minimum letters and digits of evidence, because a colon or a bracket is found in every answer."""
_FEWEST_WORDS = 3
_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\u3040-\u9fff\uac00-\ud7af]+")
"""Scripts without spaces between words: Chinese, Japanese and Korean."""
_NOUN = re.compile(r"(?<=\w )(?:(?<!that )[A-Z]|[A-Z]{2})\w+")


class Reply(BaseModel):
    """The reply of a judge."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    verdict: str
    evidence: Annotated[str, Field(max_length=4000)]
    reason: str | None = None


def nonce_of(*parts: str) -> str:
    """16 hex digits that depend on the whole request, so that no author of a part can know them."""
    return sha256("\0".join(parts).encode(errors="replace"))[:16]


def render(template: str, **values: str) -> str:
    """The text of a request. Raises jinja2's TemplateError for an invalid template."""
    environment = Environment(
        undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False
    )
    return environment.from_string(template).render(values)


def read_reply(reply: str, nonce: str, answer: str, fact: str) -> Judgement:
    """The judgement in a reply, with evidence as spelled in `answer`; or Unjudged with the failure."""
    content = _parse(reply)
    if content is None:
        return unjudged("unparsable", f"replied: {_shown(reply)}")
    if content.id != nonce:
        return unjudged("unparsable", "the reply carries another request's id")
    word = content.verdict.strip(_AROUND_QUOTES).capitalize()
    if word not in (Verdict.MET, Verdict.PARTIAL, Verdict.MISSED):
        return unjudged("outside_menu", f"replied {_shown(content.verdict)!r}")
    verdict, reason = Verdict(word), _shown(content.reason or "")
    is_telling = _tells(content.evidence, fact)
    span = find_evidence(content.evidence, answer) if is_telling else None
    if verdict is Verdict.MISSED and (
        span or (is_telling and find_evidence(content.evidence, fact))
    ):
        return Judgement(verdict, "", None, reason)
    if span is None:
        return unjudged(
            "evidence_not_found", f"{verdict.value} with evidence {_shown(content.evidence)!r}"
        )
    start, end = span
    return Judgement(verdict, answer[start : min(end, start + MAX_EVIDENCE)], start, reason)


def _tells(evidence: str, fact: str) -> bool:
    """True when evidence has at least three words (all words of a shorter fact) or a name of the fact."""
    if len(_WORD.findall(evidence)) >= min(_FEWEST_WORDS, len(_WORD.findall(fact))):
        return True
    names = [piece.parts[-1] for piece in cut(fact) if piece.kind != "number"] + _NOUN.findall(fact)
    return any(name.casefold() in evidence.casefold() for name in names)


def find_evidence(evidence: str, answer: str) -> Span | None:
    """The span of `evidence` in `answer`, whatever its whitespace, Markdown, case and quotation marks; an ellipsis
    matches up to 200 characters. Comments are not searched, because readers do not see them."""
    quote = normalise(evidence).text
    if sum(map(str.isalnum, quote)) < _SHORTEST_EVIDENCE:
        return None
    if span := _find(evidence, without_comments(answer)):
        return span
    plain = normalise(answer)
    span = _find(quote, plain.text)
    return plain.span(*span) if span else None


def _find(quote: str, text: str) -> Span | None:
    """The span of a quote in `text`: as it is, or without quotation marks and a final dot around it and with gaps for
    an ellipsis. In linear time, whatever quote and text are."""
    words = [word.span() for word in re.finditer(r"\S+", text)]
    starts = [0, *accumulate(end - start + 1 for start, end in words)]

    def place(position: int) -> int:
        word = bisect_right(starts, position) - 1
        return words[word][0] + position - starts[word]

    flat = _flat(text)
    for pieces in ([quote], _ELLIPSIS.split(quote.strip(_AROUND_QUOTES), _MOST_GAPS)):
        if span := _find_flat(list(filter(None, map(_flat, pieces))), flat):
            return place(span[0]), place(span[1] - 1) + 1
    return None


def _flat(text: str) -> str:
    """The words in lower case, with one space between them."""
    return " ".join(
        text.replace("\u0130", "I").lower().split()
    )  # the only letter that `lower` makes two of


def _find_flat(pieces: Sequence[str], text: str) -> Span | None:
    """The first span of the pieces in order, with at least a character and no filler in each gap."""
    places = [[match.span() for match in re.finditer(re.escape(piece), text)] for piece in pieces]
    chains = places[0] if places else []
    for ahead in places[1:]:
        longer, at = list[Span](), 0
        for start, end in ahead:
            while at < len(chains) and (
                start - chains[at][1] > _LONGEST_GAP or FILLER in text[chains[at][1] : start]
            ):
                at += 1
            if at < len(chains) and chains[at][1] < start:
                longer.append((chains[at][0], end))
        chains = longer
    return chains[0] if chains else None


_THOUGHT = re.compile(
    r"<(think|thinking|thought|reasoning)\b[^<>]*>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE
)
_END_OF_THOUGHT = re.compile(r"</(?:think|thinking|thought|reasoning)>", re.IGNORECASE)
"""The end of a model's reasoning; some models omit its start tag."""
_MAX_OBJECTS = 20


def _parse(reply: str) -> Reply | None:
    """The only object of the form in the reply, also inside prose, in a fence, or after reasoning; None when several
    differ, or when one has a duplicate key. If nothing is valid JSON, small syntax errors are repaired."""
    text = _END_OF_THOUGHT.split(_THOUGHT.sub(" ", reply))[-1]
    try:
        objects = _objects(text) or _objects(_mended(text))
    except _DuplicateKeyError:
        return None
    return objects[0] if objects and all(value == objects[0] for value in objects) else None


def _objects(text: str) -> list[Reply]:
    decoder = json.JSONDecoder(object_pairs_hook=_without_duplicates, strict=False)
    objects: list[Reply] = []
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
            objects.append(Reply.model_validate(value))
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)
    return objects


_OPENING = re.compile(r"(?<=[{,:])(\s*)['\u2018\u201c\u201e]")
_CLOSING = re.compile(r"['\u2019\u201d](?=\s*[,:}])")
_LAST_COMMA = re.compile(r",(?=\s*\})")
_NO_ESCAPE = re.compile(r"\\(?![\\\"/bfnrtu])")


def _mended(text: str) -> str:
    """The text with straight quotation marks, and without trailing commas and invalid escapes."""
    text = _CLOSING.sub('"', _OPENING.sub(r'\1"', text))
    return _NO_ESCAPE.sub(r"\\\\", _LAST_COMMA.sub("", text))


class _DuplicateKeyError(Exception):
    """An object has a duplicate key (ignoring case), so its meaning is ambiguous."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    fields = {key.strip().lower(): value for key, value in pairs}
    if len(fields) < len(pairs):
        raise _DuplicateKeyError
    return fields


def _shown(text: str) -> str:
    """The text on one line, shortened for a table."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_EVIDENCE else line[: MAX_EVIDENCE - 1] + "…"
