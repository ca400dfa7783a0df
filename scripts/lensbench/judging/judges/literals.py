"""Searches a literal as a whole word: not inside a longer name, file, number or version."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from lensbench.judging.judges.normalising import FILE_EXTENSIONS, Normalised, normalise

_FILE_NAME = re.compile(rf".*\w\.(?:{'|'.join(sorted(FILE_EXTENSIONS))})")
_BRACKETS = "()[]{}\"'"
_LINES = re.compile(
    r"[`*'\"]{0,3}(?::L?|#L?|\(|,? ?\(?(?:at |on |in )?lines? )(\d{1,9})(?: ?[-\u2013,] ?L?(\d{1,9}))*+"
)


@dataclass(frozen=True)
class Literal:
    """A compiled literal. `longest` is in every text that states it, for a fast pre-check."""

    longest: str
    body: re.Pattern[str]
    before: re.Pattern[str]
    lines: tuple[int, int] | None = None
    """Of its file, the first and the last one."""

    def spans(self, answer: Normalised) -> Iterator[tuple[int, int]]:
        """Where `answer` states the literal, as (start, end) of its normalised text."""
        match = self.body.search(answer.text) if self.longest in answer.text else None
        while match:
            if self.before.match(answer.text, match.start()):
                lines = _lines(answer.original, answer.span(*match.span())[1])
                if not (self.lines and lines) or (lines[0] <= self.lines[1] and self.lines[0] <= lines[1]):
                    yield match.span()
            match = self.body.search(answer.text, match.start() + 1)


@cache
def literal(pattern: str) -> Literal:
    """The author's literal, normalised like answers; a space in it matches any whitespace.

    One that is empty after normalisation (only backticks, for example) never matches.
    """
    read = normalise(pattern)
    words = read.text.split()
    if not words:
        return Literal("", re.compile("(?!)"), re.compile(""))
    if len(words) == 1 and _FILE_NAME.fullmatch(words[0]):
        words[0] = words[0].lstrip("/")
    body = r"\s+".join(map(re.escape, words))
    lines = _lines(pattern, read.span(0, len(read.text))[1])
    return Literal(max(words, key=len), re.compile(body + _after(words[-1])), re.compile(_before(words[0])), lines)


def _lines(text: str, at: int) -> tuple[int, int] | None:
    """The first and the last line that `text` names at `at`."""
    match = _LINES.match(text, at)
    return (int(match[1]), max(map(int, match.groups("0")))) if match else None


def _is_path(word: str) -> bool:
    return "/" in word or bool(_FILE_NAME.fullmatch(word))


def _before(word: str) -> str:
    """A lookbehind for text that must not precede the first word.

    A file or folder may follow `/`, but neither a dot nor a hyphen; a number no sign, dot or hyphen; a name may follow
    a dot (an attribute) or `--`, but is not the end of a hyphenated name.
    """
    first = word[0]
    if first.isalnum() or first == "_":
        return r"(?<![\w.-])" if first.isdigit() or _is_path(word) else r"(?<!\w)(?<!\w-)"
    if first in "-.@/$#~":
        return rf"(?<![\w{re.escape(first)}])"
    return "" if first in _BRACKETS else rf"(?<!{re.escape(first)})"


def _after(word: str) -> str:
    """A lookahead for text that must not follow the last word.

    A file is not the beginning of a longer file name; a number not of a longer number or a range. A name may be
    followed by a dot (an attribute), and by a hyphen if it cannot be part of a hyphenated name: `Redis-backed`
    states Redis, `typing-extensions` does not state typing.
    """
    last = word[-1]
    if not (last.isalnum() or last == "_"):
        return rf"(?!{re.escape(last)})" if last in "-=<>&|+" else ""
    if _is_path(word):
        return r"(?!\w|-\w|\.\w)"
    if word.replace(".", "").lstrip("-+").isdigit():
        return r"(?!\w|-\d|\.\d)"
    is_name = word != word.lower() or "_" in word
    return (r"(?!\w|-[A-Z0-9])" if is_name else r"(?!\w|-\w)") + (r"(?!\.\d)" if last.isdigit() else "")
