from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lensbench.archive.merge import merge
from lensbench.core.errors import UserError
from lensbench.core.records import Attempt, Record, RunId, run_files, sha256, to_json
from lensbench.core.system.files import note_checksum, write_atomic, write_json
from lensbench.plan.freeze import write_plan
from lensbench.runs.budget import spend, spent
from lensbench.runs.discards import discard_files, file_discard, is_discarded, read_discard
from lensbench.workflow.read_schedule import read_schedule

ANNA, BERT = RunId("anna", "with"), RunId("bert", "with")
JOINED = Path("bench/joined")
Parts = Callable[..., Path]


@pytest.fixture
def part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Parts:
    """Makes a run folder without runs: `part("a")`; what is given is another setting than the other parts have."""
    monkeypatch.chdir(tmp_path)
    Path("mcp.json").write_text(json.dumps({"mcpServers": {"fake": {"command": "true"}}}), encoding="utf-8")

    def make(name: str, criterion: str = "one", **settings: Any) -> Path:
        criteria = [{"text": criterion, "all_of": "a"}, {"text": "two", "all_of": "b"}]
        tasks = [
            {"id": task, "category": "Debug", "prompt": "Where?", "criteria": criteria} for task in ("anna", "bert")
        ]
        Path("tasks.yaml").write_text(json.dumps({"name": "set", "tasks": tasks}), encoding="utf-8")
        config = {
            "run_id": name,
            "scenarios": "tasks.yaml",
            "repository": {"git": "https://example.org/shop", "revision": "v1"},
            "conditions": {"without": {}, "with": {"mcp": "mcp.json"}},
            **settings,
        }
        folder = Path("bench") / name
        write_plan(read_schedule(config, []).config, [], folder)
        return folder

    return make


def finish(folder: Path, run: RunId, second: int = 0, reason: str = "", text: str = "") -> bytes:
    """Leaves the files of a run that began in that second, and returns the record's bytes."""
    text = text or f"answer of {folder.name}"
    attempts = (Attempt(1, f"2026-01-01T00:00:{second:02}.000Z", 1.0, 0.0, 0, False, reason),)
    record = to_json(Record(*run, source="run", attempts=attempts, answer_sha256=sha256(text.encode())))
    files = run_files(folder, run)
    for path, content in ((files.answer, text), (files.record, record), (files.transcript, text)):
        write_atomic(path, content)
    return record.encode()


def answer(run: RunId, folder: Path = JOINED) -> str:
    return run_files(folder, run).answer.read_text()


def all_bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refused(*folders: Path) -> str:
    with pytest.raises(UserError) as caught:
        merge(folders, JOINED)
    assert not JOINED.exists()
    return str(caught.value)


def test_parts_become_one_benchmark_that_a_start_takes_as_its_own(part: Parts) -> None:
    first, second = part("a"), part("b", limits={"clients": {"fake": 1}}, part="2/2", cache="elsewhere")
    finish(first, ANNA)
    finish(second, BERT)
    spend(first, runs=2, usd=0.5)
    spend(second, runs=1, usd=0.25)
    lines = merge([first, second], JOINED)
    assert lines[:2] == ["bench/a: 1 of 4 runs", "bench/b: 1 of 4 runs"]
    assert (answer(ANNA), answer(BERT)) == ("answer of a", "answer of b")
    assert spent(JOINED) == {"runs": 3, "hours": 0, "usd": 0.75}
    assert json.loads((JOINED / "plan.json").read_text())["run_id"] == "joined"
    assert "run_id: joined\n" in (JOINED / "config.yaml").read_text()
    assert (JOINED / "prompts" / "anna.md").exists()


def test_a_part_that_is_named_twice_is_refused(part: Parts) -> None:
    assert "named twice" in refused(part("a"), Path("bench/../bench/a"))


def test_twice_gives_the_same_and_a_kill_leaves_nothing_half(part: Parts) -> None:
    first, second = part("a"), part("b")
    finish(first, ANNA, reason="empty")
    finish(second, BERT)
    (JOINED.parent / ".joined.merging" / "runs").mkdir(parents=True)  # of one that was killed
    (JOINED.parent / ".joined.merging" / "runs" / "x.md").write_text("half")
    merge([first, second], JOINED)
    before = all_bytes(JOINED)
    assert "runs/x.md" not in before
    assert before[".copies/config.yaml"] == before["config.yaml"]
    note_checksum(JOINED, "results.md", b"of a start since then")
    before = all_bytes(JOINED)
    assert merge([first, second], JOINED)[-1] == "bench/joined has all of this already"
    assert all_bytes(JOINED) == before
    finish(first, RunId("anna", "without"))
    with pytest.raises(UserError, match="already exists and is something else; name a new folder"):
        merge([first, second], JOINED)
    assert all_bytes(JOINED) == before
    assert [path.name for path in JOINED.parent.glob(".*")] == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"agent": {"timeout_s": 7}}, "agent.timeout_s: 900.0 in bench/a, 7.0 in bench/b"),
        ({"trials": 2}, "trials: 1 in bench/a, 2 in bench/b"),
        ({"seed": 2}, "seed: 1 in bench/a, 2 in bench/b"),
        ({"criterion": "another"}, "task anna: the criteria in bench/a and bench/b differ"),
        ({"discards": {"max_rounds": 1}}, "max_rounds: 3 in bench/a, 1 in bench/b"),
    ],
)
def test_parts_of_other_experiments_are_refused_line_by_line(part: Parts, settings: Any, message: str) -> None:
    lines = refused(part("a"), part("b", **settings)).splitlines()
    assert lines[0] == "these are not parts of one benchmark:"
    assert f"  {message}" in lines


