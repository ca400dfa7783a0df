"""Two versions of a server against each other: a verdict like any other, in the same account of error."""

import json
import shutil
from collections.abc import Callable
from typing import Any

import pytest

from handmade import Bench, file_discard
from lensbench.core.errors import UserError
from lensbench.core.records import RunId
from lensbench.core.system.files import plain, write_json
from lensbench.plan.config import Gate
from lensbench.results.fail_on import refuse
from lensbench.results.page.page import write_page
from lensbench.scores.account import read_ledger
from lensbench.scores.rules import ReasonKind
from lensbench.workflow.finish import lines

Make = Callable[..., Bench]
TASKS = tuple(f"t{number:02}" for number in range(16))
NAME = "v2 against v1"
SERVERS = {"without": [], "v1": ["lens"], "v2": ["lens"]}


def versions(
    bench: Make, comparisons: tuple[str, ...] = (NAME,), better: int = 13, **settings: Any
) -> Bench:
    """Two versions: the first gains nothing, the second half of the score in so many tasks."""
    gate = Gate(comparisons=comparisons, **settings).model_dump(mode="json")
    tasks = {
        name: {"category": "Debug", "repository": name, "prompt_sha256": "p", "criteria": 2}
        for name in TASKS
    }
    changes = {"agent": {"kind": "claude-code"}, "gate": gate, "tasks": tasks}
    made = bench(tasks=TASKS, servers=SERVERS, changes=changes)
    for number, task in enumerate(TASKS):
        made.run(task, "without", points=("1", "0"))
        made.run(
            task,
            "v1",
            points={14: ("1", "1"), 15: ("0", "0")}.get(number, ("1", "0")),
            duration_s=20.0,
        )
        made.run(task, "v2", points=("1", "1" if number < better else "0"), duration_s=30.0)
    return made


def test_a_comparison_of_two_treatments_has_its_verdict_in_every_output(bench: Make) -> None:
    made = versions(bench)
    data = made.build()
    write_page(made.folder)
    found = data["estimates"][NAME]
    assert (found["gate"]["verdict"], data["verdicts_on"][NAME], data["verdicts_on"]["v1"]) == (
        "GO",
        "GO",
        "INCONCLUSIVE",
    )
    sentence = found["gate"]["sentence"]
    assert sentence.startswith("GO: from v1 to v2 the agent's score changes by +40.6 points")
    assert "v2 is better than v1." in sentence
    assert any("The level holds for" in note for note in found["gate"]["notes"])
    for page in ("results.md", "summary.md", "report.html", "junit.xml"):
        text = (
            " ".join((made.folder / page).read_text().split())
            .replace("&#39;", "'")
            .replace("&apos;", "'")
        )
        assert "from v1 to v2 the agent's score changes by +40.6 points" in text, page
    assert "| v2 against v1 | GO | +40.6 points |" in made.page
    assert data["figures"][NAME]["duration_s"]["total"] == "1.5 times; largest task 6.3%"
    told = list(lines(made.folder, data))
    assert any(
        line.startswith("v2 against v1: v2 is better than v1. 14 tasks better, 1 worse")
        for line in told
    )
    assert "Next: Prefer v2, for this model and questions like these." in told
    with pytest.raises(UserError, match="the verdict on 'v2' is GO, on 'v2 against v1' is GO"):
        refuse(made.folder, ["GO"])


def test_a_worse_version_is_a_harm_and_an_unrequested_comparison_is_not_decided(
    bench: Make,
) -> None:
    data = versions(bench, ("v1 against v2",)).build()
    found = data["estimates"]["v1 against v2"]
    assert (found["treatment"], found["baseline"], found["gate"]["verdict"]) == ("v1", "v2", "HARM")
    assert "v1 is worse than v2." in found["gate"]["sentence"]
    assert data["plain"]["v1 against v2"]["next"].startswith("Prefer v2")
    data = versions(bench, ()).build()
    assert "gate" not in data["estimates"][NAME]
    assert list(data["verdicts_on"]) == ["v1", "v2"]
    assert "for 2 comparisons" in str(data["estimates"]["v2"]["gate"]["notes"])


def test_all_comparisons_share_the_error(bench: Make) -> None:
    made = versions(bench, better=2)
    data = made.build()
    levels = [each["level"] for each in data["estimates"].values()]
    assert levels == pytest.approx([1 - 0.05 / 3] * 3, abs=1e-5)
    assert {draw.comparison: draw.among for draw in read_ledger(made.folder)} == {
        "v1": 3,
        "v2": 3,
        NAME: 3,
    }


def test_a_comparison_of_two_treatments_that_is_asked_for_after_a_look_has_what_that_look_has_left(
    bench: Make,
) -> None:
    made = versions(bench, ())
    before = made.build()["estimates"]
    made.changes["gate"] = Gate(comparisons=(NAME,)).model_dump(mode="json")
    data = made.build()
    assert [data["estimates"][one]["level"] for one in ("v1", "v2")] == [
        before[one]["level"] for one in ("v1", "v2")
    ]
    found = data["estimates"][NAME]
    assert found["level"] == pytest.approx(1 - 0.3 * 0.05, abs=1e-5)
    assert "This is look 2 at this benchmark" in found["gate"]["notes"][0]


def reasons(found: dict[str, Any]) -> set[str]:
    return {reason["kind"] for reason in found["gate"]["reasons"]}


def test_a_comparison_of_two_versions_waits_for_a_run_that_is_due(bench: Make) -> None:
    """The others against the baseline do not wait for it."""
    made = versions(bench)
    shutil.rmtree(made.folder / "attempts" / "t15-v2")
    found = made.build()["estimates"]
    assert ReasonKind.RUNS_DUE in reasons(found[NAME]) & reasons(found["v2"])
    assert ReasonKind.RUNS_DUE not in reasons(found["v1"])


def test_runs_of_a_version_that_were_given_up_forbid_a_comparison_that_they_could_undo(
    bench: Make,
) -> None:
    """Nine of twelve tasks gain; where four runs of the new version were lost, they count as nothing."""
    made = versions(bench, better=9)
    made.changes["max_rounds"] = 0
    for number in range(12, 16):
        file_discard(made.folder, RunId(f"t{number}", "v2"), "crashed", "")
    found = made.build()["estimates"][NAME]
    assert (found["overall"]["n"], found["gate"]["verdict"]) == (12, "INCONCLUSIVE")
    assert reasons(found) == {ReasonKind.LOST_RUNS}


def test_a_comparison_of_two_treatments_is_not_decided_where_either_version_is_not_believed(
    bench: Make,
) -> None:
    made = versions(bench)
    made.build()
    reliability = json.loads((made.folder / "judge_reliability.json").read_text())
    reliability["belief"]["withheld"]["v1"] = ["Nobody believes v1."]
    write_json(made.folder / "judge_reliability.json", reliability)
    from lensbench.scores.estimates import write_estimates

    found = plain(write_estimates(made.folder))["comparisons"][NAME]
    assert found["gate"]["notes"][0] == "Nobody believes v1."
    assert found["gate"]["reasons"][0]["kind"] == "untrusted judges"
