"""How far judges agree: equal to the libraries called directly, and to cases computed by hand."""

import itertools
import random
from collections.abc import Mapping

import krippendorff
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap
from sklearn.metrics import cohen_kappa_score

from lensbench.core.records import RunId
from lensbench.judging.judges import Verdict
from lensbench.judging.trust.agreement import (
    MIN_RESAMPLED_TASKS,
    JudgePair,
    agreement,
    all_judges,
    two_judges,
)

NUMBER = {Verdict.MISSED: 0, Verdict.PARTIAL: 1, Verdict.MET: 2}
SHORT = {"m": Verdict.MET, "p": Verdict.PARTIAL, "-": Verdict.MISSED}
Said = dict[tuple[RunId, int], dict[str, Verdict]]


def said(condition: str = "with", per_task: int = 2, **verdicts: str) -> Said:
    """Verdicts by judge, one letter each (`.` for none), `per_task` criteria in each task."""
    found: Said = {}
    for judge, letters in verdicts.items():
        for place, letter in enumerate(letters):
            task, criterion = divmod(place, per_task)
            by_judge = found.setdefault((RunId(f"t{task:03}", condition, 1), criterion + 1), {})
            if letter != ".":
                by_judge[judge] = SHORT[letter]
    return found


def a_benchmark(judges: int = 3, tasks: int = 12, seed: int = 1) -> Said:
    """Judges who mostly see the same thing, in two conditions."""
    chance = random.Random(seed)
    found: Said = {}
    for task, condition, criterion in itertools.product(
        range(tasks), ("with", "without"), (1, 2, 3)
    ):
        truth = chance.choice(list(SHORT.values()))
        found[RunId(f"t{task}", condition, 1), criterion] = {
            f"judge-{number}": truth
            if chance.random() < 0.7
            else chance.choice(list(SHORT.values()))
            for number in range(judges)
            if chance.random() < 0.9
        }
    return found


def kappa_of(
    verdicts: Mapping[tuple[RunId, int], Mapping[str, Verdict]], first: str, second: str
) -> float:
    """scikit-learn's kappa of two judges."""
    both = [(by[first], by[second]) for by in verdicts.values() if first in by and second in by]
    columns = [[NUMBER[pair[side]] for pair in both] for side in (0, 1)]
    return float(cohen_kappa_score(*columns, labels=[0, 1, 2], weights="linear"))


def test_kappa_is_that_of_scikit_learn_and_by_hand() -> None:
    verdicts = a_benchmark()
    found = two_judges(verdicts, "judge-0", "judge-2", 1)
    assert found.kappa.value == pytest.approx(kappa_of(verdicts, "judge-0", "judge-2"), abs=1e-12)
    found = two_judges(said(a="mmm-", b="mmp-"), "a", "b", 1)
    chance = 1 - (3 / 4 * (1 / 4 * 1 / 2 + 1 / 4 * 1) + 1 / 4 * (1 / 2 * 1 + 1 / 4 * 1 / 2))
    assert found.kappa.value == pytest.approx((7 / 8 - chance) / (1 - chance))
    assert (found.n, found.equal) == (4, 0.75)


def test_alpha_is_that_of_krippendorff_with_missing_verdicts() -> None:
    verdicts = a_benchmark()
    judges = ["judge-0", "judge-1", "judge-2"]
    data = [
        [NUMBER[by[judge]] if judge in by else np.nan for by in verdicts.values()]
        for judge in judges
    ]
    wanted = krippendorff.alpha(
        reliability_data=data, value_domain=[0, 1, 2], level_of_measurement="ordinal"
    )
    assert all_judges(verdicts, 1).alpha.value == pytest.approx(wanted, abs=1e-12)


