"""`snakemake archive`, checking what it made, and repeating an archived experiment from its frozen config."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from conftest import FAKES, Project


def archive(project: Project) -> Path:
    project.start(target="archive")
    return project.folder / "bench" / "r.zip"


def check(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-P", "-m", "lensbench.verifying", str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def test_an_archive_is_made_checked_and_made_again_with_the_same_bytes(finished: Project) -> None:
    before = finished.files()
    made = archive(finished)
    content = made.read_bytes()
    found = check(made)
    assert (found.returncode, found.stderr) == (0, ""), found.stdout
    assert found.stdout.splitlines()[-1].startswith("ok: ")
    made.unlink()
    assert archive(finished).read_bytes() == content
    assert finished.files() == before
    assert_tells_nothing(finished, made)


def assert_tells_nothing(project: Project, made: Path) -> None:
    """No file of the archive names a folder of this machine; transcripts are compressed in it."""
    marks = [str(project.folder), str(project.control), sys.prefix, str(FAKES)]
    with zipfile.ZipFile(made) as zipped:
        for name in zipped.namelist():
            content = zipped.read(name)
            content = gzip.decompress(content) if name.endswith(".gz") else content
            assert not [mark for mark in marks if mark.encode() in content], name


def test_a_benchmark_with_discards_can_be_archived_and_checked(project: Project) -> None:
    project.behave(anna_with="empty", bert_with="model fake-2")
    found = check(archive(project))
    assert project.reasons() == {
        "anna-with": "empty", "bert-with": "model_changed", "bert-without": "model_changed",
    }  # fmt: skip
    assert found.returncode == 0, found.stdout


def test_the_frozen_config_repeats_the_experiment_under_another_name(finished: Project) -> None:
    before = finished.files()
    shutil.copy(finished.bench / "config.yaml", finished.folder / "config.yaml")
    finished.start("--config", "run_id=again")
    assert finished.files() == before
    assert finished.ledger() == ["anna-with", "anna-without", "bert-with", "bert-without"]
    old, new = (json.loads((finished.folder / "bench" / name / "plan.json").read_text()) for name in ("r", "again"))
    assert {**old, "run_id": ""} == {**new, "run_id": ""}
    scores = ((finished.folder / "bench" / name / "verdicts.csv").read_text() for name in ("r", "again"))
    assert len(set(scores)) == 1
