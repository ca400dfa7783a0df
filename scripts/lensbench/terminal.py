"""Printing what others wrote: names, errors and replies must not speak to the terminal, nor look like lines of ours."""

from __future__ import annotations


def printable(text: str) -> str:
    """The text on one line, without what a terminal would obey: control, bidirectional and invisible characters."""
    return "".join(character if character.isprintable() else " " for character in text)


def printable_lines(text: str) -> str:
    """The same for a text that may have several lines."""
    return "\n".join(map(printable, text.split("\n")))
