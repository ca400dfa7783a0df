from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

from lensbench.core.records import Call

Make = Callable[..., Any]
GREP = "mcp__lens__lens_grep"


def test_trials_are_averaged_inside_a_task_first(bench: Make) -> None:
    made = bench(trials=3)
    for trial, points in enumerate((("1", "1"), ("1", "0"), ("0", "0")), 1):
        made.run("a", "with", trial, points=points)
        made.run("a", "without", trial, points=("0", "0"))
    made.run("b", "with", points=("0", "0"))
    made.run("b", "without", points=("1", "1"))
    score = made.build()["comparisons"]["with"]["measures"]["score"]
    assert (score["treatment"], score["baseline"], score["delta"], score["pairs"]) == (
        F(1, 4),
        F(1, 2),
        F(-1, 4),
        2,
    )


def test_a_delta_rests_on_complete_pairs_and_averages_on_all_runs(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c"))
    made.run("a", "with", points=("1", "1"), duration_s=30)
    made.run("a", "without", points=("1", "0"), duration_s=20)
    made.run("b", "without", points=("1", "1"), duration_s=200)
    made.run("c", "with", points=("0", None), duration_s=10)
    data = made.build()["comparisons"]["with"]
    score = data["measures"]["score"]
    duration = data["measures"]["duration_s"]
    assert (score["treatment"], score["baseline"]) == (1, F(3, 4))
    assert (score["paired_treatment"], score["paired_baseline"], score["delta"]) == (
        1,
        F(1, 2),
        F(1, 2),
    )
    assert (duration["treatment"], duration["baseline"]) == (20, 110)
    assert (duration["delta"], duration["pairs"]) == (10, 1)
    assert (data["pairs"], data["wins"], data["losses"]) == ({"complete": 1, "planned": 3}, 1, 0)


def test_figures_are_exact_until_they_are_shown(bench: Make) -> None:
    made = bench(tasks=("a", "b"))
    for task, seconds in (("a", 100.5), ("b", 208.5)):
        made.run(task, "with", duration_s=seconds, calls=30 if task == "a" else 29)
        made.run(task, "without", duration_s=seconds + 26, calls=None)
    data = made.build()
    measures = data["comparisons"]["with"]["measures"]
    assert (measures["duration_s"]["treatment"], measures["tool_calls_reported"]["treatment"]) == (
        F(309, 2),
        F(59, 2),
    )
    assert measures["tool_calls_reported"]["baseline"] is None
    assert "| duration | 181s | 155s | -16% | " in made.page
    assert (
        "| tool calls, reported (mean of the middle tasks) | — | 29.5 | — | — |  | 0 |" in made.page
    )


def test_a_missing_report_is_left_out_of_averages(bench: Make) -> None:
    made = bench()
    made.run("a", "with", calls=10)
    made.run("b", "with", report=False)
    calls = made.build()["comparisons"]["with"]["measures"]["tool_calls_reported"]
    assert (calls["treatment"], calls["baseline"], calls["delta"]) == (10, None, None)


def test_adoption_counts_runs_in_which_it_is_known(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c", "d"))
    made.run("a", "with", tools=(GREP,), calls=5, points=("0", "0"), files=("b.py",))
    made.run("b", "with")
    made.run("c", "with", report=False)
    for task in made.tasks:
        made.run(task, "without")
    data = made.build()["comparisons"]["with"]
    assert (
        data["adoption"]["adopted"] == data["adoption"]["adopted_lens_grep"] == {"runs": 1, "of": 2}
    )
    assert data["adoption"]["offered"] == {"runs": 3, "of": 3}
    assert data["adoption"]["misdirected"] == {"runs": 1, "of": 2}
    assert data["adoption"]["misdirected_adopters"] == {"runs": 1, "of": 1}


def test_three_conditions_are_three_comparisons(bench: Make) -> None:
    made = bench(servers={"without": [], "with": ["lens"], "other": ["x"]})
    made.run("a", "without", points=("1", "0"))
    made.run("a", "with", points=("1", "1"))
    made.run("a", "other", points=("0", "0"))
    data = made.build()
    deltas = {
        name: item["measures"]["score"]["delta"] for name, item in data["comparisons"].items()
    }
    assert deltas == {"with": F(1, 2), "other": F(-1, 2), "with against other": F(1)}
    assert len(data["headlines"]) == 4  # the scores and the use of the tools, of two treatments


def test_categories_have_their_own_deltas(bench: Make) -> None:
    task = {"repository": "repo-1", "prompt_sha256": "p", "criteria": 2}
    made = bench(
        changes={
            "tasks": {"a": {**task, "category": "Debug"}, "b": {**task, "category": "Targeted"}}
        }
    )
    for name, points in (("a", "1"), ("b", "0")):
        made.run(name, "with", points=(points, points))
        made.run(name, "without", points=("1", "0"))
    categories = made.build()["comparisons"]["with"]["categories"]
    assert {name: row["score"]["delta"] for name, row in categories.items()} == {
        "Debug": F(1, 2),
        "Targeted": F(-1, 2),
    }


def test_reports_are_compared_with_transcripts_where_both_speak(bench: Make) -> None:
    made = bench()
    made.run("a", "with", calls=3, tools=(GREP,), seen=(Call("Read", 3),))
    made.run("a", "without", calls=9)
    made.run("b", "with", report=False)
    found = made.build()["disagreements"]
    assert found == {
        "tool calls": {"runs": 1, "of": 2},
        "files read": {"runs": 0, "of": 2},
        "adoption": {"runs": 1, "of": 1},
    }


def test_controls_are_counted_over_the_runs_that_could_show_them(bench: Make) -> None:
    made = bench()
    made.run("a", "with", tools_offered=None, models=None)
    made.run("a", "without", models=("glm-5",))
    made.run("b", "with", attempts=2, servers=None)
    controls = {
        row["check"]: (row["runs"], row["of"], row["unseen"]) for row in made.build()["controls"]
    }
    assert controls["one model answered throughout"] == (2, 2, 1)
    assert controls["the condition's tools were offered"] == (1, 1, 1)
    assert controls["the condition's MCP servers were connected"] == (1, 1, 1)
    assert controls["the first attempt gave the answer"] == (2, 3, 0)
    assert controls["no tool of another condition was offered"] == (1, 1, 0)


def test_the_skew_is_that_of_the_first_attempts_of_a_task(bench: Make) -> None:
    made = bench()
    made.run("a", "with", started="2026-01-02T03:04:05.000Z")
    made.run("a", "without", started="2026-01-02T03:04:05.250Z")
    made.run("b", "with", started="2027-01-02T03:04:05.000Z")
    assert made.build()["start_skew_s"] == {"pairs": 1, "median": F(1, 4), "largest": F(1, 4)}


def test_observed_counts_come_from_the_transcript(bench: Make) -> None:
    made = bench()
    record = made.run("a", "with", files_read=("a", "b"), seen=(Call("Read", 3),))
    assert record.outcome.calls == (Call("Read", 3),)
    run = next(
        run for run in made.build()["runs"] if (run["task"], run["condition"]) == ("a", "with")
    )
    assert (run["tool_calls_observed"], run["files_read_observed"], run["files_read_reported"]) == (
        3,
        2,
        1,
    )
