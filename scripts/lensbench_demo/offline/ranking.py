"""Which files are worth reading: BM25 over the hits of the terms, their place in paths and in names of definitions."""

from __future__ import annotations

import math
import re
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence

from lensbench_demo.offline.outline import DEFINITION, is_prose
from lensbench_demo.offline.workspace import Workspace
from lensbench_tasks.question import Question, Term

Hits = Mapping[Term, Mapping[str, Sequence[int]]]
"""term -> file -> lines with the term."""

SATURATION, LENGTH = 1.2, 0.75
"""k1 and b of Okapi BM25 in their usual range."""
IN_PATH, IN_DEFINITION = 1.0, 2.0
ASIDES = (
    (
        re.compile(
            r"(^|/)(tests?|testing|testdata|specs?|__tests__)/|(^|/)(test_[^/]*|[^/]*_test|conftest)\.\w+$"
        ),
        "test",
        0.45,
    ),
    (re.compile(r"(^|/)(examples?|samples?|demos?|benchmarks?|scripts|tools)/"), "example", 0.5),
    (re.compile(r"(?i)(^|/)(changes|changelog|history|news|releases?)[^/]*$"), "release", 0.25),
    (re.compile(r"\.(pyi|d\.ts)$"), "stub", 0.45),  # declarations, without values
    (re.compile(r"(?i)\.lock$|(^|/)(pkg-info|package-lock\.json|licen[cs]e[^/]*)$"), "lock", 0.1),
)
PROSE = 0.45


def idf(files: int, holding: int) -> float:
    """The weight of a term that `holding` of `files` files have; never negative."""
    return math.log(1 + (files - holding + 0.5) / (holding + 0.5))


def prior(path: str, question: Question) -> float:
    """How much a file of this kind is worth to an engineer, unless the question speaks of that kind."""
    words = " ".join(term.text.lower() for term in question.terms)
    factor = PROSE if is_prose(path) and "doc" not in words else 1.0
    for pattern, word, worth in ASIDES:
        if word not in words and pattern.search(path):
            factor = min(factor, worth)
    return factor


def term_weights(hits: Hits, files: int) -> dict[Term, float]:
    """Each term's weight times its inverse document frequency; terms without a hit are left out."""
    return {term: term.weight * idf(files, len(lines)) for term, lines in hits.items() if lines}


def rank(
    workspace: Workspace, question: Question, hits: Hits, files: int, seed: int
) -> list[tuple[str, float]]:
    """Files with a hit and their scores, the best first; `seed` orders equals."""
    weights = term_weights(hits, files)
    paths = sorted({path for places in hits.values() for path in places})
    mean = sum(len(workspace.data(path)) for path in paths) / max(1, len(paths))
    scores: dict[str, float] = defaultdict(float)
    by_line: dict[tuple[str, int], float] = defaultdict(float)
    for term, weight in weights.items():
        for path, lines in hits[term].items():
            length = 1 - LENGTH + LENGTH * len(workspace.data(path)) / max(1.0, mean)
            scores[path] += (
                weight
                * len(lines)
                * (SATURATION + 1)
                / (len(lines) + SATURATION * min(length, 2.0))
            )
            scores[path] += IN_PATH * weight if in_path(term, path) else 0.0
            for line in dict.fromkeys(lines):
                definition = DEFINITION.match(workspace.line(path, line))
                if definition and named(term, definition.group(3)):
                    by_line[path, line] += weight
    best: dict[str, float] = defaultdict(float)
    for (path, _), weight in sorted(by_line.items()):
        best[path] = max(best[path], weight)
    totals = [
        (path, (score + IN_DEFINITION * best[path]) * prior(path, question))
        for path, score in scores.items()
    ]
    return sorted(
        totals,
        key=lambda item: (-round(item[1], 9), zlib.crc32(f"{seed}:{item[0]}".encode()), item[0]),
    )


def in_path(term: Term, path: str) -> bool:
    """Whether a part of `path` starts with the term."""
    lower = path.lower()
    return any(
        re.search(rf"(?<![a-z]){re.escape(variant.lower())}", lower) for variant in term.variants
    )


def named(term: Term, name: str) -> bool:
    """Whether the identifier `name` is the term, or a part of it starts with the term."""
    if term.whole:
        return name in term.variants
    lower = name.lower()
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    long = (
        variant for variant in term.variants if len(variant) > 7
    )  # `optionparser` in OptionParser
    starts = (re.search(rf"(?<![a-z]){re.escape(variant)}", parts) for variant in term.variants)
    return any(starts) or any(variant in lower for variant in long)
