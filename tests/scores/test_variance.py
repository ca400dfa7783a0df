import math
import warnings

import numpy as np
import pytest
from statsmodels.regression.mixed_linear_model import MixedLM

from lensbench.scores.variance import Components, components


def test_balanced_trials_have_the_components_of_the_analysis_of_variance() -> None:
    """Mean squares between tasks 0.18 and inside them 0.02, two trials: tau squared is their difference halved."""
    found = components({"a": [0.0, 0.2], "b": [0.3, 0.5], "bare": [], "c": [0.6, 0.8]})
    assert found.sigma == pytest.approx(0.02**0.5, rel=1e-3)
    assert found.tau == pytest.approx(((0.18 - 0.02) / 2) ** 0.5, rel=1e-3)
    assert (found.icc, found.reason) == (pytest.approx(0.08 / 0.10, rel=1e-3), "")


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({}, "less than two tasks have a value"),
        ({"a": [0.1, 0.2]}, "less than two tasks have a value"),
        ({"a": [0.1], "b": [0.2], "c": []}, "no task has values of two trials"),
        ({"a": [0.1, 0.1], "b": [0.2, 0.2]}, "the trials of a task never differ"),
    ],
)
def test_what_cannot_be_estimated_is_none_with_a_reason(
    values: dict[str, list[float]], reason: str
) -> None:
    assert components(values) == Components(reason=reason)


def test_the_order_of_the_tasks_changes_nothing() -> None:
    values = {f"t{number}": [math.sin(number), math.sin(7 * number)] for number in range(12)}
    assert components(dict(reversed(values.items()))) == components(values)


@pytest.mark.parametrize("seed", range(12))
def test_the_components_are_those_of_a_mixed_model_by_statsmodels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(12), rng.integers(1, 5, 12))
    trials = rng.normal(0, (0.0, 0.05, 0.3)[seed % 3], 12)[groups] + rng.normal(
        0.5, 0.1, len(groups)
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a variance of 0 is warned about, and is a result
        fit = MixedLM(trials, np.ones(len(trials)), groups=groups).fit(reml=True, method="powell")
    found = components({f"t{task:02}": trials[groups == task].tolist() for task in range(12)})
    assert found.tau is not None
    assert found.tau**2 == pytest.approx(fit.cov_re.item(), abs=0.005 * fit.scale)
    assert found.sigma == pytest.approx(fit.scale**0.5, rel=0.005)
