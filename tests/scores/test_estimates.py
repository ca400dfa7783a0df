import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm, t, ttest_1samp
from statsmodels.stats.multitest import multipletests

from gate_settings import DEFAULTS
from lensbench.core.conditions import comparisons
from lensbench.core.errors import UserError
from lensbench.core.records import Call, RunId, from_json, to_json
from lensbench.core.system.files import plain, write_json
from lensbench.core.system.program import run_stage
from lensbench.results.page.page import write_page
from lensbench.scores.estimates import write_estimates
from lensbench.scores.intervals import SCOPE
from lensbench.scores.sequential import LookResult

Make = Callable[..., Any]
ALL, HALF, NONE = ("1", "1"), ("1", "0"), ("0", "0")


def planned(tasks: Mapping[str, tuple[str | None, str]], criteria: int = 2) -> dict[str, Any]:
    """Tasks for a plan: their repositories and categories."""
    return {
        name: {
            "category": category,
            "repository": repository,
            "prompt_sha256": "p",
            "criteria": criteria,
        }
        for name, (repository, category) in tasks.items()
    }


def paired(
    made: Any,
    outcomes: Mapping[str, tuple[Sequence[str | None], Sequence[str | None]]],
    **settings: Any,
) -> None:
    """One trial of each task: the points with and without the tools."""
    for task, (treated, base) in outcomes.items():
        made.run(task, "with", points=treated, **settings)
        made.run(task, "without", points=base, **settings)


def found(made: Any, treatment: str = "with") -> dict[str, Any]:
    """What estimates.json says of a treatment."""
    made.build()
    written: dict[str, Any] = json.loads((made.folder / "estimates.json").read_text())[
        "comparisons"
    ][treatment]
    return written


def wide(bench: Make, times: int = 1, **changes: Any) -> Any:
    """Eight tasks, or `times` as many, in two categories, each with a repository of its own."""
    tasks = {f"t{n}": (f"r{n}", "Debug" if n % 8 < 4 else "Targeted") for n in range(8 * times)}
    made = bench(tasks=tuple(tasks), changes={"tasks": planned(tasks), **changes})
    outcomes = [
        (ALL, NONE),
        (ALL, HALF),
        (HALF, NONE),
        (HALF, HALF),
        (ALL, HALF),
        (ALL, HALF),
        (ALL, NONE),
        (HALF, ALL),
    ]
    paired(made, dict(zip(tasks, outcomes * times, strict=True)), agent_version="1.0")
    return made


DELTAS = [1, 0.5, 0.5, 0, 0.5, 0.5, 1, -0.5]


def test_the_delta_has_scipys_interval_the_counts_of_its_tasks_and_the_complete_ones(
    bench: Make,
) -> None:
    made = wide(bench)
    result = found(made)
    overall = result["score"]["overall"]
    complete = result["complete"]
    low, high = ttest_1samp(DELTAS, 0).confidence_interval(1 - 0.05)
    assert (overall["delta"], overall["low"], overall["high"]) == pytest.approx(
        (0.4375, low, high), abs=1e-6
    )
    assert (overall["n"], overall["pairs"], overall["planned"], overall["clusters"]) == (8, 8, 8, 8)
    assert (overall["wins"], overall["ties"], overall["losses"]) == (6, 1, 1)
    assert (complete["mcnemar"]["treatment_only"], complete["mcnemar"]["baseline_only"]) == (5, 1)
    assert (complete["overall"]["delta"], result["looks"]) == (0.5, [])
    assert json.loads((made.folder / "estimates.json").read_text())["comparisons"].keys() == {
        "with"
    }


def test_categories_have_their_own_intervals_and_holms_p_among_them(bench: Make) -> None:
    made = found(wide(bench))["score"]
    debug = made["categories"]["Debug"]
    targeted = made["categories"]["Targeted"]
    low, high = ttest_1samp(DELTAS[:4], 0).confidence_interval(0.95)
    assert high > 1  # which no difference of scores can be
    assert (debug["low"], debug["high"], debug["planned"]) == pytest.approx((low, 1, 4), abs=1e-6)
    corrected = multipletests([debug["p"], targeted["p"]], method="holm")[1]
    assert (debug["p_holm"], targeted["p_holm"]) == pytest.approx(tuple(corrected), abs=1e-6)
    assert made["repositories"]["r0"]["delta"] == 1
    assert made["repositories"]["r0"]["method"] == "one task: no interval"


