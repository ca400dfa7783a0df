"""The blinding check: it finds what gives a condition away, and finds nothing where there is nothing."""

import random
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from lensbench.judging.blinding import MARK
from lensbench.judging.trust.blinding_check import (
    _POWER,
    MIN_GUESSED_TASKS,
    BlindedAnswer,
    _guessed,
    _right,
    guess_conditions,
)

WORDS = [f"word{number}" for number in range(60)]
SCORE, BETTER = Fraction(1, 2), Fraction(3, 4)
CHANCE = [f"chance{number}" for number in range(12)]


def answers(
    tell: Callable[[int, str], str],
    tasks: int = 12,
    trials: int = 1,
    conditions: tuple[str, ...] = ("without", "with"),
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
                made.append(BlindedAnswer(f"t{task}", condition, text, raw, SCORE))
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


def test_a_word_or_a_mark_of_one_condition_is_found_and_what_blinding_did_is_seen_beside_it() -> (
    None
):
    check = guess_conditions(
        answers(lambda _, condition: "graphical" if condition == "with" else ""), "without", 1
    )
    found = check["with"]
    assert found.holds is False
    assert found.accuracy == 1.0
    check = guess_conditions(
        answers(lambda _, condition: MARK if condition == "with" else ""), "without", 1
    )["with"]
    assert check.accuracy == 1.0
    check = guess_conditions(answers(nothing), "without", 1)["with"]
    assert check.unblinded is not None
    assert check.unblinded.accuracy == 1
    assert check.unblinded.low > 0.5


def test_words_of_one_task_only_give_no_condition_away() -> None:
    told = guess_conditions(answers(lambda task, condition: f"{condition}{task}"), "without", 1)[
        "with"
    ]
    plain = guess_conditions(answers(nothing), "without", 1)["with"]
    assert told == plain
    given = [
        BlindedAnswer(f"t{task}", name, f"w{task} {name}{task}", "", SCORE)
        for task in range(8)
        for name in ("with", "without")
    ]
    check = guess_conditions(given, "without", 1)["with"]
    assert (check.accuracy, check.low, check.high, check.holds) == (0.5, 0.5, 0.5, True)


def test_swapped_words_in_the_tested_task_are_guessed_wrong() -> None:
    """Who learned from the task itself would be right."""
    swap = {"with": "left", "without": "right"}
    given = answers(
        lambda task, name: swap[name] if task else swap[{"with": "without"}.get(name, "with")]
    )
    check = guess_conditions(given, "without", 1)["with"]
    assert check.accuracy == pytest.approx(11 / 12)


def test_every_treatment_is_checked_in_any_order_of_answers_and_without_one_nothing_is() -> None:
    given = answers(nothing, trials=2)
    shuffled = random.Random(3).sample(given, len(given))
    assert guess_conditions(given, "without", 1) == guess_conditions(shuffled, "without", 1)
    given = answers(
        lambda _, condition: condition if condition == "loud" else "",
        conditions=("a", "loud", "base"),
    )
    checks = guess_conditions(given, "base", 2)
    assert {name: (check.n, check.holds) for name, check in checks.items()} == {
        "a": (24, True),
        "loud": (24, False),
    }
    assert guess_conditions([BlindedAnswer("t", "without", "x", "x", SCORE)], "without", 1) == {}


@pytest.mark.parametrize("tasks", [0, 1, MIN_GUESSED_TASKS - 1])
def test_with_few_tasks_nothing_is_computed_and_the_reason_is_given(tasks: int) -> None:
    alone = [BlindedAnswer(f"alone{number}", "with", "x", "x", SCORE) for number in range(9)]
    check = guess_conditions([*answers(nothing, tasks=tasks), *alone], "without", 1)["with"]
    assert (check.accuracy, check.holds, check.tasks, check.n) == (None, None, tasks, 2 * tasks)
    wanted = f"only {tasks} tasks have answers with the same score in both conditions, and the check needs {MIN_GUESSED_TASKS}"
    assert check.reason == wanted


def test_answers_that_differ_in_length_alone_can_be_told_apart() -> None:
    words = [f"word{number}" for number in range(40)]
    found = guess_conditions(
        [
            BlindedAnswer(f"t{task}", condition, text, text, SCORE)
            for task in range(24)
            for condition, times in (("with", 3), ("without", 2))
            for text in [" ".join(words * times)]
        ],
        "without",
        seed=1,
    )["with"]
    assert (found.accuracy, found.holds) == (1.0, False)


def longer_when_better(leak: str) -> list[BlindedAnswer]:
    """In two of three tasks the treatment's answer is better, so it is longer and names more; elsewhere both are equal,
    except for the leak."""
    made = []
    for task in range(36):
        for condition, more in (("without", 0), ("with", 10 if task % 3 else 0)):
            chance = random.Random(f"{task} {condition}").sample(CHANCE, 4)
            text = " ".join([*WORDS[: 20 + more], *chance, leak if condition == "with" else ""])
            made.append(BlindedAnswer(f"t{task}", condition, text, text, BETTER if more else SCORE))
    return made


@pytest.mark.parametrize(
    ("leak", "holds"),
    [("", True), ("graphical", False), (" ".join(WORDS[:10]), False)],
    ids=["none", "word", "length"],
)
def test_better_answers_that_are_longer_are_no_leak_but_a_difference_at_equal_score_is(
    leak: str, holds: bool
) -> None:
    check = guess_conditions(longer_when_better(leak), "without", 1)["with"]
    assert (check.tasks, check.n, check.holds) == (12, 24, holds)


@pytest.mark.parametrize("seed", range(4))
def test_a_row_is_guessed_by_what_the_others_show(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(9, 5))
    signs = rng.choice([-1.0, 1.0], (3, 9))
    for labels, share in zip(signs, _right(rows, signs), strict=True):
        seen = labels[:, None] * rows
        hits = [
            (np.delete(seen, row, axis=0).sum(axis=0) ** _POWER) @ seen[row] > 0 for row in range(9)
        ]
        assert share == pytest.approx(np.mean(hits))


def test_equal_answers_are_called_told_apart_in_one_of_forty_sets_at_most() -> None:
    rng = np.random.default_rng(1)
    failures = sum(
        _guessed(rng.choice([-1, 0, 0, 1], (16, 40)) / 4, seed).low > 0.5 for seed in range(400)
    )
    assert failures <= 400 * 0.025 + 9  # three standard errors
