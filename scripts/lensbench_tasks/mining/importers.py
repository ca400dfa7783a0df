"""Questions about the impact of a changed file: its direct and indirect importers."""

from __future__ import annotations

import random
from collections.abc import Iterator

from lensbench.core.tasks import AtMost, Category, Criterion, Proof
from lensbench_tasks.mining.drafts import (
    FEWEST_ITEMS,
    MAX_WRONG,
    MOST_ITEMS,
    Draft,
    Item,
    shuffled,
    worded,
    wrong_items,
)
from lensbench_tasks.mining.graph import CallGraph
from lensbench_tasks.mining.patterns import place
from lensbench_tasks.survey import Survey

_BY_FILE = frozenset({"python", "javascript", "typescript", "tsx", "java"})
"""Languages in which an import names a file; a package of Go is many files, and a crate of Rust names its modules
anywhere."""


def drafts(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about files that three to five others import, at least one of them indirectly."""
    survey = graph.survey
    candidates = [path for path in survey.code if survey.languages[path] in _BY_FILE]
    for path in shuffled(candidates, rng):
        direct = _importers(path, survey)
        pairs = [(importer, path) for importer in direct]
        for via in direct:
            for importer in _importers(via, survey):
                if importer not in {path, *direct}:
                    pairs.append((importer, via))
        importers = {importer for importer, _ in pairs}
        has_further = len(pairs) > len(direct)
        if has_further and FEWEST_ITEMS <= len(importers) == len(pairs) <= MOST_ITEMS:
            limit = _unrelated({path, *importers}, survey, rng)
            question = worded("importers", rng, file=path)
            items = tuple(_item(*pair, limit, survey) for pair in pairs)
            yield Draft("importers", Category.CHANGE_IMPACT, question, items)


def _importers(path: str, survey: Survey) -> list[str]:
    """The files of the project, tests aside, that import a file."""
    own = set(survey.code)
    return [other for other in survey.importers.get(path, ()) if other in own]


def _unrelated(right: set[str], survey: Survey, rng: random.Random) -> AtMost | None:
    """Files that are not right answers, and that no right answer imports."""
    near = set(right)
    for path in right:
        near.update(survey.imports.get(path, ()))
    others = [path for path in survey.code if path not in near]
    wrong = shuffled(others, rng)[:MAX_WRONG]
    return wrong_items([place(path, survey) for path in wrong])


def _item(importer: str, target: str, limit: AtMost | None, survey: Survey) -> Item:
    statement = next(one.statement for one in survey.found[importer] if target in one.files)
    return Item(
        Criterion(
            text=f"States that {importer} imports {target}",
            all_of=(place(importer, survey), place(target, survey)),
            at_most=limit,
            proofs=(Proof(file=importer, quote=statement.module),),
        )
    )
