"""Makes foreign text safe to print: names, errors and replies must not control the terminal or imitate our output."""

import re

_SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")


def printable(text: str) -> str:
    """The text on one line, without control sequences."""
    return printable_lines(text).replace("\n", " ")


def printable_lines(text: str) -> str:
    """The same for a text of several lines: control sequences are removed, and other characters that are not visible
    (controls, bidirectional and invisible ones) become blanks."""
    plain = _SEQUENCE.sub("", text.replace("\r\n", "\n")).expandtabs(4)
    return "".join(character if character.isprintable() or character == "\n" else " " for character in plain)
