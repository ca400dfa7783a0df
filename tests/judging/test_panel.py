"""What counts when several judges have spoken: majority, the stricter of a tie, persons first, failures vote for nobody."""

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.system.files import write_json
from lensbench.core.tables import Row, read_table, write_table
from lensbench.judging.decisions import (
    VERDICT_COLUMNS,
    decide,
    decide_all,
    majority,
    rest_on_drafts,
)
from lensbench.judging.judges import POINTS, Verdict
from lensbench.runs.validity import judge_validity


def vote(verdict: str, failure: str = "", **more: Any) -> Row:
    """A row of verdicts.csv; a failure such as `timeout` may stand in the verdict's place."""
    if verdict not in list(Verdict):
        verdict, failure = "Unjudged", verdict
    row = dict.fromkeys(VERDICT_COLUMNS, "") | {
        "task": "a",
        "condition": "with",
        "trial": "1",
        "criterion": "1",
    }
    return row | {"judge": "mechanical", "verdict": verdict, "failure": failure} | more


def decision(votes: dict[str, Any]) -> SimpleNamespace:
    """The decision on a criterion, from its rows of verdicts.csv by judge."""
    return SimpleNamespace(**decide(RunId("a", "with"), 1, votes))


def decided(**verdicts: str) -> SimpleNamespace:
    """The decision on these verdicts by judge; `_` in a name is `-`."""
    return decision({name.replace("_", "-"): vote(verdict) for name, verdict in verdicts.items()})


def test_one_judge_decides_alone_and_of_several_the_majority_with_votes_listed_by_name() -> None:
    alone = decided(mechanical="Met")
    assert (alone.verdict, alone.points, alone.decided_by, alone.votes) == (
        "Met",
        "1",
        "single",
        "mechanical=Met",
    )
    assert (alone.disagreement, alone.judges_verdict) == ("no", "Met")
    found = decided(mechanical="Missed", claude="Met", gpt="Met")
    assert (found.verdict, found.decided_by, found.disagreement) == ("Met", "majority", "yes")
    assert found.votes == "claude=Met;gpt=Met;mechanical=Missed"


@pytest.mark.parametrize(
    ("verdicts", "stricter"),
    [
        (["Met", "Partial"], "Partial"),
        (["Partial", "Missed"], "Missed"),
        (["Met", "Partial", "Missed"], "Missed"),
        (["Met", "Met", "Partial", "Partial", "Missed"], "Partial"),
    ],
)
def test_a_tie_goes_to_the_stricter_verdict(verdicts: list[str], stricter: str) -> None:
    assert majority([Verdict(each) for each in verdicts]) == stricter


def test_a_person_decides_against_all_judges_and_what_the_judges_say_is_kept() -> None:
    found = decided(mechanical="Met", claude="Met", human_anna="Missed")
    assert (found.verdict, found.decided_by, found.judges_verdict) == ("Missed", "human", "Met")
    assert found.disagreement == "no"


def test_persons_who_differ_are_decided_by_majority_and_a_model_named_like_one_is_none() -> None:
    found = decided(mechanical="Met", human_anna="Met", human_ben="Partial")
    assert (found.verdict, found.decided_by, found.disagreement) == ("Partial", "human", "yes")
    assert decided(human_anna="Met", human_ben="Missed", human_cleo="Met").verdict == "Met"
    assert decided(humanist="Met", mechanical="Met").decided_by == "majority"


@pytest.mark.parametrize("failure", ["no_patterns", "not_sampled", "pair_incomplete"])
def test_a_judge_that_was_not_asked_does_not_count(failure: str) -> None:
    found = decided(mechanical=failure, claude="Met")
    assert (found.verdict, found.decided_by, found.votes) == ("Met", "single", "claude=Met")


def test_failed_judges_and_persons_who_left_it_open_have_no_vote_and_half_of_those_asked_is_not_enough() -> (
    None
):
    assert decided(mechanical="Met", claude="timeout").verdict == "Unjudged"
    assert decided(mechanical="Met", claude="timeout").decided_by == ""
    assert decided(mechanical="Met", claude="timeout", gpt="Partial").verdict == "Partial"
    assert decided(human_anna="not_sampled", mechanical="Met").decided_by == "single"
    nobody = decision({})
    assert (nobody.verdict, nobody.points, nobody.decided_by, nobody.votes) == (
        "Unjudged",
        "",
        "",
        "none",
    )
    assert (nobody.disagreement, nobody.judges_verdict) == ("no", "Unjudged")


ANY_VOTE = st.sampled_from(
    ["Met", "Partial", "Missed", "timeout", "canary", "no_patterns", "not_sampled"]
)
NAMES = st.sampled_from(["mechanical", "claude", "gpt", "glm", "human-anna", "human-ben"])
VOTES = st.dictionaries(NAMES, ANY_VOTE.map(vote), max_size=6)


@given(VOTES, st.randoms(use_true_random=False))
def test_the_order_of_the_judges_does_not_matter(votes: dict[str, Row], random: Any) -> None:
    names = sorted(votes)
    random.shuffle(names)
    assert decision({name: votes[name] for name in names}) == decision(votes)


@given(VOTES)
def test_one_more_vote_for_the_decision_never_changes_it(votes: dict[str, Row]) -> None:
    before = decision(votes)
    if before.verdict in POINTS:
        name = "human-zoe" if before.decided_by == "human" else "another-judge"
        assert decision({**votes, name: vote(before.verdict)}).verdict == before.verdict


