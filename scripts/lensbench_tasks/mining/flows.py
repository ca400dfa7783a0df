"""Questions about the functions in other files that a function calls."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from lensbench.core.tasks import Category, Criterion
from lensbench_tasks.mining.drafts import (
    FEWEST_ITEMS,
    MOST_ITEMS,
    Draft,
    Item,
    head,
    located,
    shuffled,
    worded,
)
from lensbench_tasks.mining.graph import CallGraph, CallSite
from lensbench_tasks.mining.patterns import proof_in
from lensbench_tasks.parsers.code import Definition
from lensbench_tasks.survey import Survey

_IN_TURN = " directly, and which further ones of other files do these call in turn"


def drafts(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about functions that reach three to five definitions in other files, directly or in one more step."""
    for caller in shuffled(graph.callees, rng):
        direct = _outward(graph.callees[caller], caller)
        reach = direct
        depth = " directly"
        if len(direct) < FEWEST_ITEMS:
            reach = [*direct, *_further(direct, caller, graph)]
            depth = _IN_TURN
        callees = {site.callee for site in reach}
        if FEWEST_ITEMS <= len(callees) == len(reach) <= MOST_ITEMS:
            yield Draft(
                "flows",
                Category.EXPLORATORY,
                worded("flows", rng, caller=caller.shown, file=caller.path, depth=depth),
                tuple(call_item(site, graph.survey) for site in reach),
            )


def _outward(sites: Sequence[CallSite], start: Definition) -> list[CallSite]:
    """The calls of functions in other files than the start's."""
    return [site for site in sites if site.callee.path != start.path]


def _further(direct: Sequence[CallSite], start: Definition, graph: CallGraph) -> list[CallSite]:
    """The calls one step further, without those of functions that are known already."""
    known = {start, *(site.callee for site in direct)}
    further = []
    for step in direct:
        for site in _outward(graph.callees.get(step.callee, ()), start):
            if site.callee.path != step.callee.path and site.callee not in known:
                further.append(site)
    return further


def call_item(site: CallSite, survey: Survey, *, with_caller: bool = False) -> Item:
    """The criterion for a call: what is called and where that is defined; also by whom, `with_caller`."""
    caller = site.caller
    callee = site.callee
    name, file = located(callee, survey)
    source = located(caller, survey) if with_caller else ()
    return Item(
        Criterion(
            text=f"States that `{caller.shown}` in {caller.path} calls `{callee.shown}`, defined in {callee.path}",
            all_of=tuple(dict.fromkeys((name, file, *source))),
            partial={"names what is called": (name,)},
            proofs=(
                proof_in(caller, site.quote),
                proof_in(callee, head(callee)),
            ),
        )
    )
