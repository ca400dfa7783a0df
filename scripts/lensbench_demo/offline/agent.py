"""The agent's search: terms, files, passages, then the definitions that the passages refer to."""

from __future__ import annotations

import builtins
import keyword
import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from lensbench.agents.mcp import tools as mcp_tools
from lensbench_demo.offline.answer import (
    AnswerParts,
    DefinitionPlace,
    Importers,
    Uses,
    write_answer,
)
from lensbench_demo.offline.outline import outline
from lensbench_demo.offline.passages import COMMENT, GUARD, Passage, choose
from lensbench_demo.offline.ranking import idf, prior, rank, term_weights
from lensbench_demo.offline.references import definitions, import_search
from lensbench_demo.offline.suggestions import dependents, queries, suggestions
from lensbench_demo.offline.toolbox import Toolbox
from lensbench_tasks.question import Question, Term, read_question

READ_ALONE, READ_GUIDED = 6, 5
"""Files to read: found by own searches, or named by a search tool that is trusted to name the right ones."""
SEARCHED, CANDIDATES, GUIDED_TERMS = 10, 12, 5
OVERVIEW_WORTH, NEIGHBOUR_WORTH = 0.1, 0.15
"""Of what a tool says about files beside those that were searched for."""
PASSAGES, FOLLOWED, NEIGHBOURS = 9, 4, 2
COMMON = 3
"""Names with more definitions than this are ambiguous and ignored."""
LANGUAGE_NAMES = frozenset(
    [
        *dir(builtins),
        *keyword.kwlist,
        *dir(str),
        *dir(dict),
        "super",
        "function",
        "return",
        "switch",
    ]
)
READABLE = 0.12
"""Files below this part of the best file's score are not read."""
CALLED = re.compile(
    r"(?:(?<![\w.])|\bself\.|\bcls\.)([A-Za-z_]\w{3,})\s*\(|\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b|\b(_?[A-Z][a-z0-9]+[A-Z]\w+)\b"
)
ATTRIBUTE = re.compile(r"\b(?:self|cls)\.(\w{4,})\b")
CONSTANT_NAME = re.compile(r"\b(_?[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b")
CONSTANT_VALUE = re.compile(r"=\s*(_?[A-Z][A-Z0-9]*_[A-Z0-9_]+)\b")
"""A value that is set elsewhere."""


@dataclass(frozen=True)
class _Lead:
    """Where to read, what each term is worth there, and who depends on the files that a tool was asked about."""

    ranked: tuple[tuple[str, float], ...]
    weights: Mapping[Term, float]
    dependents: Mapping[str, Sequence[str]]


def answer_prompt(prompt: str, toolbox: Toolbox, seed: int) -> str:
    """The answer to `prompt`: the same bytes for the same prompt, workspace, tools and seed."""
    question = read_question(prompt)
    files = toolbox.glob()
    lead = _guided(question, toolbox, files) or _alone(question, toolbox, files, seed)
    passages = _passages(question, toolbox, lead)
    _try_servers(toolbox, files)
    findings = AnswerParts(
        passages=tuple(passages),
        followed=_follow(question, toolbox, files, passages),
        uses=_uses(question, toolbox, files, passages),
        importers=_importers(question, toolbox, files, passages, lead),
    )
    return write_answer(findings, toolbox)


def _alone(question: Question, toolbox: Toolbox, files: Sequence[str], seed: int) -> _Lead:
    hits = {}
    for term in question.terms[:SEARCHED]:
        places = toolbox.grep(term, files)
        if (
            not places and term.whole
        ):  # it may be written in another case, or as part of a longer name
            term = replace(
                term, whole=False, variants=tuple(variant.lower() for variant in term.variants)
            )
            places = toolbox.grep(term, files)
        hits[term] = places
    ranking = rank(toolbox.workspace, question, hits, len(files), seed)
    return _Lead(tuple(ranking[:READ_ALONE]), term_weights(hits, len(files)), {})


