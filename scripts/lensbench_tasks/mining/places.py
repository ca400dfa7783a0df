"""Questions about where widely used definitions of a project are."""

from __future__ import annotations

import random
from collections.abc import Iterator

from lensbench.core.tasks import Category, Criterion, Proof
from lensbench_tasks.mining.drafts import Draft, Item, grouped, shuffled
from lensbench_tasks.mining.patterns import at, whole
from lensbench_tasks.parsers.code import CALLABLES, Definition
from lensbench_tasks.survey import Survey


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about five definitions in different files, each used by other files."""
    candidates = [
        one
        for definitions in survey.defined.values()
        for one in definitions
        if survey.only(one.name)
        and one.kind in (*CALLABLES, "class", "interface")
        and not one.name.startswith("_")
        and survey.words[one.name] >= 2
    ]
    for group in grouped(shuffled(candidates, rng), lambda a, b: a.path != b.path):
        yield Draft(
            Category.EXPLORATORY,
            "A new colleague meets these names where they are used: {asked}. In which file, tests aside, is each of "
            "them defined?",
            tuple(_item(one, survey) for one in group),
        )


def _item(one: Definition, survey: Survey) -> Item:
    return Item(
        Criterion(
            text=f"States that `{one.name}` is defined in {one.path}",
            any_of=(at(whole(one.name), one.path, survey),),
            proofs=(Proof(file=one.path, quote=one.text[:60].split("\n")[0], within=one.name),),
        ),
        f"`{one.name}`",
    )
