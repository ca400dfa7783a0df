import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Outcome, Record, RunId
from lensbench.core.store import Discard
from lensbench.core.tables import read_table
from lensbench.runs.validity import decide, planned_runs, timing_csv

Make = Callable[..., Any]
PLAN = {
    "trials": 1,
    "order": ["a"],
    "conditions": {"without": {}, "with": {}, "other": {}},
    "baseline": "without",
    "tasks": {"a": {"prompt_sha256": "p"}},
    "agent_sha256": "s",
}
FINE = Attempt(1, "2026", 1.0, 0.0, 0, False)


def record(condition: str, **changes: Any) -> Record:
    whole = Record(
        "a", condition, 1, "run", FINE, Outcome(models=("m",)), prompt_sha256="p", tree_before="t"
    )
    return replace(whole, **changes)


def judged(*records: Record) -> dict[str, str]:
    decided = decide({made.run: made for made in records}, PLAN)
    return {item.run.condition: f"{item.status} {item.reason}".strip() for item in decided}


def test_all_runs_of_the_plan_are_decided_in_its_order_and_count_without_a_reason_against_them() -> (
    None
):
    plan = PLAN | {"trials": 2, "order": ["b", "a"], "conditions": {"without": {}, "with": {}}}
    assert planned_runs(plan) == [
        RunId(task, condition, trial)
        for trial in (1, 2)
        for task in ("b", "a")
        for condition in ("without", "with")
    ]
    assert judged(record("without"), record("with")) == {
        "without": "valid",
        "with": "valid",
        "other": "missing",
    }


def test_the_reason_of_the_last_attempt_discards_the_run_and_it_alone() -> None:
    bad = record("with", attempt=replace(FINE, number=2, reason="timed_out"))
    assert judged(record("without"), bad) == {
        "without": "valid",
        "with": "discarded timed_out",
        "other": "missing",
    }


V1, V2 = (Outcome(models=("m",), agent_version=version) for version in ("1.0", "1.1"))
MODELS = {name: Outcome(models=(name,)) for name in "mn"}


@pytest.mark.parametrize(
    ("records", "decided"),
    [
        ([record("without"), record("with", outcome=MODELS["n"])], ["discarded model_changed"] * 2),
        (
            [record("without"), record("with"), record("other", outcome=MODELS["n"])],
            ["discarded model_changed"] * 3,
        ),
        ([record("without"), record("with", outcome=Outcome())], ["valid"] * 2),
        (
            [
                record("without", outcome=Outcome(models=("m", "n"))),
                record("with", outcome=Outcome(models=("n", "m"))),
            ],
            ["valid"] * 2,
        ),
        (
            [record("without", outcome=V1), record("with", outcome=V2)],
            ["discarded settings_changed"] * 2,
        ),
        (
            [record("without", outcome=V1), record("with", outcome=V1), record("other")],
            ["valid"] * 3,
        ),
        (
            [record("without"), record("with", prompt_sha256="q")],
            ["valid", "discarded prompt_mismatch"],
        ),
        (
            [record("without", agent_sha256="s"), record("with", agent_sha256="old")],
            ["valid", "discarded settings_changed"],
        ),
        (
            [record("without", agent_sha256="old"), record("with", agent_sha256="old")],
            ["valid", "valid"],
        ),
        (
            [record("without", prompt_sha256="q"), record("with", prompt_sha256="r")],
            ["discarded prompt_mismatch"] * 2,
        ),
        ([record("without", prompt_sha256="q"), record("with", prompt_sha256="q")], ["valid"] * 2),
        ([record("without"), record("with", tree_before="u")], ["discarded workspace_changed"] * 2),
        (
            [record("with", outcome=MODELS["n"], prompt_sha256="q", tree_before="u")],
            ["missing", "valid"],
        ),
    ],
)
def test_runs_of_a_task_that_were_not_made_alike_do_not_count(
    records: list[Record], decided: list[str]
) -> None:
    assert list(judged(*records).values())[: len(decided)] == decided


