"""Wrong copies of tests in JavaScript and TypeScript: node:test, assert, chai, expect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from lensbench.changes.other_values import OtherValues, WrongTests, variants
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

_TEST = re.compile(r"(?=(?:\w+\.)*?(?:test|it|specify)(?!\w))\w+(?:\.\w+)*+(?:\(.*\))?", re.DOTALL)
_SUITE = re.compile(
    r"(?=(?:\w+\.)*?(?:describe|suite|context)(?!\w))\w+(?:\.\w+)*+(?:\(.*\))?", re.DOTALL
)
_ASSERTION = re.compile(
    r"\b(assert|expect|should|check|verify|ensure|same|equals?|agree|compare)\w*\b"
    r"|^t\.(?!test|plan|after|before|mock|diagnostic|end|context|comment|skip|todo|log|teardown|timeout)",
    re.IGNORECASE,
)
_NEGATED = re.compile(r"\.not\b|^not|doesNot|^isNot|ifError|^fail$|^isFalse$|^false$|^notOk$")
_THROWS = re.compile(r"throw|rejects", re.IGNORECASE)
_HOLDS = re.compile(r"ok|assert|isTrue|true|truthy|isOk|exists?", re.IGNORECASE)
_ORDER = re.compile(r"Greater|Less|above|below|least|most|within|CloseTo", re.IGNORECASE)
_FUNCTIONS = ("arrow_function", "function_expression", "function", "function_declaration")
_HELPER = """
function {name}(value{type}, isOrder{type} = false){type} {{
  if (isOrder && typeof value === 'number') return NaN;
  if (typeof value === 'number') return value + {step} === value ? {step} : value + {step};
  if (typeof value === 'bigint') return value + BigInt({step});
  if (typeof value === 'string') return `${{value}}x`;
  if (typeof value === 'boolean') return !value;
  if (value instanceof RegExp) return new RegExp(`${{value.source}}x$^`);
  if (value instanceof Date) return new Date(+value + {step});
  if (Array.isArray(value)) return value.length ? value.map((part{type}) => {name}(part)) : [{step}];
  const keys = value && value.constructor === Object ? Object.keys(value) : [];
  return keys.length ? Object.fromEntries(keys.map((key{type}) => [key, {name}(value[key])])) : {{ x: {step} }};
}}
function {name}_denied(error{type}){type} {{
  const words = error ? `${{error.name}} ${{error.code}} ${{error.message}}` : '';
  if (!/assert|expect/i.test(words)) throw error;
  return false;
}}
"""
"""Another value of the same kind, and whether an error is that of an assertion."""
_NONE_HELD = (
    "throw Object.assign(Error('not equal'), { name: 'AssertionError', code: 'ERR_ASSERTION' });"
)


class WrongScript(WrongTests):
    """The edits of a test file."""

    truth = "true"
    nothing = ("null", "undefined")

    def __init__(self, values: OtherValues, helper: str, is_typed: bool) -> None:
        super().__init__(values, helper)
        self._is_typed = is_typed

    @property
    def helpers(self) -> str:
        """What the edited text needs at its end."""
        annotation = ": any" if self._is_typed else ""
        return _HELPER.format(name=self._helper, step=self._values.step, type=annotation)

    def tests(self, root: Node) -> Iterator[tuple[Node, str]]:
        """The calls that define tests and no others, with the names; "" for one that is computed."""
        for node in walk(root):
            if _is_named(node, _TEST) and not any(
                each != node and _is_named(each, _TEST) for each in walk(node)
            ):
                yield node, _name(node)

    def edits(self, test: Node, kind: CopyKind) -> Iterator[Edit]:
        """The edits of a test for a kind of copy."""
        functions = [node for node in arguments_of(test) if node.type in _FUNCTIONS]
        body = field(functions[-1], "body") if functions else None
        if body is None:
            return
        units = [node for node in walk(body) if _is_assertion(node)]
        if kind is CopyKind.EVERYTHING:
            yield from self._literals(body)
        held = f"{self._helper}_held"
        count = 0
        begun: list[Edit] = []
        for unit in units:
            edits = list(self._unit(unit, kind))
            is_own = unit.type == "expression_statement" and function_of(unit) == functions[-1]
            if kind is CopyKind.EACH and edits and is_own:
                count += 1
                yield replaced(unit, self._strict(unit, edits))
                continue
            if edits and unit.parent is not None and unit.parent.type == "statement_block":
                begin = f"{held} = true; "
                begun.append(Edit(unit.start_byte, unit.start_byte, begin, -9))
            yield from edits
        if count and body.type == "statement_block":
            # one in a callback that begins and does not end the test holds, or the program caught it
            yield from begun
            yield Edit(body.start_byte + 1, body.start_byte + 1, f" let {held} = false;", -9)
            last = body.end_byte - 1
            yield Edit(last, last, f"\nif (!{held}) {{ {_NONE_HELD} }}", 9)

    def helper_edits(self, root: Node) -> Iterator[Edit]:
        """The edits of functions that tests call."""
        for node in walk(root, lambda node: _is_named(node, _TEST)):
            if _is_assertion(node):
                yield from self._unit(node, CopyKind.EXPECTED)

    def _is_access(self, node: Node) -> bool:
        """What says where a value is: a key, an index, a module, the name of a test."""
        parent = node.parent
        if parent is None:
            return False
        if parent.type == "subscript_expression":
            return node == field(parent, "index")
        if parent.type == "pair":
            return node == field(parent, "key")
        if parent.type == "arguments" and parent.parent is not None:
            function = text_of(field(parent.parent, "function"))
            is_first = node in parent.named_children[:1]
            return function in ("require", "import") or (
                is_first and bool(_TEST.fullmatch(function) or _SUITE.fullmatch(function))
            )
        return node.type == "import_statement"

    def _unit(self, unit: Node, kind: CopyKind) -> Iterator[Edit]:
        expression = _expression(unit)
        call = _last_call(expression)
        if call is not None and (edits := list(_not_thrown(call))):
            yield from edits
        elif kind in (CopyKind.EVERYTHING, CopyKind.ASSERTIONS):
            if kind is CopyKind.ASSERTIONS:
                yield from self._literals(unit)
        elif call is None or call != expression:  # expect(a).to.be.true
            if not re.search(r"\.not\b", text_of(expression)):
                yield from self._values.edits(expression.children[-1], lambda _: False)
        else:
            yield from self._call(call)

    def _call(self, call: Node) -> Iterator[Edit]:
        """An assertion with other values in the place of those that are expected."""
        function = text_of(field(call, "function"))
        method = function.rpartition(".")[2]
        arguments = arguments_of(call)
        if _NEGATED.search(method) or re.search(r"\.not\b", function):
            return
        is_chain = "(" in function or ".should" in function
        if is_chain and arguments:
            yield from self._changed(arguments[0], bool(_ORDER.search(method)))
        elif is_chain:
            yield from self._expected(arguments_of(_first_call(call)))
        elif len(arguments) == 1 or _HOLDS.fullmatch(method):
            yield from self._expected(arguments[:1])
        elif arguments:
            side = expected_side(arguments[0], arguments[1])
            yield from self._changed(side, bool(_ORDER.search(method)))

    def _expected(self, conditions: list[Node]) -> Iterator[Edit]:
        """Other values in all comparisons of a condition; without one, in the arguments of its calls."""
        for condition in conditions:
            edits = list(self._compared(condition))
            if not edits:
                for call in walk(condition):
                    if call.type == "call_expression":
                        edits += list(self._literals_of(call))
            yield from edits

    def _literals_of(self, call: Node) -> Iterator[Edit]:
        for argument in arguments_of(call):
            if argument.type not in _FUNCTIONS and argument.type != "call_expression":
                if argument.type == "regex":
                    yield from self._changed(argument)
                else:
                    yield from self._literals(argument)

    def _compared(self, condition: Node) -> Iterator[Edit]:
        for node in walk(condition, lambda node: node.type == "unary_expression"):
            left = field(node, "left")
            right = field(node, "right")
            sign = text_of(field(node, "operator"))
            if left is None or right is None or sign not in ("===", "==", "<", ">", "<=", ">="):
                continue
            yield from self._changed(expected_side(left, right), is_order=sign[0] in "<>")

    def _strict(self, unit: Node, edits: list[Edit]) -> str:
        """The assertion with one other value at a time; the test passes where one holds."""
        held = f"{self._helper}_held"
        pieces: list[str] = []
        for variant in variants(edits):
            text = edited_node(unit, variant)
            pieces.append(
                f"{{ let is_{held} = true; try {{ {text}\n}} catch (error) {{"
                f" is_{held} = {self._helper}_denied(error); }} if (is_{held}) {held} = true; }}"
            )
        return " ".join(pieces)


def _is_named(node: Node, form: re.Pattern[str]) -> bool:
    """True for a call that defines a test or suite with a function."""
    if node.type != "call_expression" or not form.fullmatch(text_of(field(node, "function"))):
        return False
    return any(argument.type in _FUNCTIONS for argument in arguments_of(node))


def _name(call: Node) -> str:
    """A pattern of the test's names."""
    first = next(iter(arguments_of(call)), None)
    if first is None or first.type not in ("string", "template_string"):
        return ""
    pieces = []
    for child in first.children[1:-1]:
        is_text = child.type in ("string_fragment", "escape_sequence")
        pieces.append(re.escape(text_of(child).removeprefix("\\")) if is_text else ".*")
    return re.sub(r"%(\\?)[a-z]", ".*", "".join(pieces))


