"""How often the agent was started in each condition, and which runs were repeated: from records and discards alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from lensbench.core.records import Record, RunId
from lensbench.runs.discards import discard_files, is_discarded
from lensbench.runs.reasons import DiscardReason
from lensbench.runs.validity import read_filed


class Starts(NamedTuple):
    """The starts of the agent in a condition."""

    attempts: int
    discards: int
    repeated: int
    """Runs whose answer is not the first: an attempt failed, or the run was discarded other than by hand."""


def starts_of(
    folder: Path, records: Mapping[RunId, Record], runs: Collection[RunId]
) -> tuple[Starts, frozenset[RunId]]:
    """The starts of the agent for these runs, and which of them were repeated."""
    filed, attempts, count = discard_files(folder), 0, 0
    repeated = set()
    for run in runs:
        discards = [read_filed(path) for path in filed.get(run.stem, ())]
        own = len(records[run].attempts) if run in records and not is_discarded(folder, run) else 0
        if own > 1 or any(discard.reason != DiscardReason.BY_HAND for discard in discards):
            repeated.add(run)
        attempts += own + sum(len(discard.record["attempts"]) for discard in discards)
        count += len(discards)
    return Starts(attempts, count, len(repeated)), frozenset(repeated)
