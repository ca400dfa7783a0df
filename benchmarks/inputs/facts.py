"""Checks the claims of a task set against its sources.

A criterion is a claim about a repository at one revision. Three things are checked: the names in its patterns exist
(`pattern_problems`), a person's proof of the claim holds (`Fact`, `fact_problems`), and each criterion has such a proof
(`unproven`). Each function returns one sentence per problem, so that a test can assert that there is none.
"""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tree_sitter import Node

from lensbench.core.tasks import Criterion, Regex, Task
from lensbench_tasks.parsers.grammars import grammar

PATH = re.compile(
    r"(?:[\w.-]+/)*[\w-][\w.-]*\.(?:py|pyi|toml|cfg|md|rst|txt|yaml|json|js|ts|go|rs|java)(?![\w/])"
)
NUMBER = re.compile(r"(?<![\w.-])\d[\d_]*(?:\.\d+)?(?![\w-])")
DOTTED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
LANGUAGES = {".py": "python", ".ts": "typescript", ".js": "javascript", ".go": "go", ".rs": "rust"}
DEFINING = re.compile(r"(declaration|definition|item|spec|declarator|signature|variant)$")


@dataclass(frozen=True)
class Fact:
    """The proof of a criterion (counted from 1): `regex` is found in `file`, or in the definition `within` of it."""

    task: str
    criterion: int
    file: str
    regex: str
    within: str = ""


def read_proofs(name: str) -> list[Fact]:
    """The proofs of a task set, from `proofs/<name>.txt`: one per line; the head of the file describes the format."""
    lines = (Path(__file__).parent / "proofs" / f"{name}.txt").read_text().splitlines()
    split = (line.split(maxsplit=4) for line in lines if not line.startswith("#"))
    return [
        Fact(task, int(number), file, regex, "" if within == "-" else within)
        for task, number, file, within, regex in split
    ]


def pattern_problems(task: Task, tree: Path) -> list[str]:
    """The names in a task's criteria that `tree` does not have.

    A path must match exactly one file. A name must be in a file that the criterion names, or be `Class.member` where
    that class is defined; so must each number, also those in the criterion's text (regexes contain most values). A
    criterion that names no file cannot be checked.
    """
    problems = []
    for number, criterion in enumerate(task.criteria, 1):
        place = f"{task.id}, criterion {number}"
        paths = sorted(named_paths(criterion))
        found = {path: files_named(tree, path) for path in paths}
        problems += [
            f"{place}: {path} fits {len(fit)} files" for path, fit in found.items() if len(fit) != 1
        ]
        if not PATH.search(criterion.text):
            problems.append(f"{place}: names no file")
        files = sorted({file for fit in found.values() for file in fit})
        text = "\n".join(_read(tree / file) for file in files)
        problems += [
            f"{place}: {literal!r} is not in {', '.join(files) or 'any file'}"
            for literal in [*literals(criterion), *NUMBER.findall(criterion.text)]
            if not PATH.fullmatch(literal) and not _stands_in(literal, text, tree)
        ]
    return problems


def fact_problems(fact: Fact, task: Task, tree: Path) -> list[str]:
    """Why `fact` does not prove its criterion: another file, no such definition, or the text is missing."""
    place = f"{fact.task}, criterion {fact.criterion}"
    criterion = task.criteria[fact.criterion - 1]
    if not any(f"/{fact.file}".endswith(f"/{path}") for path in named_paths(criterion)):
        return [f"{place}: does not name {fact.file}"]
    if not (tree / fact.file).is_file():
        return [f"{place}: there is no {fact.file}"]
    text = _read(tree / fact.file)
    if fact.within and not (
        text := definition(text, fact.within, LANGUAGES[Path(fact.file).suffix])
    ):
        return [f"{place}: {fact.within} is not defined in {fact.file}"]
    if not re.search(fact.regex, text, re.MULTILINE):
        return [f"{place}: {fact.regex!r} is not in {fact.within or 'the text'} of {fact.file}"]
    return []


def unproven(tasks: Iterable[Task], facts: Iterable[Fact]) -> list[str]:
    """The criteria that no fact proves, and the facts that belong to no criterion."""
    claims = {(task.id, number) for task in tasks for number in range(1, len(task.criteria) + 1)}
    proofs = {(fact.task, fact.criterion) for fact in facts}
    return [f"{task}, criterion {number}" for task, number in sorted(claims ^ proofs)]


