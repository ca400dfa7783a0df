"""Questions about default values of parameters and attributes, and about constants."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import NamedTuple

from tree_sitter import Node

from lensbench.core.tasks import Category, Criterion, Proof
from lensbench_tasks.mining.drafts import Draft, Item, grouped, shuffled
from lensbench_tasks.mining.patterns import place, valued
from lensbench_tasks.parsers.code import CALLABLES, Definition, text_of, walk
from lensbench_tasks.survey import Survey

_PARAMETER = {
    "default_parameter",
    "typed_default_parameter",
    "assignment_pattern",
    "required_parameter",
}
_NESTED = {
    "function_definition",
    "lambda",
    "arrow_function",
    "function_expression",
    "function_declaration",
    "block",
    "statement_block",
}
_ATTRIBUTE = {"assignment", "public_field_definition", "field_definition"}
_NUMBER = re.compile(r"\d+|\d+\.\d+|\d+(?:_\d{3})+")
_SWITCH = re.compile(r"(?i)true|false")
_TEXT = re.compile(r"([\"'])([A-Za-z][\w.:/ -]{1,30}[\w])\1")
_CONSTANT = re.compile(r"[a-zA-Z]+[A-Z_]\w+")
MAX_CONSTANT = 200


class _Value(NamedTuple):
    kind: str
    """parameter, attribute or constant"""
    name: str
    value: str
    of: Definition
    """The function or class that it belongs to, or the constant itself."""
    quote: str


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about five values each, from different files if there are enough."""
    clear = (
        value
        for file in survey.defined.values()
        for one in file
        for value in _values(one)
        if _is_clear(value, survey)
    )
    values = shuffled(clear, rng)
    apart = list(grouped(values, lambda a, b: _differ(a, b) and a.of.path != b.of.path))
    ids = {id(value) for group in apart for value in group}
    rest = [value for value in values if id(value) not in ids]
    for group in [*apart, *grouped(rest, _differ)]:
        yield Draft(
            Category.TARGETED,
            "Which value does the code itself give each of these, before a caller or a setting gives another one: "
            "{asked}? Name each value with the file that sets it.",
            tuple(_item(value, survey) for value in group),
        )


def _differ(one: _Value, other: _Value) -> bool:
    return one.name != other.name and one.value != other.value


def _is_clear(value: _Value, survey: Survey) -> bool:
    """True when the question is unambiguous, and the name does not give the value away."""
    same = [one for one in survey.by_name[value.of.name] if one.shown == value.of.shown]
    return len(same) == 1 and _letters(value.value) not in _letters(value.name)


def _letters(text: str) -> str:
    return re.sub(r"[\W_]", "", text).lower()


def _item(value: _Value, survey: Survey) -> Item:
    of, path = value.of, value.of.path
    owner = "" if value.kind == "constant" else f" of `{of.shown}`"
    plain = value.value[0].isdigit() or _SWITCH.fullmatch(value.value)
    literal = value.value if plain else f'"{value.value}"'
    within = of.shown if owner else ""
    return Item(
        Criterion(
            text=f"States that the {value.kind} `{value.name}`{owner} in {path} is {literal}",
            all_of=(valued(value.name, value.value), place(path, survey)),
            partial={"names the value": (valued(value.name, value.value),)},
            proofs=(Proof(file=path, quote=value.quote, within=within),),
        ),
        f"the {value.kind} `{value.name}`{owner}",
    )


def _values(one: Definition) -> Iterator[_Value]:
    if one.local:
        return
    if one.kind in CALLABLES:
        yield from (
            value for node in _parameters(one.node) if (value := _given("parameter", node, one))
        )
    elif one.kind == "class":
        yield from (
            value for node in _attributes(one.node) if (value := _given("attribute", node, one))
        )
    elif _is_constant(one) and (value := _given("constant", one.node, one)):
        yield value


def _is_constant(one: Definition) -> bool:
    if one.owner or len(one.text) > MAX_CONSTANT:
        return False
    return one.name.isupper() or (one.kind == "const" and bool(_CONSTANT.fullmatch(one.name)))


def _parameters(function: Node) -> Iterator[Node]:
    """The parameters with defaults of this function, without those of nested functions."""
    parameters = function.child_by_field_name("parameters")
    value = function.child_by_field_name("value")  # const f = (a = 1) => ...
    parameters = parameters or (value.child_by_field_name("parameters") if value else None)
    for node in parameters.named_children if parameters else ():
        if node.type in _PARAMETER and not any(inner.type in _NESTED for inner in walk(node)):
            yield node


def _attributes(node: Node) -> Iterator[Node]:
    """The fields set in the body of this class."""
    body = node.child_by_field_name("body")
    for statement in body.named_children if body else ():
        yield from (
            part for part in (statement, *statement.named_children[:1]) if part.type in _ATTRIBUTE
        )


def _given(kind: str, node: Node, of: Definition) -> _Value | None:
    names = (node.child_by_field_name(field) for field in ("name", "left", "pattern", "property"))
    values = (node.child_by_field_name(field) for field in ("value", "right"))
    name = text_of(next(filter(None, names), None))
    value = _plain(next(filter(None, values), None))
    return (
        _Value(kind, name, value, of, text_of(node))
        if value and re.fullmatch(r"[a-zA-Z_]\w{2,}", name)
        else None
    )


def _plain(value: Node | None) -> str:
    """The value as an answer would state it: a number, true or false, or a short text; "" for anything else."""
    if (
        value is not None and value.type == "expression_list" and len(value.named_children) == 1
    ):  # Go
        value = value.named_children[0]
    text = text_of(value)
    if _NUMBER.fullmatch(text):
        return text.replace("_", "")
    match = _TEXT.fullmatch(text)
    return match[2] if match else text if _SWITCH.fullmatch(text) else ""
