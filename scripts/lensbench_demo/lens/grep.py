"""Ranked search: the files that match a term, and the matching places in them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from lensbench.core.errors import UserError
from lensbench_demo.lens.index import Index, squeeze
from lensbench_demo.lens.output import Answer, fit
from lensbench_demo.lens.scope import Scope

MAX_TERMS = 10
MAX_LINE_CHARS = 160
MAX_SYMBOLS = 5
MAX_LINES = 3
MAX_IMPORTERS = 5

SYMBOL_NAMED = 30.0
FILE_NAMED = 20.0
SYMBOL = 8.0
PATH = 6.0
HUB = 2.0
SCATTERED = 0.3
"""What all words of a term somewhere in a file are worth, of the term as it is written."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


@dataclass(frozen=True)
class Term:
    """One alternative of a query: as written, in lower case; squeezed, for identifiers; its words."""

    text: str
    needle: str
    squeezed: str
    words: tuple[str, ...]


def terms_of(query: str) -> list[Term]:
    """The terms of a query, separated by `|`, each once.

    Raises UserError for none, or more than ten.
    """
    texts = list(dict.fromkeys(part.strip() for part in query.split("|") if part.strip()))
    if not texts:
        raise UserError(
            "query names no search term. Give one or more, separated by |: 'OptionParser|parse_args'."
        )
    if len(texts) > MAX_TERMS:
        raise UserError(
            f"query has {len(texts)} terms; at most {MAX_TERMS} are allowed. Split it into several calls."
        )
    return [_term(text) for text in texts]


def _term(text: str) -> Term:
    words = tuple(dict.fromkeys(word.lower() for word in _WORD.findall(text)))
    return Term(text, text.lower(), squeeze(text), words)


def grep(index: Index, scope: Scope, query: str, limit: int) -> str:
    """The answer of lens_grep: the best files per term, at most `limit`.

    Raises UserError for a query without terms.
    """
    hits: dict[str, list[Answer]] = {}
    for term in terms_of(query):
        best = _ranked(index, scope, term)[:limit]
        hits[term.text] = [_hit(index, path, score, term) for path, score in best]

    def build(length: int) -> Answer:
        results = {text: matches[:length] for text, matches in hits.items()}
        return {"terms": list(hits), "results": results}

    return fit(build, {text: len(matches) for text, matches in hits.items()})


def _ranked(index: Index, scope: Scope, term: Term) -> list[tuple[str, float]]:
    """The files that match a term, best first."""
    scores = {}
    for path in filter(scope.holds, index.texts):
        score = _score(index, path, term)
        if score:
            scores[path] = round(score + HUB * index.hub_score(path), 3)
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def _score(index: Index, path: str, term: Term) -> float:
    """How well a file matches: by its name, its symbols, and how often the term is in its text."""
    score = 0.0
    if term.squeezed == squeeze(path.rsplit("/", 1)[-1].split(".")[0]):
        score += FILE_NAMED
    elif term.needle in path.lower():
        score += PATH
    names = index.symbol_names[path]
    if term.squeezed in names:
        score += SYMBOL_NAMED
    elif any(term.squeezed in name for name in names):
        score += SYMBOL
    lower = index.lower[path]
    count = lower.count(term.needle)
    if count:
        return score + math.log2(1 + count)
    if not score and len(term.words) > 1 and all(word in lower for word in term.words):
        return SCATTERED
    return score


def _hit(index: Index, path: str, score: float, term: Term) -> Answer:
    """One file of the answer."""
    return {
        "path": path,
        "score": score,
        "language": index.languages[path],
        "matches": [*_symbol_matches(index, path, term), *_line_matches(index.texts[path], term)],
        "importers": index.importers.get(path, [])[:MAX_IMPORTERS],
        "isHub": index.is_hub(path),
        "hubScore": index.hub_score(path),
    }


def _symbol_matches(index: Index, path: str, term: Term) -> list[Answer]:
    """Symbols whose name contains the term, the exact name first."""
    matches = [one for one in index.codes[path].definitions if term.squeezed in squeeze(one.name)]
    matches.sort(key=lambda one: (squeeze(one.name) != term.squeezed, one.local, one.line))
    return [
        {"kind": "symbol", "value": one.shown, "symbolKind": one.kind, "line": one.line}
        for one in matches[:MAX_SYMBOLS]
    ]


def _line_matches(text: str, term: Term) -> Iterator[Answer]:
    """The first lines with the term; if there are none, with one of its words."""
    lines = [(number, line, line.lower()) for number, line in enumerate(text.split("\n"), 1)]
    found = [(number, line) for number, line, lower in lines if term.needle in lower]
    if not found:
        for number, line, lower in lines:
            if any(word in lower for word in term.words):
                found.append((number, line))
    for number, line in found[:MAX_LINES]:
        yield {"kind": "line", "value": line.strip()[:MAX_LINE_CHARS], "line": number}
