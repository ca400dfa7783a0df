"""Ranked search: the files that match a term, and the matching places in them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from lensbench.core.errors import UserError
from lensbench_demo.lens.graph import Answer, fit, hub_scores, is_hub, is_inside
from lensbench_tasks.survey import Survey

MAX_TERMS = 10
MAX_LINE_CHARS = 160
MAX_SYMBOLS = 5
MAX_LINES = 3
MAX_IMPORTERS = 5
"""Of each file that is shown."""
SYMBOL_NAMED = 30.0
FILE_NAMED = 20.0
"""What it counts that a term is the name of a symbol or a file."""
SYMBOL = 8.0
PATH = 6.0
"""What it counts that a term is a part of one."""
HUB = 2.0
"""What it counts to be imported most."""


def grep(survey: Survey, folder: str, query: str, limit: int) -> str:
    """The answer of lens_grep: the best files per term below `folder`, at most `limit`.

    Raises UserError for a query without terms, or with more than ten.
    """
    hubs = hub_scores(survey)
    results: dict[str, list[Answer]] = {}
    for term in _terms(query):
        scores = _scores(survey, folder, term, hubs)
        best = sorted(scores, key=lambda path: (-scores[path], path))
        results[term] = [
            {
                "path": path,
                "score": scores[path],
                "language": survey.languages[path],
                "matches": [*_symbols(survey, path, term), *_lines(survey.texts[path], term)],
                "importers": survey.importers.get(path, [])[:MAX_IMPORTERS],
                "isHub": is_hub(survey, path),
                "hubScore": hubs[path],
            }
            for path in best[:limit]
        ]

    def build(length: int) -> Answer:
        shown = {term: hits[:length] for term, hits in results.items()}
        return {"terms": list(results), "results": shown}

    return fit(build, {term: len(hits) for term, hits in results.items()})


def _terms(query: str) -> list[str]:
    """The terms of a query, separated by `|`, each once."""
    parts = (part.strip() for part in query.split("|"))
    terms = list(dict.fromkeys(part for part in parts if part))
    if not terms:
        raise UserError(
            "query names no search term. Give one or more, separated by |: 'OptionParser|parse_args'."
        )
    if len(terms) > MAX_TERMS:
        raise UserError(
            f"query has {len(terms)} terms; at most {MAX_TERMS} are allowed. Split it into several calls."
        )
    return terms


def _scores(
    survey: Survey,
    folder: str,
    term: str,
    hubs: Mapping[str, float],
) -> dict[str, float]:
    """The files below `folder` that match a term, with their scores."""
    scores = {}
    for path in survey.texts:
        if is_inside(path, folder):
            score = _score(survey, path, term)
            if score:
                scores[path] = round(score + HUB * hubs[path], 3)
    return scores


def squeeze(name: str) -> str:
    """A name in lower case without separators: OptionParser, option_parser and "option parser" are the same."""
    return re.sub(r"[\s_-]", "", name).lower()


def _score(survey: Survey, path: str, term: str) -> float:
    """How well a file matches: by its name, its symbols, and how often the term is in its text."""
    wanted = squeeze(term)
    score = 0.0
    file_name = path.rpartition("/")[2]
    if wanted == squeeze(file_name.partition(".")[0]):
        score += FILE_NAMED
    elif term.lower() in path.lower():
        score += PATH
    names = {squeeze(one.name) for one in survey.codes[path].definitions}
    if wanted in names:
        score += SYMBOL_NAMED
    elif any(wanted in name for name in names):
        score += SYMBOL
    count = survey.texts[path].lower().count(term.lower())
    return score + math.log2(1 + count)


def _symbols(survey: Survey, path: str, term: str) -> list[Answer]:
    """Symbols whose name contains the term, the exact name first."""
    wanted = squeeze(term)
    found = [one for one in survey.codes[path].definitions if wanted in squeeze(one.name)]
    found.sort(key=lambda one: (squeeze(one.name) != wanted, one.local, one.line))
    return [
        {"kind": "symbol", "value": one.shown, "symbolKind": one.kind, "line": one.line}
        for one in found[:MAX_SYMBOLS]
    ]


def _lines(text: str, term: str) -> list[Answer]:
    """The first lines with the term."""
    found: list[Answer] = []
    for number, line in enumerate(text.split("\n"), 1):
        if term.lower() in line.lower() and len(found) < MAX_LINES:
            value = line.strip()[:MAX_LINE_CHARS]
            found.append({"kind": "line", "value": value, "line": number})
    return found
