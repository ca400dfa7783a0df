"""What CI sees of a benchmark: the exit code, and the page of a GitHub job (docs/ci.md)."""

from __future__ import annotations

from pathlib import Path

from conftest import Project


def test_a_verdict_that_fail_on_names_fails_every_start_after_everything_is_written(
    finished: Project, tmp_path: Path
) -> None:
    (finished.bench / "summary.md").unlink()
    page = tmp_path / "github.md"
    github = {"GITHUB_STEP_SUMMARY": str(page)}
    before = finished.files()
    said = finished.start("--config", "fail_on=INCONCLUSIVE", fails=True, env=github)
    line = "error: the verdict on 'with' is INCONCLUSIVE, which fail_on names; all results are in bench/r"
    assert line in said
    assert "open bench/r/report.html" in said
    assert page.read_text() == (finished.bench / "summary.md").read_text()
    assert line in finished.start("--config", "fail_on=INCONCLUSIVE", fails=True)
    finished.start("--config", "fail_on=[HARM, NO-GO]")
    assert "Nothing to be done" in finished.start("--config", "fail_on=[HARM, NO-GO]")
    assert "Nothing to be done" in finished.start()
    assert finished.files() == before
    assert not finished.ledger()


def test_a_word_that_is_no_verdict_is_refused_before_anything_starts(project: Project) -> None:
    said = project.start("--config", "fail_on=harm", fails=True)
    assert "fail_on should be 'GO', 'NO-GO', 'HARM' or 'INCONCLUSIVE', not 'harm'" in said
    assert not project.bench.exists()
