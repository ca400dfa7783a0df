from __future__ import annotations

import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lensbench.plan.config import Gate
from lensbench.scores import intervals
from lensbench.scores.gate import Drawn, GateVerdict, decide, what_decides
from lensbench.scores.intervals import Estimate, estimate
from lensbench.scores.power import tasks_needed, upper_sd
from lensbench.scores.sequential import FIRST, look_result, next_boundary
from lensbench.scores.verdict_of import DEFAULTS, verdict_of

ROOT = Path(__file__).resolve().parents[2]
SETTINGS = {"effect": 5, "alpha": 0.05, "power": 0.8}


@pytest.fixture(autouse=True, scope="module")
def _one_sign_flip() -> Iterator[None]:
    """The sign-flip p takes most of an estimate's time and plays no part in a verdict."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "RESAMPLES", 1)
        yield


def found(mean: float, spread: float, tasks: int = 24, **changes: Any) -> Estimate:
    """The estimate of differences that lie `spread` above and below `mean`, a repository for each task."""
    return replace(over(differences_around(mean, spread, tasks)), **changes)


def differences_around(mean: float, spread: float, tasks: int = 24) -> dict[str, float]:
    """A difference for each task."""
    return {f"t{n:02}": mean + (spread if n % 2 else -spread) for n in range(tasks)}


def over(differences: dict[str, float]) -> Estimate:
    """The estimate of differences, a repository for each task."""
    return estimate(differences, {task: task for task in differences}, 0.05, seed=1)


def test_the_defaults_are_those_of_the_config() -> None:
    assert Gate().model_dump() == DEFAULTS


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.20, "GO"),
        (-0.20, -0.01, "HARM"),
        (-0.20, 0.04, "NO-GO"),
        (0.01, 0.04, "NO-GO"),
        (-0.01, 0.20, "INCONCLUSIVE"),
        (0.0, 0.20, "INCONCLUSIVE"),
        (-0.20, 0.05, "INCONCLUSIVE"),
        (-0.20, 0.0, "NO-GO"),
    ],
)
def test_the_verdict_is_what_the_interval_allows(low: float, high: float, verdict: str) -> None:
    assert verdict_of(low, high, 0.05) == verdict


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0.01, 0.5))
def test_no_verdict_says_more_than_its_interval(one: float, other: float, effect: float) -> None:
    low, high = sorted((one, other))
    verdict = verdict_of(low, high, effect)
    assert (verdict == "INCONCLUSIVE") == (low <= 0 <= effect <= high)
    assert verdict != "GO" or (low > 0 and high >= effect)


@pytest.mark.parametrize(
    ("mean", "spread", "verdict", "meaning"),
    [
        (0.10, 0.1, "GO", "The tools help: a difference this large is unlikely if they had no effect."),
        (-0.10, 0.1, "HARM", "The tools make the answers worse."),
        (0.00, 0.05, "NO-GO", "Any effect is smaller than the 5 points that are worthwhile."),
        (0.03, 0.02, "NO-GO", "The tools help, but by less than the 5 points that are worthwhile."),
        (0.05, 0.2, "INCONCLUSIVE", "The tools may change nothing, and may as well gain the 5 points"),
    ],
)
def test_the_sentence_says_what_the_verdict_means(mean: float, spread: float, verdict: str, meaning: str) -> None:
    decided = decide(found(mean, spread), SETTINGS)
    assert decided.verdict == verdict
    assert decided.sentence.startswith(f"{verdict}: ")
    assert meaning in decided.sentence
    assert bool(decided.needs) == (verdict == "INCONCLUSIVE")


def test_the_sentence_holds_everything_that_a_reader_needs() -> None:
    few = found(0.1, 0.1, clusters=4, scope="these repositories only", mde=0.0583)
    sentence = decide(few, SETTINGS, model="glm-5 in claude-code 2.1.329", trials=3).sentence
    assert sentence == (
        "GO: with its tools the agent's score changes by +10.0 points (95 % interval +5.7 to +14.3 points; 24 tasks, "
        "4 repositories, 3 trials). If tasks spread as these do, 80 % of such benchmarks find a true 5.8 points. The "
        "tools help: a difference this large is unlikely if they had no effect. None of 24 tasks lost 30 points; up to 12 % of "
        "tasks may. This holds for glm-5 in claude-code 2.1.329 on these 4 "
        "repositories only."
    )


def test_a_difference_that_cannot_be_is_not_said_to_be_found() -> None:
    few = over({"a": 0.0, "b": 1.0, "c": 0.0, "d": 1.0})
    assert few.mde is not None
    assert few.mde > 1
    sentence = decide(few, SETTINGS).sentence
    assert "no difference is so large that 80 % of such benchmarks find it." in sentence


def test_one_repository_is_this_repository() -> None:
    assert decide(found(0.1, 0.1, clusters=1), SETTINGS).sentence.endswith("This holds on this repository.")


def test_a_blocker_leaves_no_verdict_and_keeps_the_figures() -> None:
    decided = decide(found(0.1, 0.1), SETTINGS, blockers=["The oracle control failed.", "No model answered."])
    assert decided.verdict == "INCONCLUSIVE"
    assert decided.sentence.startswith(
        "INCONCLUSIVE: no verdict is given. The oracle control failed. No model answered. The figures as they are: with"
    )
    assert "+10.0 points" in decided.sentence
    assert decided.needs.startswith("Fix the cause first")


@pytest.mark.parametrize(
    ("mean", "spread", "worst", "best", "stands"),
    [
        (0.10, 0.1, -0.2, 0.5, True),  # GO: with a 25th task at -0.2 the interval is +3.8 to +13.8
        (0.10, 0.1, -0.5, 0.5, False),  # +1.2 to +14.0, but one loss that heavy among so few gains is too skewed
        (0.10, 0.1, -0.7, 0.5, False),
        (0.10, 0.1, -1.0, 0.5, False),
        (-0.10, 0.1, -0.5, 0.2, True),  # HARM
        (-0.10, 0.1, -0.5, 0.5, False),
        (-0.10, 0.1, -0.5, 0.7, False),
        (0.00, 0.05, -0.9, 0.3, True),  # NO-GO: the lower side does not matter
        (0.00, 0.05, -0.1, 0.7, False),
    ],
)
def test_a_missing_pair_leaves_a_verdict_only_where_its_worst_case_does(
    mean: float, spread: float, worst: float, best: float, stands: bool
) -> None:
    whole, tasks = found(mean, spread), differences_around(mean, spread)
    filled = tuple(over(tasks | {"missing": value}) for value in (worst, best))
    decided = decide(replace(whole, planned=25), SETTINGS, filled=(filled[0], filled[1]))
    if stands:
        assert decided.verdict == decide(whole, SETTINGS).verdict
        assert "24 of 25 pairs" in decided.sentence
    else:
        assert decided.verdict == "INCONCLUSIVE"
        assert "1 of 25 planned pairs is missing, which at their worst would undo a" in decided.sentence


@pytest.mark.parametrize(("mean", "verdict"), [(0.1, "GO"), (-0.1, "HARM"), (0.0, "NO-GO")])
def test_a_verdict_holds_only_with_untrusted_verdicts_at_their_worst(mean: float, verdict: str) -> None:
    spread = abs(mean) or 0.02
    whole, close = found(mean, spread), (found(mean - 0.01, spread), found(mean + 0.01, spread))
    far = (found(mean - 0.12, 0.1), found(mean + 0.12, 0.1))
    assert decide(whole, SETTINGS, doubted=[close, close]).verdict == verdict
    for doubted in ([far, close], [close, far]):
        decided = decide(whole, SETTINGS, doubted=doubted, caveat="9 verdicts rest on drafts.")
        assert decided.verdict == "INCONCLUSIVE"
        assert f"9 verdicts rest on drafts. At their worst these would undo a {verdict}." in decided.sentence


def test_missing_pairs_whose_worst_case_is_not_known_leave_no_verdict() -> None:
    decided = decide(found(0.1, 0.1, planned=26), SETTINGS)
    assert decided.verdict == "INCONCLUSIVE"
    assert "2 of 26 planned pairs are missing, and their worst case is not known." in decided.sentence


def test_a_worst_case_without_spread_counts_with_its_delta() -> None:
    worst = over(dict.fromkeys(differences_around(0, 0), 0.3))
    decided = decide(found(0, 0.05, planned=25), SETTINGS, filled=(worst, worst))
    assert decided.verdict == "INCONCLUSIVE"
    assert "at their worst would undo a NO-GO" in decided.sentence


@pytest.mark.parametrize(
    ("differences", "reason"),
    [
        ({}, "Complete pairs exist for 0 tasks, and an interval needs two."),
        ({"a": 0.5}, "Complete pairs exist for 1 task, and an interval needs two."),
        ({"a": 0.5, "b": 0.5, "c": 0.5}, "All 3 tasks differ by the same +50.0 points, which gives no interval."),
    ],
)
def test_without_an_interval_there_is_no_verdict(differences: dict[str, float], reason: str) -> None:
    own = estimate(differences, {task: task for task in differences}, 0.05, len(differences), 1)
    decided = decide(own, SETTINGS)
    assert (decided.verdict, decided.low, decided.high) == ("INCONCLUSIVE", None, None)
    assert reason in decided.sentence
    assert decided.needs


def test_several_looks_make_the_interval_wider_and_a_go_harder() -> None:
    own = found(0.08, 0.17)
    assert decide(own, SETTINGS).verdict == "GO"
    early = decide(own, SETTINGS, look_result(own, 1, 4, SETTINGS))
    assert early.verdict == "INCONCLUSIVE"
    assert "adjusted for 4 looks" in early.sentence
    assert early.low is not None
    assert own.low is not None
    assert early.low < own.low


def test_the_sentence_says_why_the_runs_ended_or_go_on() -> None:
    hopeless, hopeful, clear = found(-0.03, 0.2), found(0.06, 0.2), found(0.2, 0.1)
    ended = decide(hopeless, SETTINGS, look_result(hopeless, 3, 4, SETTINGS))
    assert "The runs ended with look 3 of 4: the chance of a GO at the last look is" in ended.sentence
    going = decide(hopeful, SETTINGS, look_result(hopeful, 1, 4, SETTINGS))
    assert "The runs go on after look 1 of 4" in going.sentence
    assert going.needs == "The next wave."
    assert (
        "The runs ended with look 2 of 4: the verdict is GO."
        in decide(clear, SETTINGS, look_result(clear, 2, 4, SETTINGS)).sentence
    )


def test_what_decides_follows_the_planning_formula_with_an_enlarged_spread() -> None:
    own = found(0.06, 0.2)
    assert own.sd is not None
    more = tasks_needed(upper_sd(own.sd, 24), 0.06) - 24
    assert more > 0
    text = what_decides(own, SETTINGS, 1)
    assert text.startswith(f"About {more} more tasks: enough in 7 of 10 benchmarks or more if the true difference is")
    assert decide(own, SETTINGS).needs == text


def test_a_difference_below_zero_is_measured_from_the_smallest_worthwhile_effect() -> None:
    own = found(-0.01, 0.2)
    assert own.sd is not None
    more = tasks_needed(upper_sd(own.sd, 24), 0.06) - 24
    assert what_decides(own, SETTINGS, 1).startswith(f"About {more} more tasks")


def test_tasks_that_share_repositories_are_asked_for_in_further_ones() -> None:
    differences = {f"t{n:02}": 0.06 + (0.2 if n % 2 else -0.2) + 0.001 * (n % 8) for n in range(24)}
    own = estimate(differences, {task: str(n % 8) for n, task in enumerate(differences)})
    assert "more tasks in further repositories" in what_decides(own, SETTINGS, 1)


def test_between_nothing_and_worthwhile_no_number_of_tasks_is_likely_to_decide() -> None:
    needs = decide(found(0.03, 0.2), SETTINGS).needs
    assert needs.startswith("About 323 more tasks: the difference found lies between 0 and the 5 points")


def test_trials_are_proposed_where_they_would_do() -> None:
    own = found(0.08, 0.2)
    assert own.sd is not None
    noise_only = next(k for k in range(2, 20) if tasks_needed(upper_sd(own.sd, 24) / k**0.5, 0.08) <= 24)
    assert f", or {noise_only} trials of each task instead of 1:" in what_decides(own, SETTINGS, 1, trial_sd=own.sd)
    assert "trials" not in what_decides(own, SETTINGS, 1, trial_sd=0.01)


@settings(max_examples=40)
@given(mean=st.floats(-0.3, 0.3), spread=st.floats(0.001, 1), tasks=st.integers(2, 60))
def test_what_decides_is_never_a_negative_number_of_tasks(mean: float, spread: float, tasks: int) -> None:
    text = what_decides(found(mean, spread, tasks), SETTINGS, 1)
    assert text.startswith(("No number", "Tasks")) or int(text.split()[1]) >= 1


def test_the_examples_of_the_manual_are_what_the_gate_says() -> None:
    manual = " ".join((ROOT / "docs" / "gate.md").read_text().replace("\n> ", " ").split())
    differences = {f"t{n:02}": 0.2 * (n % 2) for n in range(24)}
    repositories = {task: str(n // 2 % 4) for n, task in enumerate(differences)} | {
        f"lost{n}": str(n) for n in range(3)
    }
    drawn = next_boundary((), ((1.0,),), FIRST * 0.05)

    def said(gone: dict[str, float]) -> GateVerdict:
        own = replace(estimate(differences, repositories), planned=24 + len(gone))
        worst = estimate(differences | gone, repositories)
        return decide(
            own, SETTINGS, look_result(own, 1, 1, SETTINGS, drawn), model="glm-5 in claude-code 2.1.329", trials=3,
            filled=(worst, worst), one_loss=estimate(differences | {"": -0.3}, repositories | {"": "another"}),
        )  # fmt: skip

    assert said({}).sentence in manual
    assert said({"lost0": -0.2}).verdict == "GO"
    assert said({"lost0": -0.5}).verdict == "INCONCLUSIVE"
    assert said({f"lost{n}": -1.0 for n in range(3)}).verdict == "INCONCLUSIVE"
    wide = found(0.1, 0.4)
    assert f'-7.3 to +27.3: INCONCLUSIVE, "{decide(wide, SETTINGS).needs}"' in manual
    assert (wide.low, wide.high) == pytest.approx((-0.073, 0.273), abs=0.0005)


def test_a_go_needs_the_sign_flips_to_agree() -> None:
    own = found(0.1, 0.1)
    assert decide(replace(own, mid_p=0.04), SETTINGS).verdict == "GO"
    refused = decide(replace(own, mid_p=0.9), SETTINGS)
    assert refused.verdict == "INCONCLUSIVE"
    assert "The interval alone would be a GO, and the sign-flip test, which assumes less, does not confirm it" in (
        refused.sentence
    )
    assert decide(replace(found(-0.1, 0.1), mid_p=0.9), SETTINGS).verdict == "INCONCLUSIVE"
    assert decide(replace(found(0.0, 0.01), mid_p=0.9), SETTINGS).verdict == "NO-GO"


def test_sign_flips_of_few_repositories_confirm_with_the_smallest_p_that_they_can_give(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(intervals, "RESAMPLES", 9_999)
    own = found(0.1, 0.1, units=6, mid_p=1 / 64)
    strict = look_result(own, 1, 1, SETTINGS, next_boundary((), ((1.0,),), 0.01))
    assert decide(own, SETTINGS, strict).verdict == "GO"
    assert decide(replace(own, mid_p=3 / 64), SETTINGS, strict).verdict == "INCONCLUSIVE"


def test_a_go_says_how_many_tasks_may_lose_heavily_and_whether_one_would_undo_it() -> None:
    differences = differences_around(0.12, 0.1, 12)
    sentence = decide(over(differences), SETTINGS, one_loss=over(differences | {"another": -0.3})).sentence
    assert "None of 12 tasks lost 30 points; up to 22 % of tasks may." in sentence
    assert "One more task with such a loss would undo this GO." in sentence
    strong = differences_around(0.3, 0.1, 24)
    assert "would leave it a GO" in decide(over(strong), SETTINGS, one_loss=over(strong | {"another": -0.3})).sentence
    assert "lost 30 points" not in decide(found(-0.1, 0.1), SETTINGS).sentence


def test_two_tasks_that_differ_wildly_say_nothing() -> None:
    own = over({"a": 0.9, "b": -0.8})
    decided = decide(own, SETTINGS, look_result(own, 1, 1, SETTINGS))
    assert (decided.low, decided.high) == (-1, 1)
    assert "-100.0 to +100.0 points" in decided.sentence
    assert "These data say nothing: any difference is possible." in decided.sentence


def test_a_verdict_on_few_repositories_has_the_interval_for_others_in_its_sentence() -> None:
    values = {f"t{n:02}": 0.2 + 0.1 * (n % 2) + 0.02 * (n % 4) for n in range(16)}
    own = estimate(values, {task: str(n % 4) for n, task in enumerate(values)})
    assert "on these 4 repositories only; for others like them the 95 % interval is " in decide(own, SETTINGS).sentence


def test_a_later_look_says_which_it_is_and_at_which_level() -> None:
    own = found(0.1, 0.1)
    look = look_result(own, 1, 1, SETTINGS, next_boundary((), ((1.0,),), 0.008))
    sentence = decide(own, SETTINGS, look, drawn=Drawn(2, 3, 0.002)).sentence
    assert "(99.2 % interval" in sentence
    assert (
        "This is the second look at this benchmark; level 99.2 %. The level holds for 3 comparisons together"
        in sentence
    )


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The calibration benchmark's own names."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return runpy.run_path(str(ROOT / "benchmarks" / "calibration.py"))


def test_a_server_that_does_nothing_gets_no_go_and_the_interval_holds_0_as_often_as_promised(
    calibration: dict[str, Any],
) -> None:
    outcome = calibration["one_look"](calibration["World"](tasks=24), 0.0, 300)
    assert calibration["as_promised"](outcome)
    assert 0 < outcome.share("GO") + outcome.share("HARM") < 0.1
    assert not calibration["as_promised"](outcome._replace(covered=250))


def test_a_server_that_helps_gets_its_go_and_four_looks_make_less_runs(calibration: dict[str, Any]) -> None:
    helps = calibration["World"](shift=0.52, spread=0.35, tasks=24, trials=3)
    assert calibration["one_look"](helps, 0.1, 100).share("GO") > 0.8
    bigger = {**DEFAULTS, "effect": 10, "power": 0.9}
    outcome = calibration["many_looks"](calibration["World"](tasks=45), 4, bigger, 100)
    assert outcome.share("GO") <= 0.06
    assert outcome.used < 36
