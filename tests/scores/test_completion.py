from fractions import Fraction as F

import pytest
from statsmodels.stats.contingency_tables import mcnemar as statsmodels_mcnemar

from lensbench.scores.complete_tasks import Pair, mcnemar, reliability


def tasks(
    both: int, treatment_only: int, baseline_only: int, neither: int
) -> dict[str, list[Pair]]:
    """One complete pair a task, so many of each kind."""
    kinds = (
        [(1, 1)] * both + [(1, 0)] * treatment_only + [(0, 1)] * baseline_only + [(0, 0)] * neither
    )
    return {f"t{number}": [(F(treated), F(base))] for number, (treated, base) in enumerate(kinds)}


@pytest.mark.parametrize("counts", [(5, 7, 2, 3), (0, 0, 0, 0), (3, 0, 0, 4), (1, 2, 2, 1)])
def test_mcnemar_is_the_exact_test_of_statsmodels(counts: tuple[int, int, int, int]) -> None:
    found = mcnemar(tasks(*counts), trials=1)
    assert (
        found["both"],
        found["treatment_only"],
        found["baseline_only"],
        found["neither"],
    ) == counts
    assert found["exact_p"] == pytest.approx(
        statsmodels_mcnemar([counts[:2], counts[2:]], exact=True).pvalue
    )


def test_a_task_without_a_pair_counts_nowhere_and_several_trials_have_no_mcnemar_test() -> None:
    assert mcnemar({**tasks(1, 2, 1, 1), "missing": []}, 1) == mcnemar(tasks(1, 2, 1, 1), 1)
    assert mcnemar(tasks(1, 1, 1, 1), trials=2) == {
        "reason": "the trials of a task are not independent, so McNemar's test does not fit several trials"
    }


def test_all_of_k_trials_and_any_of_k_trials_are_counted_without_putting_back() -> None:
    """2 of 4 trials are complete: two drawn are both complete in 1 of 6 draws, and not one of them in another 1."""
    four = {"a": [F(1), F(0), F(1), F(0)]}
    rows = reliability(four, {"a": [F(1)] * 4}, 4)
    assert [(row["k"], row["treatment"]["pass^k"], row["treatment"]["pass@k"]) for row in rows] == [
        (1, F(1, 2), F(1, 2)),
        (2, F(1, 6), F(5, 6)),
        (3, 0, 1),
        (4, 0, 1),
    ]
    assert [row["baseline"] for row in rows] == [{"pass^k": 1, "pass@k": 1}] * 4


def test_reliability_rests_on_tasks_with_k_trials_in_both_conditions_or_is_none() -> None:
    treatment = {"a": [F(1), F(1)], "b": [F(0), F(0)], "c": []}
    baseline = {"a": [F(1), F(0)], "b": [F(0)], "c": [F(1), F(1)]}
    first, second = reliability(treatment, baseline, 2)
    assert (first["tasks"], first["treatment"]["pass^k"]) == (2, F(1, 2))
    assert (second["tasks"], second["treatment"]["pass^k"], second["baseline"]["pass^k"]) == (
        1,
        1,
        0,
    )
    assert reliability({"a": []}, {"a": []}, 1) == [
        {
            "k": 1,
            "tasks": 0,
            "treatment": {"pass^k": None, "pass@k": None},
            "baseline": {"pass^k": None, "pass@k": None},
        }
    ]
