"""Identifiers and their words: `OptionParser`, `option_parser` and "option parser" are the same two words."""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")
LETTERS = bytes(byte if chr(byte).isalpha() and byte < 128 else 32 for byte in range(256))
"""For `bytes.translate`: maps all but ASCII letters to blanks. Twice as fast as splitting with a pattern."""
MAX_IDENTIFIER_CHARS = 100


def words(text: str) -> list[str]:
    """The lower-case words of a text; identifiers are split at case changes, underscores and digits."""
    return [word.lower() for word in WORD.findall(text)]


def squeeze(name: str) -> str:
    """An identifier in lower case without separators: OptionParser, option_parser and _option_parser are the same."""
    return name.replace("_", "").replace("-", "").lower()


def camel_case(text: str) -> str:
    """The words of the camelCase identifiers of a text, each identifier once, sorted."""
    names = {
        name
        for name in set(text.encode(errors="replace").translate(LETTERS).decode().split())
        if len(name) <= MAX_IDENTIFIER_CHARS
        and not name.islower()
        and not name[1:].islower()
        and not name.isupper()
    }
    return " ".join(" ".join(words(name)) for name in sorted(names))
