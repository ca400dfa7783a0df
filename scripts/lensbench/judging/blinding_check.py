"""Measures how well the condition can be guessed from blinded answers (protocol, section 4).

The guesses come from a classifier on the words and the length of answers, and from judges who are asked. By chance half
of the guesses are right; the blinding fails the check when the interval of that share is above one half.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from lensbench.core.arrays import Bools, Floats, Ints
from lensbench.core.distributions import t_isf
from lensbench.judging.blinding import MARK

MIN_TASKS = 6
"""The minimum number of tasks; with fewer, the interval is too wide."""
_FOLDS = 10
_WORDS_SHOWN = 10
_NO_WEIGHT = 1e-6
_FLAT = 1e-6
"""The gradient at which the optimisation stops."""
_MOST_STEPS = 100
_SAME_LENGTH = 0.1
"""Answers whose lengths vary by less than this share count as equally long."""
_TOKEN = re.compile(rf"{re.escape(MARK.lower())}|\w\w+")
"""Matches words and marks, since a judge can count marks."""


class BlindedAnswer(NamedTuple):
    """The answer of a valid run."""

    task: str
    condition: str
    text: str
    """The blinded text."""
    original: str
    """The original text."""


class Guess(NamedTuple):
    """A judge's guess for an answer; None when it gave none."""

    task: str
    guessed: str | None
    actual: str


class Share(NamedTuple):
    """The share of right guesses (0..1) over tasks with equal weight, with its 95 % interval."""

    tasks: int
    accuracy: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """True when the interval includes chance."""
        return self.low <= 0.5 <= self.high

    @property
    def would_find(self) -> float | None:
        """The true share that would be detected with 80 % probability; None when the tasks do not differ."""
        far, close = t_isf(0.025, self.tasks - 1), t_isf(0.2, self.tasks - 1)
        half = max(self.accuracy - self.low, self.high - self.accuracy)
        return min(1.0, 0.5 + float(half * (1 + close / far))) if half else None


@dataclass(frozen=True)
class GuessCheck:
    """The quality of a judge's guesses. When nothing is computed, `reason` says why, and the rest is None."""

    n: int
    """Answers with a guess."""
    no_guess: int
    """Answers without one."""
    tasks: int
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    holds: bool | None = None
    reason: str = ""


@dataclass(frozen=True)
class BlindingCheck:
    """How well the classifier separates a treatment from the baseline. `reason` as in GuessCheck."""

    n: int
    """Answers of tasks that have both conditions."""
    tasks: int
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    holds: bool | None = None
    auc: float | None = None
    """The share of pairs of answers from both conditions in which it identifies the treatment's (AUC)."""
    unblinded: Share | None = None
    """The same for the original answers."""
    telling: Mapping[str, Sequence[str]] | None = None
    """Condition -> the words with the largest weights, strongest first."""
    would_find: float | None = None
    """The share of right guesses that the check would detect with 80 % probability."""
    reason: str = ""


def guess_conditions(answers: Iterable[BlindedAnswer], baseline: str, seed: int) -> dict[str, BlindingCheck]:
    """Treatment -> how well its answers can be separated from the baseline's.

    Uses logistic regression on the presence of words and the length, cross-validated with each task on one side only.
    Word counts are not used: a single mention of a tool reveals a condition, and weights such as TF-IDF hide it among
    hundreds of other words. Words in one task only and tasks without both conditions are ignored. Deterministic for
    the same answers and seed.
    """
    given = sorted(answers)
    treatments = sorted({answer.condition for answer in given} - {baseline})
    return {name: _check([a for a in given if a.condition in (name, baseline)], baseline, seed) for name in treatments}


def guesses_of_judge(guesses: Iterable[Guess]) -> GuessCheck:
    """The quality of a judge's guesses, over the tasks with guesses for at least two conditions."""
    given = list(guesses)
    made = [guess for guess in given if guess.guessed is not None]
    both = _with_both([(guess.task, guess.actual) for guess in made])
    counted = [guess for guess in made if guess.task in both]
    n, silent = len(counted), len(given) - len(made)
    if len(both) < MIN_TASKS:
        return GuessCheck(n, silent, len(both), reason=_too_few(len(both)))
    share = _share([(guess.task, guess.actual, guess.guessed == guess.actual) for guess in counted])
    return GuessCheck(n, silent, share.tasks, share.accuracy, share.low, share.high, share.holds)


def _too_few(tasks: int) -> str:
    return f"only {tasks} tasks have answers in both conditions, and the check needs {MIN_TASKS}"


