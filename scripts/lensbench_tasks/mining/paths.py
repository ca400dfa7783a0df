"""Questions about how a call gets to its effect: three calls from a function that users start to one that does it."""

from __future__ import annotations

import csv
import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from lensbench.core.tasks import Category
from lensbench_tasks.mining.drafts import Draft, Item, shuffled, worded
from lensbench_tasks.mining.flows import call_item
from lensbench_tasks.mining.graph import MIN_LENGTH, CallGraph, CallSite
from lensbench_tasks.parsers.code import Definition
from lensbench_tasks.survey import Survey

HOPS = 3
FURTHEST = HOPS + 2
"""Other ways, and other functions with the same effect, are looked for as far as this."""
_PUBLIC = {
    "go": r"func (\([^)]*\) )?[A-Z]",
    "rust": r"pub\b",
    "java": r"(@\S+\s+)*public\b",
    "csharp": r"(\[[^]]*\]\s*)*public\b",
}
_RAISE = {"python": "raise"}
_SCRIPTS = {"typescript": "javascript", "tsx": "javascript"}


Chain = Sequence[CallSite]
"""Calls, each by the function that the one before it calls."""


class Effect(NamedTuple):
    """What a function does beyond computing a result."""

    words: str
    """With `can` before it."""
    is_error: bool = False


def drafts(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about the only way from a public function to the only function below it that has an effect."""
    effects = _effects(graph.survey)
    ends: set[Definition] = set()
    for chains, ways in _routes(graph, rng):
        common: Counter[str] = Counter()
        for one in ways:
            common.update(effect.words for effect in effects.get(one, ()))
        found = []
        for chain in chains:
            for effect in effects.get(chain[-1].callee, ()):
                if common[effect.words] == 1 and chain[-1].callee not in ends:
                    found.append((chain, effect))
        if found:
            chain, effect = found[0]
            ends.add(chain[-1].callee)
            category = Category.DEBUG if effect.is_error else Category.EXPLORATORY
            yield _draft("paths", category, chain, effect.words, graph.survey, rng)


def reaches(graph: CallGraph, rng: random.Random) -> Iterator[Draft]:
    """Questions about the only way from a public function to another one; each function is the end of one question."""
    ends: set[Definition] = set()
    for chains, _ in _routes(graph, rng):
        fresh = [chain for chain in chains if chain[-1].callee not in ends]
        if fresh:
            ends.add(fresh[0][-1].callee)
            yield _draft("reaches", Category.EXPLORATORY, fresh[0], "", graph.survey, rng)


def _routes(
    graph: CallGraph, rng: random.Random
) -> Iterator[tuple[Sequence[Chain], Counter[Definition]]]:
    """For each public function, those that the project itself does not call first: the chains to ends that it reaches
    in no second way, those through most files first, and in how many ways it may reach each function."""
    public = [one for one in graph.callees if _is_public(one, graph.survey)]
    starts = shuffled(public, rng)
    starts.sort(key=lambda one: one.name in graph.called)
    for start in starts:
        chains = [chain for chain in _certain(start, graph) if _files(chain) > 1]
        ways = graph.ways(start, FURTHEST) if chains else None
        if ways is not None:
            only = [chain for chain in chains if ways[chain[-1].callee] == 1]
            yield sorted(only, key=lambda chain: -_files(chain)), ways


def _is_public(one: Definition, survey: Survey) -> bool:
    """True for a function with a telling length of name that other programs may call."""
    if one.name.startswith("_") or one.owner.startswith("_"):
        return False
    if len(one.name) < MIN_LENGTH:
        return False
    pattern = _PUBLIC.get(survey.languages[one.path] or "")
    if pattern is None or one.name == "main":
        return True
    return bool(re.match(pattern, one.text))


def _certain(start: Definition, graph: CallGraph) -> Sequence[Chain]:
    """The chains of certain calls from a start."""
    chains: list[Chain] = [[site] for site in graph.callees[start]]
    for _ in range(HOPS - 1):
        longer: list[Chain] = []
        for chain in chains:
            passed = [start, *(site.callee for site in chain)]
            for site in graph.callees.get(chain[-1].callee, ()):
                if site.callee not in passed:
                    longer.append([*chain, site])
        chains = longer
    return chains


def _files(chain: Chain) -> int:
    files = {chain[0].caller.path}
    files.update(site.callee.path for site in chain)
    return len(files)


def _draft(
    kind: str, category: Category, chain: Chain, effect: str, survey: Survey, rng: random.Random
) -> Draft:
    start = chain[0].caller
    items = [call_item(site, survey, with_caller=site is not chain[0]) for site in chain]
    if kind == "reaches":  # the question names the end
        last = items[-1].criterion.model_copy(update={"partial": {}})
        items[-1] = Item(last)
    question = worded(
        kind,
        rng,
        start=start.shown,
        effect=effect,
        end=chain[-1].callee.shown,
    )
    return Draft(kind, category, question, tuple(items))


def _effects(survey: Survey) -> dict[Definition, Sequence[Effect]]:
    """The effects of each function that has any."""
    found: dict[Definition, dict[str, Effect]] = defaultdict(dict)
    for path in survey.code:
        language = survey.languages[path] or ""
        language = _SCRIPTS.get(language, language)
        for error in survey.codes[path].raised:
            words = f"{_RAISE.get(language, 'throw')} `{error.name}`"
            if error.caller is not None:
                found[error.caller][words] = Effect(words, is_error=True)
        for call in survey.codes[path].calls:
            for pattern, words in _rows().get(language, ()):
                if call.caller is not None and pattern.fullmatch(call.quote):
                    found[call.caller][words] = Effect(words)
    return {one: list(each.values()) for one, each in found.items()}


@cache
def _rows() -> Mapping[str, Sequence[tuple[re.Pattern[str], str]]]:
    rows = defaultdict(list)
    text = Path(__file__).with_name("effects.csv").read_text(encoding="utf-8")
    for row in csv.DictReader(text.splitlines()):
        pattern = re.compile(row["call"])
        rows[row["language"]].append((pattern, row["words"]))
    return rows
