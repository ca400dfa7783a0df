"""Tries a task: what one search finds, what an agent without a model answers, and one that knows the facts.

The first two must not solve it, the third must. The agents are those of the benchmark (the offline agent, and the
control agent of docs/controls.md), without their processes: they are ours, and there are many tasks to try.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from lensbench.agents.controls.agent import answer as controlled_answer
from lensbench.agents.offline.agent import answer_prompt
from lensbench.agents.offline.question import read_question
from lensbench.agents.offline.toolbox import Toolbox
from lensbench.agents.offline.workspace import Workspace
from lensbench.core.numbers import COMPLETE, percent
from lensbench.core.tasks import Task
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.freeze import prompt_of
from lensbench.scenarios.problems import Problem, Reason, stated
from lensbench.scenarios.survey import Survey

FOUND_LINES = 200
"""What a search shows at most."""
CALLS = 30
"""As many as the offline agent may make in a run."""


class Tried(NamedTuple):
    """The scores that a task was given."""

    search: Fraction
    offline: Fraction
    oracle: Fraction

    @property
    def problems(self) -> Iterator[Problem]:
        """What is wrong with the task: it is solved without understanding, or not even by who knows the facts."""
        if self.search >= COMPLETE:
            yield Problem(Reason.ONE_SEARCH, f"one search for a word of the question gives {percent(self.search)}")
        if self.offline == 1:
            yield Problem(Reason.TRIVIAL, "the offline agent, which has no model, gets the full score")
        if self.oracle < COMPLETE:
            yield Problem(Reason.IMPOSSIBLE, f"an answer that states every fact gets {percent(self.oracle)}")


def try_task(task: Task, survey: Survey, workspace: Workspace) -> Tried:
    """The scores of one search, the offline agent, and the agent that knows the facts."""
    offline = answer_prompt(prompt_of(task), Toolbox(workspace, None, lambda event: None, CALLS), 1)
    facts = controlled_answer([stated(criterion) for criterion in task.criteria])
    return Tried(_search(task, survey), score(task, offline), score(task, facts))


def score(task: Task, answer: str) -> Fraction:
    """The share of the points that an answer earns by the patterns, not rounded."""
    text = normalise(answer)
    points = [POINTS.get(judge(criterion, text).verdict, POINTS[Verdict.MISSED]) for criterion in task.criteria]
    return sum(points, Fraction(0)) / len(points)


def _search(task: Task, survey: Survey) -> Fraction:
    """The best score of the lines that have one of the question's names, words or paths in them."""
    terms = {variant for term in read_question(task.prompt).terms for variant in term.variants if len(variant) > 2}
    return max((score(task, "\n".join(_lines(term, survey))) for term in sorted(terms)), default=Fraction(0))


def _lines(term: str, survey: Survey) -> list[str]:
    found = [
        f"{path}: {line.strip()}"
        for path, text in survey.texts.items()
        if term in text
        for line in text.splitlines()
        if term in line
    ]
    return found[:FOUND_LINES]