def _with_both(runs: Iterable[tuple[str, str]]) -> set[str]:
    """The tasks with at least two conditions."""
    found: dict[str, set[str]] = {}
    for task, condition in runs:
        found.setdefault(task, set()).add(condition)
    return {task for task, conditions in found.items() if len(conditions) > 1}


def _share(guesses: Iterable[tuple[str, str, bool]]) -> Share:
    """The share of right guesses from (task, condition, right), with the t interval of the tasks' shares.

    Guesses within a task are correlated, so the task is the unit. Within a task the conditions have equal weight, so
    that a constant guess is right in half of the cases. `proportion_confint` would treat a task as a coin flip, but
    tasks with one of two guesses right vary less; its interval would be too wide to detect a failed blinding.
    """
    right: dict[str, dict[str, list[bool]]] = {}
    for task, condition, hit in guesses:
        right.setdefault(task, {}).setdefault(condition, []).append(hit)
    shares = [float(np.mean([np.mean(hits) for hits in conditions.values()])) for conditions in right.values()]
    mean, error = float(np.mean(shares)), float(np.std(shares, ddof=1)) / len(shares) ** 0.5
    margin = float(t_isf(0.025, len(shares) - 1)) * error if error else 0.0
    return Share(len(shares), mean, max(0.0, mean - margin), min(1.0, mean + margin))


def _check(answers: Sequence[BlindedAnswer], baseline: str, seed: int) -> BlindingCheck:
    both = _with_both((answer.task, answer.condition) for answer in answers)
    answers = [answer for answer in answers if answer.task in both]
    if len(both) < MIN_TASKS:
        return BlindingCheck(len(answers), len(both), reason=_too_few(len(both)))
    seen = _Words.of(answers, [answer.text for answer in answers], baseline, seed)
    raw = _Words.of(answers, [answer.original for answer in answers], baseline, seed)
    if seen is None or raw is None:
        return BlindingCheck(len(answers), len(both), reason="no word stands in the answers to two tasks")
    scores = seen.scores()
    share = seen.share(scores)
    return BlindingCheck(
        len(answers), share.tasks, share.accuracy, share.low, share.high, share.low <= 0.5, seen.auc(scores),
        raw.share(raw.scores()), seen.telling(), share.would_find,
    )  # fmt: skip


@dataclass(frozen=True)
class _Words:
    """The words of each answer, and the labels for the classifier."""

    answers: Sequence[BlindedAnswer]
    baseline: str
    seed: int
    words: Sequence[str]
    rows: Rows
    """One per answer; the last column is its length."""

    @classmethod
    def of(cls, answers: Sequence[BlindedAnswer], texts: Sequence[str], baseline: str, seed: int) -> _Words | None:
        """None when no word occurs in two tasks. Words are selected without using the conditions."""
        found = [_TOKEN.findall(text.lower()) for text in texts]
        by_task: dict[str, set[str]] = {}
        for answer, tokens in zip(answers, found, strict=True):
            by_task.setdefault(answer.task, set()).update(tokens)
        counts = Counter(word for words in by_task.values() for word in words)
        words = sorted(word for word, tasks in counts.items() if tasks > 1)
        if not words:
            return None
        column = {word: number for number, word in enumerate(words)}
        stand = [sorted({column[word] for word in tokens if word in column}) for tokens in found]
        length = np.log1p([len(tokens) for tokens in found])
        length = (length - length.mean()) / max(length.std(), _SAME_LENGTH)
        return cls(answers, baseline, seed, words, Rows.of(stand, len(words), length))

    @property
    def labels(self) -> Bools:
        """True for the treatment."""
        return np.array([answer.condition != self.baseline for answer in self.answers])

    def scores(self) -> Floats:
        """The score of each answer, learned from other tasks only; above 0, the guess is the treatment."""
        names = sorted({answer.task for answer in self.answers})
        order = np.random.default_rng(self.seed).permutation(len(names))
        fold_of = {names[task]: number % _FOLDS for number, task in enumerate(order)}
        folds = np.array([fold_of[answer.task] for answer in self.answers])
        scores = np.zeros(len(self.answers))
        for fold in range(min(_FOLDS, len(names))):
            unseen = folds == fold
            weights = logistic_regression(self.rows.only(~unseen), self.labels[~unseen])
            scores[unseen] = self.rows.only(unseen) @ weights
        return scores

    def share(self, scores: Floats) -> Share:
        """The share of right guesses."""
        told = zip(self.answers, (scores > 0) == self.labels, strict=True)
        return _share((answer.task, answer.condition, bool(hit)) for answer, hit in told)

    def auc(self, scores: Floats) -> float:
        """The share of pairs of answers of both conditions in which the treatment's has the higher score."""
        ours, theirs = scores[self.labels], scores[~self.labels]
        below = [np.searchsorted(np.sort(theirs), ours, side) for side in ("left", "right")]  # a tie counts half
        return float(np.mean(below) / len(theirs))

    def telling(self) -> dict[str, list[str]]:
        """Condition -> the words with the largest weights, learned from all answers."""
        weights = logistic_regression(self.rows, self.labels)[: len(self.words)]
        ascending = np.argsort(weights, kind="stable")
        treatment = next(answer.condition for answer in self.answers if answer.condition != self.baseline)
        return {
            self.baseline: [self.words[i] for i in ascending[:_WORDS_SHOWN] if weights[i] < -_NO_WEIGHT],
            treatment: [self.words[i] for i in ascending[::-1][:_WORDS_SHOWN] if weights[i] > _NO_WEIGHT],
        }


