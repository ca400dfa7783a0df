"""The definitions in a source file with their syntax trees, named `Owner.member`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tree_sitter import Node, QueryCursor

from lensbench_tasks.parsers.grammars import grammar

MAX_CHARS = 400_000
"""Larger files are assumed to be generated."""
CALLABLES = frozenset({"function", "method"})
OWNERS = frozenset({"class", "interface", "enum", "scope"})
_KINDS = (
    "class",
    "function",
    "method",
    "interface",
    "enum",
    "scope",
    "namespace",
    "const",
    "let",
    "type",
    "var",
)
"""The general kinds come last."""
_RECEIVER = re.compile(r"\b(\w+)(?:\[[^][]*\])?\)$")
_NAME = re.compile(r"[\w$#.]{1,200}")


@dataclass(frozen=True)
class Definition:
    """A named part of a file. `local`: inside a function, unreachable from other files."""

    path: str
    name: str
    owner: str
    kind: str
    local: bool
    node: Node
    line: int
    """Of its name, from 1."""

    @property
    def shown(self) -> str:
        """The name, with its owner's as a prefix."""
        return f"{self.owner}.{self.name}" if self.owner else self.name

    @property
    def text(self) -> str:
        """The source."""
        return text_of(self.node)


def text_of(node: Node | None) -> str:
    """The source of a node; "" for None."""
    return (node.text or b"").decode("utf-8", "replace") if node else ""


def definitions(path: str, text: str, language: str | None) -> list[Definition]:
    """All definitions in a file, in order; empty for languages without a grammar and for broken code."""
    syntax = grammar(language) if language and len(text) <= MAX_CHARS else None
    if syntax is None:
        return []
    root = syntax.parser.parse(text.encode("utf-8", "replace")).root_node
    if root.has_error:
        return []
    return [
        one
        for one in nested(path, QueryCursor(syntax.query).captures(root))
        if one.kind != "namespace"
    ]


def nested(path: str, captures: Mapping[str, Sequence[Node]]) -> Iterator[Definition]:
    """The definitions among the captures of a file, in order."""
    nodes: dict[int, tuple[str, Node]] = {}
    for kind in _KINDS:
        for node in captures.get(kind, ()):
            nodes.setdefault(node.id, (kind, node))
    around: list[Definition] = []
    for kind, node in sorted(
        nodes.values(), key=lambda item: (item[1].start_byte, -item[1].end_byte)
    ):
        while around and around[-1].node.end_byte <= node.start_byte:
            around.pop()
        outer = around[-1] if around else None
        local = outer is not None and (outer.local or outer.kind in CALLABLES)
        owner = outer.name if outer and outer.kind in OWNERS else _receiver(node)
        for name, line in _names(kind, node):
            one = Definition(
                path,
                name,
                owner,
                "method" if owner and kind == "function" else kind,
                local,
                node,
                line,
            )
            around.append(one)
            if kind != "scope":
                yield one


def _names(kind: str, node: Node) -> list[tuple[str, int]]:
    """The names in a definition, with their lines; `left` is Python's assignment."""
    fields = ("type",) if kind == "scope" else ("name", "left")
    nodes = [child for field in fields for child in node.children_by_field_name(field)]
    names = [
        (match[0], child.start_point.row + 1)
        for child in nodes
        if (match := _NAME.match(text_of(child)))
    ]
    return names[: 1 if kind in OWNERS else None]


def _receiver(node: Node) -> str:
    """The receiver type of a Go method."""
    match = _RECEIVER.search(text_of(node.child_by_field_name("receiver")))
    return match[1] if match else ""


def walk(node: Node) -> Iterator[Node]:
    """The node and its descendants in source order."""
    waiting = [node]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += reversed(one.named_children)
