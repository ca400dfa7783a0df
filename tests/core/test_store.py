"""The store: which files an attempt has is its state; nothing is replaced."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from handmade import file_discard, store
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Record, RunId, sha256
from lensbench.core.store import (
    Discard,
    State,
    all_entries,
    all_records,
    entries,
    foreign_files,
    new_entry,
    rounds,
    run_files,
    show,
    state_of,
    view_of,
    withdraw,
)
from lensbench.core.system.files import write_atomic
from lensbench.workflow.damage import check_all

RUN = RunId("a", "with")


def made(folder: Path, text: str = "answer", run: RunId = RUN) -> None:
    attempt = Attempt(1, text, 1.0, 0.0, 0, False)
    store(folder, Record(*run, "run", attempt, answer_sha256=sha256(text.encode())), text)


def state(folder: Path, max_rounds: int = 1) -> State:
    return state_of(entries(folder, RUN), max_rounds)


def test_the_files_of_the_newest_attempt_with_an_answer_are_the_state_of_a_run(
    tmp_path: Path,
) -> None:
    assert state(tmp_path) == State.MISSING
    killed = new_entry(tmp_path, RUN)
    assert state(tmp_path) == State.MISSING
    write_atomic(killed.answer, "half")
    assert state(tmp_path) == State.CUT_SHORT
    made(tmp_path)
    assert state(tmp_path) == State.COUNTS
    new_entry(tmp_path, RUN)  # an agent at work, or killed: the answer before it still counts
    assert state(tmp_path) == State.COUNTS
    file_discard(tmp_path, RUN, "crashed", "")
    assert state(tmp_path) == State.DISCARDED
    made(tmp_path, "again")
    assert state(tmp_path) == State.COUNTS
    file_discard(tmp_path, RUN, "crashed", "")
    assert (state(tmp_path), state(tmp_path, 2)) == (State.GIVEN_UP, State.DISCARDED)
    (run_files(tmp_path, RUN).folder / "discard.json").unlink()
    assert state(tmp_path) == State.COUNTS
    assert [entry.number for entry in entries(tmp_path, RUN)] == [1, 2, 4]


def test_the_attempts_of_one_start_are_one_round_and_a_harness_that_failed_is_one(
    tmp_path: Path,
) -> None:
    for reason, by in (
        ("crashed", "runner"),
        ("crashed", "runner"),
        ("crashed", "validity"),
        ("odd", "person"),
    ):
        made(tmp_path)
        run_files(tmp_path, RUN).discard(Discard(reason, "", by))  # type: ignore[arg-type]
    made(tmp_path)
    run_files(tmp_path, RUN).discard(Discard("harness_failed", "", "runner"))
    assert [discard.reason for _, discard in rounds(entries(tmp_path, RUN))] == [
        "crashed",
        "odd",
        "harness_failed",
    ]


def test_a_discard_stays_as_it_is(tmp_path: Path) -> None:
    made(tmp_path)
    file_discard(tmp_path, RUN, "by_hand", "the machine slept", "0.5")
    file_discard(tmp_path, RUN, "crashed", "another reason")
    assert run_files(tmp_path, RUN).read_discard() == Discard(
        "by_hand", "the machine slept", "person", "0.5"
    )


def test_numbers_are_handed_out_once(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as threads:
        numbers = [
            entry.number for entry in threads.map(lambda _: new_entry(tmp_path, RUN), range(40))
        ]
    assert sorted(numbers) == list(range(1, 41))


def test_runs_and_trials_with_a_common_name_are_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [
        RUN,
        RUN._replace(trial=2),
        RUN._replace(trial=12),
        RunId("a-with", "with"),
        RunId("t2", "with"),
        RunId("a", "w"),
    ]
    for run in runs:
        made(tmp_path, run.stem, run)
    assert {stem: found[-1].answer.read_text() for stem, found in all_entries(tmp_path)} == {
        run.stem: run.stem for run in runs
    }
    assert {record.run for _, record in all_records(tmp_path)} == set(runs)
    (tmp_path / "attempts" / "a-w").rename(tmp_path / "attempts" / "a-x")
    with pytest.raises(UserError, match="1 damaged files"):
        check_all(tmp_path)
    assert (
        capsys.readouterr().out == f"{tmp_path}/attempts/a-x/1/record.json: is the record of a-w\n"
    )


def test_the_view_is_a_copy_and_is_taken_back_from_a_run_that_is_to_be_repeated(
    tmp_path: Path,
) -> None:
    made(tmp_path, "counts", RUN._replace(task="b"))
    made(tmp_path)
    view_of(tmp_path, RUN).write_text("edited")
    assert run_files(tmp_path, RUN).answer.read_text() == "answer"
    show(tmp_path, RUN)
    assert view_of(tmp_path, RUN).read_text() == "answer"
    file_discard(tmp_path, RUN, "empty", "")
    runs = [RUN, RUN._replace(task="b"), RUN._replace(task="c")]
    assert withdraw(tmp_path, runs, 0) == []  # given up: the last answer is shown
    assert withdraw(tmp_path, runs, 1) == [RUN]
    assert (
        view_of(tmp_path, RUN).exists(),
        view_of(tmp_path, RUN._replace(task="b")).exists(),
    ) == (False, True)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "5", "null", "{}", '{"reason": ""}', "[" * 100_000]
)
def test_a_damaged_discard_is_one_line_with_a_way_out(tmp_path: Path, text: str) -> None:
    made(tmp_path)
    file_discard(tmp_path, RUN, "empty", "")
    (run_files(tmp_path, RUN).folder / "discard.json").write_text(text)
    with pytest.raises(UserError, match=r"discard\.json: is not a discard"):
        state(tmp_path)


def test_what_is_no_attempt_of_a_planned_run_is_foreign(tmp_path: Path) -> None:
    made(tmp_path)
    file_discard(tmp_path, RUN, "empty", "")
    assert foreign_files(tmp_path, [RUN]) == []
    names = [
        "a-with/1/notes.txt",
        "a-with/x/answer.md",
        "b-with/1/answer.md",
        "notes.txt",
        "t2/a-with/1/record.json",
    ]
    for name in [*names, "a-with/1/.half"]:
        write_atomic(tmp_path / "attempts" / name, "{}")
    assert foreign_files(tmp_path, [RUN]) == names
