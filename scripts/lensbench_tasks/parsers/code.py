"""What one source file defines, calls and imports, by the query of its language (`queries/`)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from tree_sitter import Node, QueryCursor

from lensbench_tasks.parsers.grammars import grammar

MAX_SOURCE_CHARS = 400_000
"""Larger files are assumed to be generated."""
MAX_DEPTH = 200
MAX_BROKEN = 3_000
MAX_DEFINITIONS = 5_000
CALLABLES = frozenset({"function", "method"})
OWNERS = frozenset({"class", "interface", "enum", "scope"})
SELVES = frozenset({"self", "this", "cls", "Self"})
_KINDS = (
    "class",
    "function",
    "method",
    "interface",
    "enum",
    "scope",
    "namespace",
    "const",
    "type",
    "var",
)
"""The general kinds come last."""
_RECEIVER = re.compile(r"\((\w+)?\s*\*?\s*(\w+)(?:\[[^][]*\])?\)$")
_NAME = re.compile(r"[\w$#.]{1,200}")
IDENTIFIER = re.compile(r"[A-Za-z_$][\w$]*")

Captures = Mapping[str, Sequence[Node]]


@dataclass(frozen=True, eq=False)
class Definition:
    """A named part of a file. `local`: inside a function, unreachable from other files."""

    path: str
    name: str
    owner: str
    kind: str
    local: bool
    text: str
    line: int
    """Of its name, from 1."""
    last_line: int
    receiver: str = ""
    """What a Go method calls the object that it belongs to."""
    parameters: int = 0

    @property
    def selves(self) -> frozenset[str]:
        """What a method may call the object or class that it belongs to."""
        return SELVES | {self.receiver} if self.receiver else SELVES

    @property
    def shown(self) -> str:
        """The name, with its owner's as a prefix."""
        return f"{self.owner}.{self.name}" if self.owner else self.name


class CodeCall(NamedTuple):
    """A call of `name`, or of `of.name`, in a function that other files can reach; elsewhere, `caller` is None."""

    caller: Definition | None
    of: str
    name: str
    is_direct: bool = True
    """False inside a local function, which somebody else may call."""

    @property
    def quote(self) -> str:
        """The call as written, up to its bracket."""
        return f"{self.of}.{self.name}" if self.of else self.name


class Import(NamedTuple):
    """An import as written; `part` may be a module inside the module, or a name in it."""

    module: str
    part: str = ""


class Choice(NamedTuple):
    """Alternatives for one value, the first of which counts."""

    within: Definition
    options: tuple[str, ...]
    quote: str


class Code(NamedTuple):
    """What a file shows of itself."""

    definitions: tuple[Definition, ...] = ()
    calls: tuple[CodeCall, ...] = ()
    raised: tuple[CodeCall, ...] = ()
    """Errors that are raised, by their type."""
    choices: tuple[Choice, ...] = ()
    imports: tuple[Import, ...] = ()
    imported: frozenset[str] = frozenset()
    """The names that it imports without giving them another one."""
    loose: frozenset[str] = frozenset()
    """Names that it has in other roles: not only as definitions, calls, imports or exports."""
    types: Mapping[str, str] = {}
    """Variable -> its type, if that is the same throughout the file."""
    bases: Mapping[str, str] = {}
    """Class -> the class that it extends."""
    package: str = ""
    is_broken: bool = False


def text_of(node: Node | None) -> str:
    """The source of a node; "" for None."""
    if node is None:
        return ""
    return (node.text or b"").decode("utf-8", "replace")


def definitions(path: str, text: str, language: str | None) -> Sequence[Definition]:
    """All definitions in a file, in order; empty for languages without a grammar and for broken code."""
    code = read_code(path, text, language)
    return () if code.is_broken else code.definitions


