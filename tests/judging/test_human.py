"""Verdict files of people: what is taken from them, and what is wrong with them in one sentence."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from handmade import file_discard, store
from lensbench.core.errors import UserError
from lensbench.core.records import RunId, from_json, sha256
from lensbench.core.store import run_files
from lensbench.core.system.files import write_json
from lensbench.core.tables import Row
from lensbench.judging.blinding import MARK
from lensbench.judging.decisions import VERDICT_COLUMNS
from lensbench.judging.judges.human import human_files, human_judges
from sheets import ANSWER, BASELINE, CRITERIA, TREATMENT, human_rows, lay_out, shown_answers_of

SHEET = "0123456789ab" + "c" * 52


@pytest.fixture
def folder(bench: Callable[..., Any]) -> Path:
    return lay_out(bench, {"a": ANSWER, "b": ANSWER}, sheet=False)


def name_of(folder: Path, task: str, condition: str) -> str:
    seen, _ = shown_answers_of(folder)
    return next(each.id for each in seen if each.run == RunId(task, condition, 1))


def said(
    folder: Path, task: str = "a", condition: str = TREATMENT, **changes: Any
) -> dict[str, Any]:
    return {
        "answer": name_of(folder, task, condition),
        "criterion": 2,
        "text": CRITERIA[1],
        "verdict": "Met",
        "evidence": "**`read_all`** in",
        "note": "in bold",
    } | changes


def drop(
    folder: Path, *verdicts: dict[str, Any], file: str = "verdicts-anna.json", **changes: Any
) -> Path:
    path = folder / "human" / file
    write_json(
        path, {"schema": 1, "sheet": SHEET, "judge": "anna", "verdicts": list(verdicts)} | changes
    )
    return path


def read(path: Path) -> list[Row]:
    """The rows of Anna's verdicts."""
    return [row for row in human_rows(path.parent.parent) if row["points"]]


def test_a_verdict_becomes_a_row_with_its_place_in_the_original_answer(folder: Path) -> None:
    (row,) = read(drop(folder, said(folder)))
    assert tuple(row) == VERDICT_COLUMNS
    assert row == {
        "task": "a",
        "condition": TREATMENT,
        "trial": "1",
        "criterion": "2",
        "judge": "human-anna",
        "verdict": "Met",
        "points": "1",
        "evidence": "**`read_all`** in",
        "position": str(ANSWER.index("**`read")),
        "reason": "in bold",
        "failure": "",
        "version": "0123456789ab",
        "model": "",
        "cost_usd": "",
        "cost_estimated": "",
    }


def test_evidence_after_a_hidden_part_is_mapped_back_and_over_one_kept_as_seen(
    bench: Callable[..., Any],
) -> None:
    answer = f"I used mcp__sonar__lens_grep to look.\n\n{ANSWER}"
    folder = lay_out(bench, {"a": answer}, sheet=False)
    (row,) = read(drop(folder, said(folder)))
    assert int(row["position"]) == answer.index("**`read")
    assert answer[int(row["position"]) :].startswith(row["evidence"])
    evidence = shown_answers_of(folder)[0][0].text[:12]
    (row,) = read(drop(folder, said(folder, evidence=evidence)))
    assert MARK in evidence
    assert (row["evidence"], row["position"]) == (evidence, "")


@pytest.mark.parametrize(("verdict", "points"), [("Met", "1"), ("Partial", "0.5"), ("Missed", "0")])
def test_a_person_is_believed_without_evidence(folder: Path, verdict: str, points: str) -> None:
    (row,) = read(drop(folder, said(folder, verdict=verdict, evidence="")))
    assert (row["points"], row["evidence"], row["position"]) == (points, "", "")