def test_treatments_are_compared_with_each_other(bench: Make) -> None:
    tasks = ("a", "b", "c", "d", "e", "f", "g", "h")
    servers = {"without": [], "v1": ["lens"], "v2": ["lens"], "v3": ["lens"]}
    repositories = planned({task: (task, "Debug") for task in tasks})
    made = bench(tasks=tasks, servers=servers, changes={"tasks": repositories})
    for task in tasks:
        made.run(task, "without", points=NONE)
        made.run(task, "v1", points=HALF)
        made.run(task, "v2", points=ALL if task != "a" else HALF)
        if task != "b":
            made.run(task, "v3", points=HALF)
    made.build()
    comparisons = json.loads((made.folder / "estimates.json").read_text())["comparisons"].values()
    sides = {(each["treatment"], each["baseline"]): each["overall"] for each in comparisons}
    named = {names: overall for names, overall in sides.items() if names[1] != "without"}
    assert list(named) == [("v2", "v1"), ("v3", "v1"), ("v3", "v2")]
    better = named["v2", "v1"]
    low, high = ttest_1samp([0] + [0.5] * 7, 0).confidence_interval(0.95)
    assert (better["delta"], better["low"], better["high"]) == pytest.approx(
        (0.4375, low, high), abs=1e-6
    )
    assert (better["wins"], better["ties"], better["losses"], better["pairs"]) == (7, 1, 0, 8)
    assert (
        named["v3", "v1"]["delta"],
        named["v3", "v2"]["losses"],
        named["v3", "v2"]["pairs"],
    ) == (0, 6, 7)
    corrected = multipletests([found["p"] for found in named.values()], method="holm")[1]
    assert [found["p_holm"] for found in named.values()] == pytest.approx(list(corrected), abs=1e-6)
    assert "| v2 against v1 | — | +43.8 points |" in (made.folder / "results.md").read_text()
    write_page(made.folder)
    page = (made.folder / "report.html").read_text()
    cells = r"<td>v2 against v1</td>\s*<td>—</td>\s*<td class=\"n\">\+43\.8 points</td>"
    assert re.search(cells, page)


