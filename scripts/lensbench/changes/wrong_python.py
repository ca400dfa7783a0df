"""Wrong copies of tests in Python: pytest's, unittest's, and helpers that assert."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lensbench.changes.other_values import WrongTests, variants
from lensbench.changes.syntax import (
    Edit,
    arguments_of,
    edited_node,
    expected_side,
    field,
    function_of,
    replaced,
    text_of,
    walk,
)
from lensbench.changes.wrong_kinds import CopyKind

if TYPE_CHECKING:
    from tree_sitter import Node

_ASSERTION = re.compile(
    r"assert|check|expect|verify|ensure|same|equal|agree|compare|match|should", re.IGNORECASE
)
_RAISES = re.compile(r"raises|warns|assertLogs|deprecated_call", re.IGNORECASE)
_FAILS = re.compile(r"\bfail\(|raise AssertionError")
_NEGATED = re.compile(r"Not|_not_|NotIn|Raises|Warns|Logs|fail|(?:IsNone|False)$|raises|warns")
_ORDER = re.compile(r"Greater|Less|greater|less")
_HELPER = """

def {name}(value, is_order=False):
    import numbers
    if isinstance(value, bool):
        return not value
    if is_order and isinstance(value, numbers.Real):
        return float("nan")
    if isinstance(value, numbers.Number):
        return value + {step}
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, bytes):
        return value + b"x"
    if isinstance(value, dict):
        return {{key: {name}(part) for key, part in value.items()}} or {{"x": {step}}}
    if isinstance(value, (set, frozenset)):
        return type(value)([*value, "x"])
    if type(value) in (list, tuple):
        return type(value)(map({name}, value)) or type(value)(["x"])
    if type(value).__name__.startswith("Approx"):
        return type(value)({name}(value.expected), rel=value.rel, abs=value.abs)
    return object()

def {name}_denied(error):
    if not isinstance(error, AssertionError) and type(error).__name__ != "Failed":
        raise error

{name}_begun = set()

class {name}_guard:
    is_held = False
    def __enter__(self):
        {name}_guard.is_held = False
    def __exit__(self, kind, error, trace):
        if error is None:
            {name}_guard.is_held = True
        else:
            {name}_denied(error)
        return True
    async def __aenter__(self):
        self.__enter__()
    async def __aexit__(self, *given):
        return self.__exit__(*given)
