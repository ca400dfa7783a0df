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
from collections.abc import Iterable, Sequence
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
    verdict = content.verdict.strip(_AROUND_QUOTES).capitalize()
    if verdict not in (Verdict.MET, Verdict.PARTIAL, Verdict.MISSED):
        return unjudged("outside_menu", f"replied {_shown(content.verdict)!r}")
    reason = _shown(content.reason or "")
    evidence = content.evidence
    if _tells(evidence, fact):
        span = find_evidence(evidence, answer)
        if verdict == Verdict.MISSED and (span or find_evidence(evidence, fact)):
            return Judgement(Verdict.MISSED, reason=reason)
        if span:
            start, end = span
            return Judgement(Verdict(verdict), answer[start:end][:MAX_EVIDENCE], start, reason)
    return unjudged("evidence_not_found", f"{verdict} with evidence {_shown(evidence)!r}")


def _tells(evidence: str, fact: str) -> bool:
    """True when evidence has at least three words (all words of a shorter fact) or a name of the fact."""
    if len(_WORD.findall(evidence)) >= min(_FEWEST_WORDS, len(_WORD.findall(fact))):
        return True
    names = [piece.parts[-1] for piece in cut(fact) if piece.kind != "number"]
    text = evidence.casefold()
    return any(name.casefold() in text for name in (*names, *_NOUN.findall(fact)))


def find_evidence(evidence: str, answer: str) -> Span | None:
    """The span of `evidence` in `answer`, whatever its whitespace, Markdown, case and quotation marks; an ellipsis
    matches up to 200 characters. Comments are not searched, because readers do not see them."""
    quote = normalise(evidence).text
    if sum(map(str.isalnum, quote)) < _SHORTEST_EVIDENCE:
        return None
    span = _find(evidence, without_comments(answer))
    if span:
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
        span = _find_flat([*filter(None, map(_flat, pieces))], flat)
        if span:
            return place(span[0]), place(span[1] - 1) + 1
    return None


def _flat(text: str) -> str:
    """The words in lower case, with one space between them."""
    # \u0130 is the only letter that `lower` makes two of
    return " ".join(text.replace("\u0130", "I").lower().split())


def _find_flat(pieces: Sequence[str], text: str) -> Span | None:
    """The first span of the pieces in order, with at least a character and no filler in each gap."""
    chains: list[Span] = []
    for number, piece in enumerate(pieces):
        places = [match.span() for match in re.finditer(re.escape(piece), text)]
        chains = _continued(chains, places, text) if number else places
    return chains[0] if chains else None


def _continued(chains: Sequence[Span], places: Iterable[Span], text: str) -> list[Span]:
    """The chains of pieces with the next piece at one of its `places`, each as the earliest chain before it."""
    longer: list[Span] = []
    ahead = iter(chains)
    chain = next(ahead, None)
    for start, end in places:
        while chain and (start - chain[1] > _LONGEST_GAP or FILLER in text[chain[1] : start]):
            chain = next(ahead, None)
        if chain and chain[1] < start:
            longer.append((chain[0], end))
    return longer


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
    if objects and objects.count(objects[0]) == len(objects):
        return objects[0]
    return None


def _objects(text: str) -> list[Reply]:
    decoder = json.JSONDecoder(object_pairs_hook=_without_duplicates, strict=False)
    objects: list[Reply] = []
    end = 0
    for _ in range(_MAX_OBJECTS):
        start = text.find("{", end)
        if start < 0:
            break
        try:
            value, end = decoder.raw_decode(text, start)
            objects.append(Reply.model_validate(value))
        except (ValueError, RecursionError):
            end = start + 1
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
