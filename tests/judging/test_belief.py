"""What the verdicts rest on, and when that is too little for a verdict on a treatment."""

import random
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import pytest

from lensbench.core.records import RunId
from lensbench.judging.decisions import majority
from lensbench.judging.judges import POINTS, Verdict
from lensbench.judging.trust.agreement import All, Coefficient
from lensbench.judging.trust.belief import Basis, Belief, Doubt, believe
from lensbench.judging.trust.blinding_check import BlindingCheck

MET, PARTIAL, MISSED = Verdict.MET, Verdict.PARTIAL, Verdict.MISSED
Reads = Callable[[RunId, int], Verdict | None]
"""What a judge says of a criterion; None when it was not asked."""

NOBODY = All(0, Coefficient(None, None, None, "one judge"))
KEYS = [
    (RunId(f"t{task:02}", condition), criterion)
    for task in range(16)
    for condition in ("without", "with")
    for criterion in range(1, 9)
]


def true(run: RunId, criterion: int) -> Verdict:
    """What the answers state."""
    return random.Random(f"{run} {criterion}").choice([MET, MET, PARTIAL, MISSED])


def now_and_then(share: float, other: Verdict) -> Reads:
    """A judge that says `other` in a share of the cases, whatever the answer states."""
    return lambda run, criterion: (
        other if random.Random(f"slip {run} {criterion}").random() < share else true(run, criterion)
    )


def belief(
    drafted: bool = False,
    everybody: All = NOBODY,
    classifier: Mapping[str, BlindingCheck] | None = None,
    corrected: tuple[str, ...] = (),
    **judges: Reads,
) -> Belief:
    """Of verdicts by these judges, people's before the others'; `human_` and what follows is a person."""
    names = {name.replace("_", "-"): reads for name, reads in judges.items()}
    votes = {
        key: {name: verdict for name, reads in names.items() if (verdict := reads(*key))}
        for key in KEYS
    }
    decided = {}
    for key, given in votes.items():
        people = [verdict for name, verdict in given.items() if name.startswith("human")]
        decided[key] = majority(people or [*given.values()])
    drafts = [key for key, given in votes.items() if drafted and "mechanical" in given]
    points = {key: POINTS[verdict] for key, verdict in decided.items()}
    return believe(
        votes, drafts, decided, points, everybody, ["with"], classifier or {}, 1, corrected
    )


def test_accepted_patterns_and_people_are_believed_and_a_model_without_labels_is_unvalidated() -> (
    None
):
    patterns = belief(mechanical=true)
    people = belief(human_anna=true, claude=now_and_then(1, MET))
    assert (patterns.caveat, patterns.withheld) == ("", {"with": []})
    assert patterns.decided[Basis.PATTERNS] == len(KEYS)
    assert (people.caveat, people.withheld) == ("", {"with": []})
    found = belief(claude=true)
    assert (found.decided[Basis.UNVALIDATED], found.withheld) == (
        len(KEYS),
        {"with": [found.caveat]},
    )
    assert (
        f"{len(KEYS)} of {len(KEYS)} verdicts rest on an unvalidated judge (claude: 0 of 200 labels"
        in found.caveat
    )


def some(reads: Reads, tasks: int) -> Reads:
    """The judge on the first tasks only."""
    return lambda run, criterion: reads(run, criterion) if int(run.task[1:]) < tasks else None


def test_enough_labels_that_agree_validate_a_model_and_few_or_others_do_not() -> None:
    found = belief(claude=now_and_then(0.05, MET), human_anna=some(true, 14))
    assert found.labels["claude"].enough
    assert (found.decided[Basis.MODEL], found.caveat, found.withheld) == (32, "", {"with": []})
    few = belief(claude=now_and_then(0.05, MET), human_anna=some(true, 12)).labels["claude"]
    differing = belief(claude=now_and_then(0.6, MET), human_anna=some(true, 14))
    assert (few.n, few.enough) == (192, False)
    assert differing.labels["claude"].n == 224
    assert "kappa from" in differing.caveat