def _guided(question: Question, toolbox: Toolbox, files: Sequence[str]) -> _Lead | None:
    """What search tools of MCP servers lead to, or None when there are none or they found nothing."""
    by_role: dict[mcp_tools.Role | None, list[mcp_tools.OfferedTool]] = defaultdict(list)
    for tool in toolbox.offered:
        by_role[mcp_tools.role(tool)].append(tool)
    if not by_role["search"]:
        return None
    scores: dict[str, float] = defaultdict(float)
    if not question.names:
        for tool in by_role["overview"][:1]:
            _consult(tool, "", OVERVIEW_WORTH, question, toolbox, scores)
    for tool in by_role["search"][:2]:
        for query in queries(tool, question):
            _consult(tool, query, 1.0, question, toolbox, scores)
    for term in question.phrases:  # plain text search is best for these
        for path in toolbox.grep(term, files):
            scores[path] += prior(path, question)
    importers: dict[str, list[str]] = {}
    for tool in by_role["neighbourhood"][:1]:
        for path in list(dict.fromkeys([*_asked(question, files), *_best(scores)]))[:NEIGHBOURS]:
            result = _consult(tool, path, NEIGHBOUR_WORTH, question, toolbox, scores)
            importers[path] = dependents(result, toolbox.workspace)
    candidates = _best(scores)[:CANDIDATES]
    if not candidates:
        return None
    hits = {
        term: toolbox.grep(term, candidates, "search results")
        for term in question.terms[:GUIDED_TERMS]
    }
    unknown = idf(len(candidates), len(candidates) // 3)
    rest = {term: term.weight * unknown for term in question.terms[GUIDED_TERMS:]}
    ranking = tuple((path, scores[path]) for path in candidates[:READ_GUIDED])
    return _Lead(ranking, term_weights(hits, len(candidates)) | rest, importers)


def _try_servers(toolbox: Toolbox, files: Sequence[str]) -> None:
    """Calls one tool of each server that was asked nothing, so that a trial shows whether it can be called in a run."""
    servers = {tool.server for tool in toolbox.offered if toolbox.calls[tool.full_name]}
    for tool in toolbox.offered if files else ():
        arguments = mcp_tools.example(
            tool, toolbox.workspace.root, files[0], PurePath(files[0]).stem
        )
        if (
            tool.server not in servers
            and not isinstance(arguments, str)
            and not mcp_tools.why_not_called(tool)
        ):
            servers.add(tool.server)
            toolbox.call(tool, arguments)


def _consult(
    tool: mcp_tools.OfferedTool,
    value: str,
    worth: float,
    question: Question,
    toolbox: Toolbox,
    scores: dict[str, float],
) -> str:
    """Calls an MCP tool, adds what it suggests to `scores`, and returns its text."""
    workspace = toolbox.workspace
    result = toolbox.call(tool, mcp_tools.arguments(tool, value, workspace.root))
    for suggestion in suggestions(result, workspace):
        scores[suggestion.path] += worth * suggestion.weight * prior(suggestion.path, question)
    return result


def _best(scores: Mapping[str, float]) -> list[str]:
    return sorted(scores, key=lambda path: (-round(scores[path], 9), path))


def _passages(question: Question, toolbox: Toolbox, lead: _Lead) -> list[Passage]:
    top = lead.ranked[0][1] if lead.ranked else 0.0
    worth = {
        path: score / top for path, score in lead.ranked if score > 0 and score >= READABLE * top
    }
    units = []
    for path in worth:
        lines = [line for term in lead.weights for line in toolbox.workspace.hits(path, term)]
        first, text = toolbox.read(path, sorted(lines)[len(lines) // 2] if lines else 1)
        units += outline(path, text, first)
    return choose(toolbox.workspace, question, units, lead.weights, worth, PASSAGES)


def _pointers(question: Question, toolbox: Toolbox, passages: Sequence[Passage]) -> list[str]:
    """Names in the lines to quote that are explained elsewhere, the most promising first."""
    counts: dict[str, float] = defaultdict(float)
    for position, passage in enumerate(passages[:6], 1):
        for number in passage.quoted if passage.unit.kind != "text" else ():
            text = toolbox.workspace.line(passage.unit.path, number)
            if COMMENT.match(text):
                continue
            for groups in CALLED.findall(text):
                counts[next(group for group in groups if group)] += 1 / position
            for name in ATTRIBUTE.findall(text) if question.value and GUARD.match(text) else ():
                counts[name] += 2 / position
            for name in CONSTANT_NAME.findall(text) if question.value else ():
                counts[name] += 1 / position
    names = {passage.unit.name.rpartition(".")[2] for passage in passages}
    return [name for name in _best(counts) if name not in names and name not in LANGUAGE_NAMES]


def _follow(
    question: Question, toolbox: Toolbox, files: Sequence[str], passages: Sequence[Passage]
) -> tuple[DefinitionPlace, ...]:
    """Definitions of names that the passages point to: one step further, and two for values."""
    workspace = toolbox.workspace
    places: list[DefinitionPlace] = []
    names = _pointers(question, toolbox, passages)[: FOLLOWED + 2]
    names_before = set(names)
    while names and len(places) < FOLLOWED:
        name = names.pop(0)
        matches = toolbox.grep(Term(name, 1.0, (name,), True), _sources(files, question))
        definitions_here = definitions(workspace, name, matches)
        if 1 <= len(definitions_here) <= COMMON:
            path, line = definitions_here[0]
            text = _continued(toolbox, path, line)
            places.append(DefinitionPlace(path, line, name, text))
            further = [
                constant
                for constant in CONSTANT_VALUE.findall(text)
                if constant not in names_before
            ]
            names[:0] = further
            names_before.update(further)
    return tuple(places)


def _continued(toolbox: Toolbox, path: str, line: int) -> str:
    """The definition on `line`; a bracket that stays open is followed for a few lines."""
    text = toolbox.workspace.line(path, line).strip()
    lines = toolbox.workspace.data(path).count(b"\n")
    while text.count("(") + text.count("[") + text.count("{") > text.count(")") + text.count(
        "]"
    ) + text.count("}"):
        line += 1
        if line > lines or len(text) > 160:
            break
        text = f"{text} {toolbox.workspace.line(path, line).strip()}"
    return text


def _subjects(question: Question, toolbox: Toolbox, passages: Sequence[Passage]) -> list[str]:
    """The names that the question is about: those that it spells out, else that of the best passage."""
    best = [
        passage.unit.name.rpartition(".")[2]
        for passage in passages[:1]
        if passage.unit.kind != "text"
    ]
    return list(question.names[:2]) or best


def _uses(
    question: Question, toolbox: Toolbox, files: Sequence[str], passages: Sequence[Passage]
) -> tuple[Uses, ...]:
    result: list[Uses] = []
    for name in _subjects(question, toolbox, passages)[: 2 if question.impact else 1]:
        places = toolbox.grep(Term(name, 1.0, (name,), True), _sources(files, question))
        definition_lines = set(definitions(toolbox.workspace, name, places))
        uses = {
            path: tuple(
                line for line in dict.fromkeys(lines) if (path, line) not in definition_lines
            )
            for path, lines in places.items()
        }
        order = sorted(
            (path for path in uses if uses[path]),
            key=lambda path: (-round(prior(path, question), 2), -len(uses[path]), path),
        )
        result.append(Uses(name, tuple((path, uses[path]) for path in order), question.impact))
    return tuple(entry for entry in result if entry.places)


def _importers(
    question: Question,
    toolbox: Toolbox,
    files: Sequence[str],
    passages: Sequence[Passage],
    lead: _Lead,
) -> tuple[Importers, ...]:
    """Who imports what a question about the effects of a change is about."""
    if not question.impact:
        return ()
    defining = [passage.unit.path for passage in passages if passage.unit.kind != "text"]
    result = []
    for target in list(dict.fromkeys([*_asked(question, files), *defining]))[:2]:
        search = import_search(target)
        users = (
            lead.dependents[target] if target in lead.dependents else _dependents(target, toolbox)
        )
        paths = users or [path for path in toolbox.grep_imports(search, files) if path != target]
        order = sorted(paths, key=lambda path: (-prior(path, question), path))
        result.append(Importers(target, "" if users else search.name, tuple(order)))
    return tuple(entry for entry in result if entry.paths)


def _dependents(target: str, toolbox: Toolbox) -> list[str]:
    """The files that import `target`, from a tool that knows; none without one."""
    for tool in toolbox.offered:
        if mcp_tools.role(tool) == "neighbourhood":
            arguments = mcp_tools.arguments(tool, target, toolbox.workspace.root)
            return dependents(toolbox.call(tool, arguments), toolbox.workspace)
    return []


def _asked(question: Question, files: Sequence[str]) -> list[str]:
    names = [term.text for term in question.terms if "." in term.text]
    return list(
        dict.fromkeys(path for name in names for path in files if f"/{path}".endswith(f"/{name}"))
    )


def _sources(files: Sequence[str], question: Question) -> list[str]:
    """Files where definitions and uses are looked for: not changelogs and locks."""
    return [path for path in files if prior(path, question) > 0.3]
