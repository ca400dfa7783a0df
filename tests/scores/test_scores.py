from collections.abc import Callable, Sequence
from fractions import Fraction as F
from pathlib import Path
from typing import Any

import pytest
import yaml

from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Call, Outcome, Record
from lensbench.core.tables import read_table
from lensbench.scores.measures import discard_counts
from lensbench.scores.scores import RunFacts, compare, score_run, treatment_tools

ROWS = yaml.safe_load(Path(__file__).with_name("scores.yaml").read_text(encoding="utf-8"))


Make = Callable[..., Any]
GREP, GRAPH, NEAR = (f"mcp__lens__lens_{name}" for name in ("grep", "graph", "graph_neighbors"))
TOOLS = (GRAPH, NEAR, GREP)
FINE = Attempt(1, "", 1.0, 0.0, 0, False)


def scored(points: Sequence[str], criteria: int, status: str = "valid") -> dict[str, Any]:
    validity = {"task": "a", "condition": "with", "trial": "1", "status": status}
    return score_run(validity, [{"points": value} for value in points], criteria, F("12.3456"))


def test_what_sub_agents_did_is_unknown_where_the_agent_does_not_show_it() -> None:
    own = {"calls": (Call("task", 1), Call(GREP, 1)), "subagents": 1}
    for calls, parts, called in (
        (own["calls"], None, True),
        (own["calls"][:1], None, None),
        (own["calls"][:1], {"input": 1}, False),
    ):
        row = compare(side(**{**own, "calls": calls, "tokens_subagents": parts}), side(), TOOLS)
        assert (row["called"], row["called_without_error"]) == (called, called)


@pytest.mark.parametrize(("points", "score", "complete"), ROWS["scores"])
def test_a_score_is_points_by_criteria_to_the_nearest_5_percent(
    points: str, score: str, complete: bool
) -> None:
    row = scored(points.split(), len(points.split()))
    assert (row["score"], row["complete"], row["status"]) == (
        score,
        "yes" if complete else "no",
        "scored",
    )
    assert (row["judged"], row["duration_s"]) == (row["criteria"], "12.346")


@pytest.mark.parametrize(
    ("points", "status", "shown", "judged", "sum_"),
    [
        (["1", ""], "valid", "unjudged", "1", "1"),
        (["", ""], "valid", "unjudged", "0", ""),
        ([], "valid", "unjudged", "0", ""),
        (["1"], "valid", "unjudged", "1", "1"),
        ([], "discarded", "discarded", "0", ""),
        ([], "missing", "missing", "0", ""),
    ],
)
def test_without_all_verdicts_is_no_score(
    points: list[str], status: str, shown: str, judged: str, sum_: str
) -> None:
    row = scored(points, 2, status)
    assert (row["status"], row["score"], row["complete"]) == (shown, "", "")
    assert (row["judged"], row["points"]) == (judged, sum_)


def side(
    score: str = "1",
    used: str = "Read",
    files: str = "a.py",
    present: str = "yes",
    status: str = "scored",
    workspace: str = "/w/repo",
    server_calls: str = "",
    **outcome: Any,
) -> RunFacts:
    report = {
        "report_present": present,
        "tools_used": used,
        "files_used": files,
        "server_calls": server_calls,
    }
    record = Record("a", "with", 1, "run", FINE, Outcome(**outcome), workspace=workspace)
    return RunFacts({"status": status, "score": score}, report, record)


@pytest.mark.parametrize(
    ("with_files", "without_files", "diverged", "jaccard", "only"), ROWS["files"]
)
def test_cited_files_are_compared_after_normalising(
    with_files: str,
    without_files: str,
    diverged: bool | None,
    jaccard: str | None,
    only: list[str] | None,
) -> None:
    row = compare(side(files=with_files), side(files=without_files), TOOLS)
    assert (row["diverged"], row["jaccard"], row["only_treatment_files"]) == (
        diverged,
        jaccard,
        only,
    )


