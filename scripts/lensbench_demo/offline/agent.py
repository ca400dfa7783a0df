"""The agent's work: it searches for the words of a question, calls each tool that only reads, and quotes lines."""

from __future__ import annotations

import json
import re
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import fsum, log
from pathlib import PurePosixPath

from lensbench.agents.mcp import tools as mcp_tools
from lensbench.agents.mcp.tools import OfferedTool
from lensbench_demo.offline.answer import Passage, write_answer
from lensbench_demo.offline.toolbox import Toolbox
from lensbench_demo.offline.workspace import pattern_of
from lensbench_tasks.question import Question, Term, read_question

SEARCHED = 12
"""Terms that are searched for."""
READ = 8
"""Files to read that own searches found."""
TOLD = 2
"""Files to read that tools named."""
PASSAGES = 10
PER_FILE = 4
"""Passages to quote in all, and of one file."""
NAMED = 2.0
"""What a passage counts in a definition whose name the question spells out."""
ASIDE = 0.4
"""What tests and documentation count."""
REPEATED = 0.7
"""What a term counts again after a passage with it."""
IMPORTERS = re.compile(r"(?i)importer|dependent|imported_?by|used_?by")

Lines = dict[str, list[int]]
"""File -> lines, from 1."""


def answer_prompt(prompt: str, toolbox: Toolbox, seed: int) -> str:
    """The answer to `prompt`: the same bytes for the same prompt, workspace, tools and seed."""
    question = read_question(prompt)
    files = toolbox.glob()
    hits = {}
    for term in question.terms[:SEARCHED]:
        hits[term] = toolbox.grep(term.variants, pattern_of(term))
    weights = {term: term.weight * _rarity(len(hits[term]), len(files)) for term in hits}
    ranked = _ranked(hits, weights, toolbox, seed)
    subjects = _named_files(question, files)
    examples = [*subjects, *ranked, *files]
    results = _ask_tools(question, toolbox, examples[:1])
    told = toolbox.workspace.named_in("\n".join(results))
    reading = dict.fromkeys([*ranked[:READ], *told[:TOLD]])
    passages = _passages(question, toolbox, reading, hits, weights)
    importers = {}
    if question.impact:
        for path in subjects:
            told = _told_importers(results, path, toolbox)
            importers[path] = told or _importing(path, toolbox)
    return write_answer(passages, importers, toolbox)


def _rarity(holding: int, files: int) -> float:
    """The inverse document frequency of a term that `holding` of `files` files have."""
    return log(1 + files / (1 + holding))


def _named_files(question: Question, files: Sequence[str]) -> list[str]:
    """The files that the question names by the end of their path; the first of several."""
    found: dict[str, None] = {}
    for term in question.terms:
        matches = [path for path in files if f"/{path}".endswith(f"/{term.text}")]
        if "." in term.text and matches:
            found[matches[0]] = None
    return list(found)


def _worth(path: str, toolbox: Toolbox) -> float:
    return 1.0 if toolbox.workspace.is_own_code(path) else ASIDE


def _ranked(
    hits: Mapping[Term, Lines], weights: Mapping[Term, float], toolbox: Toolbox, seed: int
) -> list[str]:
    """The files with a hit, the best first; `seed` orders equals."""
    scores: defaultdict[str, float] = defaultdict(float)
    for term, places in hits.items():
        for path, lines in places.items():
            often = len(lines) / (1 + len(lines))
            scores[path] += weights[term] * often * _worth(path, toolbox)

    def order(path: str) -> tuple[float, int, str]:
        chance = zlib.crc32(f"{seed}:{path}".encode())
        return -round(scores[path], 9), chance, path

    return sorted(scores, key=order)


def _ask_tools(question: Question, toolbox: Toolbox, files: Sequence[str]) -> list[str]:
    """Calls each tool that only reads, once, and returns the results."""
    results = []
    for tool in toolbox.offered:
        arguments = _arguments(tool, question, toolbox.workspace.root, files)
        if arguments is not None:
            results.append(toolbox.call(tool, arguments))
    return results