def test_a_model_that_changes_nothing_of_what_patterns_say_costs_no_belief() -> None:
    assert belief(mechanical=true, claude=true).decided[Basis.PATTERNS] == len(KEYS)
    stricter = belief(mechanical=true, claude=now_and_then(0.5, MISSED))
    assert stricter.decided[Basis.UNVALIDATED] > len(KEYS) / 5
    assert stricter.withheld["with"]


def test_drafts_may_decide_a_tenth_at_most_and_are_then_doubted() -> None:
    found = belief(mechanical=true, drafted=True)
    assert found.decided[Basis.DRAFTS] == len(KEYS)
    assert "draft patterns that nobody has accepted" in found.withheld["with"][0]
    few = belief(
        drafted=True,
        mechanical=some(true, 1),
        human_anna=lambda r, c: None if r.task == "t00" else true(r, c),
    )
    assert (few.decided[Basis.DRAFTS], few.withheld) == (16, {"with": []})
    assert few.caveat.startswith("16 of 256 verdicts rest on draft patterns")
    assert few.doubts == [Doubt(RunId("t00", name), 0, 8) for name in ("with", "without")]  # type: ignore[arg-type]


def test_a_verdict_that_untrusted_judges_changed_is_doubted() -> None:
    slip = (RunId("t00", "without"), 1)
    stated = sum(POINTS[true(*key)] for key in KEYS if key[0] == slip[0]) - POINTS[true(*slip)]
    found = belief(
        mechanical=lambda r, c: MET if (r, c) == slip else true(r, c),
        claude=lambda r, c: MISSED if (r, c) == slip else true(r, c),
    )
    assert found.doubts == [Doubt(slip[0], stated, stated + 1)]
    assert (found.withheld, belief(mechanical=true).doubts) == ({"with": []}, [])


def test_a_doubt_counts_the_share_of_tests_and_not_half_a_point() -> None:
    run = RunId("t00", "with")
    votes = {(run, 1): {"tests": PARTIAL}, (run, 2): {"claude": MET}}
    decided = {(run, 1): PARTIAL, (run, 2): MET}
    points = {(run, 1): Fraction(1, 9), (run, 2): Fraction(1)}
    found = believe(votes, (), decided, points, NOBODY, ["with"], {}, 1)
    assert found.doubts == [Doubt(run, Fraction(1, 9), Fraction(10, 9))]


@pytest.mark.parametrize(("share", "constant"), [(0.97, True), (0.5, False)])
def test_a_judge_that_nearly_always_says_the_same_decides_nothing(
    share: float, constant: bool
) -> None:
    found = belief(mechanical=now_and_then(share, MET))
    assert bool(found.constant) is constant
    drafted = belief(mechanical=now_and_then(share, MET), drafted=True)
    assert (
        any("hardly tells answers apart" in reason for reason in drafted.withheld["with"])
        is constant
    )


def test_agreement_that_may_be_chance_decides_nothing() -> None:
    chance = All(90, Coefficient(0.1, -0.05, 0.3, ""))
    assert "reaches 0" in " ".join(belief(everybody=chance, mechanical=true).withheld["with"])
    assert belief(everybody=chance, human_anna=true).withheld == {"with": []}
    assert belief(everybody=All(90, Coefficient(0.5, 0.2, 0.8, "")), mechanical=true).withheld == {
        "with": []
    }


def test_broken_blinding_counts_only_while_a_model_decides() -> None:
    broken = {"with": BlindingCheck(32, 16, 0.8, 0.6, 0.95, False)}
    trusted: dict[str, Any] = {"claude": now_and_then(0.05, MET), "human_anna": some(true, 14)}
    assert belief(classifier=broken, mechanical=true).withheld == {"with": []}
    assert "a classifier guessed" in belief(classifier=broken, claude=true).withheld["with"][-1]
    assert belief(classifier=broken, corrected=("with",), **trusted).withheld == {"with": []}
    assert len(belief(classifier=broken, corrected=("other",), **trusted).withheld["with"]) == 1
    held = {"with": BlindingCheck(32, 16, 0.6, 0.45, 0.75, True)}
    assert len(belief(classifier=held, claude=true).withheld["with"]) == 1
    few = belief(classifier=broken, **{**trusted, "human_anna": some(true, 15)})  # 16 of 256
    assert "a classifier guessed" in few.withheld["with"][-1]
