"""The writer without a model: proposes the miners' questions in an order fixed by the seed."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from lensbench.core.tasks import Category, Source, Task
from lensbench_tasks.mining import callers, decided, flows, importers, paths
from lensbench_tasks.mining.drafts import Draft
from lensbench_tasks.mining.graph import CallGraph
from lensbench_tasks.rounds import SHORT_CATEGORIES, CandidateResult, Proposal
from lensbench_tasks.survey import Survey

Miner = Callable[[CallGraph, random.Random], Iterator[Draft]]
MINERS: Sequence[Miner] = (
    paths.drafts,
    callers.affected,
    paths.reaches,
    decided.members,
    flows.drafts,
    importers.drafts,
    callers.drafts,
    decided.options,
)


class Miners:
    """Proposes questions of all kinds in turn; categories without any are filled by the others. An id is the place of
    a question among all, so that a set that grows gets the ids that it would have had at once."""

    rounds = 1000
    """A rejected question is replaced until there is none left."""

    def __init__(
        self, survey: Survey, name: str, source: Source, seed: int, earlier: Sequence[Task] = ()
    ) -> None:
        """`earlier`: the tasks that the set has; they are not proposed again."""
        self._name = name
        self._source = source
        graph = CallGraph(survey)
        miners = []
        for number, miner in enumerate(MINERS):
            miners.append(miner(graph, random.Random(f"{seed} {number}")))
        self._waiting = _in_turn(miners)
        self._earlier = {task.prompt for task in earlier}
        self._ids = {task.id for task in earlier}
        self._counts: Counter[Category] = Counter()
        self._drafts: dict[str, Draft] = {}

    def write(self, counts: Mapping[Category, int]) -> list[Proposal]:
        """As many questions as are wanted of all categories together, or fewer if facts run out."""
        return self._next(sum(counts.values()))

    def revise(self, failures: Sequence[CandidateResult]) -> list[Proposal]:
        """Each task without the failed criteria, or else another question."""
        repaired: list[Proposal] = []
        for fate in failures:
            repaired += self._repair(fate)
        return [*repaired, *self._next(len(failures) - len(repaired))]

    def _next(self, count: int) -> list[Proposal]:
        proposals: list[Proposal] = []
        while len(proposals) < count:
            draft = next(self._waiting, None)
            if draft is None:
                break
            self._counts[draft.category] += 1
            if draft.prompt not in self._earlier:
                proposals.append(self._proposal(self._free_id(draft.category), draft))
        return proposals

    def _free_id(self, category: Category) -> str:
        number = self._counts[category]
        while True:
            name = f"{self._name}-{SHORT_CATEGORIES[category]}-{number:02}"
            if name not in self._ids:
                self._ids.add(name)
                return name
            number += 1

    def _repair(self, fate: CandidateResult) -> Iterator[Proposal]:
        problems = fate.tries[-1].problems
        if all(problem.criterion for problem in problems):
            faults = {problem.criterion for problem in problems}
            draft = self._drafts[fate.proposal.id].without(faults)
            if draft is not None:
                yield self._proposal(fate.proposal.id, draft)

    def _proposal(self, name: str, draft: Draft) -> Proposal:
        self._drafts[name] = draft
        task = Task(
            id=name,
            category=draft.category,
            repository=self._source,
            prompt=draft.prompt,
            criteria=tuple(item.criterion for item in draft.items),
        )
        return Proposal(name, draft.category, task)


def _in_turn(miners: Sequence[Iterator[Draft]]) -> Iterator[Draft]:
    """The drafts of all miners in round-robin order."""
    waiting = list(miners)
    while waiting:
        for miner in list(waiting):
            draft = next(miner, None)
            if draft is None:
                waiting.remove(miner)
            else:
                yield draft
