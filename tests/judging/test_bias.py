"""What judges get wrong by condition, and the delta corrected by persons: by hand, and by the libraries directly."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm, t, ttest_1samp

from lensbench.core.records import RunId
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.trust.bias import (
    MIN_JUDGED_TASKS,
    Differential,
    corrected_delta,
    judge_bias,
    pair_deltas,
    persons_verdicts,
    prediction_powered,
    run_scores,
    task_mean,
)

SHORT = {"m": Verdict.MET, "p": Verdict.PARTIAL, "-": Verdict.MISSED}
Decided = dict[tuple[RunId, int], Verdict]


def decided(**by_condition: list[str]) -> Decided:
    """One text per task, one letter per criterion; `.` is unjudged and a task may have fewer."""
    return {
        (RunId(f"t{task:02}", condition, 1), number): SHORT[letter]
        for condition, tasks in by_condition.items()
        for task, letters in enumerate(tasks)
        for number, letter in enumerate(letters, 1)
        if letter != "."
    }


def biased(judge: Decided, persons: Decided) -> Differential:
    """The bias of a judge named `claude`."""
    whose = {"with": "with lens", "without": "without a server"}
    return judge_bias("claude", judge, persons, {"with": ("with", "without")}, whose)["with"]


PERSONS = {"with": ["mm", "m-", "mp", "--"], "without": ["m-", "m-", "--", "pp"]}
JUDGE = {"with": ["mm", "mm", "mp", "p-"], "without": ["m-", "p-", "--", "pp"]}


def test_the_differential_is_a_t_interval_over_tasks_and_none_where_both_conditions_err_alike() -> (
    None
):
    found = biased(decided(**JUDGE), decided(**PERSONS))
    wanted = ttest_1samp([0, 0.75, 0, 0.25], 0).confidence_interval(0.95)
    assert (found.signed.value, found.signed.n) == (0.25, 4)
    assert (found.signed.low, found.signed.high) == pytest.approx((wanted.low, wanted.high))
    kind = {name: [task.replace("-", "p") for task in tasks] for name, tasks in PERSONS.items()}
    even = {"with": ["m-"] * 4, "without": ["m-"] * 4}
    found = biased(decided(**{"with": ["mp"] * 4, "without": ["mp"] * 4}), decided(**even))
    assert (found.signed.value, found.sentence) == (0, "")
    assert biased(decided(**kind), decided(**PERSONS)).sentence != ""


def test_a_sentence_says_what_a_differential_of_more_than_half_a_point_does_to_the_delta() -> None:
    found = biased(decided(**JUDGE), decided(**PERSONS))
    assert found.sentence.startswith(
        "Against persons, claude gives answers with lens 25.0 points more than answers without a server (95% interval -"
    )
    assert found.sentence.endswith("It may be chance: let persons judge more pairs to know.")
    persons = {"with": ["m-"] * 12, "without": ["m-"] * 12}
    judge = {"with": ["mp"] * 9 + ["mm"] * 3, "without": ["m-"] * 12}
    found = biased(decided(**judge), decided(**persons))
    assert found.signed.low > 0  # type: ignore[operator]
    assert "This part of the delta is the judge's" in found.sentence
    persons = {"with": ["m" * 10] * 20, "without": ["m" * 10] * 20}
    judge = {"with": ["m" * 9 + "p"] + ["m" * 10] * 19, "without": ["m" * 10] * 20}
    found = biased(decided(**judge), decided(**persons))
    assert (found.signed.value, found.sentence) == (-0.0025, "")


def test_only_criteria_that_both_judged_are_compared_and_persons_speak_by_majority() -> None:
    found = biased(decided(**{"with": ["m.", ".."]}), decided(**{"with": ["mm", "mm"]}))
    assert found.signed[:5] == (None, None, None, 0, "no task has both runs judged")
    assert found.sentence == ""
    key = (RunId("a", "with", 1), 1)
    said = {key: {"human-anna": Verdict.MET, "human-ben": Verdict.MISSED, "claude": Verdict.MET}}
    assert persons_verdicts(said) == {key: Verdict.MISSED}
    assert persons_verdicts({key: {"claude": Verdict.MET}}) == {}


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ([], "no task"),
        ([1], "one task has no interval"),
        ([Fraction(1, 10)] * 5, "no spread"),
    ],
)
def test_where_there_is_no_interval_there_is_a_reason(values: list[Fraction], reason: str) -> None:
    found = task_mean(values)
    assert (found.low, found.high) == (None, None)
    assert reason in found.reason


def test_a_run_with_an_unjudged_criterion_has_no_score_and_its_pair_no_delta() -> None:
    verdicts = decided(**{"with": ["mmp", "mm."], "without": ["m--", "mmm"]})
    points = {key: POINTS[verdict] for key, verdict in verdicts.items()}
    scores = run_scores(points, {task: {"criteria": 3} for task in ("t00", "t01")})
    assert scores[RunId("t00", "with", 1)] == Fraction(17, 20)
    assert RunId("t01", "with", 1) not in scores
    assert pair_deltas(scores, "with", "without") == {
        ("t00", 1): Fraction(17, 20) - Fraction(7, 20)
    }


def deltas(
    seed: int, tasks: int
) -> tuple[dict[tuple[str, int], Fraction], dict[tuple[str, int], Fraction]]:
    """What the judges say, and what persons would say, in steps of 5 points; the judges are 10 points too kind."""
    chance = np.random.default_rng(seed)
    truth = chance.normal(5, 20, tasks)
    judges = truth + 10 + chance.normal(0, 8, tasks)
    return tuple(
        {(f"t{task:03}", 1): Fraction(round(value / 5), 20) for task, value in enumerate(values)}
        for values in (judges, truth)
    )  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("seed", "labelled", "expected"),
    [
        (1, 30, (0.0270210648, -0.0140008274, 0.0680429569)),
        (7, 80, (0.0273816420, -0.0069128072, 0.0616760911)),
    ],
)
def test_the_correction_is_that_of_ppi_python(
    seed: int, labelled: int, expected: tuple[float, float, float]
) -> None:
    """The values are those of ppi_mean_pointestimate and ppi_mean_ci(alpha=0.05) of ppi-python 0.2.3, whose normal
    interval is shorter than that of t."""
    by_judges, truth = deltas(seed, 96)
    corrected = corrected_delta(by_judges, {pair: truth[pair] for pair in sorted(truth)[:labelled]})
    value, low, high = expected
    assert corrected.value == pytest.approx(value, abs=1e-9)
    assert corrected.se == pytest.approx((high - low) / 2 / norm.isf(0.025), abs=1e-9)
    margin = t.isf(0.025, labelled - 1) * corrected.se
    assert (corrected.low, corrected.high) == pytest.approx(
        (value - margin, value + margin), abs=1e-9
    )
    assert corrected.n == labelled


def test_trials_of_a_task_are_one_task() -> None:
    by_judges = {
        (f"t{task}", trial): Fraction(task % 5, 20) for task in range(30) for trial in (1, 2, 3)
    }
    persons = {pair: value for pair, value in by_judges.items() if pair[1] == 2}
    found = corrected_delta(by_judges, persons)
    assert found.reason == "persons have judged every task, so nothing is left to correct"


def test_too_few_tasks_of_people_or_judges_are_not_corrected_and_counted() -> None:
    by_judges, truth = deltas(1, 48)
    found = corrected_delta(
        by_judges, {pair: truth[pair] for pair in sorted(truth)[: MIN_JUDGED_TASKS - 1]}
    )
    assert (found.value, found.n) == (None, MIN_JUDGED_TASKS - 1)
    assert found.reason == (
        "23 tasks of the sample have scores by people and by judges in both runs; a correction needs 24"
    )
    truth = deltas(1, 48)[1]
    found = corrected_delta({}, truth)
    assert (found.value, found.n) == (None, 0)
    assert found.reason.endswith("in 48 further tasks of theirs no judge but people gave a score")


def test_deltas_without_spread_are_not_corrected() -> None:
    same = [Fraction(0)] * MIN_JUDGED_TASKS
    varied = [Fraction(number, 20) for number in range(MIN_JUDGED_TASKS)]
    assert "no spread" in prediction_powered(same, varied, varied).reason
    assert "no spread" in prediction_powered(varied, same, same).reason
    assert prediction_powered(varied, same, varied).value is not None
