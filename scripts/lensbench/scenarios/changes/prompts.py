"""What a task asks for: what people said about the change and what fails, never how it was solved."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from lensbench.core.tasks import Category

_NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]{3,}")
_WORD = re.compile(r"[A-Za-z]{2,}")
_REPAIR = re.compile(r"(?i)\b(fix\w*|bug\w*|wrong\w*|error|crash\w*|regress\w*|broken|incorrect\w*|does not|doesn't)\b")
FEWEST_WORDS = 3
_REFERENCE = re.compile(r"\s*\(?(?:[Gg][Hh]-|#)\d+\)?")
SHOWN_TESTS = 8


def write_prompt(message: str, failing: Sequence[str]) -> str:
    """The task in the words of the change's author, with the names of the tests that fail.

    Numbers of issues are dropped: they say nothing to somebody who cannot look them up.
    """
    shown = [f"- {test}" for test in failing[:SHOWN_TESTS]]
    more = [f"- and {len(failing) - SHOWN_TESTS} more"] if len(failing) > SHOWN_TESTS else []
    asked = "\n".join(_REFERENCE.sub("", line).rstrip() for line in message.splitlines()).strip()
    return "\n".join([
        asked, "",
        "Change the source so that this holds. Tests that you cannot see decide, among them these, which fail now:", "",
        *shown, *more,
    ])  # fmt: skip


def says_too_little(message: str) -> bool:
    """Whether nobody could know from the message what is wanted."""
    return len(_WORD.findall(message)) < FEWEST_WORDS


def category_of(text: str) -> Category:
    """A repair is a task of debugging; what is new, or other than before, asks where a change has to be made."""
    return Category.DEBUG if _REPAIR.search(text) else Category.CHANGE_IMPACT


def entry_of(entries: Sequence[str], words: Iterable[str]) -> str:
    """The entry of a change log that shares most names with the change, by `words` of its tests and lines.

    A name counts the less the more entries have it. Without any, a sentence that points to the tests.
    """
    names = {part.lower() for word in words for name in _NAME.findall(word) for part in (name, *name.split("_"))}
    said = [{name.lower() for name in _NAME.findall(entry)} & names for entry in entries]
    held = [sum(1 / sum(name in other for other in said) for name in each) for each in said]
    best = max(range(len(entries)), key=lambda number: held[number], default=None)
    if best is None or held[best] < 1:
        return "Something that this project should do, it does not do yet, or does wrongly: see what fails."
    return entries[best]
