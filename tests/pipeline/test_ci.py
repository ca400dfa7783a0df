"""What CI sees of a benchmark: the exit code, and the page of a GitHub job (docs/ci.md)."""

import csv
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

from small_benchmark import CHECKOUT, Project


def test_a_verdict_that_fail_on_names_fails_every_start_after_all_is_written(
    finished: Project, tmp_path: Path
) -> None:
    (finished.bench / "summary.md").unlink()
    page = tmp_path / "github.md"
    github = {"GITHUB_STEP_SUMMARY": str(page)}
    before = finished.files()
    said = finished.start("--config", "fail_on=INCONCLUSIVE", fails=True, env=github)
    line = "error: the verdict on 'fake' is INCONCLUSIVE, which fail_on names; all results are in bench/r"
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
    assert (
        "fail_on should be 'HARM', 'GO', 'SAVES', 'COSTS', 'NO-GO' or 'INCONCLUSIVE', not 'harm'"
        in said
    )
    assert not project.bench.exists()


def test_the_workflow_of_the_example_runs_its_benchmark(tmp_path: Path) -> None:
    folder = tmp_path / "ci"
    shutil.copytree(CHECKOUT / "examples" / "ci", folder)
    steps = yaml.safe_load((folder / ".github/workflows/benchmark.yml").read_text())["jobs"][
        "benchmark"
    ]["steps"]
    (command,) = (step["run"] for step in steps if step.get("name") == "Benchmark")
    (saved,) = (step for step in steps if step.get("uses", "").startswith("actions/cache/save@"))
    assert saved["if"] == "always()"  # plain actions/cache forgets what a failed job paid for
    (last,) = (step for step in steps if step.get("uses", "").startswith("OWNER/lensbench@"))
    action = yaml.safe_load((CHECKOUT / "action.yml").read_text())
    assert last["with"].keys() <= action["inputs"].keys()
    program, *arguments = shlex.split(command)
    assert program == "lensbench"
    started = [
        sys.executable,
        "-P",
        "-m",
        program,
        *arguments,
        f"cache={CHECKOUT / '.cache' / 'repositories'}",
    ]
    ended = subprocess.run(
        started,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(CHECKOUT / "scripts")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert (folder / last["with"]["folder"] / ".passed/HARM").exists()
    with (folder / "bench/ci/pairs.csv").open() as file:
        gained = {
            pair["task"]: (pair["called"], float(pair["delta"]) > 0)
            for pair in csv.DictReader(file)
        }
    assert gained == {
        "httpcore-chg-01": ("yes", True),
        "httpcore-chg-02": ("yes", True),
        "httpcore-tgt-01": ("yes", False),
    }
