"""The baseline of an earlier benchmark stands in for runs of a new one (docs/bank.md)."""

from __future__ import annotations

import json
import shutil
import zipfile
from typing import Any

import pytest
from test_archiving import check

from small_benchmark import Project, make_project

AGAIN = "baseline_again"


def next_version(project: Project, **settings: Any) -> None:
    """A new benchmark of another server, which borrows the baseline of the first."""
    (project.folder / "mcp2.json").write_text(json.dumps({"mcpServers": {"fake": {"command": "true", "args": ["2"]}}}))
    conditions = {"without": {}, "with": {"mcp": "mcp2.json"}}
    bank = {"baseline": "bench/r", "drift": 2}
    project.configure(**{"run_id": "r2", "conditions": conditions, "bank": bank, **settings})


@pytest.fixture(scope="session")
def borrowed_once(finished_once: Project, tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Made once for all tests; they work on copies."""
    base = tmp_path_factory.mktemp("borrowed")
    made = make_project(base / "first", base / "control").take(finished_once)
    next_version(made)
    made.start()
    return made


@pytest.fixture
def borrowed(borrowed_once: Project, project: Project) -> Project:
    """A finished benchmark of the next version, beside the one that it borrowed from."""
    return project.take(borrowed_once)


def results(project: Project) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((project.folder / "bench" / "r2" / "results.json").read_text())
    return value


def test_only_the_treatment_and_a_fifth_of_the_baseline_are_run(finished: Project) -> None:
    finished.clear_ledger()
    next_version(finished)
    said = finished.start()
    assert "bench/r: 2 of 2 runs of the baseline are borrowed, 1 are also repeated" in said
    assert finished.ledger() == ["anna-with", "bert-with", "bert-without"]
    assert (finished.folder / "bench" / "r2" / "runs" / f"bert-{AGAIN}.md").exists()
    taken = finished.folder / "bench" / "r2" / "runs" / "anna-without.md"
    assert taken.read_bytes() == (finished.bench / "runs" / "anna-without.md").read_bytes()
    found = results(finished)
    assert "2 of 2 runs of without are those of bench/r" in found["bank"]
    assert "Made again in 1 task" in found["bank"]
    assert {run["condition"] for run in found["runs"] if run["is_borrowed"]} == {"without"}
    assert found["counts"]["scored"] == 5
    finished.clear_ledger()
    assert "Nothing to be done" in finished.start()
    assert finished.ledger() == []


def test_a_start_that_was_killed_while_it_copied_has_the_same_result(borrowed: Project) -> None:
    bench = borrowed.folder / "bench" / "r2"
    runs = {path.name: path.read_bytes() for path in (bench / "runs").glob("*.md")}
    bank = (bench / "bank.json").read_bytes()
    (bench / "bank.json").unlink()
    (bench / "records" / "anna-without.json").unlink()
    borrowed.start()
    assert (bench / "bank.json").read_bytes() == bank
    assert {path.name: path.read_bytes() for path in (bench / "runs").glob("*.md")} == runs
    assert borrowed.ledger() == []


def test_a_dry_start_borrows_nothing(finished: Project) -> None:
    next_version(finished)
    assert "bank: a start borrows runs of the baseline" in finished.start("-n")
    assert not (finished.folder / "bench" / "r2" / "bank.json").exists()


def test_a_run_that_does_not_fit_is_made_anew_and_ours_stay(finished: Project) -> None:
    next_version(finished)
    finished.clear_ledger()
    finished.behave(others="model fake-2")
    finished.start()
    first = finished.ledger()
    statuses = {(run["task"], run["condition"]): run["status"] for run in results(finished)["runs"]}
    assert {run for run, status in statuses.items() if status == "discarded"} == {
        ("anna", "without"),
        ("bert", "without"),
    }
    finished.start()
    assert finished.ledger() == sorted([*first, "anna-without", "bert-without"])
    found = results(finished)
    assert found["counts"]["scored"] == 5
    assert (found["bank"], any(run["is_borrowed"] for run in found["runs"])) == ("", False)


def test_what_cannot_stand_in_is_named_and_made_here(finished: Project) -> None:
    (finished.bench / "runs" / "bert-without.md").unlink()
    finished.write_tasks(("anna", "bert", "carl"))
    next_version(finished)
    finished.clear_ledger()
    said = finished.start()
    assert "1 of 3 runs of the baseline are borrowed, 1 are also repeated; not borrowed: 2 were not made there" in said
    assert {"bert-without", "carl-without"} <= set(finished.ledger())


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no drift": ({"bank": {"baseline": "bench/r"}}, "bank.drift is missing"),
    "no folder": ({"bank": {"baseline": "bench/none", "drift": 1}}, "there is no benchmark in bench/none"),
    "itself": ({"bank": {"baseline": "bench/r2", "drift": 1}}, "is this benchmark itself"),
    "twice": ({"bank": {"baseline": ["bench/r", "bench/r"], "drift": 1}}, "bank.baseline has bench/r twice"),
    "drift alone": ({"bank": {"drift": 1}}, "bank.baseline, which is missing"),
    "another baseline": ({"baseline": "with"}, "its baseline is without, not with"),
    "another server": ({"conditions": {"without": {"mcp": "mcp.json"}, "with": {}}}, "without has other servers"),
    "other settings": ({"agent": {"timeout_s": 61}}, "2 have other settings of the agent"),
}


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_bank_that_cannot_be_is_one_line(finished: Project, mistake: str) -> None:
    settings, told = REFUSED[mistake]
    next_version(finished, **settings)
    finished.clear_ledger()
    said = finished.start(fails=True)
    assert told in said
    assert "Traceback" not in said
    assert finished.ledger() == []


def test_waves_are_not_opened_by_runs_that_were_borrowed(project: Project) -> None:
    tasks = tuple(f"task-{letter}" for letter in "abcdef")
    project.write_tasks(tasks)
    project.start()
    project.clear_ledger()
    next_version(project, gate={"looks": 3})
    project.behave(others="crash")
    assert "2/5 runs" in project.start()
    assert len({name.rpartition("-")[0] for name in project.ledger() if name.endswith("-with")}) == 2


def test_the_archive_is_whole_and_goes_on_without_the_earlier_benchmark(borrowed: Project) -> None:
    shutil.rmtree(borrowed.bench)
    assert "Nothing to be done" in borrowed.start()
    borrowed.start(target="archive")
    made = borrowed.folder / "bench" / "r2.zip"
    checked = check(made)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "bank.json" in zipfile.ZipFile(made).read("r2/manifest-sha256.txt").decode()


@pytest.mark.parametrize("bank", [{}, {"baseline": "bench/other", "drift": 2}])
def test_borrowed_runs_never_become_a_benchmark_s_own(borrowed: Project, bank: dict[str, Any]) -> None:
    next_version(borrowed, bank=bank)
    said = borrowed.start(fails=True)
    assert "bench/r2 has borrowed its baseline from bench/r" in said
    assert "Traceback" not in said


def test_runs_of_several_earlier_baselines_are_averaged(finished: Project) -> None:
    finished.configure(run_id="r0", trials=2)
    finished.start()
    finished.clear_ledger()
    next_version(finished, bank={"baseline": ["bench/r", "bench/r0"], "drift": 2}, trials=1)
    said = finished.start()
    assert (
        "bench/r: 2 of 2 runs of the baseline are borrowed, 1 are also repeated; "
        "bench/r0: 4 further runs are averaged with them" in said
    )
    assert finished.ledger() == ["anna-with", "bert-with", "bert-without"]
    found = results(finished)
    borrowed = [run for run in found["runs"] if run["is_borrowed"]]
    assert {run["condition"] for run in borrowed} == {"without", "baseline_2", "baseline_3"}
    assert len(borrowed) == 6
    for part in (
        "2 of 2 runs of without are those of bench/r ",
        "4 more, which are averaged with them, are from bench/r0 ",
        "it scores 0.0 points more than in bench/r0",
    ):
        assert part in found["bank"]
    finished.clear_ledger()
    assert "Nothing to be done" in finished.start()
    assert finished.ledger() == []
    shutil.rmtree(finished.bench)
    shutil.rmtree(finished.folder / "bench" / "r0")
    assert "Nothing to be done" in finished.start()
    finished.start(target="archive")
    checked = check(finished.folder / "bench" / "r2.zip")
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_what_the_first_earlier_benchmark_lacks_is_taken_from_the_next(finished: Project) -> None:
    finished.configure(run_id="r0")
    finished.start()
    (finished.bench / "runs" / "bert-without.md").unlink()
    finished.clear_ledger()
    next_version(finished, bank={"baseline": ["bench/r", "bench/r0"], "drift": 2})
    said = finished.start()
    assert (
        "bench/r: 1 of 2 runs of the baseline are borrowed; bench/r0: 1 of 2 runs of the baseline are borrowed, 1 are "
        "also repeated; bench/r0: 1 further runs are averaged with them" in said
    )
    assert finished.ledger() == ["anna-with", "bert-with", "bert-without"]


def test_a_further_run_that_does_not_fit_is_left_out_and_not_made_anew(finished: Project) -> None:
    finished.configure(run_id="r0")
    finished.behave(others="model fake-2")
    finished.start()
    finished.behave(others="answer")
    finished.clear_ledger()
    next_version(finished, bank={"baseline": ["bench/r", "bench/r0"], "drift": 2})
    finished.start()
    first = finished.ledger()
    found = results(finished)
    statuses = {(run["task"], run["condition"]): run["status"] for run in found["runs"]}
    assert {statuses[task, "baseline_2"] for task in ("anna", "bert")} == {"discarded"}
    assert found["figures"]["with"]["score"]["tasks"] == 2
    finished.start()
    assert finished.ledger() == first
