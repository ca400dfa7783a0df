"""Characters that web pages put in the place of plain quotes, blanks and dashes."""

from __future__ import annotations

import re
import unicodedata

_Q = "\u2018-\u201f\u00ab\u00bb"
_B = "\u00a0\u2007\u202f\u200b\u2060\ufeff"
_IN_WORD = re.compile(rf"^[{_B}]|[{_B}]$|(?<=:)[{_B}]|^[{_Q}](?=.*[{_Q}]$)|^[\u2013\u2014](?=\w)")
_IN_STRUCTURE = re.compile(rf"(?<![\w{_Q}])[{_Q}]|[{_B}]")


def pasted(text: str, is_word: bool = True) -> str:
    """What to do about one around a word, or in a line that cannot be read; "" for none."""
    if not (match := (_IN_WORD if is_word else _IN_STRUCTURE).search(text)):
        return ""
    name = f"U+{ord(match[0]):04X} ({unicodedata.name(match[0]).lower()})"
    return f"has the character {name}, as copied from a web page; type a plain one"
