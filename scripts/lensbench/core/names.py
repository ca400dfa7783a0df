"""Where a name ends in foreign text: where its alphabet ends.

Names of code have Latin letters. Chinese, Japanese, Thai and others put no blank beside them, Korean and Arabic attach
particles; these letters are word characters (`\\w`) but no part of the name. So every pattern that looks for a name
takes its boundaries from here, or is compiled as ASCII.
"""

from __future__ import annotations

import re

ASCII = "0-9A-Z_a-z"
LETTERS = (
    f"{ASCII}\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02af\u0300-\u052f\u1e00-\u1fff"
)
"""The characters of a name, for use in a character class: Latin, with the accents that follow a letter, and the letters
that look like Latin ones (Greek, Cyrillic)."""
UNSPACED = (
    "\u0e00-\u109f\u1100-\u11ff\u1780-\u17ff\u1950-\u19df\u1a20-\u1aaf\ua9e0-\ua9ff\uaa60-\uaadf\u2e80-\ua4cf"
    "\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uffdc\U00016fe0-\U00018cff\U0001aff0-\U0001b2ff"
    "\U00020000-\U0003ffff"
)
"""Letters of scripts without blanks between words, or with particles attached to them (Korean)."""
START = rf"(?<![{LETTERS}])"
END = rf"(?![{LETTERS}])"
"""The boundaries of a name."""

_IS_LETTER = re.compile(f"[{LETTERS}]")


def plain_name(text: str, joint: str = "-") -> str:
    """A text as a name for files and conditions: small letters and digits, with one `joint` for all that is between."""
    return re.sub(r"[^a-z0-9]+", joint, text.lower()).strip(joint)


def alphabet(character: str) -> str:
    """The letters that continue a name with this letter at its end, for use in a character class; "" for none."""
    if _IS_LETTER.match(character):
        return LETTERS
    if re.match(f"[{UNSPACED}]", character):
        return ""
    return rf"^\W{LETTERS}{UNSPACED}"


def before(character: str) -> str:
    """A lookbehind for the start of a name with this first letter."""
    letters = alphabet(character)
    return f"(?<![{letters}])" if letters else ""


def after(character: str) -> str:
    """A lookahead for the end of a name with this last letter."""
    letters = alphabet(character)
    return f"(?![{letters}])" if letters else ""
