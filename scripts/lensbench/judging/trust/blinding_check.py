"""Measures how well the condition can be guessed from blinded answers with equal scores (protocol, section 4).

Better answers are longer and name more, so at a real effect anybody guesses better than by chance. What the blinding
must hide is what is left between answers to the same task with the same score. The guesses come from a program that
knows the words and the length of answers. By chance half of the guesses are right; the blinding fails the check when
the interval of that share is above one half.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter
from typing import NamedTuple

from lensbench.core.distributions import t_isf
from lensbench.core.numeric import Floats, np
from lensbench.core.tables import grouped
from lensbench.judging.blinding import MARK

MIN_GUESSED_TASKS = 8
"""The minimum number of tasks; with fewer, the program guesses too many random labels without an error."""
_SAME_LENGTH = 0.1
"""Answers whose lengths differ by less than this share count as equally long."""
_POWER = 5
"""The power of a word's statistic in its weight; odd, to keep the sign. With 1, one sure word is lost among hundreds of
others; with a high one, many weak words count nothing (Pan and others, Genetics 197, 2014)."""
_FLIPS = 499
_TOKEN = re.compile(rf"{re.escape(MARK.lower())}|\w\w+")
"""Matches words and marks, since a judge can count marks."""


class BlindedAnswer(NamedTuple):
    """The answer of a valid run with a score."""

    task: str
    condition: str
    text: str
    original: str
    score: Fraction


class Share(NamedTuple):
    """The share of right guesses (0..1) over tasks with equal weight, with its 95% interval."""

    tasks: int
    """Tasks of these answers."""
    accuracy: float
    """The share of right guesses, of 1."""
    low: float
    """The lower end of its interval."""
    high: float
    """The upper end of its interval."""

    @property
    def would_find(self) -> float | None:
        """The true share that would be detected with 80% probability; None when the tasks do not differ."""
        half = max(self.accuracy - self.low, self.high - self.accuracy)
        if not half:
            return None
        far = t_isf(0.025, self.tasks - 1)
        close = t_isf(0.2, self.tasks - 1)
        return min(1.0, 0.5 + float(half * (1 + close / far)))


@dataclass(frozen=True)
class BlindingCheck:
    """How well a program separates a treatment from the baseline. When nothing is computed, `reason` says why, and the
    rest is None."""

    n: int
    """Answers with an equal in another condition."""
    tasks: int
    """Tasks of these answers."""
    accuracy: float | None = None
    """The share of right guesses, of 1."""
    low: float | None = None
    """The lower end of its interval."""
    high: float | None = None
    """The upper end of its interval."""
    holds: bool | None = None
    """True when the interval is not above chance."""
    unblinded: Share | None = None
    """The same for the original answers."""
    would_find: float | None = None
    """The share of right guesses that the check would detect with 80% probability."""
    reason: str = ""
    """Why nothing was computed."""


class Equals(NamedTuple):
    """Answers to a task with the same score in both conditions."""

    treated: list[BlindedAnswer]
    baseline: list[BlindedAnswer]


def guess_conditions(
    answers: Iterable[BlindedAnswer], baseline: str, seed: int
) -> dict[str, BlindingCheck]:
    """Treatment -> how well its answers can be separated from the baseline's answers with the same score.

    A task contributes how often each word occurs in the treatment's answers, minus the same of the baseline's, and the
    same difference of log lengths. Occurrence counts, not frequency: a single mention of a tool reveals a condition.
    From the other tasks the program learns the sign and the weight of each word, and guesses which side is the
    treatment's. Deterministic for the same answers and seed.
    """
    order = attrgetter("task", "score", "condition", "text")
    by_condition = grouped(sorted(answers, key=order), lambda answer: answer.condition)
    without = by_condition.pop(baseline, [])
    return {name: _check(by_condition[name], without, seed) for name in sorted(by_condition)}


def _check(
    treated: Iterable[BlindedAnswer], baseline: Iterable[BlindedAnswer], seed: int
) -> BlindingCheck:
    by_score = grouped(treated, lambda answer: (answer.task, answer.score))
    of_baseline = grouped(baseline, lambda answer: (answer.task, answer.score))
    tasks: dict[str, list[Equals]] = defaultdict(list)
    n = 0
    for group in sorted(by_score.keys() & of_baseline.keys()):
        equals = Equals(by_score[group], of_baseline[group])
        tasks[group[0]].append(equals)
        n += len(equals.treated) + len(equals.baseline)
    if len(tasks) < MIN_GUESSED_TASKS:
        few = f"only {len(tasks)} tasks have answers with the same score in both conditions"
        return BlindingCheck(
            n, len(tasks), reason=f"{few}, and the check needs {MIN_GUESSED_TASKS}"
        )
    share = _guessed(_differences(tasks.values(), "text"), seed)
    original = _guessed(_differences(tasks.values(), "original"), seed)
    return BlindingCheck(n, *share, share.low <= 0.5, original, share.would_find)


def _differences(tasks: Iterable[Sequence[Equals]], field: str) -> Floats:
    """A row per task: for each word of two tasks or more the treatment's share of answers with it minus the baseline's,
    and last the difference of log lengths. Each column is scaled to a sum of squares of 1.
    """
    weighted = [list(_weighted_tokens(task, field)) for task in tasks]
    counts = Counter[str]()
    for task in weighted:
        counts.update({token for _, tokens in task for token in tokens})
    words = sorted(word for word, count in counts.items() if count > 1)
    column = {word: number for number, word in enumerate(words)}
    rows = np.zeros((len(weighted), len(words) + 1))
    for row, task in zip(rows, weighted, strict=True):
        for weight, tokens in task:
            row[[column[word] for word in column.keys() & set(tokens)]] += weight
            row[-1] += weight * math.log1p(len(tokens))
    rows[np.abs(rows[:, -1]) < _SAME_LENGTH, -1] = 0
    size = np.sqrt((rows**2).sum(axis=0))
    table: Floats = rows / np.where(size, size, 1)
    return table


def _weighted_tokens(task: Sequence[Equals], field: str) -> Iterator[tuple[float, list[str]]]:
    """The words of each answer, with its weight in the task: above 0 for the treatment, below for the baseline."""
    for equals in task:
        for sign, answers in ((1, equals.treated), (-1, equals.baseline)):
            for answer in answers:
                words = _TOKEN.findall(getattr(answer, field).lower())
                yield sign / len(answers) / len(task), words


def _guessed(rows: Floats, seed: int) -> Share:
    """The share of tasks in which the treatment is named, with the half-width that random labels reach in 2.5%: answers
    with equal scores could as well have each other's condition, which changes the sign of a task's row."""
    n = len(rows)
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], (_FLIPS, n))
    shares = _right(rows, np.vstack([np.ones(n), signs]))
    bound = np.quantile(shares, 0.975, method="higher")
    accuracy = float(shares[0])
    margin = max(0.0, float(bound) - 0.5)
    return Share(n, accuracy, max(0.0, accuracy - margin), min(1.0, accuracy + margin))


def _right(rows: Floats, signs: Floats) -> Floats:
    """For each vector of signs of the rows the share of rows that the others guess right; no preference counts half.

    A row's guess is the sign of the sum of its columns with the weights (S - x)^_POWER, where S is a column's sum and x
    the row's own part of it, which must not be learned from.
    """
    total = signs @ rows
    hits = []
    for row, sign in zip(rows, signs.T, strict=True):
        own = np.flatnonzero(row)
        weights = (total[:, own] - np.outer(sign, row[own])) ** _POWER
        hits.append(1 + np.sign(np.round(sign * (weights @ row[own]), 9)))
    share: Floats = np.mean(hits, axis=0) / 2
    return share
