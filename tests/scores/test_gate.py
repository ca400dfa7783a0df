import re
import runpy
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from gate_settings import DEFAULTS
from lensbench.core.conditions import Sides
from lensbench.core.frozen_plan import GateSettings, VerdictName
from lensbench.core.records import RunId
from lensbench.runs.made_with import Starts
from lensbench.scores import intervals
from lensbench.scores.gate import GateVerdict, Reading, claims, decide, look_result
from lensbench.scores.gate_words import SentenceFacts, needs, notes, sentence
from lensbench.scores.intervals import Estimate, estimate
from lensbench.scores.needed import Truth, deciding, simulated, tasks_for
from lensbench.scores.power import upper_sd
from lensbench.scores.rules import Reason, ReasonKind
from lensbench.scores.saving import Saving
from lensbench.scores.sequential import LookResult, boundaries

ROOT = Path(__file__).resolve().parents[2]
BOUNDARY = 1.959964
"""Of a level of 95%."""


@pytest.fixture(autouse=True, scope="module")
def _one_sign_flip() -> Iterator[None]:
    """The sign-flip p takes most of an estimate's time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(intervals, "SIGN_FLIPS", 199)
        yield


def found(mean: float, spread: float, tasks: int = 24, **changes: Any) -> Estimate:
    """The estimate of differences that lie `spread` above and below `mean`, a repository for each task."""
    return replace(over(differences_around(mean, spread, tasks)), **changes)


def differences_around(mean: float, spread: float, tasks: int = 24) -> dict[str, float]:
    """A difference for each task."""
    return {f"t{n:02}": mean + (spread if n % 2 else -spread) for n in range(tasks)}


def over(differences: dict[str, float]) -> Estimate:
    """The estimate of differences, a repository for each task."""
    return estimate(differences, {task: task for task in differences}, 0.05, seed=1)


def runs_again(count: int) -> list[RunId]:
    return [RunId(f"t{number:02}", "with") for number in range(count)]


def claimed(low: float, high: float, settings: GateSettings) -> str:
    """The verdict that an interval of the score allows."""
    return [
        *claims(LookResult(1, 1, None, BOUNDARY, low, high, None, False, ""), settings, None),
        "INCONCLUSIVE",
    ][0]


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.01, 0.20, "GO"),
        (-0.20, -0.01, "HARM"),
        (-0.20, 0.04, "NO-GO"),
        (0.01, 0.04, "NO-GO"),
        (-0.01, 0.20, "INCONCLUSIVE"),
        (0.0, 0.20, "INCONCLUSIVE"),
        (-0.20, 0.05, "INCONCLUSIVE"),
        (-0.20, 0.0, "NO-GO"),
    ],
)
def test_the_verdict_is_what_the_interval_allows(low: float, high: float, verdict: str) -> None:
    assert claimed(low, high, DEFAULTS) == verdict


@given(st.floats(-1, 1), st.floats(-1, 1), st.integers(1, 50))
def test_no_verdict_says_more_than_its_interval(one: float, other: float, effect: int) -> None:
    low, high = sorted((one, other))
    verdict = claimed(low, high, {**DEFAULTS, "effect": effect})
    assert (verdict == "INCONCLUSIVE") == (low <= 0 <= effect / 100 <= high)
    assert verdict != "GO" or (low > 0 and high >= effect / 100)


def look_at(own: Estimate, boundary: float = BOUNDARY, look: int = 1, looks: int = 1) -> LookResult:
    """The look of an estimate, of level 95%."""
    return look_result(own, look, looks, DEFAULTS, boundary)


def gate(own: Estimate, **more: Any) -> GateVerdict:
    """What the gate decides at a level of 95%."""
    return decide(own, DEFAULTS, **{"look": look_at(own), **more})


def words(own: Estimate, **told: Any) -> str:
    """The sentence about it."""
    return sentence(gate(own), own, SentenceFacts(DEFAULTS, look_at(own), **told))


@pytest.mark.parametrize(
    ("mean", "spread", "verdict", "meaning"),
    [
        (0.10, 0.1, "GO", "The tools help."),
        (-0.10, 0.1, "HARM", "The tools make the answers worse."),
        (-0.02, 0.05, "NO-GO", "Any gain is smaller than 5 points."),
        (0.03, 0.02, "INCONCLUSIVE", "Rare heavy gains, seen or unseen, could undo a NO-GO."),
        (0.05, 0.2, "INCONCLUSIVE", "There may be no difference, or one of 5 points or more."),
    ],
)
def test_the_sentence_says_what_the_verdict_means(
    mean: float, spread: float, verdict: str, meaning: str
) -> None:
    own = found(mean, spread)
    decided = gate(own)
    assert decided.verdict == verdict
    assert words(own).startswith(f"{verdict}: ")
    assert meaning in words(own)
    assert bool(needs(decided, own, SentenceFacts(DEFAULTS, look_at(own)))) == (
        verdict == "INCONCLUSIVE"
    )


def test_the_sentence_has_three_parts_and_at_most_60_words() -> None:
    few = found(
        0.1, 0.1, clusters=4, scope="these repositories only", pairs=23, planned=24, people=24
    )
    starts = {"with": Starts(30, 1, crashed=runs_again(6)), "without": Starts(24, 0)}
    told = words(few, model="glm-5 in claude-code 2.1.329", trials=3, starts=starts)
    assert told == (
        "GO: with its tools the agent's score changes by +10.0 points (95% interval +5.7 to +14.3; 24 tasks, 3 "
        "trials, 23 of 24 pairs, repeated: 6 with, 0 without, human-corrected). The tools help. This holds for glm-5 in claude-code 2.1.329 on these 4 repositories only."
    )
    assert len(told.split()) <= 60
    assert words(found(0.1, 0.1, clusters=1)).endswith("This holds on this repository.")
    assert "from v1 to v2 the" in words(few, sides=Sides("v2", "v1"))
    brought = words(found(0.1, 0.1), brings_more=True)
    assert brought.startswith("GO: with what it brings the agent's")
    assert "). What it brings helps. This" in brought


def test_a_blocker_leaves_no_verdict_and_keeps_the_figures() -> None:
    own = found(0.1, 0.1)
    blockers = [Reason(ReasonKind.MIXED_RUNS, "Two agents ran."), Reason(ReasonKind.OFFLINE)]
    decided = gate(own, blockers=blockers)
    assert (decided.verdict, decided.reasons) == ("INCONCLUSIVE", tuple(blockers))
    told = SentenceFacts(DEFAULTS, look_at(own))
    assert "+10.0 points" in sentence(decided, own, told)
    assert "The runs were not all made alike (1 more below)." in sentence(decided, own, told)
    assert notes(decided, own, told) == [
        "Two agents ran.",
        "No language model answered: this was the offline agent.",
    ]
    assert needs(gate(own, blockers=blockers[:1]), own, told).startswith("Fix the cause first")


@pytest.mark.parametrize(
    ("mean", "spread", "worst", "best", "stands"),
    [
        (0.10, 0.1, -0.2, 0.5, True),  # GO: with a 25th task at -0.2 the interval is +3.8 to +13.8
        (
            0.10,
            0.1,
            -0.5,
            0.5,
            False,
        ),  # +1.2 to +14.0, but one loss that heavy among so few gains is too skewed
        (0.10, 0.1, -1.0, 0.5, False),
        (-0.10, 0.1, -0.5, 0.2, True),  # HARM
        (-0.02, 0.05, -0.9, 0.0, True),  # NO-GO: the lower side does not matter
        (-0.02, 0.05, -0.1, 0.7, False),
    ],
)
def test_a_verdict_holds_in_every_reading(
    mean: float, spread: float, worst: float, best: float, stands: bool
) -> None:
    whole = found(mean, spread)
    tasks = differences_around(mean, spread)
    other, harmless = (over(tasks | {"missing": value}) for value in (worst, best))
    decided = gate(
        whole,
        readings=[
            Reading(ReasonKind.DOUBTED, whole, whole),
            Reading(ReasonKind.LOST_RUNS, other, harmless),
        ],
    )
    if stands:
        assert decided.verdict == gate(whole).verdict
    else:
        assert decided.reasons == (Reason(ReasonKind.LOST_RUNS, undoes=gate(whole).verdict),)


def test_a_weak_harm_is_a_no_go_and_a_reading_without_spread_counts_with_its_delta() -> None:
    whole = found(-0.10, 0.1)
    assert (
        gate(whole, readings=[Reading(ReasonKind.LOST_RUNS, whole, found(-0.03, 0.1))]).verdict
        == "NO-GO"
    )
    assert gate(found(-0.03, 0.01)).verdict == "NO-GO"  # too even a loss for a HARM of 24 tasks
    for best in (over(dict.fromkeys(differences_around(0, 0), 0.3)), over({"only": 0.3})):
        assert gate(
            found(-0.02, 0.05), readings=[Reading(ReasonKind.LOST_RUNS, best, best)]
        ).reasons


@pytest.mark.parametrize("differences", [{}, {"a": 0.5}])
def test_without_an_interval_there_is_no_verdict(differences: dict[str, float]) -> None:
    own = over(differences)
    decided = gate(own)
    assert (decided.verdict, decided.low, decided.high) == ("INCONCLUSIVE", None, None)
    assert "An interval needs two tasks with complete pairs." in words(own)
    assert needs(decided, own, SentenceFacts(DEFAULTS, look_at(own)))


def test_a_saves_that_is_likely_at_the_last_look_keeps_the_runs_going() -> None:
    surplus = found(0.1, 0.2)
    saving = Saving("tokens", surplus, [surplus], surplus, [surplus])
    looks = [look_result(found(0.0, 0.05), 1, 2, DEFAULTS, 2.96, each) for each in (None, saving)]
    assert [look.open for look in looks] == [False, True]
    assert looks[0].why == "the verdict is NO-GO"
    # Of the answers, which are less sure here: the normal deviate of "no worse by 10 points" at half of the runs, and
    # after the other half, if there is no difference.
    own = found(-0.02, 0.25)
    now = 0.08 / (own.se or 0)
    expected = 0.1 / (own.se or 0) / 0.5**0.5
    last = boundaries((0.5, 1), 0.05)[-1]
    chance = look_result(
        own, 1, 2, DEFAULTS, 2.96, saving._replace(saved=[found(0.3, 0.2)], bills=[found(0.3, 0.2)])
    ).conditional_power
    assert chance == pytest.approx(norm.sf((last - now * 0.5**0.5 - expected / 2) / 0.5**0.5))


@pytest.mark.parametrize("se", [None, 0.0, 1e-6])
def test_a_saving_without_spread_is_certain_at_the_last_look(se: float | None) -> None:
    own = found(-0.02, 0.25)
    certain = [Estimate(delta=0.3, se=se)]
    saving = Saving("tokens", found(0.3, 0.2), certain, Estimate(), certain)
    sure = saving._replace(saved=[found(0.3, 0.001)], bills=[found(0.3, 0.001)])
    told, wanted = (
        look_result(own, 1, 2, DEFAULTS, 2.96, each).conditional_power for each in (saving, sure)
    )
    assert told == wanted


def test_the_notes_say_why_the_runs_ended_or_go_on() -> None:
    def told(own: Estimate, look: int) -> Any:
        result = look_at(own, 3.0, look, 4)
        decided = decide(own, DEFAULTS, result)
        return notes(decided, own, SentenceFacts(DEFAULTS, result)), needs(
            decided, own, SentenceFacts(DEFAULTS, result)
        )

    wanted = "The runs end with look 3 of 4: the chance of a GO, SAVES or HARM at the last"
    assert wanted in told(found(-0.03, 0.2), 3)[0][0]
    going, more = told(found(0.06, 0.2), 1)
    assert "The runs go on after look 1 of 4" in going[0]
    assert more == "The next wave."
    assert told(found(0.2, 0.1), 2)[0] == ["The runs end with look 2 of 4: the verdict is GO."]


def test_a_later_look_says_which_it_is_at_which_level_and_what_was_repeated() -> None:
    own = found(0.1, 0.1)
    starts = {"with": Starts(30, 1, crashed=runs_again(6)), "without": Starts(24, 0)}
    told = SentenceFacts(
        DEFAULTS, look_at(own, 2.652), number=2, among=3, starts=starts, remarks=["So it is."]
    )
    assert notes(gate(own), own, told) == [
        "This is look 2 at this benchmark, of level 99.2%.",
        "The level holds for 3 comparisons together (Holm).",
        "Attempts and discards: with 30 and 1, without 24 and 0.",
        "So it is.",
    ]


def test_a_no_go_is_not_given_beside_a_saving_that_is_shown() -> None:
    own = found(-0.02, 0.05)
    shown = Estimate(delta=0.2, sd=0.0, n=40)
    saving = Saving("cost", Estimate(delta=-0.3), [shown], Estimate(), [shown])
    assert gate(own).verdict == "NO-GO"
    decided = gate(replace(own, floor=-0.2), saving=saving)
    assert decided.verdict == "INCONCLUSIVE"
    assert Reason(ReasonKind.SAVING, undoes="NO-GO") in decided.reasons


def advice(own: Estimate, *others: Reading, saving: Saving | None = None) -> str:
    """What the gate says that would be needed."""
    decided = gate(own, readings=others, saving=saving)
    enough = [*deciding(own, others, DEFAULTS, 0.025, saving)]
    return needs(decided, own, SentenceFacts(DEFAULTS, look_at(own), enough=enough, saving=saving))


def test_advice_is_the_number_of_tasks_that_the_gates_own_rules_need() -> None:
    own = found(0.06, 0.2)
    assert own.se is not None
    sd = upper_sd(own.se * 24**0.5, 24)
    tasks = tasks_for("GO", Truth(own.delta or 0.0, sd), 0.025, DEFAULTS)
    assert advice(own).startswith(
        f"About {(tasks or 0) - 24} more tasks: {tasks} in all would give"
    )
    assert "a NO-GO" in advice(found(-0.01, 0.2))


@pytest.mark.parametrize("tasks_each", [1.0, 2.0])
def test_a_claim_about_other_repositories_is_simulated_where_tasks_share_them(
    tasks_each: float,
) -> None:
    truth = Truth(0.1, 0.2, tasks_each=tasks_each)
    assert simulated(truth, 24).is_general == (tasks_each > 1)


def test_advice_names_no_no_go_where_a_saving_may_be_shown() -> None:
    own = found(0.05, 0.2)
    told = SentenceFacts(DEFAULTS, look_at(own), enough=[("NO-GO", 30), ("SAVES", 40)])
    assert "40 in all would give SAVES" in needs(gate(own), own, told)


def test_advice_counts_further_repositories_where_tasks_share_them() -> None:
    differences = {f"t{n:02}": 0.06 + (0.2 if n % 2 else -0.2) + 0.001 * (n % 8) for n in range(24)}
    own = estimate(differences, {task: str(n % 8) for n, task in enumerate(differences)})
    assert "more tasks in further repositories" in advice(own)


def test_more_tasks_may_outweigh_what_an_earlier_look_showed_and_random_lost_runs() -> None:
    """The cause cannot be fixed any more, and 12 more tasks may give a GO."""
    own = found(0.15, 0.15, 24)
    shown = found(0.04, 0.15, 24)
    for kind in (ReasonKind.SHOWN_BEFORE, ReasonKind.LOST_RUNS):
        told = advice(own, Reading(kind, shown, shown))
        assert "Fix the cause" not in told
        assert re.match(r"About \d+ more tasks: \d+ in all would give a GO", told)
    fewer = int(advice(own, Reading(ReasonKind.SHOWN_BEFORE, shown, shown)).split()[1])
    more = int(advice(own, Reading(ReasonKind.LOST_RUNS, shown, shown)).split()[1])
    assert fewer < more


@settings(max_examples=8, deadline=None)
@given(mean=st.floats(-0.3, 0.3), spread=st.floats(0.01, 0.5), tasks=st.integers(2, 60))
def test_advice_never_asks_for_a_negative_number_of_tasks(
    mean: float, spread: float, tasks: int
) -> None:
    for _, enough in deciding(found(mean, spread, tasks), (), DEFAULTS, 0.025, None):
        assert enough > tasks


def test_two_tasks_that_differ_wildly_say_nothing() -> None:
    own = over({"a": 0.9, "b": -0.8})
    assert (gate(own).low, gate(own).high) == (-1, 1)
    assert "-100.0 to +100.0" in words(own)
    assert "These data say nothing: any difference is possible." in words(own)


@pytest.fixture
def calibration(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The calibration benchmark's own names."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    return runpy.run_path(str(ROOT / "benchmarks" / "calibration.py"))


def test_servers_that_do_nothing_or_help_get_what_is_promised(calibration: dict[str, Any]) -> None:
    rows = dict(calibration["errors"]())
    for name in (
        "A/A, 24 tasks: GO",
        "any 5% lose all, baseline 55%, spread 10, 24 tasks: GO",
        "5% of the best lose all, baseline 82%, spread 5, 24 tasks: GO",
    ):
        gate, _ = calibration["shares"](rows[name], 400)
        assert gate <= rows[name].at_most + 0.03
    helps = calibration["Row"](calibration["normal"](0.1, 0.15), 24)
    gate, alone = calibration["shares"](helps, 400)
    assert gate >= 0.85 * alone > 0.6


REASONS = [Reason(kind, undoes="GO") for kind in ReasonKind if kind is not ReasonKind.NO_INTERVAL]
savings = st.builds(
    lambda mean, spread, other, label: Saving(
        label,
        change := found(mean, spread),
        [change, found(mean + other, spread)][: 1 + bool(other)],
        change,
        [change],
    ),
    st.floats(-1, 1),
    st.floats(0, 1),
    st.sampled_from([0.0, 0.1]),
    st.sampled_from(["estimated cost", "tokens"]),
)

DOUBLED = Saving("estimated cost", found(1.0, 1.0), [found(1.0, 1.0)], found(1.0, 1.0), [])
UNCLEAR = Saving("estimated cost", found(0.0, 1.0), [found(0.0, 1.0)], found(0.0, 1.0), [])


@settings(max_examples=100, deadline=None)
@example(0.0, 0.0, 2, "COSTS", [], DOUBLED, 24, Sides("v2", "v1"), 1, 1, "")
@example(0.0, 0.0, 2, "SAVES", [], UNCLEAR, 24, Sides("v2", "v1"), 1, 1, "")
@given(
    mean=st.floats(-0.5, 0.5),
    spread=st.floats(0, 0.5),
    tasks=st.integers(2, 200),
    verdict=st.sampled_from(get_args(VerdictName)),
    reasons=st.lists(st.sampled_from(REASONS), max_size=3),
    saving=st.none() | savings,
    people=st.sampled_from([0, 24]),
    sides=st.sampled_from([None, Sides("v2", "v1")]),
    repeats=st.integers(0, 12),
    missing=st.integers(0, 1),
    patterns=st.sampled_from(["", "mechanical gave Met in 800 of 800 verdicts"]),
)
def test_whatever_was_found_the_sentence_has_at_most_three_parts_and_60_words(
    mean: float,
    spread: float,
    tasks: int,
    verdict: VerdictName,
    reasons: list[Reason],
    saving: Saving | None,
    people: int,
    sides: Sides | None,
    repeats: int,
    missing: int,
    patterns: str,
) -> None:
    own = found(
        mean, spread, tasks, people=people, planned=tasks + missing, scope="these repositories only"
    )
    decision = GateVerdict(
        verdict, "", "", -0.1234, 0.1234, (), reasons if verdict == "INCONCLUSIVE" else ()
    )
    starts = {"with": Starts(tasks, 0, crashed=runs_again(repeats)), "without": Starts(tasks, 0)}
    told = sentence(
        decision,
        own,
        SentenceFacts(
            DEFAULTS,
            look_at(own),
            3,
            "glm-5 in claude-code 2.1.329",
            sides,
            starts=starts,
            saving=saving,
            patterns=patterns,
        ),
    )
    parts = re.split(r"(?<=[.)]) (?=[A-Z(])", told.partition(": ")[2])
    assert len(parts) <= 3, parts
    assert len(told.split()) <= 60, told
