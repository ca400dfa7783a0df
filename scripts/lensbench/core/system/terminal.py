"""Printing what others wrote: names, errors and replies must not speak to the terminal, nor look like lines of ours."""

from __future__ import annotations

import re

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")


def printable(text: str) -> str:
    """The text on one line, without anything that speaks to the terminal."""
    return printable_lines(text).replace("\n", " ")


def printable_lines(text: str) -> str:
    """The same for a text that may have several lines: control sequences go, and what else is not seen (controls,
    bidirectional and invisible characters) becomes blanks."""
    plain = _SEQUENCE.sub("", text.replace("\r\n", "\n")).expandtabs(4)
    return "".join(character if character.isprintable() or character == "\n" else " " for character in plain)
