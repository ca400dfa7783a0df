"""`lensbench discard`: a run that a person discards is made again, or counts again when that is taken back."""

import subprocess

from test_repeating import bytes_of

from programs import run_module
from small_benchmark import Project


def lensbench(project: Project, *arguments: str) -> subprocess.CompletedProcess[str]:
    return run_module("lensbench", *arguments, cwd=project.folder)


def test_a_run_is_discarded_by_hand_taken_back_and_made_again(finished: Project) -> None:
    before, tables = finished.files(), finished.tables()

    gone = lensbench(finished, "discard", "anna-with", "--reason", "the laptop slept")
    assert gone.returncode == 0, gone.stderr
    assert "Discarded by hand: with 1, without 0. With these runs counted the delta of with stays" in gone.stdout
    assert finished.reasons() == {"anna-with": "by_hand"}
    page = (finished.bench / "results.md").read_text()
    assert "anna, with, trial 1 was discarded by hand: the laptop slept (score then: " in page
    assert "discarded by hand: the laptop slept" in (finished.bench / "report.html").read_text()

    back = lensbench(finished, "discard", "bench/r/runs/anna-with.md", "--undo")
    assert back.returncode == 0, back.stderr
    assert (bytes_of(finished.files()), finished.tables()) == (bytes_of(before), tables)
    assert "by hand" not in (finished.bench / "results.md").read_text()
    assert "Nothing to be done" in finished.start("-n")

    lensbench(finished, "discard", "anna-with", "--reason", "the laptop slept", "bench/r")
    finished.clear_ledger()
    said = finished.start()
    assert (finished.ledger(), finished.reasons()) == (["anna-with"], {})
    assert "Discarded by hand: with 1" in said
    assert "repeated, and counts" in (finished.bench / "results.md").read_text()
    refused = lensbench(finished, "discard", "anna-with", "--undo")
    assert refused.returncode == 1
    assert "was repeated since it was discarded" in refused.stderr
    assert lensbench(finished, "fsck").returncode == 0


def test_a_wrong_run_or_an_empty_reason_changes_nothing(finished: Project) -> None:
    before = finished.files()
    for arguments, message in (
        (("ana-with", "--reason", "x"), "bench/r has no run 'ana-with'; did you mean 'anna-with'?"),
        (("anna-with", "--reason", " "), "--reason is empty; say why the run must not count"),
        (("anna-with", "--undo"), "anna-with was not discarded by hand; nothing to undo"),
    ):
        ended = lensbench(finished, "discard", *arguments)
        assert (ended.returncode, ended.stderr) == (1, f"error: {message}\n")
    assert lensbench(finished, "discard", "anna-with").returncode == 2
    assert finished.files() == before
