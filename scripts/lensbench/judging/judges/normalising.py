"""Normalises the spelling of answers for matching, in linear time. Every step replaces a character by another one, or
by a filler that the last step removes, so offsets into the original follow from the fillers alone."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from lensbench.core.names import END, LETTERS

FILE_EXTENSIONS = frozenset(
    Path(__file__).with_name("file_extensions.txt").read_text(encoding="utf-8").split()
)
"""Extensions that make a dotted name a file name."""

FILLER = "\0"
_WIDE_PUNCTUATION = "\uff01\uff0c\uff1b\uff1f"
"""Full-width marks that end clauses and sentences without a blank: not the marks of code."""


def _one_to_one() -> dict[str, str]:
    """The character replacements; invisible characters are removed."""
    groups = {
        " ": "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u200a\u205f\u3000",
        "\n": "\u0085\u2028\u2029",
        "'": "\u2018\u2019\u201a\u201b\u2032\u02bc\uff07",
        '"': "\u201c\u201d\u201e\u201f\u2033\uff02",
        "-": "\u2010\u2011\u2012\u2013\u2212\u2043\ufe58\ufe63\uff0d",
        FILLER: "\u00ad\u034f\u061c\u180e\u200b\u200c\u200d\u200e\u200f\u202a\u202b\u202c\u202d\u202e"
        "\u2060\u2061\u2062\u2063\u2064\u2066\u2067\u2068\u2069\u206a\u206b\u206c\u206d\u206e\u206f"
        "\ufe00\ufe01\ufe02\ufe03\ufe04\ufe05\ufe06\ufe07\ufe08\ufe09\ufe0a\ufe0b\ufe0c\ufe0d\ufe0e\ufe0f\ufeff",
    }
    table = {chr(code): chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}
    for target, characters in groups.items():
        table |= dict.fromkeys(characters, target)
    for mark in _WIDE_PUNCTUATION:
        del table[mark]
    return table


_TABLE = _one_to_one()
_SPECIAL = re.compile(f"[{''.join(_TABLE)}]")
# Separate, because one rare plane in the set above makes it slow.
_INVISIBLE_TAG = re.compile("[\U000e0000-\U000e01ef]")
_COLOUR = re.compile(r"\x1b\[[0-9;:?]*+[A-Za-z]")
_THIN = "\u2009\u202f"

_OPEN_COMMENT = re.compile(r"^ {0,3}<!--", re.MULTILINE)
_MARKDOWN_COMMENT = re.compile(
    r"^ {0,3}\[[^\]\n]{0,99}\]: {0,9}(?:#|<>)(?![^\s(\"']).*$", re.MULTILINE
)
_STRUCK = re.compile(
    r"(?<!~)~~(?![\s~])(?:[^~\n]|~(?!~)|\n(?![ ]{0,9}\n))*~~(?!~)|<(s|del|strike)>[^<]*</\1>",
    re.IGNORECASE,
)
_EMPHASIS = re.compile(
    rf"`[^`\n]*+`|(?<![{LETTERS}*])(\*{{1,3}})(?=[\w`\"'(\[@<-])((?:[^*`\n]++|`[^`\n]*+`)*+)(?<=[^\s*/])\1(?![{LETTERS}*])"
)
# the lookbehind comes after the first character, so that the search can jump to that character
_GLUED_BACKTICK = re.compile(r"`(?:(?<=\w`)(?=`*[\w-])|(?<=-`)(?=`*\w))")
_DASH = re.compile(r"[\u2014\u2015](?=\S)")
_BACKSLASH = re.compile(r"\\(?<!\\\\)\\?+(?=[\w*])")
_WINDOWS = re.compile(r"[\w.:]\\{1,2}[A-Za-z0-9]")
_LINES = re.compile(
    r"\.([A-Za-z]\w{0,9})\0*+"
    r"(:L?\d++(?:[-:,]L?\d++)*+|#L?\d++(?:-L?\d++)?+|\(\d++(?:[-,:] ?\d++)?+\))"
    rf"{END}(?!\.\d)"
)
_HERE = re.compile(rf"\./(?<![{LETTERS}./-]\./)(?:\./)*+(?=[\w.])")
_DIGIT_GROUPS = re.compile(
    rf"[0-9](?<![{LETTERS}.,\[{{-].)[0-9]{{0,2}}+([,_{_THIN}])[0-9]{{3}}(?:\1[0-9]{{3}})*+{END}(?!,[0-9])"
)
_MARKS = str.maketrans(dict.fromkeys(f",_{_THIN}", FILLER))
_LONGEST_TOKEN = 200


@dataclass(frozen=True)
class Normalised:
    """A normalised answer with its original. `cuts`: each removed character's position in `text`; ascending."""

    text: str
    original: str
    cuts: tuple[int, ...]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span of `original` for `text[start:end]`; `start` must be below `end`."""
        return start + bisect_right(self.cuts, start), end + bisect_right(self.cuts, end - 1)


def normalise(text: str) -> Normalised:
    """The normalised `text`, for matching.

    Spaces, line ends, quotes and hyphens get their plain form; a dash before a word becomes a space. Backticks, paired
    `*` emphasis, Markdown escapes, terminal colours and zero-width characters are removed. So are comments with their
    content, since readers do not see them: `<!-- -->` (an unclosed one at the start of a line reaches to the end) and
    `[//]: # (...)`; and struck-through text (`~~`, `<del>`). In paths, backslashes become `/`, and a leading `./` and
    line numbers after the extension (`core.py:12-40`, `core.py#L12`, `core.py(12)`) are removed.
    Digit groups are joined (`1,000` and `1_000` become `1000`).
    """
    plain = (
        text.replace(FILLER, "\ufffd")
        .replace("\r\n", f"{FILLER}\n")
        .replace("\r", "\n")
        .replace("\t", " ")
    )
    if not plain.isascii():
        plain = _INVISIBLE_TAG.sub(FILLER, plain)
        plain = _SPECIAL.sub(lambda special: _TABLE[special[0]], plain)
    if "\x1b" in plain:
        plain = _COLOUR.sub(_fill, plain)
    plain = _STRUCK.sub(_fill, without_comments(plain))
    plain = _without_marks(plain)
    plain = _LINES.sub(_without_lines, _BACKSLASH.sub(_slash, plain))
    plain = _HERE.sub(_fill, plain)
    plain = _DIGIT_GROUPS.sub(lambda number: number[0].translate(_MARKS), plain)
    for thin in _THIN:
        plain = plain.replace(thin, " ")
    pieces = plain.split(FILLER)
    return Normalised("".join(pieces), text, tuple(accumulate(map(len, pieces[:-1]))))


def without_comments(text: str) -> str:
    """`text` with fillers for HTML and Markdown comments, which are invisible when rendered."""
    if "<!--" not in text and "]:" not in text:
        return text
    pieces: list[str] = []
    position = 0
    start = text.find("<!--")
    while start >= 0:
        close = text.find("-->", start + 2)
        if close < 0:
            break
        pieces += (text[position:start], FILLER * (close + 3 - start))
        position = close + 3
        start = text.find("<!--", position)
    tail = _OPEN_COMMENT.search(text, position)
    end = tail.start() if tail else len(text)
    pieces += (text[position:end], FILLER * (len(text) - end))
    return _MARKDOWN_COMMENT.sub(_fill, "".join(pieces))


def _fill(match: re.Match[str]) -> str:
    return FILLER * len(match[0])


def _without_marks(text: str) -> str:
    """The text without emphasis and backticks. A backtick inside a word becomes a space: `Context`s names Context."""
    if "*" in text:
        text = _EMPHASIS.sub(_without_stars, text)
    text = _GLUED_BACKTICK.sub(" ", text).replace("`", FILLER)
    return _DASH.sub(" ", text).replace("\u2014", "-").replace("\u2015", "-")


def _without_stars(match: re.Match[str]) -> str:
    if match[1] is None:
        return match[0]
    stars = FILLER * len(match[1])
    return f"{stars}{match[2]}{stars}"


def _slash(match: re.Match[str]) -> str:
    """A separator of a Windows path, the mark of a Markdown escape (`my\\_name`), or what it was."""
    start, end = match.span()
    text = match.string
    before = text[max(0, start - 1) : start]
    separator = "/" + FILLER * (end - start - 1)
    if text[end].isalnum():
        return separator if before.isalnum() or before in tuple("_.:") else match[0]
    token = text[max(0, start - _LONGEST_TOKEN) : start].rsplit(None, 1)[-1:]
    if text[end] == "_" and token and _WINDOWS.search(token[0]):
        return separator
    return FILLER if end - start == 1 else match[0]


def _without_lines(match: re.Match[str]) -> str:
    if match[1].lower() not in FILE_EXTENSIONS:
        return match[0]
    length = match.start(2) - match.start()
    return match[0][:length] + FILLER * (len(match[0]) - length)
