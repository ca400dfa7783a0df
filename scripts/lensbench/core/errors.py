"""The one exception whose text is meant for the user."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """An error for the user: the text says what is wrong, where, and what to do. Shown without a traceback."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """`; did you mean 'with'?` for the end of a message; "" when no known name is similar."""
    near = difflib.get_close_matches(wrong.lower(), list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
