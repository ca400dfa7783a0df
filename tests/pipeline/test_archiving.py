"""`snakemake archive`, checking what it made, and repeating an archived experiment from its frozen config."""

import gzip
import json
import shutil
import sys
import zipfile
from pathlib import Path

from lensbench_archive import compare, verify
from programs import run_here
from small_benchmark import CHECKOUT, FAKES, Project


def archive(project: Project) -> Path:
    project.start(target="archive")
    return project.folder / "bench" / "r.zip"


def check(path: Path) -> list[str]:
    """The lines of a check that finds nothing wrong."""
    return run_here(verify.main, path).splitlines()


def test_an_archive_holds_is_made_again_with_the_same_bytes_and_first_any_run_that_was_lost(
    finished: Project,
) -> None:
    before = finished.files()
    made = archive(finished)
    content = made.read_bytes()
    assert check(made)[-1].startswith("ok: ")
    made.unlink()
    assert (archive(finished).read_bytes(), finished.files()) == (content, before)
    marks = [
        str(finished.folder),
        str(finished.control),
        sys.prefix,
        str(FAKES),
    ]  # folders of this machine
    with zipfile.ZipFile(made) as zipped:
        for name in zipped.namelist():
            content = zipped.read(name)
            content = gzip.decompress(content) if name.endswith(".gz") else content
            assert not [mark for mark in marks if mark.encode() in content], name
    shutil.rmtree(finished.attempt("anna-with"))
    assert check(archive(finished))[-1].startswith("ok: ")
    assert finished.ledger() == ["anna-with"]


def test_an_archive_repeats_its_experiment_elsewhere_and_compares_both(
    project: Project, tmp_path: Path
) -> None:
    shutil.copy(
        CHECKOUT / ".claude" / "skills" / "benchmark" / "lens-mcp.json", project.folder / "mcp.json"
    )
    project.configure(agent={"kind": "offline", "command": [], "pass_env": []})
    project.write_tasks(["anna"])
    project.start()
    with zipfile.ZipFile(archive(project)) as zipped:
        zipped.extractall(tmp_path / "unpacked")
    elsewhere = Project(tmp_path / "unpacked" / "r" / "data" / "project", project.control)
    shutil.copytree(
        project.folder / "repo", elsewhere.folder / "repo"
    )  # named by a path, so no archive has it
    old = elsewhere.folder.parent / "run"
    new = elsewhere.folder / "bench" / "again"
    before = sorted(path.read_bytes() for path in old.rglob("*") if path.is_file())
    shutil.copy(old / "config.yaml", elsewhere.folder / "config.yaml")
    elsewhere.start("--config", "run_id=again")
    assert len(list((new / "runs").glob("*.md"))) == 2
    old_plan, new_plan = (json.loads((folder / "plan.json").read_text()) for folder in (old, new))
    assert {**old_plan, "run_id": ""} == {**new_plan, "run_id": ""}
    assert (old / "verdicts.csv").read_text() == (new / "verdicts.csv").read_text()
    assert sorted(path.read_bytes() for path in old.rglob("*") if path.is_file()) == before
    run_here(compare.main, old, new, "--output", tmp_path / "compared")
    page = (tmp_path / "compared" / "comparison.md").read_text()
    assert "No recorded setting differs." in page
    assert "agent's version" in page.partition("The same in all runs:")[2]
