"""Simulated benchmarks with bad judges, by the code of real runs (benchmarks/bad_judges.py)."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lensbench.scores import intervals

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
Verdicts = Callable[[str, float], list[tuple[str, ...]]]


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    return importlib.import_module("bad_judges")


@pytest.fixture
def verdicts(bad: Any, monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """The verdicts on two benchmarks of a panel and a true delta: without belief, by share, and with doubts."""
    monkeypatch.setattr(intervals, "RESAMPLES", 999)
    return lambda name, true: [
        bad.measured(bad.PANELS[name], truth, n)[1:] for n, truth in enumerate(bad.truths(true, 2, 1))
    ]


@pytest.mark.parametrize("share", [5, 10, 15, 20])
def test_a_few_verdicts_of_an_unvalidated_model_make_no_go(
    bad: Any, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    monkeypatch.setattr(intervals, "RESAMPLES", 999)
    panel = bad.PANELS[f"model that misses {share}% of the baseline's beside patterns"]
    for n, truth in enumerate(bad.truths(0.0, 60, 1)):
        *_, by_share, after = bad.measured(panel, truth, n)
        assert after != "GO"
        if by_share == "GO":
            return
    pytest.fail("no benchmark where the share alone lets a GO pass: it tests nothing")


def test_patterns_alone_keep_their_verdicts(verdicts: Verdicts) -> None:
    given = verdicts("accepted patterns, 3 % wrong", 0.13)
    assert [before for before, *_ in given] == [after for *_, after in given]
    assert "GO" in [after for *_, after in given]


@pytest.mark.parametrize(("leak", "failures"), [("nothing", 0), ("a word", 4), ("40 % longer", 4)])
def test_a_large_effect_is_no_broken_blinding_and_a_leak_beside_it_is(bad: Any, leak: str, failures: int) -> None:
    assert bad.blinding_fails(leak, 0.29, 4) == failures