def test_a_file_written_by_hand_may_leave_out_text_evidence_and_note(folder: Path) -> None:
    plain = {"answer": name_of(folder, "b", BASELINE), "criterion": 3, "verdict": "Missed"}
    (row,) = read(drop(folder, plain))
    assert (row["task"], row["condition"], row["criterion"], row["verdict"]) == (
        "b",
        BASELINE,
        "3",
        "Missed",
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"verdict": "met"},
            r"verdicts\.0\.verdict should be 'Met', 'Partial' or 'Missed', not 'met'",
        ),
        ({"verdict": "Unjudged"}, "should be 'Met', 'Partial' or 'Missed'"),
        ({"criterion": 0}, r"verdicts\.0\.criterion should be greater than or equal to 1"),
        ({"criterion": "2"}, "must be a whole number"),
        ({"criterion": 9}, "criterion 9: the task has 3 criteria"),
        ({"answer": "0000000000"}, "answer 0000000000, criterion 2: no valid run has this answer"),
        (
            {"evidence": "a thing that nobody said"},
            f"'a thing that nobody said' is not in the answer of a-{TREATMENT}",
        ),
        ({"evidence": "x" * 1001}, "at most 1000 characters"),
        (
            {"text": "names something else"},
            f"the criterion of a-{TREATMENT} was reworded after it was judged",
        ),
        ({"points": 1}, "is not a key that lensbench knows"),
    ],
)
def test_a_verdict_that_does_not_fit_is_told_by_its_place(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    path = drop(folder, said(folder, **changes))
    with pytest.raises(UserError, match=message) as error:
        read(path)
    assert str(error.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"schema": 2}, "schema should be 1, not 2"),
        ({"sheet": "abc"}, "64 lower-case hex digits"),
        ({"judge": "a;b"}, "use letters, digits and '-' only"),
        ({"judge": ""}, "use letters, digits and '-' only"),
        ({"verdicts": {}}, "verdicts must be a list"),
    ],
)
def test_a_file_of_another_form_is_told_by_file_and_key(
    folder: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(UserError, match=message):
        read(drop(folder, **changes))


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b"[]", b"7"])
def test_what_is_no_verdict_file_at_all_is_one_sentence(folder: Path, content: bytes) -> None:
    path = drop(folder)
    path.write_bytes(content)
    with pytest.raises(UserError, match=r"verdicts-anna\.json: .*"):
        human_judges(folder)


def test_a_criterion_judged_twice_is_an_error(folder: Path) -> None:
    with pytest.raises(UserError, match="criterion 2: is judged twice"):
        read(drop(folder, said(folder), said(folder, verdict="Missed")))


def test_a_verdict_on_an_answer_that_was_discarded_since_names_the_run(folder: Path) -> None:
    stale = said(folder)
    run = RunId("a", TREATMENT, 1)
    record = from_json(run_files(folder, run).record.read_text())
    file_discard(folder, run, "crashed", "")
    store(folder, replace(record, answer_sha256=sha256(b"another answer")), "another answer")
    match = f"this answer of a-{TREATMENT} was discarded after it was judged; move the file"
    with pytest.raises(UserError, match=match):
        read(drop(folder, stale))


def test_what_a_person_skipped_is_unjudged_and_not_a_failure(folder: Path) -> None:
    drop(folder, said(folder), said(folder, task="b", verdict="Missed", evidence=""))
    rows = human_rows(folder)
    assert len(rows) == 2 * 2 * len(CRITERIA)
    given = [row for row in rows if row["verdict"] != "Unjudged"]
    assert {(row["task"], row["verdict"]) for row in given} == {("a", "Met"), ("b", "Missed")}
    assert {(row["failure"], row["points"], row["judge"]) for row in rows if row not in given} == {
        ("not_sampled", "", "human-anna")
    }


def test_several_files_of_one_person_are_one_judge_and_two_people_are_two(folder: Path) -> None:
    drop(folder, said(folder))
    drop(folder, said(folder, criterion=1, text=CRITERIA[0]), file="more.json")
    drop(folder, said(folder), file="jose.json", judge="jos\u00e9-2")
    assert (human_judges(folder), len(human_files(folder))) == (
        ["human-anna", "human-jos\u00e9-2"],
        3,
    )
    rows = human_rows(folder)
    assert sorted(row["criterion"] for row in rows if row["points"]) == ["1", "2"]


def test_two_files_of_one_person_on_the_same_criterion_are_an_error(folder: Path) -> None:
    drop(folder, said(folder))
    drop(folder, said(folder, verdict="Missed"), file="verdicts-anna (1).json")
    with pytest.raises(UserError, match="on the same criteria; keep one file"):
        human_rows(folder)


def test_a_person_without_a_file_is_an_error_and_one_without_verdicts_leaves_all_open(
    folder: Path,
) -> None:
    assert human_judges(folder) == []
    with pytest.raises(UserError, match="has no file of human-bob"):
        human_rows(folder, "bob")
    drop(folder)
    assert {row["verdict"] for row in human_rows(folder)} == {"Unjudged"}
