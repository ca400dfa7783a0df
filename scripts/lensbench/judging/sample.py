"""Draws the pairs of runs that people judge completely."""

import math
from collections.abc import Iterable

from lensbench.core.frozen_plan import Plan
from lensbench.core.numbers import exact
from lensbench.core.records import sha256
from lensbench.plan.names import HUMAN, TESTS

Group = tuple[str, int]
"""A task and a trial, with the runs of all conditions."""


def sampled_pairs(plan: Plan, groups: Iterable[Group]) -> frozenset[Group]:
    """The `groups` that people judge completely: the share `judging.human_sample`, rounded up.

    All of them when people are the only judges. Each is drawn by seed independently, so that adding or removing a pair
    does not change the draw of the others.
    """
    people_only = all(judge["name"] in (HUMAN, TESTS) for judge in plan["judges"])
    share = 1 if people_only else exact(str(plan["judging"]["human_sample"])) or 0
    ranking = sorted(set(groups), key=lambda group: sha256(f"{plan['seed']} human sample {group}".encode()))
    return frozenset(ranking[: math.ceil(share * len(ranking))])