def _expression(unit: Node) -> Node:
    """The expression of a statement, without `await` and `return`."""
    while unit.type in ("expression_statement", "return_statement", "await_expression"):
        if not unit.named_children:
            break
        unit = unit.named_children[0]
    return unit


def _is_assertion(node: Node) -> bool:
    is_body = node.parent is not None and node.parent.type == "arrow_function"
    if node.type not in ("expression_statement", "return_statement") and not (
        is_body and node.type in ("call_expression", "await_expression")
    ):
        return False
    expression = _expression(node)
    if expression.type == "call_expression":
        return bool(_ASSERTION.search(text_of(field(expression, "function"))))
    if expression.type == "member_expression":
        return bool(re.search(r"\b(expect|should|assert)\b", text_of(expression)))
    return False


def _last_call(expression: Node) -> Node | None:
    """The outermost call of a chain."""
    node: Node | None = expression
    while node is not None and node.type == "member_expression":
        node = field(node, "object")
    return node if node is not None and node.type == "call_expression" else None


def _first_call(call: Node) -> Node | None:
    """The call at the beginning of a chain, such as `expect(value)`."""
    found = None
    node = field(call, "function")
    while node is not None:
        if node.type == "call_expression":
            found = node
            node = field(node, "function")
        elif node.type == "member_expression":
            node = field(node, "object")
        else:
            break
    return found


def _not_thrown(call: Node) -> Iterator[Edit]:
    """The edits of an assertion that something is thrown: nothing is."""
    function = text_of(field(call, "function"))
    method = function.rpartition(".")[2]
    if re.search(r"\.not\b|doesNot", function) or not _THROWS.search(function):
        return
    first = _first_call(call)
    if ".rejects" in function and first is not None and arguments_of(first):
        yield replaced(arguments_of(first)[0], "Promise.resolve()")
    elif first is not None and arguments_of(first) and _THROWS.search(method):
        yield replaced(arguments_of(first)[0], "() => {}")
    elif first is None and arguments_of(call) and _THROWS.search(method):
        is_later = bool(re.search(r"rejects|async", method, re.IGNORECASE))
        yield replaced(arguments_of(call)[0], "async () => {}" if is_later else "() => {}")