def test_perfect_agreement_is_1_what_one_judge_skipped_counts_for_none_and_one_verdict_has_no_kappa() -> (
    None
):
    found = two_judges(said(a="m" * 20, b="m" * 20), "a", "b", 1)
    assert (found.equal, found.kappa.value) == (1.0, None)
    assert "all verdicts are the same" in found.kappa.reason
    assert all_judges(said(a="m" * 20, b="m" * 20), 1).alpha.value is None
    found = two_judges(said(a="m-" * 20, b="m-" * 20), "a", "b", 1).kappa
    assert found == (1.0, 1.0, 1.0, "")
    assert two_judges(said(a="m-m", b="m-."), "a", "b", 1).n == 2
    assert two_judges(said(a="mm", b=".."), "a", "b", 1) == JudgePair(
        0, None, (None, None, None, "no criterion has two verdicts")
    )


def test_few_tasks_and_verdicts_that_hardly_vary_have_no_interval() -> None:
    found = two_judges(said(a="m-m-", b="m-mm"), "a", "b", 1).kappa
    assert found.value is not None
    assert (found.low, found.reason) == (
        None,
        f"an interval needs {MIN_RESAMPLED_TASKS} tasks, there are 2",
    )
    found = two_judges(said(a="m" * 29 + "-", b="m" * 30), "a", "b", 1).kappa
    assert (found.value, found.low, found.reason) == (
        0.0,
        None,
        "too few different verdicts for an interval",
    )


def test_every_pair_and_condition_is_there_the_control_is_not_and_one_judge_agrees_with_nobody() -> (
    None
):
    verdicts = a_benchmark() | said("closed_book", **{"judge-0": "m-" * 9, "judge-1": "-m" * 9})
    found = agreement(verdicts, ["without", "with"], 1)
    assert [pair["judges"] for pair in found["pairs"]] == [
        ["judge-0", "judge-1"],
        ["judge-0", "judge-2"],
        ["judge-1", "judge-2"],
    ]
    pair = found["pairs"][0]
    assert pair["overall"].n == pair["conditions"]["with"].n + pair["conditions"]["without"].n
    assert found["all"] == all_judges(
        {key: by for key, by in verdicts.items() if key[0].condition != "closed_book"}, 1
    )
    found = agreement(said(a="m-m-"), ["with"], 1)
    assert (found["pairs"], found["all"].alpha.reason) == ([], "no criterion has two verdicts")


@pytest.mark.parametrize("seed", [0, 3])
def test_the_interval_is_scipys_bootstrap_of_whole_tasks(seed: int) -> None:
    verdicts = a_benchmark(judges=2, tasks=20)
    names = sorted({run.task for run, _ in verdicts})
    tables = np.zeros((len(names), 3, 3))
    for (run, _), by in verdicts.items():
        if len(by) == 2:
            tables[names.index(run.task), NUMBER[by["judge-0"]], NUMBER[by["judge-1"]]] += 1
    distance = np.abs(np.subtract.outer(range(3), range(3)))

    def kappa(drawn: np.ndarray) -> float:
        table = tables[drawn].sum(axis=0)
        by_chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        return float(1 - (distance * table).sum() / (distance * by_chance).sum())

    ends = bootstrap(
        (np.arange(20),),
        kappa,
        vectorized=False,
        n_resamples=1000,
        method="percentile",
        rng=np.random.default_rng(seed),
    ).confidence_interval
    found = two_judges(verdicts, "judge-0", "judge-1", seed).kappa
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=1e-12)


def test_the_same_seed_gives_the_same_interval_in_any_order() -> None:
    verdicts = a_benchmark(judges=2)
    backwards = dict(reversed(verdicts.items()))
    assert agreement(verdicts, ["with"], 7) == agreement(backwards, ["with"], 7)


LETTERS = st.text("mp-", min_size=2, max_size=10)


@given(LETTERS, st.data())
def test_the_order_of_two_judges_does_not_matter(first: str, data: st.DataObject) -> None:
    second = data.draw(st.text("mp-", min_size=len(first), max_size=len(first)))
    verdicts = said(a=first, b=second)
    one = two_judges(verdicts, "a", "b", 1)
    other = two_judges(verdicts, "b", "a", 1)
    assert (one.equal, one.kappa.value) == (other.equal, pytest.approx(other.kappa.value))
    assert one.kappa.value is None or one.kappa.value <= 1 + 1e-9