@pytest.mark.parametrize(
    ("with_score", "without_score", "files", "delta", "misdirected"),
    [
        ("0.5", "0.75", "b.py", "-0.25", True),
        ("0.5", "0.75", "a.py", "-0.25", False),
        ("0.75", "0.5", "b.py", "0.25", False),
        ("0.5", "0.5", "b.py", "0", False),
        ("", "0.5", "b.py", None, None),
        ("0.5", "", "b.py", None, None),
        ("0", "0.5", "", "-0.5", None),
    ],
)
def test_misdirected_is_other_files_and_a_lower_score(
    with_score: str, without_score: str, files: str, delta: str | None, misdirected: bool | None
) -> None:
    row = compare(side(with_score, files=files), side(without_score), TOOLS)
    assert (row["delta"], row["misdirected"]) == (delta, misdirected)


@pytest.mark.parametrize(
    ("used", "adopted"),
    [
        (GREP, {"grep"}),
        ("lens_graph", {"graph"}),
        (NEAR, {"graph_neighbors"}),
        (f"Read;{GREP};{NEAR}", {"grep", "graph_neighbors"}),
        ("Read", set()),
        ("none", set()),
        ("lens_graph_", set()),
        ("mcp__other__lens_grep", set()),
        ("LENS_GREP", set()),
    ],
)
def test_adoption_is_what_the_agent_reports_tool_by_tool(used: str, adopted: set[str]) -> None:
    row = compare(side(used=used), side(), TOOLS)
    assert {
        name for name in ("grep", "graph", "graph_neighbors") if row[f"adopted_lens_{name}"]
    } == adopted
    assert row["adopted"] is bool(adopted)


@pytest.mark.parametrize(
    "missing",
    [
        {"present": "no", "used": "", "files": ""},
        {"used": "", "files": ""},
        {"status": "discarded"},
    ],
)
def test_a_missing_report_is_missing_and_never_a_no(missing: dict[str, str]) -> None:
    row = compare(side(**missing), side(), TOOLS)
    assert row["adopted"] is row["diverged"] is row["misdirected"] is None
    assert row.get("adopted_lens_grep") is None


@pytest.mark.parametrize(
    ("used", "calls", "adopted"),
    [
        ("", "", None),
        ("", "0", False),
        ("", "2", True),
        ("Read", "2", True),
        ("Read", "0", False),
        (GREP, "0", True),
    ],
)
def test_reported_calls_are_adoption_where_no_offer_is_shown(
    used: str, calls: str, adopted: bool | None
) -> None:
    assert compare(side(used=used, server_calls=calls), side(), TOOLS)["adopted"] is adopted
    shown = compare(side(used="Read", server_calls=calls, tools_offered=("Read",)), side(), TOOLS)
    assert shown["adopted"] is False


def test_an_agents_own_tool_of_the_same_name_is_not_adoption() -> None:
    tools = ["mcp__files__Read"]
    assert compare(side(tools_offered=("Read", *tools)), side(), tools)["adopted"] is False
    assert (
        compare(side(used="mcp__files__Read", tools_offered=("Read", *tools)), side(), tools)[
            "adopted"
        ]
        is True
    )


@pytest.mark.parametrize(
    ("outcome", "facts"),
    [
        ({}, (None, None, None)),
        ({"tools_offered": ("Read",), "calls": ()}, (False, False, False)),
        ({"tools_offered": (GREP,), "calls": (Call("Read", 3),)}, (True, False, False)),
        ({"tools_offered": (GREP,), "calls": (Call(GREP, 2, 2),)}, (True, True, False)),
        ({"tools_offered": (GREP,), "calls": (Call(GREP, 2, 1),)}, (True, True, True)),
    ],
)
def test_what_is_offered_called_and_failed_is_observed(
    outcome: dict[str, Any], facts: tuple[bool | None, ...]
) -> None:
    row = compare(side(**outcome), side(), TOOLS)
    assert (row["offered"], row["called"], row["called_without_error"]) == facts


SETS = {"without": {"servers": []}, "with": {"servers": ["lens"]}}
MADE_UP = "mcp__lens__lens_magic"


@pytest.mark.parametrize(
    ("shown", "listed", "tools"),
    [
        (("Read", GREP), [GREP, NEAR], [GREP]),
        (None, [GREP, NEAR], sorted([GREP, NEAR])),
        (None, [], sorted([GRAPH, MADE_UP, NEAR])),
    ],
    ids=["the agent shows a list", "only the servers list their tools", "nobody lists any"],
)
def test_the_tools_of_the_treatments_are_those_offered_and_else_those_called_or_reported(
    shown: tuple[str, ...] | None, listed: list[str], tools: list[str]
) -> None:
    outcome = Outcome(tools_offered=shown, calls=(Call(GRAPH, 1), Call(MADE_UP, 1)))
    reports = [{"tools_used": f"{NEAR};Read;mcp__x__y"}]
    assert treatment_tools(
        {"conditions": SETS}, [Record("a", "with", 1, "run", FINE, outcome)], reports, listed
    ) == (tools)


