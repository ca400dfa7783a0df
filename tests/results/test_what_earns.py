"""What earns its place: planted members whose worth is known."""

import random
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from handmade import Bench
from lensbench.core.preflight_results import PreflightFindings
from lensbench.core.records import Call
from lensbench.core.system.places import ROOT
from lensbench.plan.config import Agent
from lensbench.scores.intervals import unseen_share
from lensbench.workflow.finish import print_headline

MEMBERS = ("needed", "dear", "idle")
Worth = Callable[[int, frozenset[str]], tuple[bool, float]]
"""Task number and members that are there -> whether the second fact is found, and the cost in US dollars."""


def ablation(
    bench: Callable[..., Bench], members: tuple[str, ...], worth: Worth, count: int = 30
) -> Bench:
    """A benchmark of all members, none, and all without each, with so many tasks."""
    tasks = [f"t{number:02}" for number in range(count)]
    servers = {"all": [*members], "none": list[str]()}
    for name in members:
        servers[f"without_{name}"] = [other for other in members if other != name]
    left_out = {name: sorted({*members} - {*own}) for name, own in servers.items()}
    conditions: dict[str, Mapping[str, Any]] = {}
    for name, own in servers.items():
        conditions[name] = {"mcp": None, "mcp_sha256": "", "servers": own}
        if left_out[name]:
            conditions[name] = {**conditions[name], "without": left_out[name]}
    agent = Agent(kind="claude-code", model="sonnet").settings
    made = bench(tasks=tasks, servers=servers)
    made.changes = {"baseline": "all", "conditions": conditions, "agent": agent}
    for number, task in enumerate(tasks):
        for name, own in servers.items():
            found, cost = worth(number, frozenset(own))
            made.run(task, name, points=("1", "1" if found else "0"), cost_usd=cost)
    return made


def words(data: dict[str, Any]) -> dict[str, str]:
    return {row["member"]: row["word"] for row in data["ablation"]}


def test_a_needed_member_earns_a_dear_one_costs_and_an_idle_one_cannot_be_told(
    bench: Callable[..., Bench],
) -> None:
    noise = random.Random(1)

    def worth(number: int, there: frozenset[str]) -> tuple[bool, float]:
        found = "needed" in there and number % 10 > 0
        cost = (0.10 + 0.10 * ("dear" in there)) * noise.uniform(0.95, 1.05)
        return found, cost

    made = ablation(bench, MEMBERS, worth, 60)
    data = made.build()
    assert words(data) == {"needed": "earns", "dear": "costs", "idle": "cannot tell"}
    assert data["ablation_says"][:2] == ["dear can go.", "needed earns its place."]
    assert [row["called"] for row in data["ablation"]] == ["60 of 60"] * 3
    assert "| dear | costs | 60 of 60 |" in made.page
    plain = data["plain"]["without_dear"]
    assert "from all to without dear the agent's score changes by 0.0 points" in plain["sentence"]
    assert plain["next"].startswith("Take dear out, for this model")


def test_two_members_that_replace_each_other_are_said_to(bench: Callable[..., Bench]) -> None:
    def worth(number: int, there: frozenset[str]) -> tuple[bool, float]:
        return bool(there) and number % 5 > 0, 0.10

    data = ablation(bench, ("one", "other"), worth, 60).build()
    assert words(data) == {"one": "cannot tell", "other": "cannot tell"}
    assert data["ablation_says"][-1] == (
        "Leaving out any one of them alone makes answers at most 10 points worse: one of these two is enough."
    )


def test_members_that_each_save_alone_may_replace_each_other(bench: Callable[..., Bench]) -> None:
    noise = random.Random(1)

    def worth(number: int, there: frozenset[str]) -> tuple[bool, float]:
        return bool(there), (0.10 + 0.10 * len(there)) * noise.uniform(0.95, 1.05)

    data = ablation(bench, ("one", "other"), worth, 60).build()
    assert words(data) == {"one": "costs", "other": "costs"}
    assert data["ablation_says"][:2] == [
        "one and other can go.",
        "one and other only save, each alone: take out one and ask again, as they may replace each other.",
    ]


def test_what_more_tasks_would_say_is_a_word_of_the_table(bench: Callable[..., Bench]) -> None:
    def worth(number: int, there: frozenset[str]) -> tuple[bool, float]:
        return "needed" in there or number % 3 == 0 or number > 6, 0.10

    made = ablation(bench, ("needed", "idle"), worth, 24)
    data = made.build()
    needs = {}
    for row in data["ablation"]:
        needs[row["member"]] = row["needs"]
    assert re.match(r'About \d+ more tasks: \d+ in all would say "earns" in 80%', needs["needed"])
    assert needs["idle"].startswith("No number of tasks up to")
    assert not re.search(r"would give (a|SAVES)", made.page)