def test_a_discarded_run_discards_neither_its_partner_nor_other_trials() -> None:
    bad = record("with", outcome=MODELS["n"], attempt=replace(FINE, reason="crashed"))
    assert judged(record("without"), bad)["without"] == "valid"
    other = record("with", trial=2, outcome=MODELS["n"])
    decided = decide({made.run: made for made in (record("without"), other)}, PLAN | {"trials": 2})
    assert [item.status for item in decided if item.status != "missing"] == ["valid", "valid"]


def test_timing_has_the_form_of_the_protocol_and_the_last_row_of_a_run_stands() -> None:
    later = replace(FINE, started_at="2027", duration_s=12.345678)
    discarded = record("with", attempt=replace(FINE, duration_s=200.0))
    attempts = [
        (2, record("with", attempt=later)),
        (1, record("without", trial=2)),
        (1, record("other", attempt=replace(FINE, duration_s=None))),
        (1, discarded),
        (1, discarded),
    ]
    assert timing_csv(attempts, "sonnet=glm-5,haiku=glm-4") == (
        "model_mapping,sonnet=glm-5,haiku=glm-4\na,with,200,attempt=1\nt2/a,without,1,attempt=1\na,with,12.346,attempt=2\n"
    )


def row_of_a(made: Any) -> dict[str, str]:
    """What the stage says of a's run with the treatment."""
    rows = read_table(made.folder / "validity.csv")
    return next(row for row in rows if (row["task"], row["condition"]) == ("a", "with"))


def test_the_stage_files_discards_once_and_gives_up_after_the_last_round(bench: Make) -> None:
    made = bench(changes={"max_rounds": 2})
    for number in range(1, 4):
        tried = {"detail": f"try {number}", "answer": f"{number}", "started": f"2026-01-0{number}"}
        made.run("a", "with", reason="crashed", **tried)
        for _ in range(2):
            made.build()
        shown = [row_of_a(made)[name] for name in ("status", "detail", "discards", "given_up")]
        given_up = "yes" if number == 3 else "no"
        assert shown == ["discarded", f"try {number}", ";".join(["crashed"] * number), given_up]
    assert row_of_a(made)["attempts"] == "3"
    timing = (made.folder / "runs/timing.csv").read_text()
    assert re.findall(r"a,with,.*attempt=(\d)", timing) == ["1", "2", "3"]
    assert len(list(made.folder.glob("attempts/a-with/*/discard.json"))) == 3


def test_a_run_that_counts_after_a_discard_shows_both(bench: Make) -> None:
    made = bench()
    made.run("a", "with", reason="empty", answer="")
    made.build()
    made.run("a", "with", answer="now", ending="limit")
    made.build()
    shown = [
        row_of_a(made)[name] for name in ("status", "reason", "discards", "given_up", "ending")
    ]
    assert shown == ["valid", "", "empty", "no", "limit"]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("record.json", "{"),
        ("record.json", "[]"),
        ("answer.md", "edited"),
        ("discard.json", "{}"),
    ],
)
def test_a_damaged_file_is_named_with_the_way_out(bench: Make, name: str, content: str) -> None:
    made = bench()
    made.run("a", "with", reason="crashed")
    made.build()
    (made.folder / "attempts/a-with/1" / name).write_text(content)
    with pytest.raises(UserError, match=r"attempts/a-with/1/.*: .*delete "):
        made.build()


def test_a_record_of_another_run_is_not_taken(bench: Make) -> None:
    made = bench()
    made.run("a", "with")
    made.build()
    shutil.copytree(made.folder / "attempts/a-with", made.folder / "attempts/b-with")
    with pytest.raises(UserError, match=r"b-with/1/record\.json: is not of the answer beside it"):
        made.build()


def test_a_filed_run_stays_discarded_when_only_its_partner_was_made_again() -> None:
    made = [record("without"), record("with")]
    filed = {made[0].run: Discard("model_changed", "m; n", "validity")}
    decided = {
        v.run.condition: (v.status, v.reason) for v in decide({r.run: r for r in made}, PLAN, filed)
    }
    assert decided["without"] == ("discarded", "model_changed")
    assert decided["with"] == ("valid", "")
