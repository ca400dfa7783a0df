"""Questions about the functions in other files that a function calls."""

from __future__ import annotations

import random
from collections.abc import Iterator

from lensbench.core.tables import grouped
from lensbench.core.tasks import Category, Criterion, Proof
from lensbench_tasks.mining.calls import CallSite, calls
from lensbench_tasks.mining.drafts import MAX_ITEMS, MIN_ITEMS, Draft, Item, shuffled
from lensbench_tasks.mining.patterns import named, place
from lensbench_tasks.survey import Survey


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about functions that reach three to five definitions in other files, directly or in one more step."""
    sites = grouped(calls(survey), lambda call: call.caller)
    for caller in shuffled(sites, rng):
        direct = sites[caller]
        further = [
            call
            for step in direct
            for call in sites.get(step.callee, ())
            if call.callee not in {caller, *(one.callee for one in direct)}
        ]
        turn = " directly, and which further ones do these call directly in turn"
        reach, depth = (
            (direct, " directly") if len(direct) >= MIN_ITEMS else ([*direct, *further], turn)
        )
        if MIN_ITEMS <= len({call.callee for call in reach}) == len(reach) <= MAX_ITEMS:
            yield Draft(
                Category.EXPLORATORY,
                f"Start at `{caller.shown}` in {caller.path} and follow its calls into other files of this project. "
                f"Which functions and classes of other files does it call{depth}? Name each with the file that "
                "defines it.",
                tuple(_item(call, survey) for call in reach),
            )


def _item(call: CallSite, survey: Survey) -> Item:
    caller, callee = call.caller, call.callee
    return Item(
        Criterion(
            text=f"States that `{caller.shown}` in {caller.path} calls `{callee.shown}`, defined in {callee.path}",
            all_of=(named(callee, survey), place(callee.path, survey)),
            partial={"names what is called": (named(callee, survey),)},
            proofs=(
                Proof(file=caller.path, quote=call.quote, within=caller.shown),
                Proof(file=callee.path, quote=callee.text[:60].split("\n")[0], within=callee.shown),
            ),
        )
    )
