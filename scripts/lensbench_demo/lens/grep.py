"""Ranked search: the files that match a query, and the matching places in them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lensbench.core.errors import UserError
from lensbench_demo.lens.output import Answer, fit
from lensbench_demo.lens.scope import Scope
from lensbench_demo.lens.tree import Tree
from lensbench_demo.lens.words import squeeze, words
from lensbench_tasks.parsers.symbols import Facts

MAX_TERMS = 10
MAX_WORDS = 20
MAX_LINE_CHARS = 160
MAX_SYMBOL_MATCHES = 5
MAX_BODY_MATCHES = 3
MAX_OTHER_MATCHES = 2
MAX_IMPORTERS = 5
MAX_PARTNERS = 3
MAX_EXPORTS = 10

PART = re.compile(r"[^\W_]+")  # a word of the full-text index

# The bonus for a literal match, added to bm25 (about 20 to 40 for a rare word in a path or a symbol).
BONUS_SYMBOL_NAMED = 30.0
BONUS_FILE_NAMED = 20.0
BONUS_SYMBOL = 8.0
BONUS_PATH = 6.0
BONUS_TEXT = 4.0
BONUS_BODY = 6.0
BONUS_HUB = 2.0
SHARE_OF_PARTIAL = 0.3


@dataclass(frozen=True, slots=True)
class QueryTerm:
    """One alternative of a query.

    `needle` is the text in lower case, `phrase` its parts between blanks and punctuation, `words` the words of its
    identifiers, `squeezed` the words joined.
    """

    text: str
    needle: str
    phrase: tuple[str, ...]
    words: tuple[str, ...]
    squeezed: str

    def names(self, name: str) -> bool:
        """True if the term is this identifier, in any naming style."""
        return squeeze(name) == self.squeezed

    def part_of(self, name: str) -> bool:
        """True if the identifier contains the term, as written or in another naming style."""
        return self.needle in name.lower() or self.squeezed in squeeze(name)


def terms_of(query: str) -> list[QueryTerm]:
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


def _term(text: str) -> QueryTerm:
    """The term of a text; one without letters and digits, such as `->`, is only matched as written."""
    tokens = words(text)[:MAX_WORDS]
    phrase = tuple(PART.findall(text.lower())[:MAX_WORDS])
    return QueryTerm(
        text, text.lower(), phrase, tuple(dict.fromkeys(tokens)), "".join(tokens) or text.lower()
    )


def grep(tree: Tree, scope: Scope, query: str, limit: int) -> str:
    """The answer of lens_grep: the best files per term, at most `limit`.

    Raises UserError for a query without terms.
    """
    terms = terms_of(query)
    hits = {
        term.text: [
            _hit(tree, path, score, term) for path, score in _ranked(tree, scope, term)[:limit]
        ]
        for term in terms
    }

    def build(length: int) -> Answer:
        results = {text: matches[:length] for text, matches in hits.items()}
        return {"terms": list(hits), "results": results}

    return fit(build, {text: len(matches) for text, matches in hits.items()})


def _ranked(tree: Tree, scope: Scope, term: QueryTerm) -> list[tuple[str, float]]:
    """The files that match a term, best first: bm25 of its words plus the bonus for literal matches."""
    texts = tree.index
    scores = texts.search(term.words, term.phrase, every=True)
    literal = {path: bonus for path in tree.facts if (bonus := _literal_bonus(tree, path, term))}
    if term.needle not in term.words:  # a single plain word is already ranked by its frequency
        for path in texts.containing(term.needle, term.phrase):
            literal[path] = literal.get(path, 0.0) + BONUS_BODY
    if len(term.words) > 1:
        for path, score in texts.search(term.words, term.phrase, every=False).items():
            scores.setdefault(path, SHARE_OF_PARTIAL * score)
    if not scores and not literal:
        literal = dict.fromkeys(texts.containing(term.needle, ()), BONUS_BODY)
    total = {
        path: round(
            scores.get(path, 0.0) + literal.get(path, 0.0) + BONUS_HUB * tree.hub_score(path), 3
        )
        for path in scores.keys() | literal.keys()
        if scope.holds(path)
    }
    return sorted(total.items(), key=lambda item: (-item[1], item[0]))


def _literal_bonus(tree: Tree, path: str, term: QueryTerm) -> float:
    """The bonus for literal matches in the name of a file, its symbols, docstring and sections."""
    stem = path.rsplit("/", 1)[-1].split(".")[0]
    bonus = BONUS_FILE_NAMED if term.names(stem) else BONUS_PATH if term.part_of(path) else 0.0
    facts, spellings = tree.facts[path], tree.spellings[path]
    is_there = term.needle in spellings or term.squeezed in spellings
    parts = [symbol for symbol in facts.symbols if term.part_of(symbol.name)] if is_there else []
    if any(not symbol.local and term.names(symbol.name) for symbol in parts):
        bonus += BONUS_SYMBOL_NAMED
    elif parts:
        bonus += BONUS_SYMBOL
    if term.needle in facts.docstring.lower() or any(
        term.needle in title.lower() for title, _ in facts.sections
    ):
        bonus += BONUS_TEXT
    return bonus


def _hit(tree: Tree, path: str, score: float, term: QueryTerm) -> Answer:
    """One file of the answer."""
    facts = tree.facts[path]
    matches = [*_symbol_matches(facts, term), *_name_matches(path, facts, term)]
    lines = {match["line"] for match in matches if "line" in match}
    return {
        "path": path,
        "score": score,
        "language": tree.languages[path],
        "matches": matches + _body_matches(tree.texts[path], term, lines),
        "exports": list(facts.exports[:MAX_EXPORTS]),
        "docstring": facts.docstring,
        "importers": tree.importers.get(path, [])[:MAX_IMPORTERS],
        "isHub": tree.is_hub(path),
        "hubScore": tree.hub_score(path),
        "cochangePartners": [
            {"path": other, "count": n} for other, n in tree.partners(path)[:MAX_PARTNERS]
        ],
    }


def _symbol_matches(facts: Facts, term: QueryTerm) -> list[Answer]:
    """Symbols whose name contains the term, or all its words; the exact name first, then exported symbols."""
    tokens = set(term.words)
    matches = [
        symbol
        for symbol in facts.symbols
        if term.part_of(symbol.name) or (tokens and tokens <= set(words(symbol.name)))
    ]
    matches.sort(key=lambda one: (not term.names(one.name), one.local, not one.exported, one.line))
    symbols = [
        {
            "kind": "internal" if symbol.local else "symbol",
            "value": symbol.name,
            "symbolKind": symbol.kind,
            "line": symbol.line,
            "exported": symbol.exported,
        }
        for symbol in matches[:MAX_SYMBOL_MATCHES]
    ]
    elsewhere = set(facts.exports) - {symbol.name for symbol in facts.symbols}
    exports = [
        {"kind": "export", "value": name} for name in sorted(elsewhere) if term.part_of(name)
    ]
    return symbols + exports[:MAX_OTHER_MATCHES]


def _name_matches(path: str, facts: Facts, term: QueryTerm) -> Iterator[Answer]:
    """The matches of the term in the file's name, folder, docstring and sections."""
    folder, _, name = path.rpartition("/")
    if term.part_of(name):
        yield {"kind": "file", "value": name}
    if term.part_of(folder):
        yield {"kind": "directory", "value": folder}
    if term.needle in facts.docstring.lower():
        yield {"kind": "docstring", "value": facts.docstring[:MAX_LINE_CHARS]}
    titles = [(title, line) for title, line in facts.sections if term.needle in title.lower()]
    for title, line in titles[:MAX_OTHER_MATCHES]:
        yield {"kind": "section", "value": title[:MAX_LINE_CHARS], "line": line}


def _body_matches(body: str, term: QueryTerm, exceptions: set[int]) -> list[Answer]:
    """The first lines that contain the term; if there is none, those with most of its words."""
    lines = body.split("\n")
    numbers = [number for number, line in enumerate(lines, 1) if term.needle in line.lower()]
    if not numbers and term.words:
        pattern = re.compile("|".join(map(re.escape, sorted(term.words, key=len, reverse=True))))
        counts = {
            number: len(set(pattern.findall(line.lower()))) for number, line in enumerate(lines, 1)
        }
        most = max(counts.values(), default=0)
        numbers = [number for number, count in counts.items() if count == most > 0]
    return [
        {"kind": "body", "value": _around(lines[number - 1], term.needle), "line": number}
        for number in numbers
        if number not in exceptions
    ][:MAX_BODY_MATCHES]


def _around(line: str, needle: str) -> str:
    """The line, stripped; if it is long, the part that contains the term."""
    line = line.strip()
    start = (
        max(0, line.lower().find(needle) - MAX_LINE_CHARS // 2) if len(line) > MAX_LINE_CHARS else 0
    )
    return line[start : start + MAX_LINE_CHARS]
