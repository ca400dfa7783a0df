"""Simulated benchmarks with bad judges, by the code of real runs (benchmarks/bad_judges.py)."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lensbench.scores import intervals

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


@pytest.fixture
def bad(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module, with as many sign flips as it uses itself, and a tenth of the pairs by which it finds an effect."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.setattr(intervals, "SIGN_FLIPS", 999)
    monkeypatch.setattr("worlds.BATCH", 10)
    return importlib.import_module("bad_judges")


def verdicts(bad: Any, panel: str, true: float, of: int) -> Iterator[tuple[str, str, str]]:
    """The verdicts on benchmarks of a panel and a true delta: without belief, by share, and with doubts."""
    for n, truth in enumerate(bad.truths(true, of, 1)):
        yield bad.measured(bad.PANELS[panel], truth, n)[1:]


@pytest.mark.parametrize("share", [5, 10, 15, 20])
def test_a_few_verdicts_of_an_unvalidated_model_make_no_go(bad: Any, share: int) -> None:
    for _, by_share, after in verdicts(
        bad, f"model that misses {share}% of the baseline's beside patterns", 0.0, 60
    ):
        assert after != "GO"
        if by_share == "GO":
            return
    pytest.fail("no benchmark where the share alone lets a GO pass: it tests nothing")


def test_patterns_alone_keep_their_verdicts(bad: Any) -> None:
    given = list(verdicts(bad, "accepted patterns, 3% wrong", 0.13, 2))
    assert [before for before, *_ in given] == [after for *_, after in given]
    assert "GO" in [after for *_, after in given]


@pytest.mark.parametrize(("leak", "failures"), [("nothing", 0), ("a word", 4), ("40% longer", 4)])
def test_a_large_effect_is_no_broken_blinding_and_a_leak_beside_it_is(
    bad: Any, leak: str, failures: int
) -> None:
    assert bad.blinding_fails(leak, 0.29, 4) == failures
