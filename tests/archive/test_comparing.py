"""Comparing finished runs: which tasks, what differs between the settings, deltas of deltas, and the three files."""

import json
import math
import re
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, permutation_test, ttest_1samp
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower

from benches import Shape, make_bench
from lensbench.core.errors import UserError
from lensbench.core.numbers import decimal
from lensbench.core.records import Attempt, Outcome, Record, RunId
from lensbench.core.tables import yes_no
from lensbench.core.tasks import Category, Criterion, Task
from lensbench.plan.config import Gate, Judging
from lensbench.scores.run_tables import Tables
from lensbench_archive.compare import (
    Change,
    Shared,
    adoptions,
    by_task,
    changes,
    compare,
    main,
    render,
    write_comparison,
)
from lensbench_archive.compared_runs import (
    FinishedRun,
    changed_settings,
    notices,
    read_runs,
    shared_tasks,
)
from programs import run_here, run_module

Sides = tuple[Fraction | float | None, Fraction | float | None]
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'`|"
AGENT = {"kind": "claude-code", "model": "sonnet"}
DEFAULT: Mapping[str, Sides] = {
    "one": (1, 0.5),
    "two": (0.5, 0.5),
    "three": (0.25, 0),
    "four": (1, 0),
}


def run_of(
    name: str,
    scores: Mapping[str, Sides | Sequence[Sides]] = DEFAULT,
    *,
    seconds: Mapping[str, tuple[float, float]] | None = None,
    treatment: str = "with",
    verdicts: Sequence[Mapping[str, str]] = ({"judge": "mechanical", "version": "2", "model": ""},),
    outcome: Outcome | None = None,
    tasks: Mapping[str, Task] | None = None,
    repositories: Mapping[str, Mapping[str, Any]] | None = None,
    **plan: Any,
) -> FinishedRun:
    """A finished run in memory. Scores are (with, without) of each task, or of each of its trials."""
    trials = {
        task: [pair] if isinstance(pair, tuple) else list(pair) for task, pair in scores.items()
    }
    count = max(map(len, trials.values()))
    rows = {}
    records = {}
    for task, pairs in trials.items():
        for trial, pair in enumerate(pairs, 1):
            for side, condition in enumerate((treatment, "without")):
                run = RunId(task, condition, trial)
                time = "" if seconds is None else str(seconds[task][side])
                score = pair[side]
                rows[run] = {
                    "score": "" if score is None else decimal(Fraction(score)) or "",
                    "duration_s": time,
                    "status": "discarded" if score is None else "scored",
                }
                seen = outcome or Outcome(models=("glm-5",), agent_version="2.1")
                attempt = Attempt(1, "2026-01-02T03:04:05.000Z", 1.0, 0.0, 0, False)
                records[run] = Record(
                    task,
                    condition,
                    trial,
                    "run",
                    attempt,
                    seen,
                    answer_sha256=name,
                    made_with={"agent": plan.get("agent", AGENT), "condition": {}},
                )
    given = {
        "run_id": name,
        "imported": False,
        "seed": 1,
        "trials": count,
        "baseline": "without",
        "conditions": {
            "without": {"mcp": None, "mcp_sha256": "", "servers": []},
            treatment: {"mcp": "m.json", "mcp_sha256": "c" * 64, "servers": ["lens"]},
        },
        "agent": AGENT,
        "model_mapping": "sonnet=glm-5",
        "gate": Gate().model_dump(mode="json"),
        "judging": Judging().model_dump(mode="json"),
        "judges": [{"name": "mechanical"}],
        "order": list(trials),
        "accepted_changes": [],
        "tasks": {
            task: {"category": "Debug", "repository": f"repo {task}", "prompt_sha256": "p"}
            for task in trials
        },
    } | plan
    validity = [{**run._asdict(), "trial": str(run.trial), "status": "valid"} for run in rows]
    tables = Tables(given, validity, rows, {}, [], verdicts, records)  # type: ignore[arg-type]
    tasks = {task: described(task) for task in trials} if tasks is None else tasks
    return FinishedRun(name, tables, tasks, repositories or {}, [])


def described(name: str, *criteria: Criterion) -> Task:
    """A task with criteria."""
    return Task(
        id=name,
        category=Category.DEBUG,
        prompt="Where?",
        criteria=criteria or (Criterion(text="x"), Criterion(text="y")),
    )


