"""Tries a task with a single search, with an agent without a model, and with one that knows the facts.

The first two must not solve it, the third must. The agent without a model is the offline agent, started as in a run.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lensbench.agents.adapters import offline
from lensbench.core.numbers import COMPLETE, percent
from lensbench.core.tasks import Task
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.freeze import prompt_of
from lensbench_tasks.problems import Problem, fact_of
from lensbench_tasks.question import read_question
from lensbench_tasks.survey import Survey

FOUND_LINES = 200
"""The maximum number of lines of a search result."""


class TrialScores(NamedTuple):
    search: Fraction
    offline: Fraction
    oracle: Fraction

    @property
    def problems(self) -> Iterator[Problem]:
        """The problems of the task: it is solved without understanding, or not even by an agent that knows the
        facts."""
        if self.search >= COMPLETE:
            yield Problem(
                "one_search", f"one search for a word of the question gives {percent(self.search)}"
            )
        if self.offline == 1:
            yield Problem("trivial", "the offline agent, which has no model, gets the full score")
        if self.oracle < COMPLETE:
            yield Problem(
                "impossible", f"an answer that states every fact gets {percent(self.oracle)}"
            )


def try_task(task: Task, survey: Survey) -> TrialScores:
    """Tries a task; returns the scores of one search, the offline agent, and the agent that knows the facts."""
    facts = "\n".join(fact_of(criterion) for criterion in task.criteria)
    return TrialScores(
        _search(task, survey),
        score(task, _offline_answer(prompt_of(task), survey.root)),
        score(task, facts),
    )


def _offline_answer(prompt: str, workspace: Path) -> str:
    command = [
        *offline.ARGV,
        "--prompt-file",
        "/dev/stdin",
        "--workspace",
        str(workspace),
        "--seed",
        "1",
    ]
    process = subprocess.run(
        command, input=prompt, stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    return offline.read(process.stdout.split("\n")).answer


def score(task: Task, answer: str) -> Fraction:
    """The share of the points that the patterns give an answer, not rounded."""
    text = normalise(answer)
    total = Fraction(0)
    for criterion in task.criteria:
        verdict = judge(criterion, text).verdict
        total += POINTS.get(verdict, POINTS[Verdict.MISSED])
    return total / len(task.criteria)


def _search(task: Task, survey: Survey) -> Fraction:
    """The best score from a search for one of the question's names, words or paths."""
    searched: set[str] = set()
    best = Fraction(0)
    for term in read_question(task.prompt).terms:
        for variant in term.variants:
            if len(variant) > 2 and variant not in searched:
                searched.add(variant)
                lines = islice(_lines(variant, survey), FOUND_LINES)
                best = max(best, score(task, "\n".join(lines)))
    return best


def _lines(words: str, survey: Survey) -> Iterator[str]:
    """The lines with these words, as a search shows them."""
    for path, text in survey.texts.items():
        if words in text:
            for line in text.splitlines():
                if words in line:
                    yield f"{path}: {line.strip()}"
