"""Splits a fact into the pieces that wrong answers get wrong: paths, names, numbers and code."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lensbench.core.names import LETTERS
from lensbench.core.tasks import MAX_PATTERN_LENGTH, Pattern, Regex
from lensbench.judging.judges.normalising import FILE_EXTENSIONS

_ENDINGS = "|".join(sorted(FILE_EXTENSIONS, key=len, reverse=True))
_W = f"[{LETTERS}]"
_FILE = (
    rf"(?:[{LETTERS}.@-]+/)*+[{LETTERS}@-][{LETTERS}.@-]*\.(?:{_ENDINGS})(?![{LETTERS}/]|\.{_W})"
)
_FOLDER = (
    rf"/?(?:[{LETTERS}.@-]+/){{2,}}[{LETTERS}.@-]*{_W}|/?(?:[{LETTERS}.@-]+/)+(?!{_W})"
    rf"|/{_W}[{LETTERS}-]*(?!{_W})"
)
_NAME = (
    rf"(?:(?!\d){_W}+(?:\.|::|\#))+(?!\d){_W}+|(?!\d)(?:(?!_){_W})*_{_W}+|(?!\d){_W}+[a-z0-9][A-Z]{_W}*"
    rf"|[A-Z]{{2,}}[a-z]{_W}*|--[a-z][{LETTERS}-]+|[A-Za-z]+[0-9]+[A-Za-z]{_W}*|[A-Z][a-z]+(?:-[A-Z][a-z]*)+"
)
_NUMBER = r"(?:0x[0-9a-fA-F]+|\d++(?:[,_]\d{3})*+(?:\.\d+)*+)[a-zA-Z%]{0,2}(?!\w)"
# no piece starts inside a word, a path or a number, so that the time is linear in the length of the text
_PIECE = re.compile(
    rf"`(?P<code>[^`]+)`"
    rf"|(?<![{LETTERS}/.@-])(?:(?P<file>{_FILE})|(?P<folder>{_FOLDER})|(?P<name>{_NAME}))"
    rf"|(?<![\w.-])(?<!\d,)(?P<number>{_NUMBER})",
    re.ASCII,
)
_EXAMPLES = re.compile(
    r"\((?:e\.g\.|like|such as|for example|as in)[^()]*\)"
    r"|\b(?:e\.g\.|such as|for example),? [^\s,;)]+(?:(?:, and|, or|,| and| or) [^\s,;)]+)*"
)
_LINES = re.compile(
    r"(?i)\blines? \d+(?: ?(?:-|\u2013|to|and) ?\d+)?|(?<=\w):\d+(?:-\d+)?\b|#?\bL\d+(?:-L?\d+)?\b"
)
_VALUES = frozenset({"True", "False", "None", "NULL", "null", "nil", "undefined", "true", "false"})
_LONGEST = 200
_WORD = re.compile(
    r"(?<![\w'/.-])(?!(?i:that|this|with|from|true|false|none|null|must|states?|says?|names?|gives?|shows?"
    r"|mentions?|identif\w+)\b)[^\W\d_]{4,60}(?![\w'/-]|\.\w)"
)

_SUFFIX = re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$")


@dataclass(frozen=True)
class Piece:
    """A piece of a fact. `kind` is file, folder, name, code or number."""

    kind: str
    text: str

    @property
    def parts(self) -> list[str]:
        """Owner and last part of a dotted name; anything else as one part."""
        parts = re.split(r"\.|::|#", self.text) if self.kind == "name" else [self.text]
        return parts[-2:] if all(parts) else [self.text]


def cut(text: str) -> list[Piece]:
    """The pieces in order, each once; without examples (not required) and line numbers (not stable)."""
    for pattern in (_EXAMPLES, _LINES):
        text = pattern.sub(" ", text)
    return list(dict.fromkeys(_pieces(text)))


def pattern_of(piece: Piece) -> Pattern:
    """A piece as written; a file also by the end of its path, but by no other path."""
    text = piece.text
    *owner, name = piece.parts
    if owner and re.search(r"\w_|_\w|[a-z][A-Z]", name):
        owners = rf"(?:[a-z_]\w*[.:#]+|{re.escape(owner[0])}[.:#]+)"
        return Regex(regex=rf"(?:^|[^\w/]){owners}?{re.escape(name)}\b")
    if piece.kind != "file" or "/" not in text:
        return text
    depths = range(1, text.count("/") + 1)
    tails = "|".join(re.escape(text.split("/", depth)[-1]) for depth in depths)
    regex = rf"(?:^|[^\w.-]){re.escape(text)}\b|(?:^|[^\w./-])(?:{tails})\b"
    return Regex(regex=regex) if len(regex) <= MAX_PATTERN_LENGTH else text


def words(text: str) -> list[Regex]:
    """The words of a fact in any inflection, each once, without its pieces and the order to a judge (`States that`)."""
    tokens = _WORD.findall(_PIECE.sub(" ", text))
    return [
        Regex(regex=rf"(?i)\b{stem}\w*(?:[^\w./]|\.\W|\.?$)")
        for stem in dict.fromkeys(_SUFFIX.sub("", word) for word in tokens)
    ]


def _pieces(text: str) -> Iterator[Piece]:
    for match in _PIECE.finditer(text):
        kind = match.lastgroup or ""
        value = match[kind].strip()
        if kind == "code":
            value = value.removesuffix("()")
            is_prose = re.search(r"\s", value) and "/" not in value
            parts = list(_pieces(value)) if is_prose else []
            if parts:
                yield from parts
                continue
            inner = _PIECE.fullmatch(value)
            if inner:
                kind = inner.lastgroup or ""
        value = value.rstrip("/") or value
        if any(map(str.isalnum, value)) and len(value) <= _LONGEST and value not in _VALUES:
            yield Piece(kind, value)
