"""Selects the units of the read files that are relevant to the question, and the lines to quote."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lensbench_demo.offline.outline import Unit
from lensbench_demo.offline.ranking import in_path, named, prior
from lensbench_demo.offline.workspace import Workspace
from lensbench_tasks.question import Question, Term

NAMED, ENCLOSED = 1.6, 0.5
RAISING = 1.5
ASIDE = 0.35
"""What a hit in a comment or docstring is worth."""
PER_FILE = 4
REPEATED = 0.8
"""What a term is worth again after a passage that already has it."""
WEAKEST = 0.12
"""Units below this part of the best unit's score are not quoted."""
RAISE = re.compile(r"^\s*(raise\b|throw\b|return Err\b|panic!?\(|(?=\S).*\.(fail|abort)\()")
VALUE = re.compile(r"^\s*[\w.\"']+\s*(:\s*[^=]+)?=(?!=)\s*\S|^\s*[\w.-]+\s*[:=]\s*\S")
COMMENT = re.compile(r"^\s*(#|//|\*|/\*|\"\"\"|'''|:\w+|\.\. )")
GUARD = re.compile(r"^\s*(if|elif|else|except|for|while|try|case|with|match|switch|catch)\b")


@dataclass(frozen=True)
class Passage:
    """A unit that answers, and its lines to quote."""

    unit: Unit
    score: float
    quoted: tuple[int, ...]


def choose(
    workspace: Workspace,
    question: Question,
    units: Sequence[Unit],
    weights: Mapping[Term, float],
    worth: Mapping[str, float],
    count: int,
) -> list[Passage]:
    """Up to `count` passages, the best first; `worth` is how much each file counts (1 for the best)."""
    candidates = [
        (unit, matches) for unit in units if (matches := _matches(workspace, unit, weights))
    ]
    asides = {unit: _asides(workspace, unit) for unit, _ in candidates}
    raising = {
        unit for unit, matches in candidates if question.debug and _raises(workspace, unit, matches)
    }
    left = dict(weights)
    choice: list[Passage] = []
    per_file: dict[str, int] = {}
    top = 0.0
    while candidates and len(choice) < count:
        scores = [
            (
                _score(unit, matches, asides[unit], left, question)
                * (RAISING if unit in raising else 1)
                * (0.4 + 0.6 * worth[unit.path]),
                -position,
            )
            for position, (unit, matches) in enumerate(candidates)
        ]
        score, position = max(scores)
        unit, matches = candidates.pop(-position)
        top = top or score
        if score <= 0 or score < WEAKEST * top:
            break
        if per_file.get(unit.path, 0) >= PER_FILE:
            continue
        per_file[unit.path] = per_file.get(unit.path, 0) + 1
        lines = _quote(
            workspace,
            question,
            unit,
            matches,
            weights,
            7 if len(choice) < 2 else 4 if len(choice) < 5 else 3,
        )
        choice.append(Passage(unit, score, lines))
        for term in matches:
            left[term] *= REPEATED
    return choice


def _matches(
    workspace: Workspace, unit: Unit, weights: Mapping[Term, float]
) -> dict[Term, set[int]]:
    """term -> the lines of `unit` that have it."""
    own = frozenset(unit.lines)
    matches = {term: own.intersection(workspace.hits(unit.path, term)) for term in weights}
    return {
        term: set(lines)
        for term, lines in matches.items()
        if lines or named(term, unit.name.rpartition(".")[2])
    }


def _raises(workspace: Workspace, unit: Unit, matches: Mapping[Term, set[int]]) -> bool:
    """Whether `unit` raises what the question names."""
    lines = {number for term, numbers in matches.items() if term.whole for number in numbers}
    return any(RAISE.match(workspace.line(unit.path, number)) for number in lines)