def test_tasks_of_few_or_unknown_repositories_speak_of_these_only(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c", "d"))
    paired(made, {"a": (ALL, NONE), "b": (ALL, HALF), "c": (HALF, HALF), "d": (HALF, NONE)})
    result = found(made)
    assert (result["score"]["overall"]["scope"], result["score"]["overall"]["clusters"]) == (
        SCOPE,
        1,
    )
    assert result["gate"]["sentence"].endswith("on this repository only.")
    made = bench(
        tasks=("a", "b", "c"),
        changes={"tasks": planned(dict.fromkeys("abc", (None, "Debug"))), "imported": True},
    )
    paired(made, {"a": (ALL, NONE), "b": (ALL, HALF), "c": (HALF, HALF)})
    score = found(made)["score"]
    assert (score["overall"]["scope"], score["overall"]["clusters"]) == (SCOPE, 1)
    assert list(score["repositories"]) == ["unknown"]


def test_trials_are_averaged_inside_a_task_first(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c"), trials=2)
    for task, first, second in (("a", ALL, NONE), ("b", ALL, ALL), ("c", HALF, NONE)):
        for trial, points in ((1, first), (2, second)):
            made.run(task, "with", trial, points=points)
            made.run(task, "without", trial, points=NONE)
    result = found(made)
    assert (result["score"]["overall"]["n"], result["score"]["overall"]["pairs"]) == (3, 6)
    low, _ = ttest_1samp([0.5, 1, 0.25], 0).confidence_interval(1 - 0.05)
    assert result["score"]["overall"]["low"] == pytest.approx(low, abs=1e-6)
    assert result["reliability"][1]["treatment"] == {"pass^k": 0.333333, "pass@k": 0.666667}
    assert "not independent" in result["complete"]["mcnemar"]["reason"]
    assert result["variance"]["treatment"]["sigma"] is not None
    assert result["variance"]["baseline"]["reason"] == "the trials of a task never differ"


def test_ratios_are_relative_changes_of_the_geometric_mean(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c"))
    for task, before, after in (("a", 10, 20), ("b", 100, 100), ("c", 10, 40)):
        made.run(task, "without", duration_s=before)
        made.run(task, "with", duration_s=after)
    duration = found(made)["measures"]["duration_s"]
    low, high = ttest_1samp([math.log(2), 0, math.log(4)], 0).confidence_interval(0.95)
    assert (duration["kind"], duration["overall"]["delta"]) == ("log ratio", 1.0)
    assert (duration["overall"]["low"], duration["overall"]["high"]) == pytest.approx(
        (math.expm1(low), math.expm1(high)), abs=1e-5
    )


def test_a_pair_with_a_zero_has_no_ratio_and_is_a_difference_of_counts(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c"))
    for task, cost in (("a", 0.0), ("b", 0.5), ("c", None)):
        made.run(task, "without", cost_usd=0.25)
        made.run(task, "with", cost_usd=cost)
    cost_usd = found(made)["measures"]["cost_usd"]
    assert (
        cost_usd["overall"]["n"],
        cost_usd["overall"]["planned"],
        cost_usd["overall"]["delta"],
    ) == (1, 3, 1)
    made = bench(tasks=("a", "b"))
    for task, calls in (("a", 0), ("b", 5)):
        made.run(task, "without", calls=4)
        made.run(task, "with", calls=calls)
    reported = found(made)["measures"]["tool_calls_reported"]
    assert (reported["kind"], reported["overall"]["delta"], reported["overall"]["n"]) == (
        "count",
        -1.5,
        2,
    )


def test_missing_scores_are_counted_by_reason(bench: Make) -> None:
    made = bench(tasks=("a", "b", "c", "d"))
    made.run("a", "with", points=ALL)
    made.run("a", "without", points=HALF)
    made.run("b", "with", points=("1", None))
    made.run("b", "without", points=HALF)
    made.run("c", "with", reason="timed_out")
    made.run("c", "without", points=HALF)
    result = found(made)
    assert result["missing"] == {
        "with": {"discarded": 1, "missing": 1, "unjudged": 1},
        "without": {"discarded": 0, "missing": 1, "unjudged": 0},
    }
    assert result["score"]["overall"]["delta"] == 0.5


def test_nothing_scored_and_one_task_are_no_basis_for_an_interval(bench: Make) -> None:
    made = bench()
    result = found(made)
    assert (result["score"]["overall"]["delta"], result["score"]["overall"]["planned"]) == (None, 2)
    assert result["gate"]["verdict"] == "INCONCLUSIVE"
    assert "NaN" not in (made.folder / "estimates.json").read_text()
    made = bench(tasks=("a",))
    paired(made, {"a": (ALL, NONE)})
    result = found(made)
    assert (result["score"]["overall"]["delta"], result["score"]["overall"]["low"]) == (1, None)
    assert result["gate"]["verdict"] == "INCONCLUSIVE"


# --- The gate


@pytest.mark.parametrize("condition", ["without", "with"])
def test_runs_of_one_condition_alone_have_results_without_a_delta(
    bench: Make, condition: str
) -> None:
    made = bench()
    made.run("a", condition)
    estimates = found(made)
    assert estimates["overall"]["delta"] is None
    assert estimates["gate"]["verdict"] == "INCONCLUSIVE"


def test_the_gate_names_delta_and_model_and_gives_an_offline_agent_no_verdict(bench: Make) -> None:
    made = wide(bench, 2, agent={"kind": "claude-code"})
    made.run("t7", "without", points=HALF, agent_version="1.0")
    result = found(made)["gate"]
    assert (result["verdict"], result["needs"]) == ("GO", "")
    assert "for glm-5 in claude-code 1.0 on these 16 repositories." in result["sentence"]
    result = found(wide(bench))["gate"]
    assert result["verdict"] == "INCONCLUSIVE"
    assert "No language model answered" in result["sentence"]


def test_new_verdicts_on_the_same_runs_are_no_other_look(bench: Make) -> None:
    made = wide(bench, agent={"kind": "claude-code"})
    assert [found(made)["look_number"], found(made)["look_number"]] == [1, 1]
    made.verdicts[-1] |= {"points": "0", "verdict": "Missed"}
    again = found(made)
    assert (again["look_number"], again["level"]) == (1, pytest.approx(0.95))


@pytest.mark.parametrize(
    ("called", "unknown", "reported", "sentence"),
    [
        (0, 0, 24, "None of 24 runs with lens called its tools: too few"),  # the transcript decides
        (
            0,
            24,
            0,
            "None of 24 runs with lens called its tools: too few",
        ),  # without one the report does
        (0, 24, 3, ""),
        (1, 0, 0, "Only 1 of 24 runs with lens called its tools: too few"),
        (0, 1, None, "None of 24 runs with lens called its tools (1 not known): too few"),
        (2, 0, 0, ""),
        (1, 1, None, ""),
        (0, 24, None, ""),
    ],
)
def test_no_verdict_if_few_call_it(
    bench: Make, called: int, unknown: int, reported: int | None, sentence: str
) -> None:
    tasks = {f"t{n:02}": (f"r{n}", "Debug") for n in range(24)}
    made = bench(
        tasks=tuple(tasks), changes={"tasks": planned(tasks), "agent": {"kind": "claude-code"}}
    )
    tool = "mcp__lens__lens_grep"
    for n, task in enumerate(tasks):
        seen = (
            None
            if n >= 24 - unknown
            else [Call("Read", 3), *([Call(tool, 1)] if n < called else [])]
        )
        told = {
            "report": reported is not None,
            "tools": (tool,) if n < (reported or 0) else ("Read",),
        }
        made.run(task, "with", points=ALL if n % 3 else HALF, seen=seen, **told)
        made.run(task, "without", points=HALF)
    data = made.build()
    gate = data["estimates"]["with"]["gate"]
    plain = data["plain"]["with"]
    assert (gate["verdict"], sentence in str(gate["notes"])) == (
        "INCONCLUSIVE" if sentence else "GO",
        True,
    )
    assert (plain["lead"] == "lens helps.", "help" in gate["sentence"]) == (
        not sentence,
        not sentence,
    )
    assert plain["lead"].startswith(sentence)


def test_a_condition_without_a_server_needs_no_calls(bench: Make) -> None:
    made = wide(bench, agent={"kind": "claude-code"})
    made.servers["with"] = []
    assert found(made)["too_few_calls"] == ""


MEAN = {"value": 0.02, "low": None, "high": None, "n": 8, "reason": "", "se": None}


def biased(low: float, sentence: str) -> dict[str, Any]:
    """The judges err by condition, at least by so much."""
    differential = {"signed": MEAN | {"low": low, "high": 0.03}, "sentence": sentence}
    together = {"with": differential}
    return {"bias": {"judges": {}, "correction": {}, "together": together}}


def voided(count: int) -> dict[str, Any]:
    """A judge whose verdicts are void on so many of 96 answers."""
    judge = {"models": [], "verdicts": {}, "failures": {}, "cost_usd": None, "cost_is_guess": False}
    return {"judges": {"j": judge | {"answers": 96, "voided": count}}}


def doubts(least: int, tasks: int = 16) -> dict[str, Any]:
    """Of the treatment's runs of the first tasks, whose two criteria untrusted judges decided."""
    runs = [RunId(f"t{task}", "with")._asdict() for task in range(tasks)]
    return {
        "belief": {
            "caveat": "Drafts.",
            "doubts": [{"run": run, "least": least, "most": 2} for run in runs],
        }
    }


def measured(folder: Path, **parts: Any) -> None:
    """Changes parts of judge_reliability.json, and of what stands there on belief."""
    known = json.loads((folder / "judge_reliability.json").read_text())
    belief = known["belief"] | parts.pop("belief", {})
    write_json(folder / "judge_reliability.json", known | parts | {"belief": belief})


@pytest.mark.parametrize(
    ("reliability", "verdict", "reason"),
    [
        (voided(5), "INCONCLUSIVE", "j was wrong in 5 of 96 answers."),
        (voided(4), "GO", ""),
        (biased(0.01, "The judges favour 'with'."), "INCONCLUSIVE", "The judges favour 'with'."),
        (biased(-0.01, "It may be chance."), "GO", ""),
        ({"bias": None}, "GO", ""),
        (
            {"belief": {"withheld": {"with": ["An unvalidated judge decides."]}, "caveat": "c"}},
            "INCONCLUSIVE",
            "An unv",
        ),
        (
            {"belief": {"withheld": {"with": []}, "caveat": "3 verdicts rest on drafts."}},
            "GO",
            "3 verdicts rest on",
        ),
        (doubts(2), "GO", "Drafts."),
        (doubts(0), "INCONCLUSIVE", "nobody has validated could undo a GO."),
        (doubts(0, tasks=0), "GO", "Drafts."),
    ],
)
def test_untrusted_judges_give_no_verdict(
    bench: Make, reliability: dict[str, Any], verdict: str, reason: str
) -> None:
    made = wide(bench, 2, agent={"kind": "claude-code"})
    made.run("t7", "without", points=HALF, agent_version="1.0")
    made.build()
    measured(made.folder, **reliability)
    gate = plain(write_estimates(made.folder))["comparisons"]["with"]["gate"]
    assert (gate["verdict"], reason in str([gate["sentence"], *gate["notes"]])) == (verdict, True)


def test_an_agent_that_shows_no_model_is_named_by_the_plan(bench: Make) -> None:
    made = wide(bench, agent={"kind": "none"})
    for path in made.folder.glob("attempts/*/*/record.json"):
        record = from_json(path.read_text())
        path.write_text(
            to_json(
                replace(record, outcome=replace(record.outcome, models=None, agent_version=None))
            )
        )
    assert "for glm-5 on these" in found(made)["gate"]["sentence"]


# --- Looks

WAVES = DEFAULTS | {"looks": 2, "over": "trials"}


def waves(bench: Make) -> Any:
    """Three tasks with two trials, and a look after the first."""
    tasks = {name: (name, "Debug") for name in "abc"}
    made = bench(tasks=tuple(tasks), trials=2, changes={"gate": WAVES, "tasks": planned(tasks)})
    paired(made, {"a": (ALL, NONE), "b": (ALL, HALF), "c": (HALF, HALF)})
    return made


def test_a_look_rests_on_the_waves_so_far_and_earlier_looks_stay_in_the_track(bench: Make) -> None:
    made = waves(bench)
    result = found(made)
    spent = 4 * norm.sf(norm.isf(0.05 / 4) / 0.5**0.5)  # O'Brien and Fleming's
    (look,) = result["looks"]
    assert (look["look"], look["looks"], look["boundary"]) == (
        1,
        2,
        pytest.approx(norm.isf(spent / 2), abs=1e-5),
    )
    assert look["z"] == pytest.approx(norm.isf(t.sf(0.5 / (0.5 / 3**0.5), 2)), abs=1e-5)
    assert (look["low"], result["gate"]["low"], result["score"]["overall"]["planned"]) == (
        -1,
        -1,
        3,
    )
    made = waves(bench)
    first = LookResult(1, 2, 1.5, 2.9, -0.1, 0.5, 0.4, True, "the chance of a GO is 40%")._asdict()
    write_json(
        made.folder / "looks" / "1.json",
        {"look": 1, "of": 2, "open": True, "treatments": {"with": first}},
    )
    looks = found(made)["looks"]
    assert (looks[0], looks[1]["look"]) == (first, 2)


# --- The file


def test_the_closed_book_control_is_no_treatment() -> None:
    plan = {"baseline": "without", "conditions": {"without": {}, "with": {}, "closed_book": {}}}
    assert list(comparisons(plan | {"controls": {"closed_book": True}})) == ["with"]


def test_the_stage_runs_as_a_program_and_names_a_damaged_table(
    bench: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = bench()
    made.build()
    (made.folder / "judge_reliability.json").write_text("{")
    with pytest.raises(UserError, match=r"judge_reliability\.json: cannot be read"):
        write_estimates(made.folder)
    made = wide(bench)
    made.build()
    (made.folder / "estimates.json").unlink()
    monkeypatch.setattr("sys.argv", ["estimates", "--folder", str(made.folder)])
    run_stage(write_estimates)
    assert (made.folder / "estimates.json").exists()


def with_people(folder: Path, value: float = 0.1, se: float = 0.05, n: int = 24) -> dict[str, Any]:
    """The estimates when people have judged so many tasks, and corrected the delta to this value."""
    corrected = {"value": value, "low": None, "high": None, "n": n, "reason": "", "se": se}
    together = {}
    bias = {"judges": {}, "together": together, "correction": {"with": corrected}}
    measured(folder, bias=bias, belief={"decided": {"model": 48}, "caveat": "", "doubts": []})
    for name in ("looks.jsonl", "results.json"):
        (folder / name).unlink(missing_ok=True)
    return plain(write_estimates(folder)["comparisons"]["with"])  # type: ignore[no-any-return]


def test_the_gate_uses_the_delta_that_people_corrected(bench: Make) -> None:
    made = wide(bench)
    made.build()
    estimates = with_people(made.folder)
    judged = estimates["score"]["overall"]
    corrected = estimates["corrected"]
    margin = (
        t.isf((1 - estimates["level"]) / 2, 7) * 0.05
    )  # eight tasks: 7 degrees of freedom, and not 23
    assert (corrected["delta"], corrected["people"], corrected["df"]) == (0.1, 24, 7)
    assert (corrected["low"], corrected["high"]) == pytest.approx(
        (0.1 - margin, 0.1 + margin), abs=1e-4
    )
    assert (judged["delta"], judged["people"]) == (0.4375, 0)
    assert (estimates["gate"]["low"], estimates["gate"]["high"]) == (
        corrected["low"],
        corrected["high"],
    )
    assert "1 trial, human-corrected)" in estimates["gate"]["sentence"]


def test_shared_repositories_widen_what_people_corrected_too(bench: Make) -> None:
    tasks = {f"t{n:02}": (f"r{n // 4}", "Debug") for n in range(24)}
    made = bench(tasks=tuple(tasks), changes={"tasks": planned(tasks)})
    paired(made, {task: ((ALL, HALF)[n // 4 % 2], NONE) for n, task in enumerate(tasks)})
    made.build()
    estimates = with_people(made.folder)
    overall = estimates["score"]["overall"]
    assert overall["method"] == "cluster-robust t"
    effect = overall["se"] * math.sqrt(24) / overall["sd"]
    assert effect > 1.5
    assert estimates["corrected"]["se"] == pytest.approx(0.05 * effect, abs=1e-6)
    assert estimates["corrected"]["df"] == overall["df"] == 5


def test_a_verdict_without_labels_says_what_it_assumes(bench: Make) -> None:
    tasks = {f"t{n:02}": (f"r{n}", "Debug") for n in range(24)}
    made = bench(
        tasks=tuple(tasks), changes={"tasks": planned(tasks), "agent": {"kind": "command"}}
    )
    paired(made, {task: ((ALL, HALF)[n % 2], NONE) for n, task in enumerate(tasks)})
    made.build()
    assumed = "It assumes that the judges err alike in both conditions."
    said = with_people(made.folder, se=None)["gate"]  # type: ignore[arg-type]
    assert (said["verdict"], said["notes"]) == ("GO", [assumed])
    assert assumed not in with_people(made.folder, value=0.7)["gate"]["notes"]
    (made.folder / "looks.jsonl").unlink()
    measured(made.folder, bias=None, belief={"decided": {"people": 40, "tests": 8, "model": 0}})
    assert (
        assumed not in plain(write_estimates(made.folder))["comparisons"]["with"]["gate"]["notes"]
    )
