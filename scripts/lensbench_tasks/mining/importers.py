"""Questions about the impact of a changed file: its direct and indirect importers."""

from __future__ import annotations

import random
from collections.abc import Iterator

from lensbench.core.tasks import AtMost, Category, Criterion, Pattern, Proof
from lensbench_tasks.mining.drafts import (
    MAX_ITEMS,
    MAX_WRONG,
    MIN_ITEMS,
    Draft,
    Item,
    shuffled,
    wrong_items,
)
from lensbench_tasks.mining.patterns import place
from lensbench_tasks.survey import Survey


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about files that three to five others import, at least one of them indirectly."""
    for path in shuffled(survey.code, rng):
        direct = [(other, path) for other in _importers(path, survey)]
        files = {path, *(other for other, _ in direct)}
        further = [
            (other, via)
            for via, _ in direct
            for other in _importers(via, survey)
            if other not in files
        ]
        pairs = [*direct, *further]
        once = len({other for other, _ in pairs}) == len(pairs)
        if further and once and MIN_ITEMS <= len(pairs) <= MAX_ITEMS:
            limit = wrong_items(_others({path, *(other for other, _ in pairs)}, survey, rng))
            items = tuple(item for one in pairs if (item := _item(*one, limit, survey)))
            if len(items) == len(pairs):
                yield Draft(
                    Category.CHANGE_IMPACT,
                    f"The file {path} is to be split. Which files of the project, tests aside, import it, and which "
                    "others do not, but import one of those that do? Name for each file which of them it imports.",
                    items,
                )


def _importers(path: str, survey: Survey) -> list[str]:
    """The files of the project, tests aside, that import a file."""
    return [other for other in survey.importers.get(path, ()) if other in survey.code]


def _others(right: set[str], survey: Survey, rng: random.Random) -> list[Pattern]:
    """Files that are not right answers, and that no right answer imports."""
    near = right | {other for path in right for other in survey.imports.get(path, ())}
    return [
        place(path, survey)
        for path in shuffled((path for path in survey.code if path not in near), rng)
    ][:MAX_WRONG]


def _item(importer: str, target: str, limit: AtMost | None, survey: Survey) -> Item | None:
    quote = _statement(importer, target, survey)
    if not quote:
        return None
    return Item(
        Criterion(
            text=f"States that {importer} imports {target}",
            all_of=(place(importer, survey), place(target, survey)),
            at_most=limit,
            proofs=(Proof(file=importer, quote=quote),),
        )
    )


def _statement(importer: str, target: str, survey: Survey) -> str:
    """The module name in the import, if only one import leads to the file."""
    stem = target.rpartition("/")[2].partition(".")[0]
    stem = (
        target.split("/")[-2]
        if stem in ("__init__", "index", "mod", "lib") and "/" in target
        else stem
    )
    texts = [
        text
        for one in survey.facts[importer].imports
        for text in (one.module, *one.names)
        if stem in text.replace("/", ".").split(".")
    ]
    return texts[0] if len(set(texts)) == 1 else ""