def shared(*runs: FinishedRun) -> Shared:
    return Shared(runs, shared_tasks(runs)[0])


def change_of(
    found: Sequence[Change], quantity: str, run: str = "b", treatment: str | None = "with"
) -> Change:
    return next(
        each
        for each in found
        if (each.quantity, each.run, each.treatment) == (quantity, run, treatment)
    )


# Which tasks


def test_only_tasks_with_the_same_prompt_and_criteria_are_compared_and_the_others_are_listed_with_the_reason() -> (
    None
):
    a = run_of("a", dict.fromkeys(("same", "gone", "asked", "judged", "found"), (1, 0)))
    b = run_of("b", dict.fromkeys(("new", "same", "asked", "judged", "found"), (1, 0)))
    b.plan["tasks"]["asked"]["prompt_sha256"] = "q"
    b = replace(
        b,
        tasks=dict(b.tasks)
        | {
            "judged": described("judged", Criterion(text="x"), Criterion(text="z")),
            "found": described("found", Criterion(text="x", all_of="x.py"), Criterion(text="y")),
        },
    )
    tasks, left_out = shared_tasks([a, b])
    assert tasks == ["same"]
    assert {each.task: each.reason for each in left_out} == {
        "gone": "not in b",
        "new": "not in a",
        "asked": "another prompt in b",
        "judged": "other criteria in b",
        "found": "other patterns of the same criteria in b",
    }


def test_a_task_must_be_the_same_in_all_runs_and_one_must_be_common() -> None:
    runs = [run_of("a"), run_of("b"), run_of("c", {"one": (1, 0)})]
    assert shared_tasks(runs)[0] == ["one"]
    with pytest.raises(
        UserError,
        match=r"a, b: no task is the same in all of them \(one: not in b; two: not in a\)",
    ):
        compare([run_of("a", {"one": (1, 0)}), run_of("b", {"two": (1, 0)})])


# Deltas of deltas

BEFORE: Mapping[str, Sides] = {
    "one": (1, 0.5),
    "two": (0.5, 0.5),
    "three": (0.25, 0),
    "four": (1, 0),
    "five": (0, 0.5),
}
AFTER: Mapping[str, Sides] = {
    "one": (1, 0),
    "two": (0.75, 0.5),
    "three": (0.5, 0),
    "four": (1, 0.5),
    "five": (1, 0),
}
DIFFERENCES = [0.5, 0.25, 0.25, -0.5, 1.5]


def test_the_difference_of_two_deltas_is_paired_by_task_and_has_scipys_interval_and_p() -> None:
    found = change_of(changes(shared(run_of("a", BEFORE), run_of("b", AFTER))), "delta")
    result = ttest_1samp(DIFFERENCES, 0)
    low, high = result.confidence_interval(0.95)
    assert (found.found.delta, found.found.low, found.found.high) == pytest.approx((0.4, low, high))
    p = permutation_test(
        (DIFFERENCES,), lambda d: sum(d) / len(d), permutation_type="samples", n_resamples=math.inf
    )
    assert found.found.p == pytest.approx(p.pvalue)
    assert (found.before, found.after) == pytest.approx((0.25, 0.65))
    assert (found.found.wins, found.found.ties, found.found.losses, found.found.n) == (4, 0, 1, 5)
    effect = TTestPower().solve_power(nobs=5, power=0.8, alpha=0.05)
    assert found.found.mde == pytest.approx(np.std(DIFFERENCES, ddof=1) * effect, abs=1e-4)


def test_deltas_use_the_shared_tasks_and_conditions_are_compared_with_their_own_kind() -> None:
    data = compare([run_of("a", {**BEFORE, "alone": (1, 0)}), run_of("b", AFTER)])
    own = data["treatments"][0].deltas
    low, high = ttest_1samp([0.5, 0, 0.25, 1, -0.5], 0).confidence_interval(0.95)
    assert (own["a"].delta, own["a"].low, own["a"].high) == pytest.approx(
        (0.25, low, high), abs=1e-6
    )
    assert (own["a"].n, own["b"].delta) == (5, pytest.approx(0.65))
    found = changes(shared(run_of("a", BEFORE), run_of("b", AFTER)))
    assert change_of(found, "score").found.delta == pytest.approx(0.3)
    base = change_of(found, "score", treatment=None)
    assert base.found.delta == pytest.approx(-0.1)
    assert (base.before, base.after) == pytest.approx((0.3, 0.2))


