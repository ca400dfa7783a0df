"""The status of a planned run in validity.csv and scores.csv."""

from enum import StrEnum


class RunStatus(StrEnum):
    """In validity.csv a run is valid, discarded or missing; in scores.csv a valid one is scored or unjudged."""

    VALID = "valid"
    DISCARDED = "discarded"
    MISSING = "missing"
    SCORED = "scored"
    UNJUDGED = "unjudged"
    """Valid, but at least one criterion has no verdict."""


COUNTING = frozenset((RunStatus.SCORED, RunStatus.UNJUDGED))
"""The status in scores.csv of runs that count."""