def test_the_table_comes_first_and_has_no_empty_interval(
    bench: Callable[..., Bench], capsys: pytest.CaptureFixture[str]
) -> None:
    def worth(number: int, there: frozenset[str]) -> tuple[bool, float]:
        return "needed" in there and number % 10 > 0, 0.20 if "dear" in there else 0.10

    made = ablation(bench, ("idle", "needed", "dear"), worth, 60)
    rows = made.build()["ablation"]
    members = [row["member"] for row in rows]
    assert members == ["dear", "needed", "idle"]
    assert rows[0]["changes"]["Cost"] == "-50%"
    assert made.page.index("## What earns its place") < made.page.index("without dear")
    assert "Treatments against each other" not in made.page
    print_headline(made.folder)
    said = capsys.readouterr().out.split("\n")
    assert said[1:4] == [
        "dear can go.",
        "needed earns its place.",
        "Without all of them answers are worse (-45.0 points).",
    ]
    assert said[4].startswith("dear: costs; score without it 0.0 points (")
    assert "without dear saves" not in " ".join(said), "the table says it"


def test_only_leaving_out_is_compared(bench: Callable[..., Bench]) -> None:
    data = ablation(bench, MEMBERS, lambda number, there: (True, 0.1)).build()
    assert set(data["estimates"]) == {"none", *(f"without_{name}" for name in MEMBERS)}
    assert data["ablation_says"] == [
        "No member is shown to earn its place, and none to cost more than it gives."
    ]


def test_a_server_that_is_left_out_is_no_server_that_nobody_called(
    bench: Callable[..., Bench],
) -> None:
    made = ablation(bench, ("one", "other"), lambda number, there: (number % 2 > 0, 0.1))
    data = made.build()
    assert [entry["too_few_calls"] for entry in data["estimates"].values()] == ["", "", ""]


def test_the_docs_say_how_many_tasks_show_that_answers_are_no_worse() -> None:
    def fewest(members: int, mean: float) -> int:
        chance = 0.025 / (members + 1)  # `none` shares the error, too
        return next(n for n in range(5, 200) if unseen_share(n, chance) * mean <= 0.10)

    figures = [[fewest(members, mean) for members in (3, 8)] for mean in (0.6, 0.8)]
    assert figures == [[28, 33], [39, 45]]
    text = " ".join((ROOT / "docs" / "ablation.md").read_text(encoding="utf-8").split())
    assert "60% on average" in text
    assert (
        "from 28 tasks with three members, and from 33 with eight; where they score 80%, from 39 and 45"
        in text
    )


def test_another_benchmark_has_no_such_table(bench: Callable[..., Bench]) -> None:
    made = bench()
    for task in made.tasks:
        made.run(task, "with")
        made.run(task, "without")
    assert made.build()["ablation"] == []
    assert "earns its place" not in made.page


def ablation_of_tools(bench: Callable[..., Bench], listed: list[str]) -> dict[str, Any]:
    """One of two tools is enough, of those that the server lists."""
    tasks = [f"t{number:02}" for number in range(60)]
    part: dict[str, Any] = {"mcp": None, "mcp_sha256": "m", "servers": ["lens"]}
    conditions = {
        "all": part,
        "none": {**part, "mcp_sha256": "", "servers": [], "without": ["lens"]},
    }
    for name in ("find", "read"):
        conditions[f"without_{name}"] = {**part, "tools": {"without": [name]}}
    made = bench(tasks=tasks, servers={name: own["servers"] for name, own in conditions.items()})
    agent = Agent(kind="claude-code", model="sonnet").settings
    made.changes = {"baseline": "all", "conditions": conditions, "agent": agent}
    tools = {f"mcp__lens__{name}": "" for name in listed}
    PreflightFindings(tools={"all": tools}).write(made.folder)
    for number, task in enumerate(tasks):
        for name in conditions:
            found = name != "none" and number % 5 > 0
            calls = [Call("mcp__lens__find", 1)] if number % 2 and name == "all" else []
            offered = tuple(tools) if name != "none" else ()
            seen = {"seen": calls, "tools_offered": offered}
            made.run(task, name, points=("1", "1" if found else "0"), cost_usd=0.1, **seen)
    return made.build()


def test_tools_of_a_server_are_members_too(bench: Callable[..., Bench]) -> None:
    data = ablation_of_tools(bench, ["find", "read"])
    rows = {row["member"]: row for row in data["ablation"]}
    assert {name: row["word"] for name, row in rows.items()} == dict.fromkeys(
        ("find", "read"), "cannot tell"
    )
    assert (rows["find"]["called"], rows["read"]["called"]) == ("30 of 60", "0 of 60")
    assert data["ablation_says"][-1].endswith("one of these two is enough.")


def test_tools_that_no_condition_leaves_out_may_be_what_helps(bench: Callable[..., Bench]) -> None:
    data = ablation_of_tools(bench, ["find", "read", "map"])
    assert not any("enough" in sentence for sentence in data["ablation_says"])
