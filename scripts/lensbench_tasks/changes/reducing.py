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
    count: int,
    tests: Iterable[str],
    passing: Passing,
    intact: Callable[[frozenset[int]], bool] = lambda pieces: True,
) -> list[Separate]:
    """The smallest independent changes among `count` pieces, each with the `tests` that need it.

    All `tests` pass with all pieces. A test needs the pieces without which it fails; overlapping sets become one
    change, whose tests are those that pass with it alone. One that is not `intact` gets further pieces.
    """
    everything = frozenset(range(count))
    needs: dict[str, set[int]] = {test: set() for test in tests}

    def look(group: list[int], asking: frozenset[str]) -> None:
        failing = asking - passing(everything - frozenset(group))
        if failing and len(group) == 1:
            for test in failing:
                needs[test].update(group)
        elif failing:
            middle = len(group) // 2
            look(group[:middle], failing)
            look(group[middle:], failing)

    if count:
        look(list(everything), frozenset(needs))
    changes: list[Separate] = []
    for test, pieces in sorted(needs.items()):
        if pieces:
            alone = Separate(frozenset(pieces), frozenset({test}))
            changes = joined(changes, alone)
    found = []
    for change in changes:
        tests = change.tests & passing(change.pieces)
        if tests:
            fewer = Separate(change.pieces, tests)
            found.append(_completed(fewer, everything, passing, intact))
    return found


def _completed(
    change: Separate,
    everything: frozenset[int],
    passing: Passing,
    intact: Callable[[frozenset[int]], bool],
) -> Separate:
    """The change with the fewest further pieces that make it `intact`: halves of the rest are omitted first."""
    if intact(change.pieces):
        return change
    pieces = everything

    def omit(group: list[int]) -> None:
        nonlocal pieces
        fewer = pieces - frozenset(group)
        if intact(fewer) and change.tests <= passing(fewer):
            pieces = fewer
        elif len(group) > 1:
            middle = len(group) // 2
            omit(group[:middle])
            omit(group[middle:])

    former = frozenset[int]()
    while former != pieces:  # what a piece needed can be omitted once that piece was
        former = pieces
        omit(sorted(pieces - change.pieces))
    return Separate(pieces, change.tests)


def joined(changes: Sequence[Separate], new: Separate) -> list[Separate]:
    """`changes` plus `new`, with changes merged that share a piece."""
    apart = [change for change in changes if not change.pieces & new.pieces]
    for change in changes:
        if change.pieces & new.pieces:
            new = Separate(new.pieces | change.pieces, new.tests | change.tests)
    return [*apart, new]