class Rows(NamedTuple):
    """A sparse matrix: a 0/1 column for each word, a constant column, and a last column of arbitrary numbers."""

    columns: Ints
    """The columns with a 1, row by row; each row ends with the constant, so that none is empty."""
    ends: Ints
    """Where each row ends in `columns`."""
    last: Floats
    width: int

    @classmethod
    def of(cls, ones: Sequence[Sequence[int]], words: int, last: Floats) -> Rows:
        """A row for each of `ones`, the words that are present."""
        columns = np.concatenate([np.array([*places, words]) for places in ones])
        return cls(columns, np.cumsum([len(places) + 1 for places in ones]), last, words + 2)

    @property
    def lengths(self) -> Ints:
        """How many columns of each row have a 1."""
        return np.diff(self.ends, prepend=0)

    def only(self, wanted: Bools) -> Rows:
        """The rows for which `wanted` is true."""
        columns = self.columns[np.repeat(wanted, self.lengths)]
        return Rows(columns, np.cumsum(self.lengths[wanted]), self.last[wanted], self.width)

    def __matmul__(self, weights: Floats) -> Floats:
        ones = np.add.reduceat(weights[self.columns], self.ends - self.lengths)
        sums: Floats = ones + self.last * weights[-1]
        return sums

    def transposed(self, numbers: Floats) -> Floats:
        """The product of the transposed matrix with a number for each row."""
        found = np.bincount(self.columns, np.repeat(numbers, self.lengths), self.width).astype(float)
        found[-1] = self.last @ numbers
        return found


def logistic_regression(rows: Rows, labels: Bools) -> Floats:
    """The column weights that minimise the log loss plus half the sum of squares.

    Both labels have the same total weight, whatever their number of answers. As in liblinear (Fan and others, Journal
    of Machine Learning Research 9, 2008) the constant is regularised like the other weights. Newton's method with
    conjugate gradients (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.1); the loss is convex.
    """
    sign = np.where(labels, 1.0, -1.0)
    share = len(labels) / (2 * np.where(labels, labels.sum(), (~labels).sum()))

    def slope(weights: Floats) -> tuple[Floats, Floats]:
        wrong = np.exp(-np.logaddexp(0, sign * (rows @ weights)))  # the predicted probability of the wrong label
        return weights - rows.transposed(share * sign * wrong), share * wrong * (1 - wrong)

    weights = np.zeros(rows.width)
    uphill, bend = slope(weights)
    for _ in range(_MOST_STEPS):
        if np.linalg.norm(uphill) < _FLAT:
            break
        step = _newton_step(rows, uphill, bend)
        while np.linalg.norm(slope(weights + step)[0]) > np.linalg.norm(uphill):
            step = step / 2
        weights = weights + step
        uphill, bend = slope(weights)
    return weights


def _newton_step(rows: Rows, uphill: Floats, bend: Floats) -> Floats:
    """The approximate Newton step by conjugate gradients."""
    step, left = np.zeros_like(uphill), -uphill
    way, size = left, float(left @ left)
    enough = size * min(0.25, math.sqrt(size))
    while size > enough:
        curved = way + rows.transposed(bend * (rows @ way))
        far = size / float(way @ curved)
        step, left = step + far * way, left - far * curved
        before, size = size, float(left @ left)
        way = left + size / before * way
    return step
