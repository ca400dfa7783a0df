"""Rounds: tasks are proposed, what fails goes back with the reasons, and comes again, a bounded number of times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from lensbench.core.tasks import Category, Task
from lensbench.scenarios.problems import Problem
from lensbench.scenarios.trial import Tried

SHORT = {
    Category.EXPLORATORY: "exp", Category.DEBUG: "dbg", Category.CHANGE_IMPACT: "chg", Category.TARGETED: "tgt",
}  # fmt: skip
"""What the ids of tasks call the categories."""


@dataclass(frozen=True)
class Proposal:
    """A task as somebody proposes it. A proposal with the id of an earlier one is that one, fixed."""

    id: str
    category: Category
    task: Task | None
    problems: tuple[Problem, ...] = ()
    """Why it is no task at all."""


@dataclass(frozen=True)
class Examined:
    """What was found out about a proposal."""

    problems: tuple[Problem, ...]
    tried: Tried | None = None
    """None when reading it was enough."""


@dataclass
class Fate:
    """What became of a proposal."""

    proposal: Proposal
    tries: list[Examined] = field(default_factory=list)

    @property
    def outcome(self) -> str:
        """`kept` as it was first proposed, `repaired` after it had gone back, or `dropped`."""
        if self.tries[-1].problems:
            return "dropped"
        return "kept" if len(self.tries) == 1 else "repaired"


class Writer(Protocol):
    """Who proposes tasks."""

    rounds: int
    """How often, the first time included."""

    def write(self, wanted: Mapping[Category, int]) -> list[Proposal]:
        """So many tasks of each category, or fewer."""

    def revise(self, rejected: Sequence[Fate]) -> list[Proposal]:
        """Those that failed, fixed or replaced by others; fewer when nothing can be done."""


Examine = Callable[[Proposal, Sequence[Task]], Examined]
"""From a proposal and the tasks that are kept so far to what is wrong with it."""


def spread(count: int) -> dict[Category, int]:
    """So many tasks spread evenly; the first categories have one more when it does not come out even."""
    each, more = divmod(count, len(Category))
    return {category: each + (number < more) for number, category in enumerate(Category)}


def run_rounds(writer: Writer, examine: Examine, wanted: Mapping[Category, int]) -> list[Fate]:
    """What became of every proposal, in the order of their first appearance."""
    fates: dict[str, Fate] = {}
    rejected: list[Fate] = []
    for number in range(writer.rounds):
        proposals = writer.revise(rejected) if number else writer.write(wanted)
        rejected = []
        for proposal in proposals:
            fate = fates.setdefault(proposal.id, Fate(proposal))
            fate.proposal = proposal
            fate.tries.append(examine(proposal, tasks_of(fates.values())))
            if fate.outcome == "dropped":
                rejected.append(fate)
        if not rejected:
            break
    return list(fates.values())


def kept(fates: Iterable[Fate]) -> list[Fate]:
    """Those whose tasks make the set, by category and id."""
    order = list(Category)
    good = [fate for fate in fates if fate.tries and fate.outcome != "dropped"]
    return sorted(good, key=lambda fate: (order.index(fate.proposal.category), fate.proposal.id))


def tasks_of(fates: Iterable[Fate]) -> list[Task]:
    """The tasks of the set."""
    return [fate.proposal.task for fate in kept(fates) if fate.proposal.task]
