"""Other values in the place of those in a test: the same kind and length, deterministic, unlike for each task."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from lensbench.changes.syntax import Edit, replaced, text_of, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_NUMBERS = frozenset(
    ("integer", "float", "number", "int_literal", "float_literal", "integer_literal")
)
_TEXTS = frozenset(
    (
        "string_content",
        "string_fragment",
        "interpreted_string_literal_content",
        "raw_string_literal_content",
    )
)
_QUOTED = frozenset(
    ("string", "interpreted_string_literal", "raw_string_literal", "string_literal")
)
_TRUTHS = {"true": "false", "false": "true", "True": "False", "False": "True"}
_DECIMAL = re.compile(r"(\d[\d_]*)(.*)", re.DOTALL)
_DIGITS = re.compile(r"\d(?!\d)")
_LETTER = re.compile(r"\\.|[A-Za-z]")


MOST_VARIANTS = 6


def variants(edits: list[Edit]) -> list[list[Edit]]:
    """The edits one by one, so that an assertion about several values fails for each alone; all for an insertion."""
    alone = [[edit] for edit in edits if edit.end > edit.start]
    return alone[:MOST_VARIANTS] if len(alone) == len(edits) else [edits]


class OtherValues:
    """The values that a task's wrong copy has in the place of its own."""

    def __init__(self, salt: str, names: frozenset[str]) -> None:
        """`salt`: the tests, so that no code can know the values; `names`: texts that name a test."""
        digest = hashlib.sha256(salt.encode()).digest()
        self.step = 3 + digest[0] % 6
        self._names = names

    def number(self, text: str) -> str:
        """Another number, in the same notation."""
        if re.match(r"0[xXbBoO]", text):
            return text[:-1] + ("1" if text[-1] == "0" else "0")
        match = _DECIMAL.match(text)
        if not match:  # .5
            return f"{self.step}{text}"
        return f"{int(match[1].replace('_', '')) + self.step}{match[2]}"

    def text(self, text: str) -> str:
        """Another text of the same length, with other numbers; without a number, with another last letter."""
        if _DIGITS.search(text):
            return _DIGITS.sub(lambda digit: str((int(digit[0]) + self.step) % 10), text)
        letters = [match for match in _LETTER.finditer(text) if match[0][0] != "\\"]
        if not letters:
            return f"{text}x"
        place = letters[-1].start()
        letter = letters[-1][0]
        first = ord("a" if letter.islower() else "A")
        other = chr((ord(letter) - first + self.step) % 26 + first)
        return text[:place] + other + text[place + 1 :]

    def edits(self, node: Node, is_closed: Callable[[Node], bool]) -> Iterator[Edit]:
        """The edits of all literals at or below a node, without those below closed nodes."""
        for each in walk(node, is_closed):
            text = text_of(each)
            if each.type in _NUMBERS:
                yield replaced(each, self.number(text))
            elif each.type in _TEXTS and text not in self._names:
                yield replaced(each, self.text(text))
            elif each.type in _QUOTED and not any(
                child.type in _TEXTS or child.type == "interpolation" for child in each.children
            ):
                yield from self._filled(each)
            elif text in _TRUTHS and not each.children:
                yield replaced(each, _TRUTHS[text])

    def _filled(self, node: Node) -> Iterator[Edit]:
        """An empty text gets a letter."""
        if len(node.children) == 2 and node.children[0].end_byte == node.children[1].start_byte:
            yield Edit(node.children[1].start_byte, node.children[1].start_byte, "x")


class WrongTests:
    """The edits of a test file in a language where a value can claim to equal others."""

    truth: str
    nothing: tuple[str, ...]
    """What stands for no value, which stays."""

    def __init__(self, values: OtherValues, helper: str) -> None:
        self._values = values
        self._helper = helper

    def _is_access(self, node: Node) -> bool:
        raise NotImplementedError

    def _literals(self, node: Node) -> Iterator[Edit]:
        return self._values.edits(node, self._is_access)

    def _changed(self, side: Node, is_order: bool = False) -> Iterator[Edit]:
        """A side with other literals; one without any, or in an order, becomes another value while the test runs."""
        literals = [] if is_order else list(self._literals(side))
        if literals:
            yield from literals
        elif text_of(side) not in self.nothing:
            yield Edit(side.start_byte, side.start_byte, f"{self._helper}(", -1)
            more = f", {self.truth})" if is_order else ")"
            yield Edit(side.end_byte, side.end_byte, more, 1)