def test_imported_runs_have_the_tools_that_reports_name_and_a_made_up_one_is_no_adoption(
    bench: Make,
) -> None:
    plan: dict[str, Any] = {"conditions": {"without": {"servers": []}, "with": {"servers": []}}}
    assert treatment_tools(plan, [], [{"tools_used": f"{NEAR};Read"}, {"tools_used": ""}]) == [NEAR]
    row = compare(
        side(used=f"{GREP};{NEAR}", tools_offered=(GREP,), calls=(Call(NEAR, 2),)), side(), TOOLS
    )
    assert (row["adopted_lens_grep"], row["adopted_lens_graph_neighbors"]) == (True, False)
    assert (row["offered"], row["called"], row["called_without_error"]) == (True, False, False)
    made = bench(tasks=("a",), servers={"without": [], "with": ["lens"]})
    made.run("a", "with", tools=(MADE_UP,), tools_offered=("Read", GREP))
    made.build()
    row = read_table(made.folder / "pairs.csv")[0]
    assert row["adopted"] == "no"
    assert "adopted_lens_magic" not in row


def test_every_planned_run_and_pair_has_a_row(bench: Make) -> None:
    made = bench(
        tasks=("a", "b"), servers={"without": [], "with": ["lens"], "other": ["x"]}, trials=2
    )
    made.run("a", "with", points=("1", "0.5"), tools=(GREP,))
    made.run("a", "without", points=("1", "0"))
    made.run("a", "other", tools=None, points=("1", None))
    made.build()
    scores = read_table(made.folder / "scores.csv")
    assert len(scores) == 2 * 3 * 2
    assert {row["condition"]: row["status"] for row in scores[:3]} == {
        "with": "scored",
        "without": "scored",
        "other": "unjudged",
    }
    pairs = {
        (row["task"], row["trial"], row["treatment"]): row
        for row in read_table(made.folder / "pairs.csv")
    }
    assert len(pairs) == 2 * 2 * 2
    assert (pairs["a", "1", "with"]["delta"], pairs["a", "1", "with"]["adopted_lens_grep"]) == (
        "0.25",
        "yes",
    )
    assert (pairs["a", "1", "other"]["delta"], pairs["a", "1", "other"]["adopted_lens_grep"]) == (
        "",
        "",
    )
    assert pairs["b", "2", "with"]["delta"] == pairs["b", "2", "with"]["adopted"] == ""


def test_tools_of_two_servers_with_one_short_name_share_a_column(bench: Make) -> None:
    made = bench(tasks=("a",), servers={"without": [], "with": ["x", "y"]})
    made.run("a", "with", tools=("mcp__y__find",), tools_offered=("mcp__x__find", "mcp__y__find"))
    made.build()
    header = (made.folder / "pairs.csv").read_text().splitlines()[0].split(",")
    assert header.count("adopted_find") == 1
    assert read_table(made.folder / "pairs.csv")[0]["adopted_find"] == "yes"


@pytest.mark.parametrize(
    ("table", "old", "new"),
    [("decisions.csv", "Met,1,", "Met,one,"), ("reports.csv", "a,with,1", "a,with,x")],
)
def test_a_modified_table_is_a_clear_error(bench: Make, table: str, old: str, new: str) -> None:
    from lensbench.scores.scores import score_all

    made = bench(tasks=("a",))
    made.run("a", "with")
    made.build()
    path = made.folder / table
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(UserError, match=r"where a (number|trial) must be"):
        score_all(made.folder)


def test_an_attempt_that_was_refused_is_a_discard_although_it_ends_no_round() -> None:
    row: Any = {"task": "a", "condition": "with", "reason": "api_error", "discards": "none"}
    assert discard_counts([row, {**row, "reason": ""}, {**row, "discards": "empty"}]) == {
        "api_error": {"with": 1},
        "empty": {"with": 1},
    }