"""
"""Another value of the same kind, and whether an error is that of an assertion. The guard is outside of a `with`: where
the assertion at the end of its body does not leave it, the context lets wrong assertions hold."""


class WrongPython(WrongTests):
    """The edits of a test file."""

    truth = "True"
    nothing = ("None",)

    @property
    def helpers(self) -> str:
        """What the edited text needs at its end."""
        return _HELPER.format(name=self._helper, step=self._values.step)

    def tests(self, root: Node) -> Iterator[tuple[Node, str]]:
        """The test functions with their names."""
        for node in walk(
            root,
            lambda node: (
                node.type == "block" and getattr(node.parent, "type", "") == "function_definition"
            ),
        ):
            if node.type == "function_definition" and not _passes_by_failing(node):
                name = text_of(field(node, "name"))
                if name.startswith("test"):
                    yield node, name

    def edits(self, test: Node, kind: CopyKind) -> Iterator[Edit]:
        """The edits of a test for a kind of copy."""
        body = field(test, "body")
        if body is None:
            return
        units = [node for node in walk(body) if _is_assertion(node)]
        if kind is CopyKind.EVERYTHING:
            yield from self._literals(body)
            units = [unit for unit in units if unit.type == "with_statement"]
        strict = 0
        begun = f"{self._helper}_begun"
        contexts: dict[int, Node] = {}
        for unit in units:
            edits = list(self._unit(unit, kind))
            pieces = ""
            is_own = function_of(unit) == test
            if kind is CopyKind.EACH and edits and is_own:
                pieces = self._strict(unit, edits)
            if pieces:
                strict += 1
                yield replaced(unit, pieces)
                if (context := _context(unit, test)) is not None:
                    contexts[context.start_byte] = context
                continue
            if kind is CopyKind.EACH and edits and not is_own and (indent := _indent(unit)):
                begin = f"{begun}.add({test.start_byte})\n{indent}"
                yield Edit(unit.start_byte, unit.start_byte, begin, -9)
            yield from edits
        for outer in contexts.values():
            yield from self._guarded(outer)
        if strict and (indent := _indent(body.children[0])):
            end = f"\n{indent}assert {test.start_byte} in {begun}"
            yield Edit(body.end_byte, body.end_byte, end, 9)

    def helper_edits(self, root: Node) -> Iterator[Edit]:
        """The edits of functions that tests call."""
        for node in walk(root, lambda node: node.type == "decorator"):
            if node.type == "assert_statement" and not _is_in_test(node):
                yield from self._unit(node, CopyKind.EXPECTED)

    def _is_access(self, node: Node) -> bool:
        """A key that says where a value is, an option of an assertion, or a text that documents."""
        parent = node.parent
        if parent is None:
            return False
        if parent.type == "pair":
            return node == field(parent, "key")
        if parent.type == "subscript":
            return node != field(parent, "value") and node.type not in ("[", "]")
        if node.type == "keyword_argument" and parent.parent is not None:
            name = text_of(field(parent.parent, "function"))
            return "approx" in name or bool(_ASSERTION.search(name))
        return node.type == "string" and parent.type == "expression_statement"

    def _unit(self, unit: Node, kind: CopyKind) -> Iterator[Edit]:
        if unit.type == "with_statement":
            body = field(unit, "body")
            if body is not None:
                yield Edit(body.start_byte, body.end_byte, "pass")
        elif kind in (CopyKind.EVERYTHING, CopyKind.ASSERTIONS):
            yield from self._literals(unit)
        elif unit.type == "assert_statement":
            yield from self._expected(unit.named_children[0])
        elif unit.type == "if_statement":
            condition = field(unit, "condition")
            if condition is not None:
                yield from self._compared(condition, ("!=",))
        else:
            yield from self._call(unit)

    def _expected(self, condition: Node) -> Iterator[Edit]:
        """Other values on the expected side of all comparisons; without one, in the last argument that has a value."""
        edits = list(self._compared(condition, ("==", "<", ">", "<=", ">=", "in", "is")))
        calls = [node for node in walk(condition) if node.type == "call"]
        if not edits and calls:
            edits = list(self._last(arguments_of(calls[0])))
        yield from edits

    def _compared(self, condition: Node, signs: tuple[str, ...]) -> Iterator[Edit]:
        for node in walk(condition, lambda node: node.type == "not_operator"):
            if node.type != "comparison_operator" or len(node.children) != 3:
                continue
            left, sign, right = node.children
            if sign.type not in signs:
                continue
            side = left if sign.type == "in" else expected_side(left, right)
            yield from self._changed(side, is_order=sign.type[0] in "<>")

    def _last(self, arguments: list[Node]) -> Iterator[Edit]:
        for argument in reversed(arguments):
            if literals := list(self._literals(argument)):
                yield from literals
                return

    def _call(self, unit: Node) -> Iterator[Edit]:
        """An assertion by a method or function, with other values in the place of those that are expected."""
        call = _call_of(unit)
        name = text_of(field(call, "function")).rpartition(".")[2]
        arguments = arguments_of(call)
        if "Raises" in name and len(arguments) > 1:
            yield replaced(arguments[1], "lambda *_, **__: None")
        elif _NEGATED.search(name) or not arguments:
            return
        elif len(arguments) == 1 or name == "assertTrue":
            yield from self._expected(arguments[0])
        elif name == "assertIn":
            yield from self._changed(arguments[0])
        elif _ORDER.search(name):
            yield from self._changed(arguments[1], is_order=True)
        else:
            yield from self._changed(expected_side(arguments[0], arguments[1]))

    def _guarded(self, context: Node) -> Iterator[Edit]:
        """An assertion at the end of a `with` that must leave it; where it does not, the test ends, and passes."""
        clause = _clause(context)
        body = field(context, "body")
        outer = _indent(context)
        inner = _indent(body.children[0]) if body is not None else ""
        if body is None or not outer or not inner:
            return
        first = clause.children[0]
        place = first.end_byte if first.type == "(" else first.start_byte
        guard = f"{self._helper}_guard"
        yield Edit(place, place, f"{guard}(), ", -9)
        end = f"\n{inner}assert False\n{outer}if {guard}.is_held: return"
        yield Edit(body.end_byte, body.end_byte, end, 8)

    def _strict(self, unit: Node, edits: list[Edit]) -> str:
        """The assertion with one other value at a time: where it holds, the test ends, and passes."""
        indent = _indent(unit)
        if not indent:
            return ""
        pieces = []
        for variant in variants(edits):
            if unit.type == "assert_statement":
                condition = edited_node(unit.named_children[0], variant)
                pieces.append(f"if ({condition}): return")
            elif unit.type == "if_statement":
                condition_node = field(unit, "condition")
                assert condition_node is not None
                pieces.append(f"if not ({edited_node(condition_node, variant)}): return")
            else:
                denied = f"except BaseException as error: {self._helper}_denied(error)"
                text = edited_node(unit, variant)
                pieces.append(f"try:\n{indent} {text}\n{indent}{denied}\n{indent}else: return")
        return f"\n{indent}".join(pieces)


def _is_assertion(node: Node) -> bool:
    if node.type == "assert_statement":
        return True
    if node.type == "with_statement":
        return bool(_RAISES.search(text_of(_clause(node))))
    if node.type == "if_statement":
        return bool(_FAILS.search(text_of(field(node, "consequence"))))
    call = _call_of(node)
    return call is not None and bool(_ASSERTION.search(text_of(field(call, "function"))))


def _clause(node: Node) -> Node:
    """The contexts of a `with`, which may begin with `async`."""
    return next(child for child in node.children if child.type == "with_clause")


def _context(unit: Node, test: Node) -> Node | None:
    """The outermost `with` of a test around an assertion that is none itself."""
    outermost = None
    node = unit.parent
    while node is not None and node != test:
        if node.type == "with_statement" and not _is_assertion(node):
            outermost = node
        node = node.parent
    return outermost


def _call_of(statement: Node) -> Node | None:
    """The call of a statement that is nothing else."""
    if statement.type != "expression_statement" or len(statement.named_children) != 1:
        return None
    value = statement.named_children[0]
    if value.type == "await":
        value = value.named_children[0]
    return value if value.type == "call" else None


def _is_in_test(node: Node) -> bool:
    function = function_of(node)
    while function is not None:
        if text_of(field(function, "name")).startswith("test"):
            return True
        function = function_of(function)
    return False


def _passes_by_failing(function: Node) -> bool:
    parent = function.parent
    if parent is None or parent.type != "decorated_definition":
        return False
    marks = [text_of(node) for node in parent.children if node.type == "decorator"]
    return bool(re.search(r"xfail|expectedfailure", " ".join(marks), re.IGNORECASE))


def _indent(node: Node) -> str:
    """The indent of a statement; "" where it is not the first of its line, or is not indented."""
    root = node
    while root.parent is not None:
        root = root.parent
    before = (root.text or b"")[: node.start_byte - root.start_byte]  # it begins after empty lines
    line = before.rpartition(b"\n")[2].decode()
    return line if not line.strip() else ""
