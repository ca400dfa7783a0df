"""How often the agent was started in each condition, and which runs were repeated: from the store alone."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from lensbench.core.errors import UserError
from lensbench.core.records import Record, RunId
from lensbench.core.store import DISCARD, entries
from lensbench.runs.reasons import DiscardReason


class Starts(NamedTuple):
    """The starts of the agent in a condition."""

    attempts: int
    discards: int
    repeated: int
    """Runs whose answer is not the first: an attempt failed, or the run was discarded other than by hand."""


def starts_of(folder: Path, runs: Collection[RunId]) -> tuple[Starts, frozenset[RunId]]:
    """The starts of the agent for these runs, and which of them were repeated."""
    attempts, count = 0, 0
    repeated = set()
    for run in runs:
        made = entries(folder, run)
        discards = [entry.read_discard() for entry in made if DISCARD in entry.files]
        if any(discard.reason != DiscardReason.BY_HAND for discard in discards):
            repeated.add(run)
        attempts += len(made)
        count += sum(discard.ends_round for discard in discards)
    return Starts(attempts, count, len(repeated)), frozenset(repeated)


def uncounted(folder: Path, runs: Collection[RunId]) -> dict[RunId, list[Record | None]]:
    """The attempts of these runs that do not count, but for a person's discards; None for one without a record."""
    found: dict[RunId, list[Record | None]] = {}
    for run in runs:
        for entry in entries(folder, run):
            if DISCARD in entry.files and entry.read_discard().reason != DiscardReason.BY_HAND:
                record = None
                with suppress(UserError):
                    record = entry.read_record(run)
                found.setdefault(run, []).append(record)
    return found
