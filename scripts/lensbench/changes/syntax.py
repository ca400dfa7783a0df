"""Source texts as syntax trees, and edits of them by position."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:  # the grammars are loaded where a text is read
    from tree_sitter import Node, Parser

_LANGUAGES = {
    ".py": ("python", "language"),
    ".go": ("go", "language"),
    ".rs": ("rust", "language"),
    **dict.fromkeys((".ts", ".mts", ".cts"), ("typescript", "language_typescript")),
    ".tsx": ("typescript", "language_tsx"),
    **dict.fromkeys((".js", ".mjs", ".cjs", ".jsx"), ("javascript", "language")),
}
SCRIPTS = frozenset(suffix for suffix in _LANGUAGES if suffix not in (".py", ".go", ".rs"))


class Edit(NamedTuple):
    """Replaces the bytes from `start` to `end`; an insertion where both are equal."""

    start: int
    end: int
    text: str
    rank: int = 0
    """The order of insertions at one position."""


@cache
def _parser(wheel: str, language: str) -> Parser:
    from tree_sitter import Language, Parser

    module = importlib.import_module(f"tree_sitter_{wheel}")
    return Parser(Language(getattr(module, language)()))


def parse(path: str, text: str) -> Node | None:
    """The syntax tree of a text; None for a language without a grammar."""
    entry = _LANGUAGES.get(PurePosixPath(path).suffix)
    return _parser(*entry).parse(text.encode()).root_node if entry else None


def text_of(node: Node | None) -> str:
    """The source of a node; "" for none."""
    return node.text.decode() if node and node.text else ""


def walk(node: Node, is_closed: Callable[[Node], bool] = lambda _: False) -> Iterator[Node]:
    """A node and those below it, in order, without what is below closed ones and these themselves."""
    if is_closed(node):
        return
    yield node
    for child in node.children:
        yield from walk(child, is_closed)


def field(node: Node | None, *names: str) -> Node | None:
    """The node by the names of fields, one below the other."""
    for name in names:
        node = node.child_by_field_name(name) if node else None
    return node


_FUNCTIONS = (
    "function_definition",
    "lambda",
    "class_definition",
    "arrow_function",
    "function_expression",
    "function",
    "function_declaration",
    "method_definition",
)


def function_of(node: Node) -> Node | None:
    """The function around a node, or the class; None at the top of a file."""
    while node.parent is not None:
        node = node.parent
        if node.type in _FUNCTIONS:
            return node
    return None


def arguments_of(call: Node | None) -> list[Node]:
    """The arguments by position."""
    arguments = field(call, "arguments")
    if arguments is None:
        return []
    others = ("keyword_argument", "comment", "dictionary_splat", "list_splat")
    return [node for node in arguments.named_children if node.type not in others]


def expected_side(left: Node, right: Node) -> Node:
    """The side of a comparison that the program did not make: the right one, unless only that has a call."""
    has_call = [
        any(node.type in ("call", "call_expression") for node in walk(side))
        for side in (left, right)
    ]
    return left if has_call == [False, True] else right


def replaced(node: Node, text: str) -> Edit:
    """The edit that puts `text` in the place of a node."""
    return Edit(node.start_byte, node.end_byte, text)


def edited_node(node: Node, edits: Iterable[Edit]) -> str:
    """The text of a node after edits inside it."""
    moved = [
        edit._replace(start=edit.start - node.start_byte, end=edit.end - node.start_byte)
        for edit in edits
    ]
    return edited(text_of(node), moved)


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text after the edits; one inside a replaced range has no effect."""
    data = text.encode()
    pieces = list[bytes]()
    end = 0
    for edit in sorted(edits, key=lambda edit: (edit.start, edit.end > edit.start, edit.rank)):
        if edit.start >= end:
            pieces += [data[end : edit.start], edit.text.encode()]
            end = edit.end
    return b"".join([*pieces, data[end:]]).decode()
