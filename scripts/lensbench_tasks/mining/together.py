"""Questions about files that change together, by the commits of the repository."""

from __future__ import annotations

import random
from collections.abc import Iterator

from lensbench.core.tasks import Category, Criterion, Proof
from lensbench_tasks.mining.drafts import MIN_ITEMS, Draft, Item, shuffled
from lensbench_tasks.mining.patterns import place
from lensbench_tasks.survey import Survey

MIN_COMMITS = 3


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about files that three others changed with more often than any fourth."""
    for path in shuffled((path for path in survey.code if path in survey.history.partners), rng):
        partners = sorted(
            survey.history.partners[path].items(), key=lambda item: (-item[1], item[0])
        )
        leaders, others = partners[:MIN_ITEMS], partners[MIN_ITEMS:]
        least = leaders[-1][1]
        if (
            len(leaders) == MIN_ITEMS
            and least >= MIN_COMMITS
            and (not others or others[0][1] < least)
        ):
            yield Draft(
                Category.CHANGE_IMPACT,
                f"Before we change {path}: which {MIN_ITEMS} other files did the commits of this repository change "
                "together with it most often, by count of common commits?",
                tuple(_item(path, other, count, survey) for other, count in leaders),
            )


def _item(path: str, other: str, count: int, survey: Survey) -> Item:
    return Item(
        Criterion(
            text=f"States that {other} changed together with {path}, in {count} commits",
            all_of=(place(other, survey),),
            proofs=(Proof(file=path, changes_with=other, commits=count),),
        )
    )
