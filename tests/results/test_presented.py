"""The one table of figures that every output takes its words from."""

from fractions import Fraction as F
from typing import Any

import pytest

from lensbench.results.presented import presented, times
from lensbench.scores.gate import GateVerdict
from lensbench.scores.intervals import Estimate
from lensbench.scores.quantities import QUANTITIES

NONE = {"treatment": None, "baseline": None, "pairs": 0, "largest": None}


def figure(
    name: str, measure: dict[str, Any], overall: dict[str, Any], corrected: Any = None
) -> list[Any]:
    measures: Any = dict.fromkeys(QUANTITIES, NONE) | {name: measure}
    estimated: Any = {each: {"overall": Estimate(**overall)} for each in QUANTITIES}
    gate = GateVerdict("INCONCLUSIVE", "", "", None, None)
    found = presented(
        measures,
        {
            **estimated,
            "measures": estimated,
            "gate": gate,
            "corrected": corrected and Estimate(**corrected),
        },
    )
    assert list(found) == [name]
    return list(found[name].values())


def paired(treatment: str, baseline: str, **more: Any) -> dict[str, Any]:
    after = F(treatment)
    before = F(baseline)
    sides = {
        "paired_treatment": after,
        "paired_baseline": before,
        "treatment": F(1000),
        "baseline": F(2000),
    }
    return {**sides, "delta": after - before, "pairs": 9, "largest": F(38, 100), **more}


def test_the_change_of_a_share_is_that_of_the_values_shown_or_the_one_that_people_correct() -> None:
    found = figure("score", paired("0.625", "0.5"), {"delta": 0.125, "low": -0.05, "high": 0.3})
    assert found[1:] == ["62.5%", "50%", "+12.5 points", "-5.0 to +30.0 points", "", 9]
    overall, corrected = (
        {"delta": end, "low": end - 0.1, "high": end + 0.1} for end in (0.125, 0.0625)
    )
    found = figure("score", paired("0.625", "0.5"), overall, corrected)
    assert (found[0], *found[3:5]) == (
        "score (change corrected by people)",
        "+6.3 points",
        "-3.8 to +16.3 points",
    )


def test_time_tokens_cost_and_counts_have_a_typical_change_in_their_unit() -> None:
    overall = {"delta": 0.104, "low": -0.03, "high": 10.67}
    assert figure("duration_s", paired("127", "100"), overall)[1:] == [
        "127s",
        "100s",
        "1.1 times",
        "0.97 to 12 times",
        "1.27 times; largest task 38%",
        9,
    ]
    assert figure("cost_usd", paired("0.0031", "0.0025"), overall)[1:3] == ["0.0031", "0.0025"]
    assert figure("tokens_input", paired("12345.6", "1"), overall)[1] == "12,346"
    assert figure("duration_s", paired("127", "100", pairs=1), overall)[5] == "1.27 times"
    found = figure(
        "tool_calls_observed", paired("9.5", "8"), {"delta": 1.5, "low": -1.0, "high": 4.0}
    )
    assert found[0] == "tool calls, observed (mean of the middle tasks)"
    assert found[1:] == ["9.5", "8", "+1.5", "-1 to +4", "", 9]
    found = figure("tool_calls_reported", NONE | {"treatment": F(59, 2), "delta": None}, {})
    assert found[1:] == ["29.5", "—", "—", "—", "", 0]


@pytest.mark.parametrize(
    ("ratio", "shown"), [("8", "8"), ("1.274", "1.27"), ("11.667", "11.7"), ("0.5", "0.5")]
)
def test_how_many_times_is_said_with_two_decimals_below_ten(ratio: str, shown: str) -> None:
    assert times(F(ratio)) == shown