def read_code(path: str, text: str, language: str | None, *, with_names: bool = False) -> Code:
    """What a file shows; for broken code, what can be parsed. `loose` is empty without `with_names`."""
    syntax = grammar(language) if language and len(text) <= MAX_SOURCE_CHARS else None
    if syntax is None:
        return Code()
    root = syntax.parser.parse(text.encode("utf-8", "replace")).root_node
    if _is_too_broken(root):
        return Code(is_broken=True)
    cursor = QueryCursor(syntax.facts)
    cursor.set_max_start_depth(MAX_DEPTH)
    matches = [captures for _, captures in cursor.matches(root)]
    words: Sequence[Node] = ()
    if with_names:
        words = QueryCursor(syntax.names).captures(root).get("word", ())
    return _Reader(path, matches, words).code(root.has_error)


def _is_too_broken(root: Node) -> bool:
    """True if a syntax error gives a node with thousands of children, or if there are very many syntax errors. A search
    is quadratic in the width of an error, and in the depth of the tree."""
    nodes = [root] if root.has_error else []
    count = 0
    while nodes:
        node = nodes.pop()
        count += 1
        if node.child_count > MAX_BROKEN or count > MAX_BROKEN:
            return True
        nodes += [child for child in node.children if child.has_error]
    return False


class _Function(NamedTuple):
    """A function, with its place in bytes and the innermost function around it."""

    place: range
    definition: Definition
    around: _Function | None


class _Reader:
    """Turns the matches of a query into facts."""

    def __init__(self, path: str, matches: Sequence[Captures], words: Sequence[Node]) -> None:
        self._path = path
        self._words = words
        tests = [node for match in matches for node in match.get("test", ())]
        self._tests = [range(node.start_byte, node.end_byte) for node in tests]
        self._matches: dict[str, list[Captures]] = defaultdict(list)
        for match in matches:
            if not self._is_test(match):
                for capture in match:
                    self._matches[capture].append(match)
        self._functions: list[_Function] = []

    def code(self, is_broken: bool) -> Code:
        found = tuple(islice(self._definitions(), MAX_DEFINITIONS))
        return Code(
            definitions=found,
            calls=tuple(self._calls("call")),
            raised=tuple(self._calls("raised")),
            choices=tuple(self._choices()),
            imports=tuple(dict.fromkeys(self._imports())),
            imported=frozenset(map(text_of, self._nodes("imported"))),
            loose=frozenset(self._loose()),
            types=self._types(),
            bases=dict(self._bases()),
            package="".join(map(text_of, self._nodes("package")[:1])),
            is_broken=is_broken,
        )

    def _is_test(self, match: Captures) -> bool:
        if not self._tests:
            return False
        first = next(iter(match.values()))[0]
        return any(first.start_byte in test for test in self._tests)

    def _nodes(self, capture: str) -> list[Node]:
        return [node for match in self._matches[capture] for node in match[capture]]

    def _definitions(self) -> Iterator[Definition]:
        """The definitions, each with the owner or function around it."""
        nodes: dict[int, tuple[str, Node]] = {}
        for kind in _KINDS:
            for node in self._nodes(kind):
                nodes.setdefault(node.id, (kind, node))
        imported = {node.start_byte for node in self._nodes("imported")}
        around: list[tuple[Node, Definition]] = []
        for kind, node in sorted(
            nodes.values(), key=lambda item: (item[1].start_byte, -item[1].end_byte)
        ):
            while around and around[-1][0].end_byte <= node.start_byte:
                around.pop()
            outer = around[-1][1] if around else None
            for name, line in _names(kind, node, imported):
                one = self._definition(kind, node, name, line, outer)
                around.append((node, one))
                if one.kind in CALLABLES:
                    place = range(node.start_byte, node.end_byte)
                    around_it = next(self._around(node), None)
                    self._functions.append(_Function(place, one, around_it))
                if kind not in ("scope", "namespace"):
                    yield one

    def _definition(
        self, kind: str, node: Node, name: str, line: int, outer: Definition | None
    ) -> Definition:
        receiver, owner = _receiver(node)
        if outer is not None and outer.kind in OWNERS:
            owner = outer.name
        parameters = node.child_by_field_name("parameters")
        return Definition(
            self._path,
            name,
            owner,
            "method" if owner and kind == "function" else kind,
            outer is not None and (outer.local or outer.kind in CALLABLES),
            text_of(node),
            line,
            node.end_point.row + 1,
            receiver,
            parameters.named_child_count if parameters else 0,
        )

    def _around(self, node: Node) -> Iterator[_Function]:
        """The functions around a node, the innermost first."""
        before = bisect_right(self._functions, node.start_byte, key=lambda one: one.place.start)
        function = self._functions[before - 1] if before else None
        while function is not None:
            if node.start_byte in function.place:
                yield function
            function = function.around

    def _calls(self, capture: str) -> Iterator[CodeCall]:
        for match in self._matches[capture]:
            for node in match[capture]:
                objects = match.get("of", ())
                of = "".join(map(text_of, objects[:1]))
                around = [one.definition for one in self._around(node)]
                reachable = [one for one in around if not one.local]
                caller = reachable[0] if reachable else None
                yield CodeCall(caller, of, text_of(node), caller is around[0] if around else False)

    def _choices(self) -> Iterator[Choice]:
        ends = 0
        for node in sorted(self._nodes("choice"), key=lambda one: (one.start_byte, -one.end_byte)):
            within = next(self._around(node), None)
            if node.start_byte >= ends and within is not None:
                ends = node.end_byte
                yield Choice(within.definition, tuple(_options(node)), text_of(node))

    def _imports(self) -> Iterator[Import]:
        for match in self._matches["import"]:
            for node in match["import"]:
                parts = match.get("part", ())
                part = "".join(map(text_of, parts[:1]))
                yield Import(text_of(node), part)

    def _bases(self) -> Iterator[tuple[str, str]]:
        for match in self._matches["base"]:
            yield text_of(match["derived"][0]), text_of(match["base"][0])

    def _types(self) -> dict[str, str]:
        types: dict[str, set[str]] = defaultdict(set)
        for match in self._matches["typed"]:
            types[text_of(match["typed"][0])].add(text_of(match["type"][0]))
        for node in self._nodes("untyped"):
            types.pop(text_of(node), None)
        return {name: next(iter(found)) for name, found in types.items() if len(found) == 1}

    def _loose(self) -> Iterator[str]:
        """Names with a place that is no definition, call, import or export."""
        known = {node.start_byte for role in _ROLES for node in self._nodes(role)}
        for kind in _KINDS:
            for node in self._nodes(kind):
                known.update(child.start_byte for child in _name_nodes(kind, node))
        for node in self._words:
            if node.start_byte not in known and not any(
                node.start_byte in test for test in self._tests
            ):
                text = text_of(node)
                if IDENTIFIER.fullmatch(text):
                    yield text


