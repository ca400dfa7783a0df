"""What a model judge is asked, and what its reply is worth (protocol, section 4).

One criterion per request. The answer stands between marks with a nonce that its author could not know, the reply must
carry the nonce and fit a schema, and the evidence must stand word for word in the answer, for Missed in the fact or in
the answer: otherwise there is no verdict. Missed needs evidence as the others do, so that a reply that is damaged or
carelessly written is lost whatever its verdict is. Nothing here starts a program.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Annotated, TypeVar

from jinja2 import Environment, StrictUndefined
from pydantic import BaseModel, ConfigDict, Field

from lensbench.judging.drafting.pieces import cut
from lensbench.judging.judges import Judgement, Verdict, unjudged
from lensbench.judging.judges.normalising import normalise, without_comments

MAX_EVIDENCE = 200
_AROUND_QUOTES = " \t\n\"'`*.\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\u2026"
"""Quotation marks, emphasis, a last dot, an ellipsis."""
_GAP = r"\s*[^\0]{1,200}?\s*"
_SHORTEST_EVIDENCE = 3
"""Letters and digits: a colon or a bracket is found in every answer."""
_FEWEST_WORDS = 3
_LONGEST_FACT = 2000
"""Characters of a fact that are searched for names, in time that grows with their square."""
_WORD = re.compile(r"[\u3040-\u9fff\uac00-\ud7af]|[^\W\u3040-\u9fff\uac00-\ud7af]+")
"""Chinese, Japanese and Korean put no blanks between words."""


class Reply(BaseModel):
    """What a judge must reply."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    verdict: str
    evidence: Annotated[str, Field(max_length=4000)]
    reason: str | None = None


class Guess(BaseModel):
    """What a judge must reply when it is asked for the condition."""

    model_config = ConfigDict(extra="forbid", strict=True)

    id: str
    condition: str


def nonce_of(*parts: str) -> str:
    """16 hex digits that depend on everything in the request: nobody who wrote a part of it can know them."""
    return hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()[:16]


