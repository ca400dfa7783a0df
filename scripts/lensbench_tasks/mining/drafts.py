"""Drafts of tasks: a question composed of parts, each with its criterion."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import yaml

from lensbench.core.tasks import AtMost, Category, Criterion, Pattern
from lensbench_tasks.mining.patterns import is_telling, named, place
from lensbench_tasks.parsers.code import CALLABLES, Definition
from lensbench_tasks.survey import Survey

FEWEST_ITEMS, MOST_ITEMS = 3, 5
MIN_WRONG, MAX_WRONG = 4, 20
SENTENCES: dict[str, list[str]] = yaml.safe_load(
    Path(__file__).with_name("questions.yaml").read_text(encoding="utf-8")
)
"""Kind of question -> its sentences."""
Each = TypeVar("Each")


@dataclass(frozen=True)
class Item:
    """A criterion, and its part of the question; "" when the question asks for all at once."""

    criterion: Criterion
    asked: str = ""


@dataclass(frozen=True)
class Draft:
    """A task of a kind, from which parts can be removed. What the items ask for replaces `{asked}` in `question`."""

    kind: str
    category: Category
    question: str
    items: tuple[Item, ...]

    @property
    def prompt(self) -> str:
        """The question."""
        asked = [item.asked for item in self.items]
        return self.question.replace("{asked}", listed(asked))

    def without(self, numbers: Iterable[int]) -> Draft | None:
        """The draft without the criteria with these numbers (from 1); None if too few are left, or if the question asks
        for all at once, because it would still ask for them."""
        exclusions = set(numbers)
        left = []
        for number, item in enumerate(self.items, 1):
            if number not in exclusions:
                left.append(item)
        if not exclusions or len(left) < FEWEST_ITEMS or "{asked}" not in self.question:
            return None
        return replace(self, items=tuple(left))


def worded(kind: str, rng: random.Random, **parts: str) -> str:
    """One of the sentences of a kind of question; `{asked}` stays."""
    return rng.choice(SENTENCES[kind]).format(**parts, asked="{asked}")


def listed(parts: Sequence[str]) -> str:
    """The parts joined for a sentence."""
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def shuffled(values: Iterable[Each], rng: random.Random) -> list[Each]:
    """The values in random order."""
    items = list(values)
    rng.shuffle(items)
    return items


def located(one: Definition, survey: Survey) -> tuple[Pattern, Pattern]:
    """The patterns for a definition and its file."""
    return named(one, survey), place(one.path, survey)


def head(one: Definition) -> str:
    """The start of a definition, as a quote."""
    return one.text[:60].split("\n")[0]


def wrong_items(patterns: Sequence[Pattern]) -> AtMost | None:
    """The limit of a list question: an answer may name at most a quarter of the wrong items.

    None when there are too few wrong items to tell a mistake from a full listing.
    """
    if len(patterns) < MIN_WRONG:
        return None
    return AtMost(n=len(patterns) // 4, of=tuple(patterns))


def unrelated(paths: set[str], survey: Survey, rng: random.Random) -> AtMost | None:
    """Functions of other files than these as wrong items; only names that tell them."""
    names = []
    for path in survey.code:
        for one in survey.codes[path].definitions:
            if path not in paths and one.kind in CALLABLES and is_telling(one, survey):
                names.append(one.name)
    items = shuffled(dict.fromkeys(names), rng)
    return wrong_items(items[:MAX_WRONG])
