"""Rounds of proposals: what is wrong goes back to its writer, until it is right or the rounds are over."""

from collections.abc import Iterable, Mapping, Sequence

import pytest

from lensbench.core.tasks import Category, Task
from lensbench_tasks.problems import Problem
from lensbench_tasks.rounds import CandidateResult, Examined, Proposal, kept, run_rounds

FAULT = Problem("duplicate", "it asks the same")
ROUNDS = 3


class Scripted:
    """A writer of proposals, each of which becomes right in the given round (from 0)."""

    rounds = ROUNDS

    def __init__(self, right_in: Mapping[str, int]) -> None:
        self.right_in = right_in
        self.asked: list[list[str]] = []
        """The names that were to be revised, by round."""

    def write(self, counts: Mapping[Category, int]) -> Iterable[Proposal]:
        return [Proposal(name, Category.DEBUG, None) for name in self.right_in]

    def revise(self, failures: Sequence[CandidateResult]) -> Iterable[Proposal]:
        self.asked.append([failure.proposal.id for failure in failures])
        return [failure.proposal for failure in failures]

    def examine(self, proposal: Proposal, others: Sequence[Task]) -> Examined:
        is_right = len(self.asked) >= self.right_in[proposal.id]
        return Examined(() if is_right else (FAULT,))


@pytest.mark.parametrize(
    ("right_in", "asked"),
    [
        ({"b": 0, "a": 0}, []),
        ({"b": 0, "a": 1}, [["a"]]),
        ({"c": ROUNDS, "b": 0, "a": 1}, [["c", "a"], ["c"]]),
    ],
)
def test_only_what_is_wrong_goes_back(right_in: dict[str, int], asked: list[list[str]]) -> None:
    writer = Scripted(right_in)
    run_rounds(writer, writer.examine, {})
    assert writer.asked == asked


def test_a_proposal_is_kept_repaired_or_dropped() -> None:
    writer = Scripted({"c": ROUNDS, "b": 0, "a": 1})
    fates = run_rounds(writer, writer.examine, {})
    assert [(fate.proposal.id, fate.outcome) for fate in fates] == [
        ("c", "dropped"),
        ("b", "kept"),
        ("a", "repaired"),
    ]
    assert [fate.proposal.id for fate in kept(fates)] == ["a", "b"]