@given(VOTES)
def test_the_decision_is_the_verdict_of_a_judge_or_unjudged(votes: dict[str, Row]) -> None:
    assert decision(votes).verdict in {row["verdict"] for row in votes.values()} | {"Unjudged"}


@given(VOTES, st.sampled_from(["timeout", "refused", "canary"]))
def test_one_more_failure_never_makes_another_verdict(votes: dict[str, Row], failure: str) -> None:
    before = decision(votes)
    after = decision({**votes, "another-judge": vote(failure)})
    assert after.verdict in (before.verdict, "Unjudged")


def leave_file(folder: Path, judge: str) -> None:
    """The file by which a person is known as a judge; the verdicts in it do not matter here."""
    name = judge.removeprefix("human-")
    write_json(
        folder / "human" / f"{judge}.json",
        {"schema": 1, "sheet": "0" * 64, "judge": name, "verdicts": []},
    )


def judged(folder: Path, judge: str, verdicts: dict[tuple[str, str, int], str]) -> None:
    """Writes verdicts/<judge>.csv for trial 1."""
    rows = [
        vote(verdict, task=task, condition=condition, criterion=str(number), judge=judge)
        for (task, condition, number), verdict in verdicts.items()
    ]
    write_table(folder / "verdicts" / f"{judge}.csv", VERDICT_COLUMNS, rows)
    if judge.startswith("human-"):
        leave_file(folder, judge)


@pytest.fixture
def folder(bench: Callable[..., Any]) -> Path:
    """Two tasks of one criterion each, judged by two judges; one run was discarded."""
    made = bench(
        tasks=("b", "a"),
        criteria=1,
        changes={"judges": [{"name": "mechanical"}, {"name": "claude"}]},
    )
    for task in "ab":
        made.run(task, "without")
        made.run(task, "with", reason="empty" if task == "a" else "")
    write_json(made.folder / "plan.json", made.plan)
    judge_validity(made.folder)
    runs = [("a", "without", 1), ("b", "without", 1), ("b", "with", 1)]
    judged(made.folder, "mechanical", dict.fromkeys(runs, "Met"))
    judged(
        made.folder,
        "claude",
        dict.fromkeys(runs, "Met") | {("b", "with", 1): "Missed", ("a", "with", 1): "Met"},
    )
    return Path(made.folder)


def test_the_stage_writes_the_rows_of_all_judges_in_the_plans_order(folder: Path) -> None:
    decide_all(folder)
    found = [
        (row["task"], row["condition"], row["judge"]) for row in read_table(folder / "verdicts.csv")
    ]
    runs = [("b", "with"), ("b", "without"), ("a", "without")]
    assert found == [(*run, judge) for run in runs for judge in ("claude", "mechanical")]


def test_a_discarded_run_is_not_decided_even_where_a_judge_has_read_it(folder: Path) -> None:
    decide_all(folder)
    decisions = read_table(folder / "decisions.csv")
    assert [
        (row["task"], row["condition"], row["verdict"], row["points"]) for row in decisions
    ] == [
        ("b", "with", "Missed", "0"),
        ("b", "without", "Met", "1"),
        ("a", "without", "Met", "1"),
    ]
    assert decisions[0]["votes"] == "claude=Missed;mechanical=Met"


def test_a_disagreement_is_escalated_until_a_person_has_spoken(folder: Path) -> None:
    decide_all(folder)
    assert [(row["task"], row["condition"]) for row in read_table(folder / "escalations.csv")] == [
        ("b", "with")
    ]
    judged(folder, "human-anna", {("b", "with", 1): "Partial"})
    decide_all(folder)
    assert read_table(folder / "escalations.csv") == []
    decision = read_table(folder / "decisions.csv")[0]
    assert (decision["verdict"], decision["points"], decision["judges_verdict"]) == (
        "Partial",
        "0.5",
        "Missed",
    )


def test_a_person_whose_file_is_taken_away_has_no_say_any_more(folder: Path) -> None:
    judged(folder, "human-anna", {("b", "with", 1): "Partial"})
    (folder / "human" / "human-anna.json").unlink()
    decide_all(folder)
    assert read_table(folder / "decisions.csv")[0]["verdict"] == "Missed"


def test_a_criterion_without_any_row_is_unjudged_not_absent(folder: Path) -> None:
    judged(folder, "mechanical", {})
    judged(folder, "claude", {})
    decide_all(folder)
    rows = read_table(folder / "decisions.csv")
    assert [(row["verdict"], row["points"], row["decided_by"]) for row in rows] == [
        ("Unjudged", "", "")
    ] * 3


def test_a_judge_of_the_plan_without_a_file_stops_the_stage(folder: Path) -> None:
    (folder / "verdicts" / "claude.csv").unlink()
    with pytest.raises(UserError, match=r"claude\.csv"):
        decide_all(folder)


def test_a_draft_decides_nothing_and_a_person_decides_beside_it() -> None:
    draft = vote("Met", version="1+strict-draft")
    accepted = vote("Met", version="1")
    assert rest_on_drafts({"mechanical": draft})
    assert rest_on_drafts({"mechanical": draft, "model": vote("Met")})
    assert not rest_on_drafts({"mechanical": draft, "human": vote("Missed")})
    assert not rest_on_drafts({"mechanical": accepted})
    assert not rest_on_drafts({"mechanical": vote("no_patterns", version="1+strict-draft")})
