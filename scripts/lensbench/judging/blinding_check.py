"""How well the condition of an answer can be guessed from what judges see of it (protocol, section 4).

Guesses come from a classifier that knows which words stand in an answer and how long it is, and from judges that were
asked. Guessing right in half of the cases is chance: the blinding is not shown to fail when the interval of the share
of right guesses includes that.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from lensbench.core.distributions import t_isf
from lensbench.judging.blinding import MARK

MIN_TASKS = 6
"""With fewer, the interval is too wide to tell anything."""
_FOLDS = 10
_WORDS_SHOWN = 10
_NO_WEIGHT = 1e-6
_FLAT = 1e-6
"""The slope of a loss that is as small as it gets."""
_MOST_STEPS = 100
_SAME_LENGTH = 0.1
"""Answers whose lengths spread by less than this share are of one length."""
_TOKEN = re.compile(rf"{re.escape(MARK.lower())}|\w\w+")
"""Marks are words too: a judge can count them."""


class BlindedAnswer(NamedTuple):
    """An answer of a run that counts."""

    task: str
    condition: str
    text: str
    """As judges see it."""
    original: str
    """As the agent wrote it."""


class Guess(NamedTuple):
    """What a judge took an answer for; None when it gave no guess."""

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
        """Chance is within the interval."""
        return self.low <= 0.5 <= self.high

    @property
    def would_find(self) -> float | None:
        """The true share that is told from chance with 80 % probability; None when the tasks do not differ."""
        far, close = t_isf(0.025, self.tasks - 1), t_isf(0.2, self.tasks - 1)
        half = max(self.accuracy - self.low, self.high - self.accuracy)
        return min(1.0, 0.5 + float(half * (1 + close / far))) if half else None


@dataclass(frozen=True)
class GuessCheck:
    """How well a judge guessed. Where nothing is computed, `reason` says why, and the rest is None."""

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
    """How well the classifier tells a treatment from the baseline. `reason` as in GuessCheck."""

    n: int
    """Answers of tasks that have both conditions."""
    tasks: int
    accuracy: float | None = None
    low: float | None = None
    high: float | None = None
    holds: bool | None = None
    auc: float | None = None
    """The share of pairs of answers of both conditions of which it finds the treatment's one."""
    unblinded: Share | None = None
    """The same from the answers as the agent wrote them."""
    telling: Mapping[str, Sequence[str]] | None = None
    """By condition, the words that speak most for it, the strongest first."""
    would_find: float | None = None
    """The share of right guesses that such a check tells from chance with 80 % probability."""
    reason: str = ""


def guess_conditions(answers: Iterable[BlindedAnswer], baseline: str, seed: int) -> dict[str, BlindingCheck]:
    """By treatment, how well its answers can be told from those of the baseline.

    A logistic regression over the words that stand in an answer or not and its length, cross-validated so that no task
    is on both sides. How often a word stands there does not count: one mention of a tool gives a condition away, and
    weights such as TF-IDF drown it among hundreds of other words. Words of one task only are left out, and so are tasks
    that lack one of the two conditions. The same answers and seed give the same checks.
    """
    given = sorted(answers)
    treatments = sorted({answer.condition for answer in given} - {baseline})
    return {name: _check([a for a in given if a.condition in (name, baseline)], baseline, seed) for name in treatments}


def guesses_of_judge(guesses: Iterable[Guess]) -> GuessCheck:
    """How well a judge guessed the conditions, over the tasks in which it guessed for two conditions or more."""
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
    """The tasks that stand there with two conditions."""
    found: dict[str, set[str]] = {}
    for task, condition in runs:
        found.setdefault(task, set()).add(condition)
    return {task for task, conditions in found.items() if len(conditions) > 1}


