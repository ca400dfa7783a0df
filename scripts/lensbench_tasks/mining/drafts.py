"""Drafts of tasks: a question composed of parts, each with its criterion."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, TypeVar

from lensbench.core.tasks import AtMost, Category, Criterion, Pattern

MIN_ITEMS, MAX_ITEMS = 3, 5
MIN_WRONG, MAX_WRONG = 4, 20
Each = TypeVar("Each")


class Item(NamedTuple):
    """A criterion, and its part of the question; "" when the question asks for all at once."""

    criterion: Criterion
    asked: str = ""


@dataclass(frozen=True)
class Draft:
    """A task from which parts can be removed. The parts of the items replace `{asked}` in `question`."""

    category: Category
    question: str
    items: tuple[Item, ...]

    @property
    def prompt(self) -> str:
        """The question."""
        return self.question.replace("{asked}", listed([item.asked for item in self.items]))

    def without(self, numbers: Iterable[int]) -> Draft | None:
        """The draft without the criteria with these numbers (from 1); None when too few are left."""
        exclusions = set(numbers)
        left = tuple(item for number, item in enumerate(self.items, 1) if number not in exclusions)
        return replace(self, items=left) if exclusions and len(left) >= MIN_ITEMS else None


def wrong_items(patterns: Sequence[Pattern]) -> AtMost | None:
    """The limit of a list question: an answer may name at most a quarter of the wrong items.

    None when there are too few wrong items to tell a mistake from a full listing.
    """
    return AtMost(n=len(patterns) // 4, of=tuple(patterns)) if len(patterns) >= MIN_WRONG else None


def listed(parts: Sequence[str]) -> str:
    """The parts joined for a sentence."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def shuffled(values: Iterable[Each], rng: random.Random) -> list[Each]:
    """The values in random order."""
    items = list(values)
    rng.shuffle(items)
    return items


def grouped(values: Sequence[Each], differ: Callable[[Each, Each], bool]) -> Iterator[list[Each]]:
    """Groups of MAX_ITEMS values that all differ (the last with at least MIN_ITEMS); each value once."""
    waiting = list(values)
    while waiting:
        group = [waiting.pop(0)]
        for value in list(waiting):
            if len(group) < MAX_ITEMS and all(differ(value, other) for other in group):
                group.append(value)
                waiting.remove(value)
        if len(group) < MIN_ITEMS:
            return
        yield group