def test_other_files_or_tools_are_refused(part: Parts) -> None:
    folders = part("a"), part("b")
    for folder, tree in zip(folders, "xy", strict=True):
        write_json(folder / "repositories.json", {"shop": {"tree_sha256": tree}})
        write_json(folder / "preflight.json", {"tools": {"with": [f"mcp__fake__{tree}"]}})
    said = refused(*folders)
    assert "repository shop: the files in bench/a and bench/b differ" in said
    assert "the servers' tools differ: mcp__fake__x in bench/a; mcp__fake__y in bench/b" in said


def test_no_run_folder_a_damaged_one_and_a_bad_name_are_one_line(part: Parts) -> None:
    assert "plan.json: cannot be read" in refused(part("a"), Path("bench/nothing"))
    finish(part("b"), ANNA)
    run_files(Path("bench/b"), ANNA).answer.write_text("edited")
    assert "is not the answer of its record" in refused(Path("bench/a"), Path("bench/b"))
    with pytest.raises(UserError, match="is not a valid run name"):
        merge([Path("bench/a")], Path("bench/a b"))


def test_of_runs_that_count_twice_those_of_the_part_that_began_first_stand_whatever_they_say(part: Parts) -> None:
    first, second = part("a"), part("b")
    pair = ANNA, RunId("anna", "without")
    finish(first, pair[0], 5)
    finish(first, pair[1], 9)
    finish(second, pair[0], 6, text="a much better answer")
    finish(second, pair[1], 4)
    for order in ([first, second], [second, first]):
        lines = merge(order, JOINED)
        assert {answer(run) for run in pair} == {"a much better answer", "answer of b"}
        assert "anna-with: is valid in bench/b and bench/a; the first, started earlier, is used" in lines
        shutil.rmtree(JOINED)


def test_a_pair_from_two_machines_is_named(part: Parts) -> None:
    first, second = part("a"), part("b")
    finish(first, ANNA)
    finish(second, RunId("anna", "without"))
    assert "anna, trial 1: its runs come from bench/a and bench/b, which started apart" in merge(
        [first, second], JOINED
    )


def test_discards_of_all_parts_are_kept_once_and_a_run_that_counts_stands(part: Parts) -> None:
    first, second = part("a"), part("b")
    finish(first, ANNA, 1, "empty")
    file_discard(first, ANNA, "empty", "")
    shutil.copytree(first / "discards", second / "discards")  # begun from a copy of the first
    finish(first, ANNA, 5, "crashed")
    file_discard(first, ANNA, "crashed", "")
    finish(second, ANNA, 3, "timed_out")  # not filed yet
    merge([first, second], JOINED)
    filed = [read_discard(path) for path in discard_files(JOINED)[ANNA.stem]]
    assert [(each.number, each.reason) for each in filed] == [(1, "empty"), (2, "timed_out"), (3, "crashed")]
    assert is_discarded(JOINED, ANNA)
    newest = max((JOINED / "discards").glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    assert newest.stat().st_mtime_ns > run_files(JOINED, ANNA).answer.stat().st_mtime_ns
    shutil.rmtree(JOINED)
    counts = finish(second, ANNA, 2)
    merge([first, second], JOINED)
    assert run_files(JOINED, ANNA).record.read_bytes() == counts
    assert not is_discarded(JOINED, ANNA)
    assert len(discard_files(JOINED)[ANNA.stem]) == 2


def test_replies_of_judges_and_files_of_people_come_along(part: Parts) -> None:
    first, second = part("a"), part("b")
    write_json(first / "judging" / "aa" / "aa1.json", {"failure": "timeout"})
    write_json(second / "judging" / "aa" / "aa1.json", {"failure": ""})
    write_json(second / "judging" / "bb" / "bb1.json", {"failure": ""})
    write_json(first / "human" / "x.json", {"judge": "x"})
    merge([first, second], JOINED)
    assert [json.loads(path.read_text())["failure"] for path in sorted(JOINED.glob("judging/*/*.json"))] == ["", ""]
    assert (JOINED / "human" / "x.json").exists()
    shutil.rmtree(JOINED)
    write_json(second / "human" / "x.json", {"judge": "y"})
    assert "another part has a different file with this name; rename one of them" in refused(first, second)
