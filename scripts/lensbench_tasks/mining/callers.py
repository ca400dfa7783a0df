"""Questions about the impact of a changed function: who calls it, and who calls those."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from lensbench.core.tasks import AtMost, Category, Criterion
from lensbench_tasks.mining.drafts import (
    FEWEST_ITEMS,
    MOST_ITEMS,
    Draft,
    Item,
    located,
    shuffled,
    unrelated,
    worded,
)
from lensbench_tasks.mining.graph import CallGraph, CallSite
from lensbench_tasks.mining.patterns import named, proof_in
from lensbench_tasks.parsers.code import Definition
from lensbench_tasks.survey import Survey


def drafts(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about functions with three to five callers, all in other files, all of them known."""
    for callee in shuffled(graph.callers, rng):
        sites = graph.callers[callee]
        if graph.is_complete(callee) and callee.path not in _files(sites):
            yield from _draft("callers", callee, sites, graph.survey, rng)


def affected(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about functions that three to five others reach with one or two calls; those with callers in other
    files come first."""
    callees = shuffled(graph.callers, rng)
    callees.sort(key=lambda one: _files(graph.callers[one]) <= {one.path})
    for callee in callees:
        direct = graph.callers[callee]
        callers = [site.caller for site in direct]
        further = []
        for caller in callers:
            sites = graph.callers.get(caller, ())
            further += [site for site in sites if site.caller not in (callee, *callers)]
        are_known = all(map(graph.is_complete, (callee, *callers)))
        if further and are_known:
            yield from _draft("affected", callee, [*direct, *further], graph.survey, rng)


def _files(sites: Sequence[CallSite]) -> set[str]:
    return {site.caller.path for site in sites}


def _draft(
    kind: str, callee: Definition, sites: Sequence[CallSite], survey: Survey, rng: random.Random
) -> Iterator[Draft]:
    names = {site.caller.shown for site in sites}
    if FEWEST_ITEMS <= len(names) == len(sites) <= MOST_ITEMS:
        limit = unrelated({callee.path, *_files(sites)}, survey, rng)
        question = worded(kind, rng, callee=callee.shown)
        items = tuple(_item(site, callee, limit, survey) for site in sites)
        yield Draft(kind, Category.CHANGE_IMPACT, question, items)


def _item(site: CallSite, subject: Definition, limit: AtMost | None, survey: Survey) -> Item:
    caller = site.caller
    callee = site.callee
    name, file = located(caller, survey)
    between = () if callee is subject else (named(callee, survey),)
    return Item(
        Criterion(
            text=f"States that `{caller.shown}` in {caller.path} calls `{callee.shown}`",
            all_of=(name, file, *between),
            at_most=limit,
            partial={"names the file": (file,)},
            proofs=(proof_in(caller, site.quote),),
        )
    )
