"""The pieces of a criterion that an answer can be searched for: code, names, paths, numbers, proper nouns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lensbench.judging.judges.normalising import FILE_EXTENSIONS

MAX_PIECE = 60
"""Characters; nobody repeats a longer one word for word."""
NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")

_ENDINGS = "|".join(sorted(FILE_EXTENSIONS, key=len, reverse=True))
_FILE = rf"(?:[\w.@-]+/)*[\w@-][\w.@-]*\.(?:{_ENDINGS})(?![\w/]|\.\w)"
_FOLDER = r"(?:[\w.@-]+/){2,}[\w.@-]*\w|(?:[\w.@-]+/)+(?!\w)"
_SETTING = r"[A-Za-z_]\w* ?= ?(?:True|False|None)\b"
_NAME = r"(?:[A-Za-z_]\w*\.)+[A-Za-z_]\w*|[A-Za-z]*_\w+|[A-Za-z]\w*[a-z0-9][A-Z]\w*|[A-Z]{2,}[a-z]\w*"
_WORD = r"[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*|[A-Z][a-z]+(?:-[A-Z][a-z]*)+|[A-Z][a-z]{3,}"
_PIECE = re.compile(
    r"(?P<code>`[^`]+`)|(?<!\w)(?P<quote>\"[^\"\n]{2,60}\"|\u201c[^\u201d\n]{2,60}\u201d)"
    rf"|(?<![\w/.])(?:(?P<file>{_FILE})|(?P<folder>{_FOLDER})|(?P<setting>{_SETTING})|(?P<name>{_NAME}))"
    rf"|(?<![\w.-])(?:(?P<number>\d+(?:[,_]\d{{3}})*(?:\.\d+)?)(?![\w-]|\.\d)|(?P<word>{_WORD})(?!\w))"
)
_EXAMPLES = re.compile(
    r"\((?:e\.g\.|like|such as|for example|as in)[^)]*\)"
    r"|\b(?:e\.g\.|such as|for example),? [^\s,;)]+(?:(?:, and|, or|,| and| or) [^\s,;)]+)*"
)
_ASIDE = re.compile(r"\([^()]*(?:\([^()]*\)[^()]*)*\)")
_DOTTED = re.compile(r"[\w.]+")
_TELLING = re.compile(r"\w_|_\w|[a-z][A-Z]")


@dataclass(frozen=True)
class Piece:
    """A piece of a criterion; `kind` is file, folder, setting, name, code, quote, number or word (a proper noun).

    `aside` when it stands in brackets, which means that it explains something else.
    """

    kind: str
    text: str
    start: int
    end: int
    aside: bool

    @property
    def parts(self) -> list[str]:
        """A dotted name as its owner and its last part; anything else as one part."""
        return self.text.rsplit(".", 1) if self.kind == "name" and _DOTTED.fullmatch(self.text) else [self.text]

    @property
    def vague(self) -> bool:
        """Its last part could be anybody's: `Context.call`, or `append` marked as code."""
        plain = len(self.parts) == 2 or (self.text.isalpha() and self.text.islower())
        return self.kind in ("name", "code") and plain and not _TELLING.search(self.parts[-1])

    @property
    def large(self) -> bool:
        """A number that hardly stands beside a word by chance."""
        return float(plain_digits(self.text)) > len(NUMERALS)


def plain_digits(number: str) -> str:
    """A number without the marks between its thousands."""
    return re.sub("[,_]", "", number)


def without_examples(text: str) -> str:
    """The text with blanks where it gives examples, so that places stay."""
    return _EXAMPLES.sub(lambda example: " " * len(example[0]), text)


def cut(text: str) -> list[Piece]:
    """The pieces in their order, each name once. A capital at the beginning of the text makes no proper noun."""
    asides = [found.span() for found in _ASIDE.finditer(text)]
    pieces: list[Piece] = []
    for kind, shown, start, end in _found(text):
        known = kind != "number" and any(piece.text == shown for piece in pieces)
        first_word = kind == "word" and not text[:start].strip(" `*")
        tells = any(map(str.isalnum, shown)) and len(shown) <= MAX_PIECE
        if tells and not known and not first_word:
            kind = "name" if kind == "word" and "-" in shown else kind
            pieces.append(Piece(kind, shown, start, end, any(a < start < b for a, b in asides)))
    return pieces


def _found(text: str, offset: int = 0) -> Iterator[tuple[str, str, int, int]]:
    for found in _PIECE.finditer(text):
        start, end = found.start() + offset, found.end() + offset
        if found.lastgroup != "code":
            yield found.lastgroup or "", found[0].strip('"\u201c\u201d').rstrip("/"), start, end
            continue
        code = found[0][1:-1]
        inner = list(_found(code, start + 1))
        if "/" in code and "(" not in code and not (inner and inner[0][0] == "file"):
            yield "folder", code.strip().rstrip("/"), start, end
        elif inner and inner[0][0] != "word":
            yield from inner
        else:
            yield "code", code.strip().removesuffix("()"), start, end
