"""The one exception whose text is meant for the user, and names in such a text."""

import difflib
from collections.abc import Iterable, Sequence


class UserError(Exception):
    """An error for the user: the text says what is wrong, where, and what to do. Shown without a traceback."""


def did_you_mean(wrong: str, names: Iterable[str]) -> str:
    """`; did you mean 'with'?` for the end of a message; "" when no known name is similar."""
    near = difflib.get_close_matches(wrong.lower(), list(names), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""


def some_of(names: Sequence[str], most: int) -> str:
    """The first names, and the number of others: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