def test_durations_are_compared_by_the_ratio_of_their_geometric_means() -> None:
    before = {"one": (10, 20), "two": (20, 20), "three": (30, 20), "four": (0.4, 20)}
    after = {"one": (20, 20), "two": (30, 20), "three": (90, 20), "four": (0.6, 20)}
    logs = [math.log(after[task][0] / before[task][0]) for task in before]
    found = changes(shared(run_of("a", seconds=before), run_of("b", seconds=after)))
    change = change_of(found, "duration_s")
    low, high = ttest_1samp(logs, 0).confidence_interval(0.95)
    assert (change.found.delta, change.found.low, change.found.high) == pytest.approx(
        (math.expm1(sum(logs) / 4), math.expm1(low), math.expm1(high))
    )
    assert change.after is not None
    assert change.before is not None
    assert change.after / change.before - 1 == pytest.approx(change.found.delta)
    assert change_of(found, "duration_s", treatment=None).found.delta == 0
    assert {change_of(found, name).found.n for name in ("tokens_input", "cost_usd", "turns")} == {0}


def test_trials_are_averaged_in_a_task_and_one_without_a_pair_is_missing_and_never_0() -> None:
    a = run_of("a", {"one": [(1, 0), (0.5, 0.5)], "two": [(1, 1), (1, 0)]})
    b = run_of("b", {"one": (1, 0), "two": (1, 0.5)})
    assert change_of(changes(shared(a, b)), "delta").found.delta == pytest.approx(
        ((1 - 0.5) + (0.5 - 0.5)) / 2
    )
    b = run_of("b", {**AFTER, "five": (None, 0)})
    both = shared(run_of("a", BEFORE), b)
    found = change_of(changes(both), "delta").found
    assert (found.n, found.planned, found.delta) == (4, 5, pytest.approx(0.125))
    row = by_task(both, "with")[-1]
    assert row.changes == {}
    assert row.deltas["b"] is None
    assert change_of(changes(both), "score", treatment=None).found.n == 5


def calling(name: str, calls: Mapping[str, Sequence[bool]]) -> FinishedRun:
    """A run of which the transcripts show, by task and trial, whether the treatment's tools were called."""
    run = run_of(name, {task: [(1, 0.5)] * len(trials) for task, trials in calls.items()})
    pairs: Any = [
        {
            "task": task,
            "trial": str(trial),
            "treatment": "with",
            "called": yes_no(called),
            "adopted": "no",
        }
        for task, trials in calls.items()
        for trial, called in enumerate(trials, 1)
    ]
    return replace(run, tables=run.tables._replace(pairs=pairs))


TANGO_8_AND_2_OF_24 = (-0.009246, 0.480449)
"""Where a numeric search for the likeliest shares gives a score statistic of 1.96 (as in scores/test_adoption.py)."""


def test_adoption_in_two_runs_has_mcnemars_mid_p_and_tangos_interval() -> None:
    """Called in 14 of 24 runs instead of 8: in both on 6 tasks, only now on 8, only before on 2."""
    tasks = [f"t{number:02}" for number in range(24)]
    before = calling(
        "a", {task: [number in (*range(6), 22, 23)] for number, task in enumerate(tasks)}
    )
    after = calling("b", {task: [number < 14] for number, task in enumerate(tasks)})
    (row,) = adoptions(shared(before, after))
    found = row.found
    assert (found.treatment, found.of, found.baseline, found.of_baseline) == (14, 24, 8, 24)
    assert (found.more, found.fewer, found.delta) == (8, 2, pytest.approx(0.25))
    assert found.p == pytest.approx(2 * binom.cdf(2, 10, 0.5) - binom.pmf(2, 10, 0.5))
    assert (found.low, found.high) == pytest.approx(TANGO_8_AND_2_OF_24, abs=1e-5)
    assert row.sentence == (
        "lens in b was called in 14 of 24 runs, lens in a in 8: +25 points (95% interval -1 to +48; 8 tasks only lens"
        " in b, 2 only lens in a)."
    )
    assert row.sentence in render(compare([before, after]))


