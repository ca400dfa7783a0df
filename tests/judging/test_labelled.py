"""The mechanical judge against labelled answers: made from the drafting set, and from facts in the pinned sources."""

import random
import re
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path

import pytest

from drafted_answers import drafting_set
from labelled import Mined, Triple, mined, triples_of_facts, triples_of_set
from lensbench.judging.judges import Verdict
from lensbench.judging.judges.mechanical import judge
from lensbench.judging.judges.normalising import normalise

SEED, FACTS_PER_TREE, TIMES = 1, 150, 4
pytestmark = pytest.mark.xdist_group("labelled")  # the answers are made and judged once

MOST_MET = {"corrupted": 0.04, "foreign": 0.01, "negated": 0.0, "prompt": 0.0}
LEAST_GOLD = 0.97


@cache
def facts_by_tree() -> dict[Path, list[Mined]]:
    """The facts of each pinned repository, fetched when it is not in the cache yet."""
    trees = dict.fromkeys(drafting_set()[1].values())
    return {tree: mined(tree, FACTS_PER_TREE, random.Random(SEED)) for tree in trees}


@cache
def judged() -> dict[str, list[tuple[Triple, bool]]]:
    """All triples by their kind, and whether the judge says Met."""
    rng = random.Random(SEED)
    triples = list(triples_of_set(drafting_set()[0], rng, 3 * TIMES))
    for facts in facts_by_tree().values():
        triples += triples_of_facts(facts, rng, TIMES)
    verdicts: dict[str, list[tuple[Triple, bool]]] = defaultdict(list)
    for triple in triples:
        met = judge(triple.criterion, normalise(triple.answer)).verdict is Verdict.MET
        verdicts[triple.kind].append((triple, met))
    return verdicts


def table() -> str:
    """What the judge said, a row per kind, and the first answers that it got wrong."""
    rows = ["| answers | triples | Met | share |", "|---|--:|--:|--:|"]
    wrong = []
    for kind, found in judged().items():
        met = sum(said for _, said in found)
        rows.append(f"| {kind} | {len(found)} | {met} | {met / len(found):.4f} |")
        mistakes = [triple for triple, said in found if said != (kind == "gold")]
        wrong += [
            f"{kind}: {triple.criterion.text}\n    {triple.answer!r}" for triple in mistakes[:5]
        ]
    return "\n".join(["", *rows, "", *wrong])


def share_met(kind: str) -> float:
    found = judged()[kind]
    return sum(met for _, met in found) / len(found)


@pytest.mark.slow
def test_there_are_five_thousand_labelled_answers_to_many_criteria() -> None:
    triples = {
        (kind, triple.criterion.text, triple.answer)
        for kind, found in judged().items()
        for triple, _ in found
    }
    assert len(triples) >= 5000, table()
    assert len({text for _, text, _ in triples}) >= 500
    assert set(judged()) == {"gold", *MOST_MET}


@pytest.mark.slow
def test_answers_that_state_a_fact_are_met() -> None:
    assert share_met("gold") >= LEAST_GOLD, table()


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "most"), MOST_MET.items())
def test_answers_that_do_not_state_it_are_not_met(kind: str, most: float) -> None:
    assert share_met(kind) <= most, table()


def test_the_mined_facts_are_of_all_kinds_and_name_what_is_there() -> None:
    for tree, facts in facts_by_tree().items():
        assert len(facts) >= 80
        assert all((tree / fact.file).is_file() for fact in facts)
        assert len({len(fact.criterion.all_of) for fact in facts}) > 1


def test_what_is_mined_as_a_definition_is_defined_there_and_nowhere_else() -> None:
    for tree, facts in facts_by_tree().items():
        sources = {
            path.relative_to(tree).as_posix(): path.read_text("utf-8")
            for path in tree.rglob("*.py")
        }
        defined = Counter(
            (file, name)
            for file, text in sources.items()
            for name in re.findall(r"^\s*(?:async )?(?:def|class) (\w+)", text, re.MULTILINE)
        )
        claims = [
            fact
            for fact in facts
            if fact.criterion.text.endswith(f"{fact.name} is defined in {fact.file}")
        ]
        assert claims
        assert [fact.criterion.text for fact in claims if defined[fact.file, fact.name] != 1] == []