def render(template: str, **values: str) -> str:
    """The text of a request. Raises jinja2's TemplateError for a template that is wrong."""
    environment = Environment(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    return environment.from_string(template).render(values)


def read_reply(reply: str, nonce: str, answer: str, fact: str) -> Judgement:
    """The judgement in a reply, with its evidence as it stands in `answer`; Unjudged with the failure otherwise."""
    parsed = _parse(reply, Reply)
    if parsed is None:
        return unjudged("unparsable", f"replied: {_shown(reply)}")
    if parsed.id != nonce:
        return unjudged("unparsable", "the reply carries another request's id")
    said = parsed.verdict.strip(_AROUND_QUOTES).capitalize()
    if said not in (Verdict.MET, Verdict.PARTIAL, Verdict.MISSED):
        return unjudged("outside_menu", f"replied {_shown(parsed.verdict)!r}")
    verdict, reason = Verdict(said), _shown(parsed.reason or "")
    span = find_evidence(parsed.evidence, answer) if _tells(parsed.evidence, fact) else None
    if verdict is Verdict.MISSED:
        if span or (_tells(parsed.evidence, fact) and find_evidence(parsed.evidence, fact)):
            return Judgement(verdict, "", None, reason)
        return unjudged("evidence_not_found", f"Missed with evidence {_shown(parsed.evidence)!r}")
    if span is None:
        return unjudged("evidence_not_found", f"{verdict.value} with evidence {_shown(parsed.evidence)!r}")
    start, end = span
    return Judgement(verdict, answer[start : min(end, start + MAX_EVIDENCE)], start, reason)


def _tells(evidence: str, fact: str) -> bool:
    """Whether evidence has at least three words (all words of a shorter fact) or a name of the fact."""
    if len(_WORD.findall(evidence)) >= min(_FEWEST_WORDS, len(_WORD.findall(fact))):
        return True
    names = (piece.parts[-1] for piece in cut(fact[:_LONGEST_FACT]) if piece.kind not in ("number", "value"))
    return any(name.casefold() in evidence.casefold() for name in names)


def read_guess(reply: str, nonce: str, conditions: tuple[str, str]) -> str | None:
    """The condition that the judge guessed; None when the reply is none."""
    parsed = _parse(reply, Guess)
    return parsed.condition if parsed and parsed.id == nonce and parsed.condition in conditions else None


def find_evidence(evidence: str, answer: str) -> tuple[int, int] | None:
    """Where `evidence` stands in `answer`; None when it does not.

    Blanks, the marks of Markdown, case, quotation marks and a last dot around it make no difference, and an ellipsis in
    it stands for up to 200 characters.

    What a reader does not see, comments, is no evidence.
    """
    if sum(map(str.isalnum, evidence)) < _SHORTEST_EVIDENCE:
        return None
    seen = without_comments(answer)
    if found := re.search(_words(evidence), seen) or re.search(_quoted(evidence), seen, re.IGNORECASE):
        return found.span()
    plain, wanted = normalise(answer), normalise(evidence).text
    pattern = _words(wanted) if wanted in plain.text else _quoted(wanted)
    found = re.search(pattern, plain.text, re.IGNORECASE) if wanted.strip() else None
    return plain.span(*found.span()) if found and found.end() > found.start() else None


def _words(text: str) -> str:
    """A pattern for these words, with any blanks between them."""
    return r"\s+".join(map(re.escape, text.split()))


def _quoted(text: str) -> str:
    """The same as people quote: without quotation marks and a last dot around it, and with gaps for an ellipsis."""
    pieces = re.split(r"\[?(?:\.{3}|…)\]?", text.strip(_AROUND_QUOTES))
    return _GAP.join(_words(piece) for piece in pieces if piece.strip())


Form = TypeVar("Form", Reply, Guess)


_THOUGHT = re.compile(r"<(think|thinking|thought|reasoning)\b[^>]*>.*?(?:</\1>|\Z)", re.DOTALL | re.IGNORECASE)
_END_OF_THOUGHT = re.compile(r".*</(?:think|thinking|thought|reasoning)>", re.DOTALL | re.IGNORECASE)
"""Some models leave out where the thought begins."""
_MAX_OBJECTS = 20


def _parse(reply: str, form: type[Form]) -> Form | None:
    """The one object of the form in the reply, also inside prose, a fence, or after a thought.

    None when there is no such object, when there are several that differ, or when one has a key twice. Where nothing
    is JSON to the letter, slips in its signs are repaired.
    """
    text = _END_OF_THOUGHT.sub(" ", _THOUGHT.sub(" ", reply))
    try:
        found = _objects(text, form) or _objects(_mended(text), form)
    except _DuplicateKeyError:
        return None
    return found[0] if found and all(each == found[0] for each in found) else None


def _objects(text: str, form: type[Form]) -> list[Form]:
    """Raises _DuplicateKeyError."""
    decoder = json.JSONDecoder(object_pairs_hook=_without_duplicates, strict=False)
    found: list[Form] = []
    at = text.find("{")
    for _ in range(_MAX_OBJECTS):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
            found.append(form.model_validate(value))
        except (ValueError, RecursionError):
            end = at + 1
        at = text.find("{", end)
    return found


_OPENING = re.compile(r"(?<=[{,:])(\s*)['\u2018\u201c\u201e]")
_CLOSING = re.compile(r"['\u2019\u201d](?=\s*[,:}])")
_LAST_COMMA = re.compile(r",(?=\s*\})")
_NO_ESCAPE = re.compile(r"\\(?![\\\"/bfnrtu])")


def _mended(text: str) -> str:
    """With straight quotation marks around keys and values, no comma at the end, no escape that JSON does not have."""
    text = _CLOSING.sub('"', _OPENING.sub(r'\1"', text))
    return _NO_ESCAPE.sub(r"\\\\", _LAST_COMMA.sub("", text))


class _DuplicateKeyError(Exception):
    """An object has a key twice, whatever its case, so what it says depends on the reader."""


def _without_duplicates(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = {key.strip().lower(): value for key, value in pairs}
    if len(found) < len(pairs):
        raise _DuplicateKeyError
    return found


def _shown(text: str) -> str:
    """On one line, and short enough for a table."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_EVIDENCE else line[: MAX_EVIDENCE - 1] + "…"