def test_adoption_in_runs_with_trials_is_compared_by_the_means_of_tasks() -> None:
    """A run that lacks a task, or what is known of it, leaves that task out."""
    before = {f"t{number}": [number == 0, False] for number in range(8)}
    after = {f"t{number}": [number < 4, number < 6] for number in range(7)}
    (row,) = adoptions(shared(calling("a", before), calling("b", after)))
    differences = [(sum(after[task]) - sum(before[task])) / 2 for task in before if task in after]
    low, high = ttest_1samp(differences, 0).confidence_interval(0.95)
    assert (row.found.delta, row.found.low, row.found.high) == pytest.approx(
        (sum(differences) / 7, low, high)
    )
    assert (row.found.of, row.found.of_baseline, row.found.is_single) == (14, 14, False)


def test_several_runs_have_holms_p_among_them() -> None:
    runs = [
        run_of("a", BEFORE),
        run_of("b", AFTER),
        run_of("c", {task: (1 - Fraction(pair[0] or 0), pair[1]) for task, pair in BEFORE.items()}),
    ]
    found = changes(shared(*runs))
    for quantity, treatment in (("delta", "with"), ("score", None)):
        family = [change_of(found, quantity, name, treatment).found for name in "bc"]
        assert [each.p_holm for each in family] == pytest.approx(
            multipletests([e.p for e in family], method="holm")[1]
        )


def test_the_baseline_is_no_further_question_about_the_tools() -> None:
    before = {f"t{n}": (1, 0.5) for n in range(6)}
    after = {task: (0.5, Fraction(n, 20)) for n, task in enumerate(before)}
    found = changes(shared(run_of("a", before), run_of("b", after)))
    for treatment in ("with", None):
        each = change_of(found, "score", treatment=treatment).found
        assert each.p == each.p_holm == pytest.approx(2 / 2**6)


def test_the_only_treatments_are_compared_whatever_their_names_and_unmatched_ones_are_not() -> None:
    b = run_of("b", AFTER, treatment="server-2")
    data = compare([run_of("a", BEFORE), b])
    assert "In b this is" not in render(data)
    b.plan["conditions"]["server-2"]["servers"] = ["graph"]
    data = compare([run_of("a", BEFORE), b])
    assert data["treatments"][0].conditions == {"a": "with", "b": "server-2"}
    assert data["changes"][0].found.delta == pytest.approx(0.4)
    assert "In b this is graph, its only treatment." in render(data)
    renamed = run_of("b", AFTER)
    renamed.plan["conditions"]["with"]["servers"] = ["graph"]
    text = render(compare([run_of("a", BEFORE), renamed]))
    assert "In b this is graph, the condition of the same name." in text
    assert "| servers of lens | lens | graph |" in text
    a = run_of("a")
    b = run_of("b", treatment="graph")
    b.plan["conditions"]["grep"] = b.plan["conditions"]["graph"]
    data = compare([a, b])
    assert data["unmatched"] == [
        "lens of a is no treatment of b.",
        "graph of b is no treatment of a.",
        "grep of b is no treatment of a.",
    ]
    assert {each.treatment for each in data["changes"]} == {None}
    assert "share no treatment" in render(data)


# Settings


def changed(*runs: FinishedRun) -> dict[str, list[str]]:
    return {
        row.name: list(row.values.values())
        for row in changed_settings(runs, shared_tasks(runs)[0])[0]
    }


def test_settings_that_differ_are_rows_and_the_others_are_only_named() -> None:
    a, b = (
        run_of(name, seed=seed, agent={**AGENT, "max_turns": n})
        for name, seed, n in (("a", 1, 60), ("b", 2, 90))
    )
    b.plan["conditions"]["with"]["mcp_sha256"] = "d" * 64
    rows, same = changed_settings([a, b], list(DEFAULT))
    assert {row.name: list(row.values.values()) for row in rows} == {
        "seed": ["1", "2"],
        "agent.max_turns": ["60", "90"],
        "MCP file of lens": ["c" * 12, "d" * 12],
    }
    assert {"agent.model", "judges", "trials", "repositories"} <= set(same)


def test_a_profile_and_other_files_are_differences_with_a_warning() -> None:
    stock = run_of("b", agent={**AGENT, "profile": "stock"})
    assert changed(run_of("a"), stock) == {"agent.profile": ["strict", "stock"]}
    assert noticed(run_of("a"), stock) == ["Other models."]
    trees = [{"repo one": {"revision": "v1", "tree_sha256": tree * 64}} for tree in "xy"]
    runs = [run_of(name, repositories=tree) for name, tree in zip("ab", trees, strict=True)]
    rows, same = changed_settings(runs, list(DEFAULT))
    assert [(row.name, *row.values.values()) for row in rows] == [
        ("repository of one", f"repo one, v1, files {'x' * 12}", f"repo one, v1, files {'y' * 12}")
    ]
    assert "repositories" not in same
    assert [notice.lead for notice in notices(runs, rows)] == ["Other files."]


