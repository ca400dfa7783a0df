"""Questions about the impact of a changed function: its callers."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from lensbench.core.tables import grouped
from lensbench.core.tasks import AtMost, Category, Criterion, Pattern, Proof
from lensbench_tasks.mining.calls import CallSite, calls
from lensbench_tasks.mining.drafts import (
    MAX_ITEMS,
    MAX_WRONG,
    MIN_ITEMS,
    Draft,
    Item,
    shuffled,
    wrong_items,
)
from lensbench_tasks.mining.patterns import is_telling, named, place
from lensbench_tasks.parsers.code import CALLABLES
from lensbench_tasks.survey import Survey


def drafts(survey: Survey, rng: random.Random) -> Iterator[Draft]:
    """Questions about functions with three to five callers in other files, and no ambiguous calls."""
    for callee, sites in shuffled(grouped(calls(survey), lambda call: call.callee).items(), rng):
        callers = {call.caller.shown for call in sites}
        if (
            MIN_ITEMS <= len(sites) <= MAX_ITEMS
            and len(callers) == len(sites)
            and _are_all(sites, survey)
        ):
            limit = wrong_items(_others(sites, survey, rng))
            yield Draft(
                Category.CHANGE_IMPACT,
                f"We want to change the parameters of `{callee.shown}`. Which functions and methods in other files, "
                "tests aside, call it, and so may have to change too? Name each with its file.",
                tuple(_item(call, limit, survey) for call in sites),
            )


def _are_all(sites: list[CallSite], survey: Survey) -> bool:
    """True when no other file contains the name followed by a bracket."""
    callee = sites[0].callee
    pattern = re.compile(rf"(?<![\w$]){re.escape(callee.name)}\s*\(")
    files = {path for path in survey.code if pattern.search(survey.texts[path])}
    return files - {callee.path} == {call.caller.path for call in sites}


def _others(sites: list[CallSite], survey: Survey, rng: random.Random) -> list[Pattern]:
    """Functions with unique names in files that are unrelated to the call."""
    apart = {sites[0].callee.path, *(call.caller.path for call in sites)}
    names = [
        one.name
        for path, definitions in survey.defined.items()
        for one in definitions
        if path not in apart and one.kind in CALLABLES and is_telling(one, survey)
    ]
    return [*shuffled(dict.fromkeys(names), rng)[:MAX_WRONG]]


def _item(call: CallSite, limit: AtMost | None, survey: Survey) -> Item:
    caller, callee = call.caller, call.callee
    return Item(
        Criterion(
            text=f"States that `{caller.shown}` in {caller.path} calls `{callee.shown}`",
            all_of=(named(caller, survey), place(caller.path, survey)),
            at_most=limit,
            partial={"names the file": (place(caller.path, survey),)},
            proofs=(Proof(file=caller.path, quote=call.quote, within=caller.shown),),
        )
    )
