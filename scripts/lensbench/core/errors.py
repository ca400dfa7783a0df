"""Texts for the user: the one exception that they see, names in it, and foreign texts made safe to print."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress


class UserError(Exception):
    """An error for the user: the text says what is wrong, where, and what to do. Shown without a traceback."""

    exit_code = 2
    """That of a program that could not do its work."""


class CheckFailed(UserError):
    """The program did its work, and what it checked is not as it should be."""

    exit_code = 1


@contextmanager
def reported(step: str) -> Iterator[None]:
    """Prints what fails in this block instead of raising it: it follows an answer that was paid for."""
    try:
        yield
    except Exception as error:
        with suppress(OSError, ValueError):  # standard error may be closed, or its disk full
            print(printable(f"{step} failed: {type(error).__name__}: {error}"), file=sys.stderr)


def did_you_mean(wrong: str, names: Iterable[str]) -> str:
    """`; did you mean 'with'?` for the end of a message; "" when no known name is similar."""
    from difflib import get_close_matches  # only after a mistake

    near = get_close_matches(wrong.lower(), list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def some_of(names: Sequence[str], most: int) -> str:
    """The first names, and the number of others: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


_SEQUENCE = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])"
)


def printable(text: str) -> str:
    """The text on one line, without control sequences."""
    return printable_lines(text).replace("\n", " ")


def printable_lines(text: str) -> str:
    """The same for a text of several lines: control sequences are removed, and other characters that are not visible
    (controls, bidirectional and invisible ones) become blanks."""
    plain = _SEQUENCE.sub("", text.replace("\r\n", "\n")).expandtabs(4)
    return "".join(
        character if character.isprintable() or character == "\n" else " " for character in plain
    )