def noticed(*runs: FinishedRun) -> list[str]:
    return [
        notice.lead for notice in notices(runs, changed_settings(runs, shared_tasks(runs)[0])[0])
    ]


def judged(judge: str, version: str, model: str = "") -> list[dict[str, str]]:
    return [{"judge": judge, "version": version, "model": model}]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"verdicts": judged("mechanical", "1")}, {}),
        ({"verdicts": judged("haiku", "3", "m-1")}, {"verdicts": judged("haiku", "3", "m-2")}),
        ({"verdicts": judged("mechanical", "2") + judged("human", "s1")}, {}),
    ],
    ids=["version", "model", "persons"],
)
def test_another_judge_is_the_first_and_loudest_warning(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    runs = [run_of("a", **before), run_of("b", **after, model_mapping="sonnet=other")]
    assert noticed(*runs) == ["Not comparable: other judges.", "Other models."]


def test_warnings_stand_before_any_number() -> None:
    data = compare([run_of("a", verdicts=judged("mechanical", "1")), run_of("b")])
    assert re.search(
        r"^> \*\*Not comparable: other judges\.\*\* .*a has", render(data, short=True), re.MULTILINE
    )


def test_another_prompt_of_a_model_is_another_judge_and_a_person_s_sheet_is_not() -> None:
    def judge(prompt: str) -> dict[str, Any]:
        rows = [*judged("haiku", "3", "m-1"), *judged("mechanical", "2")]
        return {
            "verdicts": rows,
            "judges": [{"name": "haiku", "prompt": prompt, "agent": {"kind": "claude-code"}}],
        }

    assert noticed(run_of("a", **judge("p")), run_of("b", **judge("p"))) == []
    assert noticed(run_of("a", **judge("p")), run_of("b", **judge("q"))) == [
        "Not comparable: other judges."
    ]
    assert (
        noticed(
            run_of("a", verdicts=judged("human", "s1")), run_of("b", verdicts=judged("human", "s2"))
        )
        == []
    )


@pytest.mark.parametrize(
    "other",
    [
        {"model_mapping": "sonnet=glm-4.7"},
        {"outcome": Outcome(models=("glm-4.7",), agent_version="2.1")},
        {"agent": {"kind": "codex", "model": "sonnet"}},
    ],
    ids=["mapping", "served", "agent"],
)
def test_another_model_or_agent_is_a_warning(other: dict[str, Any]) -> None:
    assert noticed(run_of("a"), run_of("b", **other)) == ["Other models."]


def test_offline_imported_and_changed_runs_are_said_to_be_so() -> None:
    offline = {"agent": {"kind": "offline"}}
    runs = (
        run_of("a", **offline),
        run_of("b", **offline, imported=True, accepted_changes=["agent.model: was 1"]),
    )
    assert noticed(*runs) == [
        "No language model answered.",
        "Imported.",
        "b was changed in the middle.",
    ]


# Words


def sentence_of(
    after: Mapping[str, Sides], before: Mapping[str, Sides] = BEFORE, repository: str = ""
) -> str:
    runs = [run_of("a", before), run_of("b", after)]
    for task in runs[0].plan["tasks"].values():
        task["repository"] = repository or task["repository"]
    text = render(compare(runs), short=True)
    found = re.search(r"^\*\*(.*)\*\*$", text, re.MULTILINE)
    assert found
    return found[1]


def test_a_difference_is_called_one_only_where_chance_cannot_explain_it() -> None:
    assert re.fullmatch(
        r"The delta of lens is 40\.0 points higher in b than in a \(95% interval -49\.4 to \+129\.4, over 5 tasks\): "
        r"chance alone can explain this\. If tasks spread as these do, 80% of such comparisons find a true difference "
        r"of [0-9.]+ points\.",
        sentence_of(AFTER),
    )
    before = {f"t{n}": (Fraction(1, 2), Fraction(1, 2)) for n in range(8)}
    worse = {task: (Fraction(n % 3, 20), Fraction(1, 2)) for n, task in enumerate(before)}
    assert "points lower in b than in a" in sentence_of(worse, before)
    assert "more than chance explains." in sentence_of(worse, before)
    assert (
        sentence_of(BEFORE) == "The delta of lens is the same in b as in a; no spread: no interval."
    )
    nothing: dict[str, Sides] = dict.fromkeys(BEFORE, (None, 0))
    assert sentence_of(nothing) == "No task has a complete pair of lens in both a and b."
    assert sentence_of(AFTER, repository="one").endswith("This holds for these repositories only.")


def test_the_terminal_leaves_out_the_single_tasks() -> None:
    data = compare([run_of("a", BEFORE), run_of("b", AFTER)])
    assert "| five | -50.0 | +100.0 | +150.0 |" in render(data)
    assert "| five |" not in render(data, short=True)
    assert "| b less a | +40.0 | -49.4 to +129.4 |" in render(data, short=True)


# Folders, files, page


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two finished runs on disk, with texts of others that want to do harm, and gaps."""
    base = tmp_path_factory.mktemp("runs")
    shape = Shape(9, repositories=3, missing=0.05, hostile=HOSTILE)
    return [
        make_bench(base / "a", shape),
        make_bench(base / "b", replace(shape, seed=2, lift=0.3, trials=2, discarded=0.1)),
    ]


def test_the_program_writes_two_files_and_prints_the_table(
    folders: list[Path], tmp_path: Path
) -> None:
    printed = run_here(main, *folders, "--output", tmp_path / "o")
    assert "| b less a |" in printed
    files = {path.name: path.read_text() for path in (tmp_path / "o").iterdir()}
    assert sorted(files) == ["comparison.json", "comparison.md"]
    data = json.loads(files["comparison.json"])
    assert [run["name"] for run in data["runs"]] == ["a", "b"]
    assert len(data["tasks"]) == 9
    assert not any(str(folders[0].parent) in text for text in files.values())
    write_comparison(folders, tmp_path / "again")
    assert {path.name: path.read_text() for path in (tmp_path / "again").iterdir()} == files


def test_by_default_the_files_go_beside_the_first_run(folders: list[Path], tmp_path: Path) -> None:
    for folder in folders:
        shutil.copytree(folder, tmp_path / folder.name)
    write_comparison([tmp_path / folder.name for folder in folders])
    assert (tmp_path / "comparisons" / "a-b" / "comparison.md").is_file()


def test_no_text_is_active_in_the_report(folders: list[Path]) -> None:
    assert HOSTILE not in render(compare(read_runs(folders)))


def test_two_folders_of_one_name_are_told_apart_by_their_paths(
    folders: list[Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[1], tmp_path / "a")
    assert [run.name for run in read_runs([folders[0], tmp_path / "a"])] == [
        str(folders[0]),
        str(tmp_path / "a"),
    ]


def refusal(*given: Path) -> str:
    with pytest.raises(UserError) as refused:
        read_runs(given)
    return str(refused.value)


def test_mistakes_are_refused_in_one_sentence(folders: list[Path], tmp_path: Path) -> None:
    assert refusal(folders[0]).startswith("one run cannot be compared")
    assert refusal(folders[0], tmp_path) == (
        f"{tmp_path}: is not a run folder (it has no plan.json); name folders such as bench/<run_id>"
    )
    shutil.copy(folders[0] / "plan.json", tmp_path)
    assert refusal(folders[0], tmp_path).startswith(
        f"{tmp_path}: has no validity.csv, so this run is not finished"
    )
    assert refusal(folders[0], folders[0] / ".." / "a").endswith(
        "are the same run; name two different ones"
    )
    shutil.copytree(folders[0], tmp_path / "copy")
    assert (
        refusal(folders[0], tmp_path / "copy")
        == "a and copy are the same run; name two different ones"
    )


def test_the_same_answers_under_other_judges_are_another_run(
    folders: list[Path], tmp_path: Path
) -> None:
    shutil.copytree(folders[0], tmp_path / "copy")
    table = tmp_path / "copy" / "scores.csv"
    table.write_text(table.read_text().replace(",1,yes,", ",0.9,yes,"))
    assert len(read_runs([folders[0], tmp_path / "copy"])) == 2


def test_the_program_ends_with_a_message_and_no_traceback(
    folders: list[Path], tmp_path: Path
) -> None:
    ended = run_module("lensbench_archive.compare", folders[0], tmp_path)
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert "Traceback" not in ended.stderr
