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

INTERRUPTIONS = {DiscardReason.API_ERROR, DiscardReason.RATE_LIMITED, DiscardReason.HARNESS_FAILED}
"""Failures of the model's service and of lensbench, which tools rarely cause; all others are crashes."""


class Starts(NamedTuple):
    """The starts of the agent in a condition."""

    attempts: int
    discards: int
    repeated: int
    """Runs whose answer is not the first: an attempt failed, or the run was discarded other than by hand."""
    crashed: frozenset[RunId] = frozenset()
    """Those not only for INTERRUPTIONS."""
    interrupted: frozenset[RunId] = frozenset()


def starts_of(folder: Path, runs: Collection[RunId]) -> Starts:
    """The starts of the agent for these runs."""
    attempts = {run: entries(folder, run) for run in runs}
    discards = {run: [entry.read_discard() for entry in own if DISCARD in entry.files] for run, own in attempts.items()}
    reasons = {run: {discard.reason for discard in own} - {DiscardReason.BY_HAND} for run, own in discards.items()}
    crashes = frozenset(run for run, own in reasons.items() if own - INTERRUPTIONS)
    repetitions = frozenset(run for run, own in reasons.items() if own)
    ends = sum(discard.ends_round for own in discards.values() for discard in own)
    return Starts(sum(map(len, attempts.values())), ends, len(repetitions), crashes, repetitions - crashes)


def uncounted(folder: Path, runs: Collection[RunId]) -> dict[RunId, list[Record | None]]:
    """The attempts of these runs that do not count, but for a person's discards; None for one without a record."""
    records: dict[RunId, list[Record | None]] = {}
    for run in runs:
        for entry in entries(folder, run):
            if DISCARD in entry.files and entry.read_discard().reason != DiscardReason.BY_HAND:
                record = None
                with suppress(UserError):
                    record = entry.read_record(run)
                records.setdefault(run, []).append(record)
    return records
