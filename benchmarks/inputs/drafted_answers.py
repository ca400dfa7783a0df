"""Answers to the drafting set, for comparing draft patterns with the patterns of its author.

The author's patterns are the label: scores by drafts must be close to scores by them. There are five families, so that
the result does not depend on one way of creating answers: `made` from the author's patterns, `paraphrased` by hand,
`quoted` from the sources as by an agent, of `other` tasks, and `real` ones from runs.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from facts import definition, read_proofs
from labelled import dressed, stated
from lensbench.core.tasks import Criterion, Task
from lensbench.judging.judges import POINTS
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import Normalised, normalise
from lensbench.plan.task_files import read_scenarios
from lensbench.repositories.prepare import prepare

ROOT = Path(__file__).resolve().parents[2]
PARAPHRASES: dict[str, list[list[str]]] = yaml.safe_load(
    (ROOT / "benchmarks" / "inputs" / "paraphrases.yaml").read_text()
)
_QUOTED = 2500
"""The maximum characters of a quoted definition."""

Judge = Callable[[Criterion, Normalised], float]
"""The points that a criterion gets for an answer."""


class Answer(NamedTuple):
    """An answer to a task, and its family."""

    family: str
    task: Task
    text: str


class Scored(NamedTuple):
    """Scores of an answer from 0 to 100: by the author's patterns, and by another judge."""

    family: str
    held_out: bool
    author: float
    other: float


def drafting_set() -> tuple[tuple[Task, ...], dict[str, Path]]:
    """The tasks of the drafting set, and the sources of each, fetched unless they are in the cache."""
    tasks = read_scenarios([str(ROOT / "benchmarks" / "inputs" / "drafting.yaml")]).tasks
    cache = Path(os.environ.get("LENSBENCH_CACHE", ROOT / ".cache" / "repositories"))
    trees = {
        source: prepare(source, cache).tree
        for source in {task.repository for task in tasks}
        if source
    }
    return tasks, {task.id: trees[task.repository] for task in tasks if task.repository}


def held_out(task: Task) -> bool:
    """Whether the task may not be used for tuning rules: half of them, by the hash of their names."""
    return bool(int(hashlib.sha256(task.id.encode()).hexdigest(), 16) % 2)


def bare(criterion: Criterion) -> Criterion:
    """The criterion as prose."""
    return Criterion(text=criterion.text)


def made_answers(tasks: Sequence[Task], trees: Mapping[str, Path], seed: int) -> Iterator[Answer]:
    """Answers that state none, some or all facts of their task, twice each, and answers of two other tasks."""
    for task in tasks:
        rng = random.Random(f"{seed} {task.id}")
        code = _proofs(task, trees[task.id])
        numbers = range(len(task.criteria))
        for count in [*range(len(numbers) + 1)] * 2:
            chosen = rng.sample(numbers, count)
            made = "\n\n".join(
                dressed(stated(task.criteria[number], rng), rng) for number in chosen
            )
            yield Answer("made", task, made)
            yield Answer("paraphrased", task, "\n".join(_sentences(task, chosen, rng)))
            yield Answer(
                "quoted", task, "\n\n".join(text for number in chosen for text in code[number + 1])
            )
        for other in rng.sample([other for other in tasks if other is not task], 2):
            yield Answer("other", task, "\n".join(full for full, _ in PARAPHRASES[other.id]))


def _sentences(task: Task, chosen: Iterable[int], rng: random.Random) -> Iterator[str]:
    """A list with the full sentences of the chosen facts, and the weaker ones of half of the others."""
    for number, (full, weaker) in enumerate(PARAPHRASES[task.id]):
        if number in chosen or rng.random() < 0.5:
            yield f"- {full if number in chosen else weaker}"


def _proofs(task: Task, tree: Path) -> Mapping[int, list[str]]:
    """The code that proves each criterion, as an agent quotes it."""
    proofs = defaultdict(list)
    for fact in read_proofs("drafting"):
        if fact.task == task.id:
            source = (tree / fact.file).read_text("utf-8")
            matching = "\n".join(
                line for line in source.splitlines() if re.search(fact.regex, line)
            )
            code = definition(source, fact.within) if fact.within else matching
            proofs[fact.criterion].append(
                f"`{fact.file}`, `{fact.within}`:\n```python\n{code[:_QUOTED]}\n```"
            )
    return proofs


def patterns(criterion: Criterion, answer: Normalised) -> float:
    """The points by the criterion's patterns; 0 without patterns, as in a score without other judges."""
    return float(POINTS.get(judge(criterion, answer).verdict, 0))


def crude(criterion: Criterion, answer: Normalised) -> float:
    """The rule to beat: the share of the text's hard tokens in the answer; all is Met, half is Partial."""
    tokens = set(re.findall(r"[\w./]*\w", criterion.text))
    hard = {token for token in tokens if re.search(r"[_./\d]|[a-z][A-Z]", token)} or tokens
    share = sum(token in answer.text for token in hard) / len(hard)
    return 1.0 if share == 1 else 0.5 if share >= 0.5 else 0.0


def scored(
    answers: Iterable[Answer], criteria: Mapping[str, Sequence[Criterion]], other: Judge
) -> list[Scored]:
    """Both scores of each answer; `criteria` are those that `other` judges by, for each task."""
    rows = []
    for answer in answers:
        text = normalise(answer.text)
        task = answer.task
        by_author = sum(patterns(criterion, text) for criterion in task.criteria)
        by_other = sum(other(criterion, text) for criterion in criteria[task.id])
        share = 100 / len(task.criteria)
        rows.append(Scored(answer.family, held_out(task), share * by_author, share * by_other))
    return rows


class Closeness(NamedTuple):
    """How close scores are to the author's: rank correlation, mean error and mean difference, for scores up to 100."""

    answers: int
    rank_correlation: float
    error: float
    bias: float


def closeness(rows: Sequence[Scored]) -> Closeness:
    """The closeness of `rows`; the correlation is NaN when all scores of one side are equal."""
    from scipy.stats import spearmanr

    author = [row.author for row in rows]
    other = [row.other for row in rows]
    constant = len(set(author)) == 1 or len(set(other)) == 1
    correlation = float("nan") if constant else float(spearmanr(author, other).statistic)
    differences = [row.other - row.author for row in rows]
    return Closeness(
        len(rows), correlation, sum(map(abs, differences)) / len(rows), sum(differences) / len(rows)
    )
