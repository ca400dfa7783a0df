"""Simulated benchmarks with bad judges, by the code of real runs (benchmarks/bad_judges.py)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

import pytest

from lensbench.scores import intervals

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
Verdicts = Callable[[str, float], list[tuple[str, ...]]]


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """The verdicts on two benchmarks of a panel and a true delta: without belief, by share, and with doubts."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(intervals, "RESAMPLES", 1)
    bad = importlib.import_module("bad_judges")
    return lambda name, true: [
        bad.measured(bad.PANELS[name], truth, n)[1:] for n, truth in enumerate(bad.truths(true, 2, 1))
    ]


def test_a_few_verdicts_of_an_unvalidated_model_make_no_go(verdicts: Verdicts) -> None:
    given = verdicts("model that misses 20% of the baseline's beside patterns", 0.0)
    assert "GO" in [by_share for _, by_share, _ in given]
    assert "GO" not in [after for *_, after in given]


def test_patterns_alone_keep_their_verdicts(verdicts: Verdicts) -> None:
    given = verdicts("accepted patterns, 3 % wrong", 0.13)
    assert [before for before, *_ in given] == [after for *_, after in given]
    assert "GO" in [after for *_, after in given]
