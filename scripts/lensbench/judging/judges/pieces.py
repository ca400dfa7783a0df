"""Splits a criterion into searchable pieces: code, names, paths, numbers, quoted text, words.

An answer must state each hard piece, because these are what wrong answers get wrong. The stems of the other words are
soft: a share of them shows that the answer is about the same subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lensbench.judging.judges.normalising import FILE_EXTENSIONS

MAX_PIECE = 60
"""The maximum length of a quote; longer ones are rarely repeated word for word."""
UNITS: tuple[tuple[str, str], ...] = (
    ("ms", "ms|msecs?|milliseconds?"), ("s", "s|secs?|seconds?"), ("min", "m|mins?|minutes?"), ("h", "h|hrs?|hours?"),
    ("d", "d|days?"), ("b", "b|bytes?"), ("kb", "k|ki?b|kilobytes?|kibibytes?"), ("mb", "m|mi?b|megabytes?|mebibytes?"),
    ("gb", "g|gi?b|gigabytes?|gibibytes?"), ("%", "%|percent|per cent"), ("px", "px|pixels?"),
)  # fmt: skip
"""Units, by name, with their spellings."""

_ENDINGS = "|".join(sorted(FILE_EXTENSIONS, key=len, reverse=True))
_FILE = rf"(?:[\w.@-]+/)*[\w@-][\w.@-]*\.(?:{_ENDINGS})(?![\w/]|\.\w)"
_FOLDER = r"(?:[\w.@-]+/){2,}[\w.@-]*\w|(?:[\w.@-]+/)+(?!\w)"
_VALUE = r"True|False|None|NULL|null|nil|undefined|true|false"
_SETTING = rf"[A-Za-z_]\w* ?= ?(?:{_VALUE})\b"
_NAME = (
    r"(?:[A-Za-z_]\w*(?:\.|::|\#))+[A-Za-z_]\w*|[A-Za-z]*_\w+|[A-Za-z]\w*[a-z0-9][A-Z]\w*|[A-Z]{2,}[a-z]\w*"
    r"|--[a-z][\w-]+|[A-Za-z]+[0-9]+[A-Za-z]\w*"
)
_WORD = r"[A-Z][A-Z0-9]+(?:-[A-Z0-9]+)*|[A-Z][a-z]+(?:-[A-Z][a-z]*)+|[A-Z][a-z]{2,}"
_UNIT = "|".join(ways for _, ways in UNITS)
_PIECE = re.compile(
    r"(?P<code>`[^`]+`)|(?<!\w)(?P<quote>\"[^\"\n]{2,60}\"|\u201c[^\u201d\n]{2,60}\u201d|'[^'\n]{2,60}'(?!\w))"
    rf"|(?<![\w/.-])(?:(?P<file>{_FILE})|(?P<folder>{_FOLDER})|(?P<setting>{_SETTING})|(?P<name>{_NAME}))"
    rf"|(?<![\w.-])(?:(?P<number>(?:0x[0-9a-fA-F]+|\d+(?:[,_]\d{{3}})*(?:\.\d+)*)(?: ?(?i:{_UNIT})(?!\w))?)(?!\w)"
    rf"|(?P<value>{_VALUE})(?!\w)|(?P<word>{_WORD})(?!\w))",
    re.ASCII,
)
_EXAMPLES = re.compile(
    r"\((?:e\.g\.|like|such as|for example|as in)[^)]*\)"
    r"|\b(?:e\.g\.|such as|for example),? [^\s,;)]+(?:(?:, and|, or|,| and| or) [^\s,;)]+)*"
)
_LINES = re.compile(r"(?i)\blines? \d+(?: ?(?:-|\u2013|to|and) ?\d+)?|(?<=\w):\d+(?:-\d+)?\b|#?\bL\d+(?:-L?\d+)?\b")
_SENTENCE = re.compile(r"(?:^|[.!?:]\s+|^\d+[.)]\s+|^States that |^Must (?:\w+ )?)$")
_GENERIC_FILES = frozenset(("__init__", "index", "mod", "main", "lib", "setup", "conftest", "__main__"))
_TELLING = re.compile(r"\w_|_\w|[a-z][A-Z]")


@dataclass(frozen=True)
class Piece:
    """A piece of a criterion.

    `kind` is file, folder, setting, name, code, quote, number, value or word (a proper noun).
    """

    kind: str
    text: str
    start: int
    end: int

    @property
    def parts(self) -> list[str]:
        """Owner and last part of a dotted name; anything else as one part."""
        found = re.split(r"\.|::|#", self.text) if self.kind == "name" else [self.text]
        return found[-2:] if all(found) else [self.text]

    @property
    def vague(self) -> bool:
        """True when the last part is not distinctive: `Context.call`, `Cart.__init__`."""
        last = self.parts[-1]
        return len(self.parts) == 2 and (not _TELLING.search(last) or last.startswith("__"))

    @property
    def generic(self) -> bool:
        """True for a file name that many folders have."""
        return self.kind == "file" and self.text.rsplit("/", 1)[-1].split(".")[0] in _GENERIC_FILES


def without_examples(text: str) -> str:
    """The text with examples (not required) and line numbers (not stable) blanked out; positions are kept."""
    for pattern in (_EXAMPLES, _LINES):
        text = pattern.sub(lambda found: " " * len(found[0]), text)
    return text


def cut(text: str) -> list[Piece]:
    """The hard pieces in order, each name once. A capital at the start of a sentence does not mark a proper noun."""
    pieces: list[Piece] = []
    for kind, shown, start, end in _found(text):
        known = kind not in ("number", "value") and any(piece.text == shown for piece in pieces)
        before = text[:start].rstrip(" `*")
        first_word = kind == "word" and shown[1:].islower() and _SENTENCE.search(before and f"{before} ")
        tells = any(map(str.isalnum, shown)) and len(shown) <= MAX_PIECE
        if tells and not known and not first_word and shown not in _NO_NOUNS:
            kind = "name" if kind == "word" and "-" in shown else kind
            pieces.append(Piece(kind, shown, start, end))
    return pieces


_NO_NOUNS = frozenset(
    [
        "Must",
        "The",
        "This",
        "That",
        "These",
        "When",
        "Where",
        "Which",
        "And",
        "But",
        "For",
        "States",
        "Says",
        "Shows",
        "Names",
        "All",
        "Each",
    ]
)


def _found(text: str, offset: int = 0) -> Iterator[tuple[str, str, int, int]]:
    for found in _PIECE.finditer(text):
        start, end = found.start() + offset, found.end() + offset
        if found.lastgroup != "code":
            yield found.lastgroup or "", found[0].strip("'\"\u201c\u201d").rstrip("/"), start, end
            continue
        code = found[0][1:-1]
        inner = list(_found(code, start + 1))
        if "/" in code and "(" not in code and not (inner and inner[0][0] == "file"):
            yield "folder", code.strip().rstrip("/"), start, end
        elif inner and inner[0][0] != "word":
            yield from inner
        else:
            yield "code", code.strip().removesuffix("()"), start, end


_PLAIN_WORDS = """
    about above after again against also another anything attribute because been before begin begins being below
    between both by call called caller calls can case class code come comes constant could default define defined
    defines derive derives does done down each either else even ever every example exist file files first folder
    folders from function functions give given gives have hence here identify import imported imports inherit inherits
    inside instead into
    itself just keep last like make makes many mention mentions method methods module more most must name names near
    need needs never next none nothing once only onto other others otherwise over parameter part pass passes place
    project raise raises same says second shall should show shows since some something state states still such take
    takes than that their them then there these they thing this those through trace under until upon used uses using
    value very what when where whether which while whose will with within without would your"""
_STOPS = frozenset(_PLAIN_WORDS.split())
_SUFFIX = re.compile(r"(?:ations?|ingly|ings?|edly|ed|ies|es|ments?|ers?|ors?|ly|ions?|s)$")


def stem(word: str) -> str:
    """The common stem of a word's inflections with at least four letters, else the word."""
    cutted = _SUFFIX.sub("", word)
    kept = cutted if len(cutted) >= 4 else word
    kept = kept[:-1] if len(kept) > 4 and kept[-1] == kept[-2] else kept
    return kept[:-1] if len(kept) > 4 and kept[-1] in "eyi" else kept


def stems(text: str, pieces: list[Piece]) -> list[str]:
    """The stems of meaningful words outside of `pieces`, in order, each once."""
    for piece in pieces:
        text = text[: piece.start] + " " * (piece.end - piece.start) + text[piece.end :]
    words = (word for word in re.findall(r"(?<![\w'])[a-z]{4,}(?![\w'])", text, re.ASCII) if word not in _STOPS)
    return list(dict.fromkeys(map(stem, words)))
