"""Questions about the origin of messages: the function that raises, warns or logs."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tree_sitter import Node

from lensbench.core.tasks import Category, Criterion, Proof
from lensbench_tasks.mining.drafts import Draft, Item, grouped, shuffled
from lensbench_tasks.mining.patterns import named, place
from lensbench_tasks.parsers.code import CALLABLES, Definition, text_of, walk
from lensbench_tasks.survey import Survey

_RAISES = {"raise_statement", "throw_statement", "throw_expression"}
_PIECES = {
    "string_content",
    "string_fragment",
    "interpreted_string_literal_content",
    "string_literal_content",
}
_MAKES = re.compile(
    r"(?:errors\.New|fmt\.Errorf|(?:.*\.)?(?:warn|warning|error|exception|critical))$"
)
_MACROS = {"panic", "bail", "anyhow", "ensure"}
_HOLES = re.compile(r"%[-+# 0]*[\d.*]*\w|\{[^{}]*\}|\\.|[\"`]|(?<!\w)'|'(?!\w)")
_READABLE = re.compile(r"[A-Za-z][A-Za-z0-9 ,.:;()/_'-]{14,88}[A-Za-z0-9).]")
MIN_WORDS = 3


class _Message(NamedTuple):
    text: str
    of: Definition


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about five messages each, from different functions."""
    everything = "\n".join(survey.texts[path] for path in survey.code)
    messages = [
        message
        for definitions in survey.defined.values()
        for one in definitions
        if one.kind in CALLABLES and not one.local
        for message in _messages(one, [other.node for other in definitions if other.local])
        if everything.count(message.text) == 1 and one.name not in message.text
    ]
    for group in grouped(
        shuffled(messages, rng), lambda a, b: a.of.shown != b.of.shown and a.text != b.text
    ):
        yield Draft(
            Category.DEBUG,
            "Users report errors and warnings with these words in them: {asked}. Which function or method does each "
            "of them come from, and in which file does that stand?",
            tuple(_item(message, survey) for message in group),
        )


def _item(message: _Message, survey: Survey) -> Item:
    of = message.of
    return Item(
        Criterion(
            text=f'States that `{of.shown}` in {of.path} gives the message "{message.text}"',
            all_of=(named(of, survey), place(of.path, survey)),
            partial={"names the file": (place(of.path, survey),)},
            proofs=(Proof(file=of.path, quote=message.text, within=of.shown),),
        ),
        f'"{message.text}"',
    )


def _messages(function: Definition, local: Sequence[Node]) -> Iterator[_Message]:
    """The messages of a function, without those of `local` functions inside it, which would be ambiguous."""
    for node in walk(function.node):
        if _is_error(node) and not any(
            one.start_byte <= node.start_byte < one.end_byte for one in local
        ):
            pieces = [text_of(inner) for inner in walk(node) if inner.type in _PIECES]
            parts = [part.strip() for piece in pieces for part in _HOLES.split(piece)]
            longest = max(
                (part for part in parts if _READABLE.fullmatch(part)), key=len, default=""
            )
            if len(longest.split()) >= MIN_WORDS:
                yield _Message(longest, function)


def _is_error(node: Node) -> bool:
    if node.type in ("call", "call_expression"):
        return bool(_MAKES.match(text_of(node.child_by_field_name("function"))))
    if node.type == "macro_invocation":
        return text_of(node.child_by_field_name("macro")) in _MACROS
    return node.type in _RAISES
