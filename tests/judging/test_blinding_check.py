"""The blinding check: it finds what gives a condition away, and finds nothing where there is nothing."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

from lensbench.judging.blinding import MARK
from lensbench.judging.blinding_check import (
    MIN_TASKS,
    BlindedAnswer,
    Guess,
    Rows,
    guess_conditions,
    guesses_of_judge,
    logistic_regression,
)

WORDS = [f"word{number}" for number in range(60)]
CHANCE = [f"chance{number}" for number in range(12)]


def answers(
    tell: Callable[[int, str], str], tasks: int = 12, trials: int = 1, conditions: tuple[str, ...] = ("without", "with")
) -> list[BlindedAnswer]:
    """Words of the task, some by chance, and what `tell` adds; the originals of treatments name a tool as well."""
    made = []
    for task in range(tasks):
        for condition in conditions:
            for trial in range(trials):
                words = random.Random(f"{task}").sample(WORDS, 30)
                words += random.Random(f"{task} {condition} {trial}").sample(CHANCE, 2)
                text = " ".join([*words, tell(task, condition), f"only{task}"])
                raw = text if condition == "without" else f"{text} lens_grep"
                made.append(BlindedAnswer(f"t{task}", condition, text, raw))
    return made


def nothing(task: int, condition: str) -> str:
    return ""


def test_answers_without_traces_cannot_be_told_apart() -> None:
    check = guess_conditions(answers(nothing), "without", 1)["with"]
    assert check.holds
    assert check.low is not None
    assert check.high is not None
    assert check.low <= 0.5  # by chance it may be wrong more often than right
    assert (check.n, check.tasks, check.reason) == (24, 12, "")


def test_a_word_of_one_condition_is_found_and_named() -> None:
    check = guess_conditions(answers(lambda _, condition: "graphical" if condition == "with" else ""), "without", 1)
    found = check["with"]
    assert found.holds is False
    assert (found.accuracy, found.auc) == (1.0, 1.0)
    assert found.telling is not None
    assert found.telling["with"][0] == "graphical"
    assert set(found.telling) == {"with", "without"}


def test_marks_that_stand_on_one_side_only_are_found() -> None:
    check = guess_conditions(answers(lambda _, condition: MARK if condition == "with" else ""), "without", 1)["with"]
    assert check.telling is not None
    assert (check.accuracy, check.telling["with"][0]) == (1.0, MARK)


def test_what_blinding_did_is_seen_beside_it() -> None:
    check = guess_conditions(answers(nothing), "without", 1)["with"]
    assert check.unblinded is not None
    assert (check.unblinded.accuracy, check.unblinded.holds) == (1.0, False)


def test_a_word_that_gives_a_condition_away_in_one_task_only_is_no_help() -> None:
    told = guess_conditions(answers(lambda task, condition: f"{condition}{task}"), "without", 1)["with"]
    plain = guess_conditions(answers(nothing), "without", 1)["with"]
    assert told == plain


def test_swapped_words_in_the_tested_task_are_guessed_wrong() -> None:
    """Who learned from the task itself would be right."""
    swap = {"with": "left", "without": "right"}
    given = answers(
        lambda task, condition: swap[condition] if task else swap[{"with": "without"}.get(condition, "with")]
    )
    check = guess_conditions(given, "without", 1)["with"]
    assert check.accuracy == pytest.approx(11 / 12)


def test_the_same_answers_in_any_order_give_the_same_check() -> None:
    given = answers(nothing, trials=2)
    shuffled = random.Random(3).sample(given, len(given))
    assert guess_conditions(given, "without", 1) == guess_conditions(shuffled, "without", 1)


def test_every_treatment_is_checked_against_the_baseline() -> None:
    given = answers(lambda _, condition: condition if condition == "loud" else "", conditions=("a", "loud", "base"))
    checks = guess_conditions(given, "base", 2)
    assert {name: (check.n, check.holds) for name, check in checks.items()} == {"a": (24, True), "loud": (24, False)}


@pytest.mark.parametrize("tasks", [0, 1, MIN_TASKS - 1])
def test_with_few_tasks_nothing_is_computed_and_the_reason_is_given(tasks: int) -> None:
    alone = [BlindedAnswer(f"alone{number}", "with", "x", "x") for number in range(9)]
    check = guess_conditions([*answers(nothing, tasks=tasks), *alone], "without", 1)["with"]
    assert (check.accuracy, check.holds, check.tasks, check.n) == (None, None, tasks, 2 * tasks)
    assert check.reason == f"only {tasks} tasks have answers in both conditions, and the check needs {MIN_TASKS}"


def test_answers_without_common_words_are_not_checked() -> None:
    given = [BlindedAnswer(f"t{task}", name, f"w{task}", "") for task in range(8) for name in ("with", "without")]
    assert guess_conditions(given, "without", 1)["with"].reason == "no word stands in the answers to two tasks"


def test_without_a_treatment_there_is_no_check() -> None:
    assert guess_conditions([BlindedAnswer("t", "without", "x", "x")], "without", 1) == {}


def guesses(*right: tuple[bool, bool]) -> list[Guess]:
    """Per task whether the guesses for both conditions are right."""
    other = {"with": "without", "without": "with"}
    return [
        Guess(f"t{task}", actual if hit else other[actual], actual)
        for task, hits in enumerate(right)
        for actual, hit in zip(("with", "without"), hits, strict=True)
    ]


def test_the_interval_of_a_judges_guesses_is_the_t_interval_over_tasks() -> None:
    given = guesses((True, True), (True, True), (True, False), (False, False), (True, True), (True, False))
    shares = [1, 1, 0.5, 0, 1, 0.5]
    interval = stats.ttest_1samp(shares, 0.5).confidence_interval(0.95)
    check = guesses_of_judge(given)
    assert check.accuracy == pytest.approx(np.mean(shares)) == pytest.approx(2 / 3)
    assert check.low == pytest.approx(interval.low)
    assert check.high == min(1.0, interval.high) == 1.0
    assert (check.n, check.no_guess, check.tasks, check.holds) == (12, 0, 6, True)


def test_a_judge_that_always_says_the_same_is_right_by_chance() -> None:
    given = [Guess(f"t{task}", "with", actual) for task in range(8) for actual in ("with", "with", "with", "without")]
    check = guesses_of_judge(given)
    assert (check.accuracy, check.low, check.high, check.holds) == (0.5, 0.5, 0.5, True)


def test_a_judge_that_is_always_right_sees_through_the_blinding() -> None:
    assert guesses_of_judge(guesses(*[(True, True)] * 6)).holds is False


def test_no_guess_is_counted_apart_and_is_not_wrong() -> None:
    silent = [Guess("t0", None, "with"), Guess("t9", None, "without"), Guess("t9", "with", "with")]
    check = guesses_of_judge([*guesses(*[(True, True)] * 6), *silent])
    assert (check.n, check.no_guess, check.tasks, check.accuracy) == (12, 2, 6, 1.0)


def test_few_guesses_give_no_share() -> None:
    check = guesses_of_judge(guesses((True, True)))
    assert (check.accuracy, check.n) == (None, 2)
    assert check.reason.startswith("only 1 tasks")
    assert guesses_of_judge([]).no_guess == 0


def test_answers_that_differ_in_length_alone_can_be_told_apart() -> None:
    words = [f"word{number}" for number in range(40)]
    found = guess_conditions(
        [
            BlindedAnswer(f"t{task}", condition, text, text)
            for task in range(24)
            for condition, times in (("with", 3), ("without", 2))
            for text in [" ".join(words * times)]
        ],
        "without",
        seed=1,
    )["with"]
    assert found.accuracy == found.auc == 1.0


@pytest.mark.parametrize("seed", range(4))
def test_the_weights_are_those_of_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stands = rng.random((40, 30)) < 0.3
    length = rng.normal(size=40)
    labels = rng.random(40) < 0.3 + 0.4 * stands[:, 0]
    dense = np.column_stack([stands, length])
    reference = LogisticRegression(solver="liblinear", class_weight="balanced", tol=1e-10).fit(dense, labels)
    *words, length_weight = reference.coef_[0]
    found = logistic_regression(Rows.of([np.flatnonzero(row) for row in stands], 30, length), labels)
    assert found == pytest.approx([*words, reference.intercept_[0], length_weight], abs=1e-6)
