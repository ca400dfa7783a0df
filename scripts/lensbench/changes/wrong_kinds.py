"""The kinds of wrong copies."""

from __future__ import annotations

from enum import StrEnum


class CopyKind(StrEnum):
    """What is wrong in a copy of a test. The first that fails by an assertion with the reference is used."""

    EACH = "each"
    """Each assertion expects another value, and one that holds ends the test as passed."""
    EVERYTHING = "everything"
    """All values of the test are others."""
    ASSERTIONS = "assertions"
    """All values in its assertions are others."""
    EXPECTED = "expected"
    """Its assertions expect other values."""