def _share(guesses: Iterable[tuple[str, str, bool]]) -> Share:
    """The share over (task, condition, right), with the t interval of the tasks' shares.

    The answers of a task are guessed alike, so the task is the unit. In a task the conditions have equal weight: who
    always says the same is right in half of the cases. `proportion_confint` over tasks would take a task for a coin,
    but a task in which one of two guesses is right varies less; its interval is too wide to find a blinding that fails.
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
    """Which words stand in which answer, and what the classifier has to find out."""

    answers: Sequence[BlindedAnswer]
    baseline: str
    seed: int
    words: Sequence[str]
    rows: Rows
    """One per answer; the last column is its length."""

    @classmethod
    def of(cls, answers: Sequence[BlindedAnswer], texts: Sequence[str], baseline: str, seed: int) -> _Words | None:
        """None when no word stands in two tasks. Which words count is decided without looking at conditions."""
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
    def labels(self) -> Any:
        """True for the treatment."""
        return np.array([answer.condition != self.baseline for answer in self.answers])

    def scores(self) -> Any:
        """By answer, how much speaks for the treatment: above 0 is the guess. Learned from other tasks only."""
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

    def share(self, scores: Any) -> Share:
        """How many of the guesses are right."""
        told = zip(self.answers, (scores > 0) == self.labels, strict=True)
        return _share((answer.task, answer.condition, bool(hit)) for answer, hit in told)

    def auc(self, scores: Any) -> float:
        """The share of pairs of answers of both conditions in which the treatment's has the higher score."""
        ours, theirs = scores[self.labels], scores[~self.labels]
        below = [np.searchsorted(np.sort(theirs), ours, side) for side in ("left", "right")]  # a tie counts half
        return float(np.mean(below) / len(theirs))

    def telling(self) -> dict[str, list[str]]:
        """By condition, the words with the largest weights, learned from all answers."""
        weights = logistic_regression(self.rows, self.labels)[: len(self.words)]
        ascending = np.argsort(weights, kind="stable")
        treatment = next(answer.condition for answer in self.answers if answer.condition != self.baseline)
        return {
            self.baseline: [self.words[i] for i in ascending[:_WORDS_SHOWN] if weights[i] < -_NO_WEIGHT],
            treatment: [self.words[i] for i in ascending[::-1][:_WORDS_SHOWN] if weights[i] > _NO_WEIGHT],
        }


class Rows(NamedTuple):
    """A matrix of which most is 0: a column for each word that stands there or not, a constant, and a last column of
    any numbers."""

    columns: Any
    """The columns with a 1, row after row; each row ends with the constant, so that none is empty."""
    ends: Any
    """Where each row ends in `columns`."""
    last: Any
    width: int

    @classmethod
    def of(cls, ones: Sequence[Sequence[int]], words: int, last: Any) -> Rows:
        """A row for each of `ones`, which are the words that stand there."""
        columns = np.concatenate([np.array([*places, words]) for places in ones])
        return cls(columns, np.cumsum([len(places) + 1 for places in ones]), last, words + 2)

    @property
    def lengths(self) -> Any:
        """How many columns of each row have a 1."""
        return np.diff(self.ends, prepend=0)

    def only(self, wanted: Any) -> Rows:
        """The rows for which `wanted` is true."""
        columns = self.columns[np.repeat(wanted, self.lengths)]
        return Rows(columns, np.cumsum(self.lengths[wanted]), self.last[wanted], self.width)

    def __matmul__(self, weights: Any) -> Any:
        sums = np.add.reduceat(weights[self.columns], self.ends - self.lengths)
        return sums + self.last * weights[-1]

    def transposed(self, numbers: Any) -> Any:
        """The product of the transposed matrix with a number for each row."""
        found = np.bincount(self.columns, np.repeat(numbers, self.lengths), self.width)
        found[-1] = self.last @ numbers
        return found


def logistic_regression(rows: Rows, labels: Any) -> Any:
    """The weights of the columns, of which half the squares plus the log loss is least.

    Both labels have the same weight in all, however many answers they have. As in liblinear (Fan and others, Journal of
    Machine Learning Research 9, 2008) the constant is kept small like the other weights. Newton's method with conjugate
    gradients (Nocedal and Wright, Numerical Optimization, 2006, algorithm 7.1); the loss is convex.
    """
    sign = np.where(labels, 1.0, -1.0)
    share = len(labels) / (2 * np.where(labels, labels.sum(), (~labels).sum()))

    def slope(weights: Any) -> tuple[Any, Any]:
        wrong = np.exp(-np.logaddexp(0, sign * (rows @ weights)))  # how likely each label seems not to be
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


def _newton_step(rows: Rows, uphill: Any, bend: Any) -> Any:
    """Where the slope would be 0 if the curvature stayed what it is here, about, by conjugate gradients."""
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
