"""Published scores of imported runs, which results show beside the scores of our judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

from lensbench.core.numbers import exact, mean
from lensbench.core.rows import PairRow, PublishedRow
from lensbench.core.run_folder import RunFolder
from lensbench.core.tables import read_table
from lensbench.scores.run_tables import Tables


class PublishedPair(NamedTuple):
    """The published scores of a task, and those by our judges; scores are shares of 1."""

    task: str
    treatment: str
    scores: tuple[Fraction | None, Fraction | None]
    """Published, of the treatment and of the baseline."""
    ours: tuple[Fraction | None, Fraction | None]
    delta: Fraction | None
    """Published."""
    misdirected: str
    """yes: the two runs cite different files, and the treatment's published score is the lower one."""


def published_pairs(folder: Path, tables: Tables) -> list[PublishedPair]:
    """The published scores of an imported run; empty when there are none."""
    if not RunFolder(folder).published.exists():
        return []
    scores = {
        (row["task"], row["condition"]): exact(row["score"])
        for row in read_table(RunFolder(folder).published, PublishedRow)
    }
    baseline = tables.plan["baseline"]
    return [_pair(row, scores, baseline) for row in tables.pairs]


def _pair(row: PairRow, scores: Mapping[tuple[str, str], Fraction | None], baseline: str) -> PublishedPair:
    with_it, without = scores.get((row["task"], row["treatment"])), scores.get((row["task"], baseline))
    delta = None if with_it is None or without is None else with_it - without
    has_both = delta is not None and bool(row["diverged"])
    misleads = ("yes" if row["diverged"] == "yes" and delta is not None and delta < 0 else "no") if has_both else ""
    ours = exact(row["treatment_score"]), exact(row["baseline_score"])
    return PublishedPair(row["task"], row["treatment"], (with_it, without), ours, delta, misleads)


def mean_delta(pairs: Sequence[PublishedPair], treatment: str) -> Fraction | None:
    """The mean of the published deltas of a treatment."""
    return mean(pair.delta for pair in pairs if pair.treatment == treatment and pair.delta is not None)