def _arguments(
    tool: OfferedTool, question: Question, root: str, files: Sequence[str]
) -> mcp_tools.ToolArguments | None:
    """How to call a tool; None for one that may change something, or needs what is not known."""
    role = mcp_tools.role(tool)
    words = [term.variants[0] for term in question.terms]
    if role == "search" and words:
        query = words[0]
        if "|" in f"{tool.description} {tool.schema}":
            query = "|".join(words[:8])
        return mcp_tools.arguments(tool, query, root)
    if role == "neighbourhood" and files:
        return mcp_tools.arguments(tool, files[0], root)
    if role == "overview":
        return mcp_tools.arguments(tool, "", root)
    if mcp_tools.why_not_called(tool) or not files:
        return None
    example = mcp_tools.example(tool, root, files[0], PurePosixPath(files[0]).stem)
    return None if isinstance(example, str) else example


def _told_importers(results: Sequence[str], target: str, toolbox: Toolbox) -> list[str]:
    """The files that a result about `target` lists under a name such as `importers`."""
    for text in results:
        try:
            result = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(result, dict) or target not in toolbox.workspace.named_in(text):
            continue
        for key, value in result.items():
            if IMPORTERS.search(key):
                return toolbox.workspace.named_in(json.dumps(value))
    return []


def _importing(target: str, toolbox: Toolbox) -> list[str]:
    """The files with a line that imports something of the target's name: what a text search shows."""
    file = PurePosixPath(target)
    name = file.stem
    if name in ("__init__", "index"):
        name = file.parent.name
    words = r"(?:from|import|include|require|use|using|mod)\b"
    pattern = re.compile(rf"(?m)^.*\b{words}.*(?<!\w){re.escape(name)}(?!\w)")
    found = toolbox.grep([name], pattern)
    return [path for path in found if path != target and toolbox.workspace.is_code(path)]


def _passages(
    question: Question,
    toolbox: Toolbox,
    files: Collection[str],
    hits: Mapping[Term, Lines],
    weights: Mapping[Term, float],
) -> list[Passage]:
    """The definitions of `files` that have most of the terms, with the lines to quote, the best first."""
    found: list[Passage] = []
    for path in files:
        found += _passages_of(path, toolbox, hits, weights)
    left = dict(weights)
    worth = {path: _worth(path, toolbox) for path in files}
    chosen: list[Passage] = []
    per_file: Counter[str] = Counter()

    def score(passage: Passage) -> float:
        total = fsum(left[term] for term in passage.terms)
        if passage.name.rpartition(".")[2] in question.names:
            total *= NAMED
        return total * worth[passage.path]

    while found and len(chosen) < PASSAGES:
        best = max(found, key=score)
        found.remove(best)
        if per_file[best.path] < PER_FILE:
            per_file[best.path] += 1
            chosen.append(best)
            for term in best.terms:
                left[term] *= REPEATED
    return chosen


def _passages_of(
    path: str, toolbox: Toolbox, hits: Mapping[Term, Lines], weights: Mapping[Term, float]
) -> list[Passage]:
    """The hits in one file, by the definition around them."""
    if not toolbox.read(path):
        return []
    on_line: dict[int, set[Term]] = defaultdict(set)
    for term, places in hits.items():
        for line in places.get(path, ()):
            on_line[line].add(term)
    around = toolbox.workspace.names_around(path)
    lines_of: dict[str, list[int]] = defaultdict(list)
    for line in sorted(on_line):
        lines_of[around.get(line, "")].append(line)
    passages = []
    for name, lines in lines_of.items():
        terms: set[Term] = set()
        score = {}
        for line in lines:
            terms |= on_line[line]
            score[line] = fsum(weights[term] for term in on_line[line])
        lines.sort(key=lambda line: -score[line])
        passages.append(Passage(path, name, tuple(lines), frozenset(terms)))
    return passages
