"""Judging is a stage of its own: whatever is judged anew, no run is repeated, and no verdict is paid for twice."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from small_benchmark import FAKES, SCORED, Project, wait_for

JUDGED = ("--until", "panel")
"""A start that ends with the verdicts."""


def model_judge(project: Project, name: str = "first", **agent: Any) -> dict[str, Any]:
    """A judge for the config; what it is asked is noted in a folder of its own."""
    control = project.control / name
    control.mkdir(exist_ok=True)
    command = [sys.executable, "-I", str(FAKES / "judge.py"), "{prompt_file}", str(control)]
    return {
        "name": name,
        "agent": {"kind": "command", "command": command, "timeout_s": 20, **agent},
    }


def asked(project: Project, name: str = "first") -> int:
    """How often a judge was asked since the last time."""
    path = project.control / name / "asked"
    count = len(path.read_text().splitlines()) if path.exists() else 0
    path.unlink(missing_ok=True)
    return count


def test_another_judge_or_criterion_repeats_no_run_and_asks_nothing_else(finished: Project) -> None:
    before = finished.files()
    finished.configure(judges=["mechanical", model_judge(finished)])
    finished.start(*JUDGED)
    assert asked(finished) == 20  # two criteria and three canaries for each of four answers
    finished.configure(
        judges=["mechanical", model_judge(finished), model_judge(finished, "second")]
    )
    finished.start(*JUDGED)
    assert (asked(finished), asked(finished, "second")) == (0, 20)
    assert finished.files() == before
    assert {row["judge"] for row in finished.table("verdicts")} == {"mechanical", "first", "second"}
    assert finished.is_idle(*JUDGED)
    finished.write_tasks(wanted="Basket")
    text = (
        (finished.folder / "tasks.yaml")
        .read_text()
        .replace("names the class", "names the very class")
    )
    (finished.folder / "tasks.yaml").write_text(text)
    finished.start(*JUDGED)
    assert (asked(finished), asked(finished, "second"), finished.files()) == (4, 4, before)


def test_a_judge_that_failed_is_asked_again_by_the_next_start_until_it_is_given_up(
    finished: Project,
) -> None:
    names = ("first", "second")
    judges = [model_judge(finished, name, retries=1) for name in names]
    finished.configure(judges=judges, discards={"max_rounds": 2})
    for name in names:
        (finished.control / name / "judge.json").write_text(
            json.dumps({"names the class": "says:hm"})
        )
    finished.start(*SCORED)
    assert {row["failure"] for row in finished.table("verdicts")} == {"unparsable", ""}
    assert {row["status"] for row in finished.table("scores")} == {"unjudged"}
    assert [asked(finished, name) for name in names] == [20, 20]
    finished.start(*JUDGED)
    assert [asked(finished, name) for name in names] == [4, 4]
    (finished.control / "first" / "judge.json").unlink()
    finished.start(*JUDGED)
    assert [asked(finished, name) for name in names] == [4, 4]
    failed = {row["judge"] for row in finished.table("verdicts") if row["failure"]}
    assert failed == {"second"}
    assert finished.is_idle(*JUDGED)


def test_a_person_who_saves_a_file_becomes_a_judge_whose_word_counts(finished: Project) -> None:
    finished.start(target="judge_sheet")
    sheet = (finished.bench / "judge_sheet.html").read_text()
    data = json.loads(
        sheet.partition('id="sheet" type="application/json">')[2].partition("</script>")[0]
    )
    verdicts = [
        {"answer": answer, "criterion": 1, "verdict": "Missed", "evidence": "", "note": "no"}
        for answer in sorted(answers_of(data))
    ]
    file = {"schema": 1, "sheet": data["sheet"], "judge": "anna", "verdicts": verdicts}
    (finished.bench / "human").mkdir()
    (finished.bench / "human" / "verdicts-anna.json").write_text(json.dumps(file))
    before = finished.files()
    finished.start(*JUDGED)
    assert finished.files() == before
    decided = [row for row in finished.table("decisions") if row["decided_by"] == "human"]
    assert len(decided) == len(verdicts) > 0
    assert {row["verdict"] for row in decided} == {"Missed"}
    assert finished.is_idle(*JUDGED)


def answers_of(value: Any) -> set[str]:
    """All opaque ids in the sheet's data."""
    if isinstance(value, dict):
        own = {value["answer"]} if isinstance(value.get("answer"), str) else set()
        return own.union(*(answers_of(item) for item in value.values()))
    return set().union(*map(answers_of, value)) if isinstance(value, list) else set()


def test_judging_that_is_killed_goes_on_where_it_was(finished: Project) -> None:
    finished.configure(judges=[model_judge(finished, timeout_s=60)])
    (finished.control / "first" / "judge.json").write_text(
        json.dumps({"*": ["honest"] * 6 + ["sleeps"]})
    )
    process = finished.begin(*JUDGED, cores=1)  # one answer after the other
    notes = finished.control / "first" / "asked"
    assert wait_for(lambda: notes.exists() and len(notes.read_text().splitlines()) >= 7)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert wait_for(lambda: not finished.processes(), 10), finished.processes()
    asked(finished)
    finished.start(*JUDGED)
    assert asked(finished) == 14
    assert {row["failure"] for row in finished.table("verdicts")} == {""}
    assert not list(Path(finished.bench).rglob("*.tmp"))


def test_people_as_the_only_judges_get_their_sheet_from_the_first_start(project: Project) -> None:
    project.configure(judges=["human"])
    project.start()
    assert "Nothing to be done" in project.start()
    assert (project.bench / "judge_sheet.html").stat().st_size > 10_000
    assert {row["status"] for row in project.table("scores")} == {"unjudged"}
