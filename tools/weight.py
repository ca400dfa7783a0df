"""How much code a room has, in tokens, and how densely it is written.

A token is a name, a number, a text or an operator; docstrings and comments are free. The formatter does not change the
number of tokens, so packing two ideas into a line saves nothing; tokens a line show packing, and so do the figures for
comprehensions, conditional expressions and long statements. Good projects have 5 to 7 tokens a line (httpx 6.2,
pytest 6.4, attrs 5.1).
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

COUNTED = (tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING)
OTHER_TOKEN = re.compile(r"\w+|[^\w\s]")
"""A token of a file that is not Python: a word or a sign."""
COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.Match,
)
"""Statements that hold others; their size is that of their parts."""


@dataclass(frozen=True)
class Weight:
    """What a set of files weighs; `shapes` counts what makes Python hard to read."""

    tokens: int
    lines: int
    shapes: Counter[str]
    sizes: list[int]
    """The nodes of each statement that holds no other."""

    def __add__(self, other: Weight) -> Weight:
        return Weight(
            self.tokens + other.tokens,
            self.lines + other.lines,
            self.shapes + other.shapes,
            self.sizes + other.sizes,
        )

    @property
    def p90(self) -> int:
        """Nodes that nine of ten statements have at most."""
        sizes = sorted(self.sizes)
        return sizes[int(0.9 * len(sizes))] if sizes else 0

    @property
    def density(self) -> float:
        """Tokens a code line."""
        return self.tokens / max(self.lines, 1)

    def per_thousand(self, shape: str) -> float:
        """How often a shape occurs in 1,000 code lines."""
        return 1000 * self.shapes[shape] / max(self.lines, 1)


NOTHING = Weight(0, 0, Counter(), [])


def weigh(file: Path) -> Weight:
    """The weight of a file: Python by its grammar, everything else by words and signs."""
    text = file.read_text(encoding="utf-8")
    if file.suffix != ".py":
        places = list(_other_tokens(text))
        return Weight(len(places), len(set(places)), Counter(), [])
    nodes = list(ast.walk(ast.parse(text)))
    places = list(_python_tokens(text, nodes))
    shapes = Counter(_shapes(nodes))
    shapes["fmt: skip"] = len(re.findall(r"# fmt: (?:skip|off)", text))
    return Weight(len(places), len(set(places)), shapes, list(_statement_sizes(nodes)))


def _python_tokens(text: str, nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The line of each token."""
    free = _docstring_lines(nodes)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in COUNTED and token.start[0] not in free:
            yield token.start[0]


def _other_tokens(text: str) -> Iterator[int]:
    for number, line in enumerate(text.splitlines()):
        for _ in OTHER_TOKEN.finditer(line):
            yield number


def _docstring_lines(nodes: Iterable[ast.AST]) -> set[int]:
    lines: set[int] = set()
    for node in nodes:
        if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
            continue
        if isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _shapes(nodes: Iterable[ast.AST]) -> Iterator[str]:
    for node in nodes:
        match node:
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                yield "comprehension"
            case ast.IfExp():
                yield "conditional"
            case ast.NamedExpr():
                yield "walrus"
            case ast.Assign(targets=[ast.Tuple()], value=ast.Tuple()):
                yield "tuple"
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                if _is_text(left) or _is_text(right):
                    yield "text times number"


def _is_text(node: ast.expr) -> bool:
    is_constant = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_constant or isinstance(node, ast.JoinedStr)


def _statement_sizes(nodes: Iterable[ast.AST]) -> Iterator[int]:
    """The nodes of each statement that holds no other."""
    for node in nodes:
        if isinstance(node, ast.stmt) and not isinstance(node, COMPOUND):
            yield sum(1 for _ in ast.walk(node))