_ROLES = ("call", "imported", "exported")


def _name_nodes(kind: str, node: Node) -> list[Node]:
    """The names in a definition; `left` is Python's assignment."""
    fields = ("type",) if kind == "scope" else ("name", "left")
    return [child for field in fields for child in node.children_by_field_name(field)]


def _names(kind: str, node: Node, imported: Collection[int]) -> list[tuple[str, int]]:
    """The names in a definition, with their lines; without names that are `imported` at these places."""
    names = []
    for child in _name_nodes(kind, node):
        match = _NAME.match(text_of(child))
        if match and child.start_byte not in imported:
            names.append((match[0], child.start_point.row + 1))
    return names[:1] if kind in OWNERS else names


def _receiver(node: Node) -> tuple[str, str]:
    """The name and the type of a Go method's receiver."""
    match = _RECEIVER.search(text_of(node.child_by_field_name("receiver")))
    return (match[1] or "", match[2]) if match else ("", "")


def _options(node: Node) -> Iterator[str]:
    """The alternatives of a chain, in order."""
    operator = text_of(node.child_by_field_name("operator"))
    for field in ("left", "right"):
        side = node.child_by_field_name(field)
        if side is not None and text_of(side.child_by_field_name("operator")) == operator:
            yield from _options(side)
        else:
            yield text_of(side)
