"""Rounds: tasks are proposed; failed ones are returned with reasons and revised, a limited number of times."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lensbench.core.tasks import Category, Task
from lensbench_tasks.problems import Problem
from lensbench_tasks.trial import TrialScores

SHORT_CATEGORIES = {
    Category.EXPLORATORY: "exp",
    Category.DEBUG: "dbg",
    Category.CHANGE_IMPACT: "chg",
    Category.TARGETED: "tgt",
}
"""The abbreviations of categories in task ids."""


@dataclass(frozen=True)
class Proposal:
    """A proposed task. A proposal with the id of an earlier one is its revision."""

    id: str
    category: Category
    task: Task | None
    problems: tuple[Problem, ...] = ()
    """Why it is not a task at all."""


@dataclass(frozen=True)
class Examined:
    """The findings about a proposal."""

    problems: tuple[Problem, ...]
    tried: TrialScores | None = None
    """None when reading was enough to reject it."""


@dataclass
class CandidateResult:
    """The outcome of a proposal."""

    proposal: Proposal
    tries: list[Examined] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """`kept` as first proposed, `repaired` after a revision, or `dropped`."""
        if self.tries[-1].problems:
            return "dropped"
        return "kept" if len(self.tries) == 1 else "repaired"


class Writer(Protocol):
    """A source of tasks."""

    rounds: int
    """The number of rounds, including the first."""

    def write(self, counts: Mapping[Category, int]) -> Iterable[Proposal]:
        """The wanted number of tasks per category, or fewer."""

    def revise(self, failures: Sequence[CandidateResult]) -> Iterable[Proposal]:
        """Fixed versions or replacements of failed tasks; fewer if there are none."""


Examine = Callable[[Proposal, Sequence[Task]], Examined]
"""Proposal, tasks kept so far -> the findings."""


def missing_of(count: int, earlier: Sequence[Task] = ()) -> dict[Category, int]:
    """How many tasks of each category a set lacks until it has `count`, as evenly as the earlier ones allow."""
    there = Counter(task.category for task in earlier)
    full = there.copy()
    for _ in range(count - len(earlier)):
        full[min(Category, key=lambda category: full[category])] += 1
    return {category: full[category] - there[category] for category in Category}


def last_numbers(name: str, earlier: Sequence[Task]) -> dict[Category, int]:
    """The highest number in the ids of earlier tasks of the set `name`, by category; 0 without one."""
    last = {}
    for category, short in SHORT_CATEGORIES.items():
        numbers = [0]
        for task in earlier:
            numbers += map(int, re.findall(rf"^{name}-{short}-(\d+)$", task.id))
        last[category] = max(numbers)
    return last


def run_rounds(
    writer: Writer, examine: Examine, counts: Mapping[Category, int]
) -> list[CandidateResult]:
    """The outcome of every proposal, in order of first appearance."""
    fates: dict[str, CandidateResult] = {}
    failures: list[CandidateResult] = []
    for number in range(writer.rounds):
        proposals = writer.revise(failures) if number else writer.write(counts)
        failures = []
        for proposal in proposals:
            fate = fates.setdefault(proposal.id, CandidateResult(proposal))
            fate.proposal = proposal
            fate.tries.append(examine(proposal, tasks_of(fates.values())))
            if fate.outcome == "dropped":
                failures.append(fate)
        if not failures:
            break
    return list(fates.values())


def kept(fates: Iterable[CandidateResult]) -> list[CandidateResult]:
    """The fates whose tasks are in the set, by category and id."""
    order = list(Category)
    good = [fate for fate in fates if fate.tries and fate.outcome != "dropped"]
    return sorted(good, key=lambda fate: (order.index(fate.proposal.category), fate.proposal.id))


def tasks_of(fates: Iterable[CandidateResult]) -> list[Task]:
    """The tasks of the set."""
    return [fate.proposal.task for fate in kept(fates) if fate.proposal.task]
