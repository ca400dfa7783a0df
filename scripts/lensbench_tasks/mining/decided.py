"""Questions about which of several places decides at run time: the class that provides a member, the first option."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from lensbench.core.tasks import Category, Criterion, Proof, Regex
from lensbench_tasks.mining.drafts import (
    FEWEST_ITEMS,
    MOST_ITEMS,
    Draft,
    Item,
    head,
    shuffled,
    worded,
)
from lensbench_tasks.mining.graph import CallGraph
from lensbench_tasks.mining.patterns import beside, place, proof_in, whole
from lensbench_tasks.parsers.code import Choice, Definition
from lensbench_tasks.survey import Survey

_HIDDEN = re.compile(r"\b(private|static)\b")
_PLACE = re.compile(r"[A-Za-z_]\w*(?:(?:\?\.|\.)[A-Za-z_]\w*)*")
_LAST = re.compile(r"-?\d+(?:\.\d+)?|[A-Z][A-Z0-9_]{3,}|true|false|True|False|\"\w+\"|'\w+'")
_OWNERS = 2
"""A member that fewer classes define has no place that could be confused with another."""


class Case(NamedTuple):
    """A class that does not define a member, and the definition that it inherits."""

    heir: Definition
    decider: Definition
    member: Definition
    root: Definition
    """The topmost class that defines it."""


def members(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about members that several classes define, for three to five classes that inherit one of these."""
    cases: dict[tuple[str, Definition], list[Case]] = defaultdict(list)
    classes = _classes(graph.survey)
    members_of = {one: _members(one, graph.survey) for one in classes.values()}
    for heir in classes.values():
        line = _line(heir, classes, graph.survey)
        inherited = set[str]()
        for above in line[1:]:
            inherited.update(members_of[above])
        for name in sorted(inherited):
            case = _case(name, line, members_of, graph.survey)
            if case is not None:
                cases[name, case.root].append(case)
    for name, root in shuffled(cases, rng):
        group = _varied(shuffled(cases[name, root], rng))
        if len(group) >= FEWEST_ITEMS and len({case.decider for case in group}) >= _OWNERS:
            kind = "attributes" if group[0].member.kind == "var" else "members"
            question = worded(kind, rng, member=name)
            items = tuple(_member_item(case, graph.survey) for case in group)
            yield Draft(kind, Category.TARGETED, question, items)


def _classes(survey: Survey) -> dict[str, Definition]:
    """The classes that are the only ones with their name."""
    classes = {}
    for name, group in survey.by_name.items():
        if len(group) == 1 and group[0].kind == "class" and not group[0].local:
            classes[name] = group[0]
    return classes


def _line(heir: Definition, classes: Mapping[str, Definition], survey: Survey) -> list[Definition]:
    """A class and those above it, as far as each extends a single class that is known."""
    line = [heir]
    while True:
        lowest = line[-1]
        base = survey.codes[lowest.path].bases.get(lowest.name, "")
        if base not in classes or classes[base] in line:
            return line
        line.append(classes[base])


def _members(owner: Definition, survey: Survey) -> Mapping[str, list[Definition]]:
    """Name -> what a class itself defines."""
    found: dict[str, list[Definition]] = defaultdict(list)
    for one in survey.codes[owner.path].definitions:
        if one.owner == owner.name and not one.local:
            found[one.name].append(one)
    return found


def _case(
    name: str,
    line: Sequence[Definition],
    members_of: Mapping[Definition, Mapping[str, Sequence[Definition]]],
    survey: Survey,
) -> Case | None:
    """Who decides for the first class of a line, unless overloads, visibility or the name make it doubtful."""
    if name in members_of[line[0]] or name.startswith("__") or name in survey.loose:
        return None
    deciders = [one for one in line if name in members_of[one]]
    first = members_of[deciders[0]][name][0]
    for decider in deciders:
        member, *overloads = members_of[decider][name]
        if overloads or name == decider.name or _HIDDEN.search(head(member)):
            return None
        if (member.kind, member.parameters) != (first.kind, first.parameters):
            return None
    return Case(line[0], deciders[0], first, deciders[-1])


def _varied(cases: Sequence[Case]) -> list[Case]:
    """Up to five cases, from as many deciders as there are."""
    by_decider: dict[Definition, list[Case]] = defaultdict(list)
    for case in cases:
        by_decider[case.decider].append(case)
    group: list[Case] = []
    while len(group) < MOST_ITEMS and any(by_decider.values()):
        for waiting in by_decider.values():
            if waiting and len(group) < MOST_ITEMS:
                group.append(waiting.pop())
    return group


def _member_item(case: Case, survey: Survey) -> Item:
    heir, decider, member, _ = case
    pair = beside(whole(heir.name), whole(decider.name))
    return Item(
        Criterion(
            text=f"States that for `{heir.name}` it is the `{member.name}` of `{decider.name}`, in {decider.path}",
            all_of=(Regex(regex=pair), place(decider.path, survey)),
            partial={"names the class": (Regex(regex=pair),)},
            proofs=(
                Proof(file=heir.path, quote=head(heir), within=heir.name),
                proof_in(member, head(member)),
            ),
        ),
        f"`{heir.name}`",
    )


def options(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about a value with two or more sources and a default, each chain of sources once."""
    chains: dict[tuple[str, ...], list[Choice]] = defaultdict(list)
    for path in graph.survey.code:
        for choice in graph.survey.codes[path].choices:
            if _is_clear(choice, graph.survey):
                chains[choice.options].append(choice)
    for sources in shuffled(chains, rng):
        choice = rng.choice(chains[sources])
        name = _name(sources[0])
        within = choice.within
        question = worded("options", rng, name=name, function=within.shown, file=within.path)
        items = tuple(_option_item(*pair, choice) for pair in pairwise(sources))
        yield Draft("options", Category.TARGETED, question, items)


def _is_clear(choice: Choice, survey: Survey) -> bool:
    """True for several places of one name and a default, in a function that its name tells."""
    *places, last = choice.options
    names = [_name(one) for one in places]
    return (
        FEWEST_ITEMS <= len(places) <= MOST_ITEMS
        and bool(_LAST.fullmatch(last))
        and all(_PLACE.fullmatch(one) for one in places)
        and names == [names[0]] * len(places)
        and not choice.within.local
    )


def _name(place_of_value: str) -> str:
    return re.split(r"\?\.|\.", place_of_value)[-1]


def _spelled(option: str) -> str:
    """A regular expression for a place, however its parts are joined."""
    parts = [re.escape(part) for part in re.split(r"\?\.|\.", option)]
    if re.match(r"-?\d", option):
        return rf"(?:^|[^\w.-]){re.escape(option)}(?:[^\w.]|\.\D|\.?$)"
    joined = r"\??[.]".join(parts)
    return rf"(?:^|[^\w.?]){joined}(?:[^\w.?]|\.(?:\W|$)|$)"


def _option_item(one: str, other: str, choice: Choice) -> Item:
    order = rf"{_spelled(one)}(?:.|\n){{0,300}}?{_spelled(other)}"
    return Item(
        Criterion(
            text=f"States that `{one}` counts before `{other}`",
            all_of=(Regex(regex=order),),
            proofs=(proof_in(choice.within, choice.quote),),
        )
    )
