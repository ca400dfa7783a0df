"""Finds the parts of a large change that a test needs, by omitting parts, halves first (delta debugging)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

Passing = Callable[[frozenset[int]], frozenset[str]]
"""Numbers of applied pieces -> the tests that pass with them."""


class Separate(NamedTuple):
    """Pieces that belong together, and the tests that need them."""

    pieces: frozenset[int]
    tests: frozenset[str]


def separate(
    count: int, tests: Iterable[str], passing: Passing, intact: Callable[[frozenset[int]], bool] = lambda pieces: True
) -> list[Separate]:
    """The smallest independent changes among `count` pieces, each with the `tests` that need it.

    All `tests` pass with all pieces. A test needs the pieces without which it fails; overlapping sets become one
    change. The tests of a change are those that pass with it alone; others have interchangeable pieces, and are
    omitted. Pieces that no test needs are cheap, because they are omitted together. A change that is not `intact`
    gets the further pieces with which it is, as all pieces together are.
    """
    everything = frozenset(range(count))
    needed: dict[str, set[int]] = {test: set() for test in tests}

    def look(group: list[int], asking: frozenset[str]) -> None:
        failing = asking - passing(everything - frozenset(group))
        if failing and len(group) == 1:
            for test in failing:
                needed[test].update(group)
        elif failing:
            middle = len(group) // 2
            look(group[:middle], failing)
            look(group[middle:], failing)

    if count:
        look(list(everything), frozenset(needed))
    found: list[Separate] = []
    for test, pieces in sorted(needed.items()):
        if pieces:
            found = joined(found, Separate(frozenset(pieces), frozenset({test})))
    alone = [Separate(each.pieces, each.tests & passing(each.pieces)) for each in found]
    return [_completed(each, everything, passing, intact) for each in alone if each.tests]


def _completed(
    change: Separate, everything: frozenset[int], passing: Passing, intact: Callable[[frozenset[int]], bool]
) -> Separate:
    """The change with the fewest further pieces that make it `intact`: halves of the rest are omitted first."""
    if intact(change.pieces):
        return change
    chosen = everything

    def omit(group: list[int]) -> None:
        nonlocal chosen
        fewer = chosen - frozenset(group)
        if intact(fewer) and change.tests <= passing(fewer):
            chosen = fewer
        elif len(group) > 1:
            middle = len(group) // 2
            omit(group[:middle])
            omit(group[middle:])

    former = frozenset[int]()
    while former != chosen:  # what a piece needed can be omitted once that piece was
        former = chosen
        omit(sorted(chosen - change.pieces))
    return Separate(chosen, change.tests)


def joined(found: Sequence[Separate], new: Separate) -> list[Separate]:
    """`found` plus `new`, with changes merged that share a piece."""
    apart = [each for each in found if not each.pieces & new.pieces]
    for each in found:
        if each.pieces & new.pieces:
            new = Separate(new.pieces | each.pieces, new.tests | each.tests)
    return [*apart, new]
