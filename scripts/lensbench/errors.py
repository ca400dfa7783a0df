"""The one exception whose text is meant for the user."""

from __future__ import annotations


class UserError(Exception):
    """A user's mistake: the text says what is wrong, where, and what to do. Shown without a traceback."""