def _asides(workspace: Workspace, unit: Unit) -> frozenset[int]:
    """The lines of a definition's docstring and comments."""
    if unit.kind == "text":
        return frozenset()
    texts = {number: workspace.line(unit.path, number) for number in unit.lines}
    return _docstring(unit, texts).union(
        number for number, text in texts.items() if COMMENT.match(text)
    )


def _score(
    unit: Unit,
    matches: Mapping[Term, set[int]],
    asides: frozenset[int],
    weights: Mapping[Term, float],
    question: Question,
) -> float:
    outer, _, name = unit.name.rpartition(".")
    total = 0.0
    for term, lines in matches.items():
        count = len(lines - asides) + ASIDE * len(lines & asides)
        factor = count / (count + 1) + (NAMED if named(term, name) else 0)
        factor += ENCLOSED if (outer and any(named(term, part) for part in outer.split("."))) else 0
        total += weights[term] * (factor + (0.2 if in_path(term, unit.path) else 0))
    coverage = math.sqrt(len(matches) / len(weights))
    length = 1 / (0.8 + 0.2 * max(1.0, len(unit.lines) / 25))
    kind = (
        0.6 if unit.kind == "text" else 1.25 if unit.kind == "constant" and question.value else 1.0
    )
    return total * coverage * length * kind * prior(unit.path, question)


def _quote(
    workspace: Workspace,
    question: Question,
    unit: Unit,
    matches: Mapping[Term, set[int]],
    weights: Mapping[Term, float],
    count: int,
) -> tuple[int, ...]:
    """The lines of `unit` to show, in their order: its first one and the best others, with what guards them."""
    texts = {number: workspace.line(unit.path, number) for number in unit.lines}
    docstring = _docstring(unit, texts)
    scores: dict[int, float] = {}
    for number, text in texts.items():
        score = sum(weights[term] for term, lines in matches.items() if number in lines)
        is_guard = question.debug and RAISE.match(text)
        score += max(weights.values()) if is_guard else 0.0
        score *= 1.3 if question.value and VALUE.match(text) else 1.0
        score *= ASIDE if COMMENT.match(text) or number in docstring else 1.0
        scores[number] = score if len(text.strip()) > 3 else 0.0
    best = sorted(unit.lines, key=lambda number: (-scores[number], number))
    choice = [unit.lines[0]]
    for number in best:
        if len(choice) >= count or scores[number] <= 0:
            break
        choice.append(number)
        if RAISE.match(texts[number]):
            choice.extend(_guard(unit, texts, number))
    prose = [number for number in sorted(docstring) if re.search(r"[A-Za-z]{2}", texts[number])]
    if len(choice) <= count:
        choice += prose[:1]
    return tuple(sorted(set(choice)))


def _docstring(unit: Unit, texts: Mapping[int, str]) -> frozenset[int]:
    """The lines of the docstring that opens `unit`, or nothing."""
    numbers: list[int] = []
    for number in unit.lines[1:]:
        text = texts[number].strip()
        if not numbers:
            if text.startswith(('"""', "'''", 'r"""')):
                numbers.append(number)
                if text.count('"""') + text.count("'''") > 1:
                    break
            elif text.endswith(":") and (")" in text or "->" in text):
                continue
            elif number - unit.lines[0] > 25:
                break
            continue
        numbers.append(number)
        if '"""' in text or "'''" in text:
            break
    return frozenset(numbers)


def _guard(unit: Unit, texts: Mapping[int, str], number: int) -> list[int]:
    """The line that leads to line `number`: the nearest one before it with less indentation, when it is a condition;
    and the line after a call left open, which holds its message."""
    indent = _indent(texts[number])
    lines: list[int] = []
    for earlier in reversed([line for line in unit.lines if line < number]):
        if texts[earlier].strip() and _indent(texts[earlier]) < indent:
            if GUARD.match(texts[earlier]):
                lines.append(earlier)
            break
    if texts[number].rstrip().endswith("(") and number + 1 in texts:
        lines.append(number + 1)
    return lines


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