def literals(criterion: Criterion) -> Iterator[str]:
    """All literals of a criterion except those that must not be stated, which are wrong on purpose."""
    yield from (pattern for pattern in criterion.sought if not isinstance(pattern, Regex))


def named_paths(criterion: Criterion) -> set[str]:
    """The paths in a criterion's text and among its literals."""
    return {
        *PATH.findall(criterion.text),
        *(literal for literal in literals(criterion) if PATH.fullmatch(literal)),
    }


@cache
def files_named(tree: Path, path: str) -> tuple[str, ...]:
    """The files below `tree` that `path` matches, completely or as the end of their path."""
    return tuple(file for file in _files(tree) if f"/{file}".endswith(f"/{path}"))


@cache
def _files(tree: Path) -> tuple[str, ...]:
    files = (Path(folder, name) for folder, _, names in os.walk(tree) for name in names)
    return tuple(
        sorted(path.relative_to(tree).as_posix() for path in files if ".git" not in path.parts)
    )


def definition(source: str, name: str, language: str = "python") -> str:
    """The source of the definition `name` (`Owner.member` for a member); all of them when there are several.

    A member of a type in Rust and Go is written `Type.method`, whichever impl block or receiver it has; the value that
    JavaScript assigns to `Type.prototype.method` as well.
    """
    parts = tuple(name.split("."))
    if language != "python":
        return "\n".join(
            (node.text or b"").decode() for node in _named(_tree(source, language), parts)
        )
    nodes = [node for node in _definitions(_parsed(source)) if node.name == parts[0]]
    for part in parts[1:]:
        nodes = [child for node in nodes for child in _definitions(node) if child.name == part]
    lines = source.split("\n")  # each search for a segment by `ast` reads all of the source again
    return "\n".join("\n".join(lines[node.lineno - 1 : node.end_lineno]).lstrip() for node in nodes)


def _definitions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield child
        elif isinstance(child, ast.stmt):
            yield from _definitions(child)


def _named(node: Node, parts: tuple[str, ...]) -> Iterator[Node]:
    for child in node.named_children:
        names = _names(child)
        if names and names == parts[: len(names)]:
            if names == parts:
                yield child
            else:
                yield from _named(child, parts[len(names) :])
        elif not names:
            yield from _named(child, parts)


def _names(node: Node) -> tuple[str, ...]:
    """The names that `node` defines; empty if it is not a definition."""
    match node.type:
        case "impl_item":
            return (_text(node, "type").partition("<")[0],)
        case "assignment_expression":
            return tuple(part for part in _text(node, "left").split(".") if part != "prototype")
        case "method_declaration":
            owner = re.search(r"(\w+)\)$", _text(node, "receiver"))
            return (owner[1], _text(node, "name")) if owner else (_text(node, "name"),)
        case kind if DEFINING.search(kind) and (name := _text(node, "name")):
            return (name,)
    return ()


def _text(node: Node, field: str) -> str:
    child = node.child_by_field_name(field)
    return (child.text or b"").decode() if child else ""


def _stands_in(literal: str, text: str, tree: Path) -> bool:
    if NUMBER.fullmatch(literal):
        return float(literal) in map(float, NUMBER.findall(text))
    if re.search(rf"(?<!\w){re.escape(literal)}(?!\w)", text):
        return True
    owner, _, member = literal.rpartition(".")
    return bool(owner and DOTTED.fullmatch(literal)) and _has_member(tree, owner, member)


@cache
def _has_member(tree: Path, owner: str, member: str) -> bool:
    """Whether a Python class `owner` is defined somewhere below `tree` and mentions `member`."""
    sources = (_read(path) for path in sorted(tree.rglob("*.py")))
    bodies = (
        definition(source, owner) for source in sources if f"class {owner.split('.')[0]}" in source
    )
    return any(re.search(rf"\b{re.escape(member)}\b", body) for body in bodies)


@cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


@cache
def _tree(source: str, language: str) -> Node:
    found = grammar(language)
    assert found, f"there is no grammar for {language}"
    return found.parser.parse(source.encode()).root_node


@cache
def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")
