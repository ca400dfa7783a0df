"""Runs that a person discarded are named in the results, with the delta as if they counted."""

from collections.abc import Callable
from typing import Any

import pytest

from handmade import file_discard
from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.system.files import write_atomic
from lensbench.runs.reasons import DiscardReason
from lensbench.workflow.discard import discard
from lensbench.workflow.finish import lines

Make = Callable[..., Any]


def make(bench: Make) -> Any:
    """Two tasks: the treatment gains a half in a, and loses all in b."""
    made = bench()
    made.run("a", "without", points=("1", "0"))
    made.run("a", "with", points=("1", "1"))
    made.run("b", "without", points=("1", "1"))
    made.run("b", "with", points=("0", "0"))
    made.build()
    return made


def test_the_delta_is_shown_with_and_without_what_was_chosen(bench: Make) -> None:
    made = make(bench)
    file_discard(made.folder, RunId("b", "with"), DiscardReason.BY_HAND, "it looked | odd", "0")
    data = made.build()
    told = "Discarded by hand: lens 1, without a server 0. With these runs counted the delta of lens is -25.0 points, not +50.0 points."
    assert data["by_hand"]["sentences"] == [told]
    assert data["by_hand"]["runs"][0]["counts_again"] is False
    assert data["discards"] == {DiscardReason.BY_HAND: {"with": 1}}
    assert (
        "- b, lens, trial 1 was discarded by hand: it looked \\| odd (score then: 0%)." in made.page
    )
    assert told in made.page
    assert told in "\n".join(lines(made.folder, data))
    for name, hint in {
        "b-wiht": "did you mean 'b-with'",
        "x9": "runs are named <task>-<condition>",
    }.items():
        with pytest.raises(UserError, match=f"has no run '{name}'; {hint}"):
            discard(made.folder, name, "odd")


@pytest.mark.parametrize(
    ("condition", "counts"),
    [("with", "lens 1, without a server 0"), ("without", "lens 0, without a server 1")],
)
def test_a_run_without_a_score_gives_both_ends(bench: Make, condition: str, counts: str) -> None:
    made = make(bench)
    file_discard(made.folder, RunId("b", condition), DiscardReason.BY_HAND, "odd", "")
    (said,) = made.build()["by_hand"]["sentences"]
    ends = "the delta of lens is -25.0 points to +25.0 points, not +50.0 points."
    assert said == f"Discarded by hand: {counts}. With these runs counted {ends}"


def test_a_run_that_was_made_again_still_has_its_first_score_in_the_second_delta(
    bench: Make,
) -> None:
    made = make(bench)
    for reason, score in (
        (DiscardReason.BY_HAND, "0"),
        ("empty", None),
        (DiscardReason.BY_HAND, "0.5"),
    ):
        file_discard(made.folder, RunId("b", "with"), reason, "odd", score)
        made.verdicts = [
            row for row in made.verdicts if (row["task"], row["condition"]) != ("b", "with")
        ]
        made.run("b", "with", points=("1", "1"), answer=f"again {reason} {score}")
    data = made.build()
    assert data["by_hand"]["runs"][0] | {"why": ""} == {
        "task": "b",
        "condition": "with",
        "trial": 1,
        "why": "",
        "score": 0,
        "counts_again": True,
    }
    assert data["by_hand"]["sentences"][0].endswith(
        "the delta of lens is -25.0 points, not +25.0 points."
    )
    assert data["discards"] == {DiscardReason.BY_HAND: {"with": 2}, "empty": {"with": 1}}


@pytest.mark.parametrize("name", ["b-with.json", "why-i-removed-b.txt"])
def test_a_file_that_was_put_into_the_store_is_named(bench: Make, name: str) -> None:
    made = make(bench)
    write_atomic(made.folder / "attempts" / name, "{}")
    assert made.build()["warnings"] == [
        f"attempts/ holds {name}, which lensbench did not write: ignored. To discard a run: lensbench discard <run>"
        " --reason ..."
    ]


def test_nothing_is_reported_when_no_run_was_chosen(bench: Make) -> None:
    made = make(bench)
    file_discard(made.folder, RunId("b", "with"), "empty", "")
    data = made.build()
    assert data["by_hand"] == {"runs": [], "sentences": []}
    assert "by hand" not in made.page
