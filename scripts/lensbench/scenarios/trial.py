"""Tries a task with a single search, with an agent without a model, and with one that knows the facts.

The first two must not solve it, the third must. The agents are those of the benchmark (the offline agent, and the
control agent of docs/controls.md), called in this process for speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from lensbench.agents.controls.agent import answer as controlled_answer
from lensbench.agents.mcp.question import read_question
from lensbench.agents.mcp.workspace import Workspace
from lensbench.agents.offline.agent import answer_prompt
from lensbench.agents.offline.toolbox import Toolbox
from lensbench.core.numbers import COMPLETE, percent
from lensbench.core.tasks import Task
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise
from lensbench.plan.freeze import prompt_of
from lensbench.scenarios.problems import Problem, Reason, stated
from lensbench.scenarios.survey import Survey

FOUND_LINES = 200
"""The maximum number of lines of a search result."""
CALLS = 30
"""The same as the offline agent's limit in a run."""


class Tried(NamedTuple):
    """The scores of a task in its trial."""

    search: Fraction
    offline: Fraction
    oracle: Fraction

    @property
    def problems(self) -> Iterator[Problem]:
        """The problems of the task: it is solved without understanding, or not even by an agent that knows the
        facts."""
        if self.search >= COMPLETE:
            yield Problem(Reason.ONE_SEARCH, f"one search for a word of the question gives {percent(self.search)}")
        if self.offline == 1:
            yield Problem(Reason.TRIVIAL, "the offline agent, which has no model, gets the full score")
        if self.oracle < COMPLETE:
            yield Problem(Reason.IMPOSSIBLE, f"an answer that states every fact gets {percent(self.oracle)}")


def try_task(task: Task, survey: Survey, workspace: Workspace) -> Tried:
    """Tries a task; returns the scores of one search, the offline agent, and the agent that knows the facts."""
    offline = answer_prompt(prompt_of(task), Toolbox(workspace, None, lambda event: None, CALLS), 1)
    facts = controlled_answer([stated(criterion) for criterion in task.criteria])
    return Tried(_search(task, survey), score(task, offline), score(task, facts))


def score(task: Task, answer: str) -> Fraction:
    """The share of the points that the patterns give an answer, not rounded."""
    text = normalise(answer)
    points = [POINTS.get(judge(criterion, text).verdict, POINTS[Verdict.MISSED]) for criterion in task.criteria]
    return sum(points, Fraction(0)) / len(points)


def _search(task: Task, survey: Survey) -> Fraction:
    """The best score from a search for one of the question's names, words or paths."""
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
