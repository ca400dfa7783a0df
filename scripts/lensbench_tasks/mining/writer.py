"""The writer without a model: proposes the miners' tasks by category, in an order fixed by the seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from lensbench.core.tasks import Category, Source, Task
from lensbench_tasks.mining import callers, flows, importers, messages, places, together, values
from lensbench_tasks.mining.drafts import Draft
from lensbench_tasks.rounds import SHORT, Fate, Proposal
from lensbench_tasks.survey import Survey

Miner = Callable[[Survey, random.Random], Iterator[Draft]]
MINERS: Mapping[Category, tuple[Miner, ...]] = {
    Category.EXPLORATORY: (flows.drafts, places.drafts),
    Category.DEBUG: (messages.drafts,),
    Category.CHANGE_IMPACT: (callers.drafts, importers.drafts, together.drafts),
    Category.TARGETED: (values.drafts,),
}


class Miners:
    """Proposes the miners' tasks; missing tasks of one category are not replaced by another's. Each has the number of
    its draft; `after`: the last number of an earlier start, which is not proposed again."""

    rounds = 8

    def __init__(
        self,
        survey: Survey,
        name: str,
        source: Source,
        seed: int,
        after: Mapping[Category, int] | None = None,
    ) -> None:
        self._name, self._source = name, source
        self._counts = Counter(after)
        self._waiting = {
            category: islice(
                _in_turn([miner(survey, random.Random(f"{seed} {category}")) for miner in miners]),
                self._counts[category],
                None,
            )
            for category, miners in MINERS.items()
        }
        self._drafts: dict[str, Draft] = {}

    def write(self, counts: Mapping[Category, int]) -> list[Proposal]:
        """The wanted number of tasks per category, or fewer if facts run out."""
        proposals = (
            self._next(category) for category, count in counts.items() for _ in range(count)
        )
        return [proposal for proposal in proposals if proposal]

    def revise(self, failures: Sequence[Fate]) -> list[Proposal]:
        """Each task without the failed criteria, or else the next one of its category."""
        proposals = (self._repair(fate) or self._next(fate.proposal.category) for fate in failures)
        return [proposal for proposal in proposals if proposal]

    def _next(self, category: Category) -> Proposal | None:
        draft = next(self._waiting[category], None)
        if draft is None:
            return None
        self._counts[category] += 1
        return self._proposal(f"{self._name}-{SHORT[category]}-{self._counts[category]:02}", draft)

    def _repair(self, fate: Fate) -> Proposal | None:
        problems = fate.tries[-1].problems
        if not all(problem.criterion for problem in problems):
            return None
        draft = self._drafts[fate.proposal.id].without(problem.criterion for problem in problems)
        return self._proposal(fate.proposal.id, draft) if draft else None

    def _proposal(self, name: str, draft: Draft) -> Proposal:
        self._drafts[name] = draft
        criteria = tuple(item.criterion for item in draft.items)
        task = Task(
            id=name,
            category=draft.category,
            repository=self._source,
            prompt=draft.prompt,
            criteria=criteria,
        )
        return Proposal(name, draft.category, task)


def _in_turn(miners: Sequence[Iterator[Draft]]) -> Iterator[Draft]:
    """The drafts of all miners in round-robin order."""
    waiting = list(miners)
    while waiting:
        for one in list(waiting):
            if draft := next(one, None):
                yield draft
            else:
                waiting.remove(one)
